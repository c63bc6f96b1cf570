// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address table of the port.

use crate::abi::commands::{CreateBind, DestroyBind};
use crate::abi::Gid;
use crate::adapter::Adapter;
use crate::limits::GID_TABLE_LEN;
use crate::objects::{Errno, Outcome, DONE};

/// VLAN number that stands for none.
const NO_VLAN: u32 = 0xfff;

/// Addresses by index.
#[derive(Debug)]
pub struct GidTable([Option<Gid>; GID_TABLE_LEN as usize]);

impl Default for GidTable {
    fn default() -> Self {
        Self([None; GID_TABLE_LEN as usize])
    }
}

impl GidTable {
    /// The address at an index.
    pub fn get(&self, index: u8) -> Option<Gid> {
        *self.0.get(usize::from(index))?
    }

    /// Number of bound addresses.
    pub fn count(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Whether an address is bound.
    pub fn contains(&self, gid: Gid) -> bool {
        self.0.contains(&Some(gid))
    }
}

impl Adapter {
    /// CREATE_BIND: the address must be of the adapter's type. An index may be bound again.
    pub(crate) fn create_bind(&mut self, command: &CreateBind) -> Outcome {
        let mtu_is_possible = matches!(command.mtu, 256..=4096) && command.mtu.is_power_of_two();
        let vlan_is_possible = command.vlan <= NO_VLAN;
        if command.gid_type != self.config().roce().gid_type()
            || command.new_gid.is_zero()
            || !mtu_is_possible
            || !vlan_is_possible
        {
            return Err(Errno::Invalid.into());
        }
        let slot = self.objects.gids.0.get_mut(command.index as usize).ok_or(Errno::Invalid)?;
        *slot = Some(command.new_gid);
        DONE
    }

    /// DESTROY_BIND: index and address must match.
    pub(crate) fn destroy_bind(&mut self, command: &DestroyBind) -> Outcome {
        let slot = self.objects.gids.0.get_mut(command.index as usize).ok_or(Errno::Invalid)?;
        if *slot != Some(command.dest_gid) {
            return Err(Errno::NoEntry.into());
        }
        *slot = None;
        DONE
    }
}
