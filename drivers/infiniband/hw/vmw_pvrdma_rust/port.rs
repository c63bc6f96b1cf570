// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The port: its attributes, and what happens when its net device goes up or down.

#![forbid(unsafe_code)]

use crate::{
    adapter::Adapter,
    commands::{
        QueryPkey,
        QueryPort, //
    },
    convert,
    device::Pvrdma,
    regs::Control, //
};
use kernel::{
    prelude::*,
    rdma::{
        Ctx,
        DeviceEvent,
        PortAttr,
        PortEvent,
        PortModify, //
    }, //
};

/// Asks the device for the attributes of a port. Sleeps.
///
/// # Errors
///
/// [`EINVAL`] if there is no such port, [`EIO`] if the answer makes no sense, or what the command
/// channel answers.
pub(crate) fn query(adapter: &Adapter<'_>, port: u32) -> Result<PortAttr> {
    let attr = adapter
        .ask(&QueryPort {
            port: port.try_into()?,
        })
        .map_err(|error| error.code())?;

    Ok(PortAttr {
        state: convert::port_state(attr.state)?,
        phys_state: u32::from(attr.phys_state).try_into().map_err(|_| EIO)?,
        max_mtu: convert::mtu_from_wire(attr.max_mtu)?,
        active_mtu: convert::mtu_from_wire(attr.active_mtu)?,
        // The core allocates the table, and the driver keeps one of the length that was validated.
        gid_tbl_len: attr.gid_tbl_len.min(adapter.caps().gid_tbl_len),
        pkey_tbl_len: attr.pkey_tbl_len,
        ip_gids: true,
        port_cap_flags: attr.port_cap_flags | PortAttr::CM_SUP,
        max_msg_sz: attr.max_msg_sz,
        bad_pkey_cntr: attr.bad_pkey_cntr,
        qkey_viol_cntr: attr.qkey_viol_cntr,
        lid: attr.lid.into(),
        sm_lid: attr.sm_lid.into(),
        lmc: attr.lmc,
        max_vl_num: attr.max_vl_num,
        sm_sl: attr.sm_sl,
        subnet_timeout: attr.subnet_timeout,
        init_type_reply: attr.init_type_reply,
        active_width: convert::port_width(attr.active_width),
        active_speed: convert::port_speed(attr.active_speed),
    })
}

/// Asks the device for an entry of the P_Key table. Sleeps.
///
/// # Errors
///
/// [`EINVAL`] if the port or index is out of range, or what the command channel answers.
pub(crate) fn query_pkey(adapter: &Adapter<'_>, port: u32, index: u16) -> Result<u16> {
    adapter
        .ask(&QueryPkey {
            port: port.try_into()?,
            index: index.try_into()?,
        })
        .map_err(|error| error.code())
}

/// Changes a port.
///
/// The connection manager sets and clears capability bits that the port of this device always or
/// never has, so there is nothing to do for them.
///
/// # Errors
///
/// [`EOPNOTSUPP`] for changes of any other kind.
pub(crate) fn modify(change: &PortModify) -> Result {
    if change.mask.is_empty() {
        Ok(())
    } else {
        Err(EOPNOTSUPP)
    }
}

/// Follows the net device of the port. Sleeps.
pub(crate) fn follow(ctx: &Ctx<'_, Pvrdma>, port: u32, event: PortEvent) {
    match event {
        PortEvent::Down => ctx.device().dispatch(DeviceEvent::PortErr(port)),
        PortEvent::Up => match ctx.adapter.control(Control::Unquiesce) {
            Ok(()) => ctx.device().dispatch(DeviceEvent::PortActive(port)),
            Err(error) => dev_err!(
                ctx.adapter.dev(),
                "the device does not take up work although the link is up: {:?}\n",
                error
            ),
        },
    }
}
