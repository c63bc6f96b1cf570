// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The port: its state and its partition keys.

use crate::abi::attrs::PortAttr;
use crate::abi::commands::{QueryPkey, QueryPkeyResp, QueryPort, QueryPortResp, Response};
use crate::adapter::Adapter;
use crate::limits::{ACTIVE_MTU, GID_TABLE_LEN, MAX_MESSAGE, MAX_MTU, MAX_PKEYS};
use crate::link::Link;
use crate::objects::{Errno, Outcome};

/// The only port.
pub const PORT: u8 = 1;
/// The only partition key, the default one with full membership.
pub const DEFAULT_PKEY: u16 = 0xffff;

const STATE_DOWN: u32 = 1;
const STATE_ACTIVE: u32 = 4;
const PHYS_DISABLED: u8 = 3;
const PHYS_LINK_UP: u8 = 5;
const CAP_CM: u32 = 1 << 16;
const CAP_IP_BASED_GIDS: u32 = 1 << 26;
const WIDTH_4X: u8 = 2;
const SPEED_QDR: u8 = 4;

impl Adapter {
    /// QUERY_PORT
    pub(crate) fn query_port(&self, command: &QueryPort) -> Outcome {
        if command.port_num != PORT {
            return Err(Errno::Invalid.into());
        }
        let (state, phys_state) = match self.link() {
            Link::Up => (STATE_ACTIVE, PHYS_LINK_UP),
            Link::Down => (STATE_DOWN, PHYS_DISABLED),
        };
        let attrs = PortAttr {
            state,
            max_mtu: MAX_MTU,
            active_mtu: ACTIVE_MTU,
            gid_tbl_len: GID_TABLE_LEN,
            port_cap_flags: CAP_CM | CAP_IP_BASED_GIDS,
            max_msg_sz: MAX_MESSAGE,
            qkey_viol_cntr: self.qkey_violations,
            pkey_tbl_len: MAX_PKEYS,
            max_vl_num: 1,
            active_width: WIDTH_4X,
            active_speed: SPEED_QDR,
            phys_state,
            ..Default::default()
        };
        Ok(Response::QueryPort(QueryPortResp { attrs }))
    }

    /// QUERY_PKEY
    pub(crate) fn query_pkey(&self, command: &QueryPkey) -> Outcome {
        if command.port_num != PORT || u16::from(command.index) >= MAX_PKEYS {
            return Err(Errno::Invalid.into());
        }
        Ok(Response::QueryPkey(QueryPkeyResp { pkey: DEFAULT_PKEY, ..Default::default() }))
    }
}
