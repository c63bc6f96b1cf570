// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! Conversions between the vocabulary of the RDMA core and that of the device.
//!
//! Each is made value by value: the core has renumbered its enumerations before, the device cannot.
//! What the device says and the core has no word for is [`EIO`], unless it only describes something;
//! what the core asks and the device has no word for is [`EINVAL`].

#![forbid(unsafe_code)]

use crate::wire::{
    self,
    access,
    qp_attr,
    send_flag, //
};
use kernel::{
    prelude::*,
    rdma::{
        AccessFlags,
        AhAttr,
        AltPath,
        Gid,
        GlobalRoute,
        LinkSpeed,
        LinkWidth,
        MigState,
        Mtu,
        NetworkType,
        PortState,
        QpAttr,
        QpAttrMask,
        QpCap,
        QpState,
        QpType,
        SendFlags,
        WcOpcode,
        WcStatus, //
    }, //
};
use zerocopy::FromZeros;

/// Defines a pair of conversions between an enumeration of the core and one of the device.
macro_rules! both_ways {
    (
        $(#[$meta:meta])*
        $to_wire:ident / $from_wire:ident: $core:ident($($core_value:ident),*) = $wire:ident($repr:ty)
            ($($wire_value:ident),*)
    ) => {
        $(#[$meta])*
        pub(crate) fn $to_wire(value: $core) -> $repr {
            match value {
                $($core::$core_value => wire::$wire::$wire_value,)*
            }
            .into()
        }

        $(#[$meta])*
        pub(crate) fn $from_wire(value: $repr) -> Result<$core> {
            Ok(match wire::$wire::try_from(value)? {
                $(wire::$wire::$wire_value => $core::$core_value,)*
            })
        }
    };
}

both_ways! {
    /// Converts the state of a queue pair.
    qp_state_to_wire / qp_state_from_wire:
        QpState(Reset, Init, Rtr, Rts, Sqd, Sqe, Err) = QpState(u32)
            (Reset, Init, Rtr, Rts, Sqd, Sqe, Err)
}

both_ways! {
    /// Converts a maximum transfer unit.
    mtu_to_wire / mtu_from_wire:
        Mtu(B256, B512, B1024, B2048, B4096) = Mtu(u32)
            (Mtu256, Mtu512, Mtu1024, Mtu2048, Mtu4096)
}

both_ways! {
    /// Converts a path migration state.
    mig_state_to_wire / mig_state_from_wire:
        MigState(Migrated, Rearm, Armed) = MigState(u32)(Migrated, Rearm, Armed)
}

/// Converts the transport service of a queue pair.
///
/// # Errors
///
/// [`EOPNOTSUPP`] for those that the device does not offer.
pub(crate) fn qp_type(value: QpType) -> Result<wire::QpType> {
    match value {
        QpType::Gsi => Ok(wire::QpType::Gsi),
        QpType::Rc => Ok(wire::QpType::Rc),
        QpType::Ud => Ok(wire::QpType::Ud),
        QpType::Uc => Err(EOPNOTSUPP),
    }
}

/// Converts the state of a port.
pub(crate) fn port_state(value: u32) -> Result<PortState> {
    Ok(match wire::PortState::try_from(value)? {
        wire::PortState::Nop => PortState::Nop,
        wire::PortState::Down => PortState::Down,
        wire::PortState::Init => PortState::Init,
        wire::PortState::Armed => PortState::Armed,
        wire::PortState::Active => PortState::Active,
        wire::PortState::ActiveDefer => PortState::ActiveDefer,
    })
}

/// Converts the width of a port; one without a number here reads as four lanes, as most have.
pub(crate) fn port_width(value: u8) -> LinkWidth {
    match wire::PortWidth::try_from(value) {
        Ok(wire::PortWidth::X1) => LinkWidth::X1,
        Ok(wire::PortWidth::X4) | Err(_) => LinkWidth::X4,
        Ok(wire::PortWidth::X8) => LinkWidth::X8,
        Ok(wire::PortWidth::X12) => LinkWidth::X12,
    }
}

/// Converts the speed of a port; the numbers end with EDR, so what is beyond reads as that.
pub(crate) fn port_speed(value: u8) -> LinkSpeed {
    match wire::PortSpeed::try_from(value) {
        Ok(wire::PortSpeed::Sdr) => LinkSpeed::Sdr,
        Ok(wire::PortSpeed::Ddr) => LinkSpeed::Ddr,
        Ok(wire::PortSpeed::Qdr) => LinkSpeed::Qdr,
        Ok(wire::PortSpeed::Fdr10) => LinkSpeed::Fdr10,
        Ok(wire::PortSpeed::Fdr) => LinkSpeed::Fdr,
        Ok(wire::PortSpeed::Edr) | Err(_) => LinkSpeed::Edr,
    }
}

/// Access flags and what the device calls them.
const ACCESS: [(AccessFlags, u32); 7] = [
    (AccessFlags::LOCAL_WRITE, access::LOCAL_WRITE),
    (AccessFlags::REMOTE_WRITE, access::REMOTE_WRITE),
    (AccessFlags::REMOTE_READ, access::REMOTE_READ),
    (AccessFlags::REMOTE_ATOMIC, access::REMOTE_ATOMIC),
    (AccessFlags::MW_BIND, access::MW_BIND),
    (AccessFlags::ZERO_BASED, access::ZERO_BASED),
    (AccessFlags::ON_DEMAND, access::ON_DEMAND),
];

/// Converts access flags.
///
/// # Errors
///
/// [`EINVAL`] for a flag that the device does not have and that is more than a hint.
pub(crate) fn access_to_wire(flags: AccessFlags) -> Result<u32> {
    let mut bits = 0;
    let mut left = flags.without(AccessFlags::OPTIONAL | AccessFlags::HUGETLB);

    for (flag, bit) in ACCESS {
        if flags.contains(flag) {
            bits |= bit;
            left = left.without(flag);
        }
    }
    if left.is_empty() {
        Ok(bits)
    } else {
        Err(EINVAL)
    }
}

/// Converts access flags; bits without a meaning are dropped.
pub(crate) fn access_from_wire(bits: u32) -> AccessFlags {
    let mut flags = AccessFlags::NONE;

    for (flag, bit) in ACCESS {
        if bits & bit != 0 {
            flags |= flag;
        }
    }
    flags
}

/// Attributes of a queue pair and what the device calls them.
const QP_ATTRS: [(QpAttrMask, u32); 21] = [
    (QpAttrMask::STATE, qp_attr::STATE),
    (QpAttrMask::CUR_STATE, qp_attr::CUR_STATE),
    (
        QpAttrMask::EN_SQD_ASYNC_NOTIFY,
        qp_attr::EN_SQD_ASYNC_NOTIFY,
    ),
    (QpAttrMask::ACCESS_FLAGS, qp_attr::ACCESS_FLAGS),
    (QpAttrMask::PKEY_INDEX, qp_attr::PKEY_INDEX),
    (QpAttrMask::PORT, qp_attr::PORT),
    (QpAttrMask::QKEY, qp_attr::QKEY),
    (QpAttrMask::AV, qp_attr::AV),
    (QpAttrMask::PATH_MTU, qp_attr::PATH_MTU),
    (QpAttrMask::TIMEOUT, qp_attr::TIMEOUT),
    (QpAttrMask::RETRY_CNT, qp_attr::RETRY_CNT),
    (QpAttrMask::RNR_RETRY, qp_attr::RNR_RETRY),
    (QpAttrMask::RQ_PSN, qp_attr::RQ_PSN),
    (QpAttrMask::MAX_QP_RD_ATOMIC, qp_attr::MAX_QP_RD_ATOMIC),
    (QpAttrMask::ALT_PATH, qp_attr::ALT_PATH),
    (QpAttrMask::MIN_RNR_TIMER, qp_attr::MIN_RNR_TIMER),
    (QpAttrMask::SQ_PSN, qp_attr::SQ_PSN),
    (QpAttrMask::MAX_DEST_RD_ATOMIC, qp_attr::MAX_DEST_RD_ATOMIC),
    (QpAttrMask::PATH_MIG_STATE, qp_attr::PATH_MIG_STATE),
    (QpAttrMask::CAP, qp_attr::CAP),
    (QpAttrMask::DEST_QPN, qp_attr::DEST_QPN),
];

/// Converts a mask of queue pair attributes; those that the device does not have are dropped.
pub(crate) fn qp_attr_mask(mask: QpAttrMask) -> u32 {
    let mut bits = 0;

    for (attr, bit) in QP_ATTRS {
        if mask.contains(attr) {
            bits |= bit;
        }
    }
    bits
}

/// Converts the capacity of a queue pair.
pub(crate) fn cap_to_wire(cap: &QpCap) -> wire::QpCap {
    wire::QpCap {
        max_send_wr: cap.max_send_wr,
        max_recv_wr: cap.max_recv_wr,
        max_send_sge: cap.max_send_sge,
        max_recv_sge: cap.max_recv_sge,
        max_inline_data: cap.max_inline_data,
        reserved: 0,
    }
}

/// Converts the capacity of a queue pair.
fn cap_from_wire(cap: &wire::QpCap) -> QpCap {
    QpCap {
        max_send_wr: cap.max_send_wr,
        max_recv_wr: cap.max_recv_wr,
        max_send_sge: cap.max_send_sge,
        max_recv_sge: cap.max_recv_sge,
        max_inline_data: cap.max_inline_data,
    }
}

/// Converts an address.
///
/// # Errors
///
/// [`EINVAL`] if the port has no number on the device.
fn ah_to_wire(ah: &AhAttr) -> Result<wire::AhAttr> {
    let mut wire = wire::AhAttr::new_zeroed();

    if let Some(grh) = &ah.grh {
        wire.ah_flags = wire::ah_flag::GRH;
        wire.grh = wire::GlobalRoute {
            dgid: grh.dgid.0,
            flow_label: grh.flow_label,
            sgid_index: grh.sgid_index,
            hop_limit: grh.hop_limit,
            traffic_class: grh.traffic_class,
            reserved: 0,
        };
    }
    wire.sl = ah.sl;
    wire.static_rate = ah.static_rate;
    wire.port_num = ah.port.try_into()?;
    wire.dmac = ah.dmac;
    Ok(wire)
}

/// Converts an address.
fn ah_from_wire(ah: &wire::AhAttr) -> AhAttr {
    AhAttr {
        grh: (ah.ah_flags & wire::ah_flag::GRH != 0).then_some(GlobalRoute {
            dgid: Gid(ah.grh.dgid),
            flow_label: ah.grh.flow_label,
            sgid_index: ah.grh.sgid_index,
            hop_limit: ah.grh.hop_limit,
            traffic_class: ah.grh.traffic_class,
        }),
        port: ah.port_num.into(),
        sl: ah.sl,
        static_rate: ah.static_rate,
        dmac: ah.dmac,
    }
}

/// Converts the attributes of a queue pair that are present; the others are zero.
///
/// # Errors
///
/// [`EINVAL`] if a value has no counterpart on the device.
pub(crate) fn qp_attr_to_wire(attr: &QpAttr) -> Result<wire::QpAttr> {
    let mut wire = wire::QpAttr::new_zeroed();

    wire.qp_state = attr.state.map_or(0, qp_state_to_wire);
    wire.cur_qp_state = attr.cur_state.map_or(0, qp_state_to_wire);
    wire.path_mtu = attr.path_mtu.map_or(0, mtu_to_wire);
    wire.path_mig_state = attr.mig_state.map_or(0, mig_state_to_wire);
    wire.qkey = attr.qkey.unwrap_or(0);
    wire.rq_psn = attr.rq_psn.unwrap_or(0);
    wire.sq_psn = attr.sq_psn.unwrap_or(0);
    wire.dest_qp_num = attr.dest_qpn.unwrap_or(0);
    wire.qp_access_flags = attr.access.map_or(Ok(0), access_to_wire)?;
    wire.pkey_index = attr.pkey_index.unwrap_or(0);
    wire.en_sqd_async_notify = attr.sqd_async_notify.unwrap_or(false).into();
    wire.sq_draining = attr.sq_draining.unwrap_or(false).into();
    wire.max_rd_atomic = attr.max_rd_atomic.unwrap_or(0);
    wire.max_dest_rd_atomic = attr.max_dest_rd_atomic.unwrap_or(0);
    wire.min_rnr_timer = attr.min_rnr_timer.unwrap_or(0);
    wire.port_num = attr.port.unwrap_or(0).try_into()?;
    wire.timeout = attr.timeout.unwrap_or(0);
    wire.retry_cnt = attr.retry_cnt.unwrap_or(0);
    wire.rnr_retry = attr.rnr_retry.unwrap_or(0);
    if let Some(cap) = &attr.cap {
        wire.cap = cap_to_wire(cap);
    }
    if let Some(ah) = &attr.ah {
        wire.ah_attr = ah_to_wire(ah)?;
    }
    if let Some(alt) = &attr.alt {
        wire.alt_ah_attr = ah_to_wire(&alt.ah)?;
        wire.alt_pkey_index = alt.pkey_index;
        wire.alt_port_num = alt.port.try_into()?;
        wire.alt_timeout = alt.timeout;
    }
    Ok(wire)
}

/// Converts all attributes of a queue pair.
///
/// The device need not know a path MTU before the queue pair is connected; 0 stands for that.
///
/// # Errors
///
/// [`EIO`] if the device says something that makes no sense.
pub(crate) fn qp_attr_from_wire(wire: &wire::QpAttr) -> Result<QpAttr> {
    Ok(QpAttr {
        state: Some(qp_state_from_wire(wire.qp_state)?),
        // The device has one state only; see `Qp::query`.
        cur_state: None,
        path_mtu: match wire.path_mtu {
            0 => None,
            mtu => Some(mtu_from_wire(mtu)?),
        },
        mig_state: Some(mig_state_from_wire(wire.path_mig_state)?),
        qkey: Some(wire.qkey),
        rq_psn: Some(wire.rq_psn),
        sq_psn: Some(wire.sq_psn),
        dest_qpn: Some(wire.dest_qp_num),
        access: Some(access_from_wire(wire.qp_access_flags)),
        cap: Some(cap_from_wire(&wire.cap)),
        ah: Some(ah_from_wire(&wire.ah_attr)),
        alt: Some(AltPath {
            ah: ah_from_wire(&wire.alt_ah_attr),
            pkey_index: wire.alt_pkey_index,
            port: wire.alt_port_num.into(),
            timeout: wire.alt_timeout,
        }),
        pkey_index: Some(wire.pkey_index),
        sqd_async_notify: Some(wire.en_sqd_async_notify != 0),
        sq_draining: Some(wire.sq_draining != 0),
        max_rd_atomic: Some(wire.max_rd_atomic),
        max_dest_rd_atomic: Some(wire.max_dest_rd_atomic),
        min_rnr_timer: Some(wire.min_rnr_timer),
        port: Some(wire.port_num.into()),
        timeout: Some(wire.timeout),
        retry_cnt: Some(wire.retry_cnt),
        rnr_retry: Some(wire.rnr_retry),
        rate_limit: None,
    })
}

/// Converts the status of a work completion; one without a meaning is an error of an unknown kind.
pub(crate) fn wc_status(value: u32) -> WcStatus {
    use wire::WcStatus as Wire;

    let Ok(status) = Wire::try_from(value) else {
        return WcStatus::GeneralErr;
    };
    match status {
        Wire::Success => WcStatus::Success,
        Wire::LocLenErr => WcStatus::LocLenErr,
        Wire::LocQpOpErr => WcStatus::LocQpOpErr,
        Wire::LocEecOpErr => WcStatus::LocEecOpErr,
        Wire::LocProtErr => WcStatus::LocProtErr,
        Wire::WrFlushErr => WcStatus::WrFlushErr,
        Wire::MwBindErr => WcStatus::MwBindErr,
        Wire::BadRespErr => WcStatus::BadRespErr,
        Wire::LocAccessErr => WcStatus::LocAccessErr,
        Wire::RemInvReqErr => WcStatus::RemInvReqErr,
        Wire::RemAccessErr => WcStatus::RemAccessErr,
        Wire::RemOpErr => WcStatus::RemOpErr,
        Wire::RetryExcErr => WcStatus::RetryExcErr,
        Wire::RnrRetryExcErr => WcStatus::RnrRetryExcErr,
        Wire::LocRddViolErr => WcStatus::LocRddViolErr,
        Wire::RemInvRdReqErr => WcStatus::RemInvRdReqErr,
        Wire::RemAbortErr => WcStatus::RemAbortErr,
        Wire::InvEecnErr => WcStatus::InvEecnErr,
        Wire::InvEecStateErr => WcStatus::InvEecStateErr,
        Wire::FatalErr => WcStatus::FatalErr,
        Wire::RespTimeoutErr => WcStatus::RespTimeoutErr,
        Wire::GeneralErr => WcStatus::GeneralErr,
    }
}

/// Converts the operation of a work completion.
///
/// The device need not set it when the request failed, so a value without a meaning reads as a
/// send.
pub(crate) fn wc_opcode(value: u32) -> WcOpcode {
    use wire::WcOpcode as Wire;

    let Ok(opcode) = Wire::try_from(value) else {
        return WcOpcode::Send;
    };
    match opcode {
        Wire::Send => WcOpcode::Send,
        Wire::RdmaWrite => WcOpcode::RdmaWrite,
        Wire::RdmaRead => WcOpcode::RdmaRead,
        Wire::CompSwap => WcOpcode::CompSwap,
        Wire::FetchAdd => WcOpcode::FetchAdd,
        Wire::BindMw => WcOpcode::BindMw,
        Wire::Lso => WcOpcode::Lso,
        Wire::LocalInv => WcOpcode::LocalInv,
        Wire::FastRegMr => WcOpcode::RegMr,
        Wire::MaskedCompSwap => WcOpcode::MaskedCompSwap,
        Wire::MaskedFetchAdd => WcOpcode::MaskedFetchAdd,
        Wire::Recv => WcOpcode::Recv,
        Wire::RecvRdmaWithImm => WcOpcode::RecvRdmaWithImm,
    }
}

/// Converts the kind of a network header; the device cannot say more than this about others.
pub(crate) fn network_type(value: u8) -> NetworkType {
    match wire::NetworkType::try_from(value) {
        Ok(wire::NetworkType::RoceV1) => NetworkType::RoceV1,
        Ok(wire::NetworkType::Ipv4) => NetworkType::Ipv4,
        Ok(wire::NetworkType::Ipv6) | Err(_) => NetworkType::Ipv6,
    }
}

/// Send flags and what the device calls them. Inline data is not among them.
const SEND_FLAGS: [(SendFlags, u32); 4] = [
    (SendFlags::FENCE, send_flag::FENCE),
    (SendFlags::SIGNALED, send_flag::SIGNALED),
    (SendFlags::SOLICITED, send_flag::SOLICITED),
    (SendFlags::IP_CSUM, send_flag::IP_CSUM),
];

/// Converts the flags of a send request; those that the device does not have are dropped.
pub(crate) fn send_flags(flags: SendFlags) -> u32 {
    let mut bits = 0;

    for (flag, bit) in SEND_FLAGS {
        if flags.contains(flag) {
            bits |= bit;
        }
    }
    bits
}
