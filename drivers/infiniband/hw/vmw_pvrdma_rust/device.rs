// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The RDMA device: what the core asks about the adapter as a whole.

#![forbid(unsafe_code)]

use crate::{
    adapter::Adapter,
    ah::Ah,
    caps::GidType,
    counters::Counters,
    cq::Cq,
    gid::GidTable,
    mr::Mr,
    pd::Pd,
    port,
    qp::Qp,
    quota::Quota,
    srq::Srq,
    ucontext::Ucontext,
    wire, //
};
use kernel::{
    fmt,
    prelude::*,
    rdma::{
        self,
        AtomicCap,
        CounterName,
        Ctx,
        DeviceAttr,
        DeviceCapFlags,
        DriverId,
        Gid,
        GidEntry,
        Guid,
        Identity,
        LinkLayer,
        NetDevice,
        PortAttr,
        PortCapFlags,
        PortEvent,
        PortImmutable,
        PortModify, //
    },
    sync::Arc, //
};

/// The RDMA driver.
pub(crate) struct Pvrdma;

/// How many objects of each kind may exist.
pub(crate) struct Quotas {
    pub(crate) pd: Arc<Quota>,
    pub(crate) cq: Arc<Quota>,
    pub(crate) qp: Arc<Quota>,
    pub(crate) srq: Arc<Quota>,
    pub(crate) mr: Arc<Quota>,
    pub(crate) ah: Arc<Quota>,
}

/// What belongs to a registered RDMA device.
#[pin_data]
pub(crate) struct State<'a> {
    pub(crate) adapter: Arc<Adapter<'a>>,
    pub(crate) quotas: Quotas,
    #[pin]
    pub(crate) gids: GidTable,
}

impl<'a> State<'a> {
    /// Prepares what an RDMA device on `adapter` needs.
    pub(crate) fn new(adapter: Arc<Adapter<'a>>) -> impl PinInit<Self, Error> + 'a {
        pin_init::pin_init_scope(move || {
            let caps = adapter.caps();
            let quotas = Quotas {
                pd: Quota::new(caps.max_pd)?,
                cq: Quota::new(caps.max_cq)?,
                qp: Quota::new(caps.max_qp)?,
                srq: Quota::new(caps.max_srq)?,
                mr: Quota::new(caps.max_mr)?,
                ah: Quota::new(caps.max_ah)?,
            };
            let gids = usize::try_from(caps.gid_tbl_len)?;

            Ok(try_pin_init!(Self {
                adapter,
                quotas,
                gids <- GidTable::new(gids),
            }))
        })
    }
}

#[vtable]
impl rdma::Driver for Pvrdma {
    type RegistrationData<'a> = State<'a>;

    type Ucontext = Ucontext;
    type Pd = Pd;
    type Cq = Cq;
    type Qp = Qp;
    type Srq = Srq;
    type Ah = Ah;
    type Mr = Mr;

    const NAME: &'static CStr = c"vmw_pvrdma%d";
    const ID: DriverId = DriverId::VmwPvrdma;
    const UVERBS_ABI: u32 = wire::uapi::abi::VERSION;
    const LINK_LAYER: LinkLayer = LinkLayer::Ethernet;

    // The values that the C driver has had in all its versions.
    const IDENTITY: Option<Identity> = Some(Identity {
        hca_type: c"VMW_PVRDMA-1.0.1.0-k",
        hw_rev: c"1",
        board_id: c"1",
    });

    const COUNTERS: &'static [CounterName] = Counters::NAMES;

    fn query_device(ctx: &Ctx<'_, Self>) -> Result<DeviceAttr> {
        const ATOMICS: u8 = wire::atomic_op::COMP_SWAP | wire::atomic_op::FETCH_ADD;

        let caps = ctx.adapter.caps();
        let mut attr = DeviceAttr {
            fw_ver: caps.fw_ver,
            sys_image_guid: Guid(caps.sys_image_guid),
            max_mr_size: caps.max_mr_size,
            page_size_cap: caps.page_size_cap,
            vendor_id: caps.vendor_id,
            vendor_part_id: ctx.adapter.part_id(),
            hw_ver: caps.hw_ver,
            max_qp: caps.max_qp,
            max_qp_wr: caps.max_qp_wr,
            cap_flags: DeviceCapFlags::from_bits(caps.device_cap_flags.into())
                | DeviceCapFlags::PORT_ACTIVE_EVENT
                | DeviceCapFlags::RC_RNR_NAK_GEN,
            max_send_sge: caps.max_sge,
            max_recv_sge: caps.max_sge,
            max_sge_rd: caps.max_sge_rd,
            max_cq: caps.max_cq,
            max_cqe: caps.max_cqe,
            max_mr: caps.max_mr,
            max_pd: caps.max_pd,
            max_qp_rd_atom: caps.max_qp_rd_atom,
            max_qp_init_rd_atom: caps.max_qp_init_rd_atom,
            atomic_cap: if caps.atomic_ops & ATOMICS != 0 {
                AtomicCap::Hca
            } else {
                AtomicCap::None
            },
            max_ah: caps.max_ah,
            max_srq: caps.max_srq,
            max_srq_wr: caps.max_srq_wr,
            max_srq_sge: caps.max_srq_sge,
            max_pkeys: caps.max_pkeys,
            local_ca_ack_delay: caps.local_ca_ack_delay,
            ..DeviceAttr::default()
        };

        if caps.has_mem_mgt_extensions() {
            attr.cap_flags |= DeviceCapFlags::MEM_MGT_EXTENSIONS;
            attr.max_fast_reg_page_list_len = caps.max_fast_reg_page_list_len;
        }
        Ok(attr)
    }

    fn query_port(ctx: &Ctx<'_, Self>, port: u32) -> Result<PortAttr> {
        port::query(&ctx.adapter, port)
    }

    fn port_immutable(ctx: &Ctx<'_, Self>, _port: u32) -> Result<PortImmutable> {
        Ok(PortImmutable {
            caps: match ctx.adapter.caps().gid_type() {
                GidType::RoceV1 => PortCapFlags::ROCE_V1,
                GidType::RoceV2 => PortCapFlags::ROCE_V2,
            },
            max_mad_size: PortImmutable::IB_MAD_SIZE,
        })
    }

    fn query_pkey(ctx: &Ctx<'_, Self>, port: u32, index: u16) -> Result<u16> {
        port::query_pkey(&ctx.adapter, port, index)
    }

    fn query_gid(ctx: &Ctx<'_, Self>, _port: u32, index: u32) -> Result<Gid> {
        ctx.gids.get(index)
    }

    fn add_gid(ctx: &Ctx<'_, Self>, entry: &GidEntry<'_>) -> Result {
        ctx.gids.add(&ctx.adapter, entry)
    }

    fn del_gid(ctx: &Ctx<'_, Self>, entry: &GidEntry<'_>) -> Result {
        ctx.gids.del(&ctx.adapter, entry)
    }

    fn modify_port(_ctx: &Ctx<'_, Self>, _port: u32, change: &PortModify) -> Result {
        port::modify(change)
    }

    fn firmware_version(ctx: &Ctx<'_, Self>, out: &mut dyn fmt::Write) -> fmt::Result {
        let version = ctx.adapter.caps().fw_ver;

        write!(
            out,
            "{}.{}.{}",
            version >> 32,
            (version >> 16) & 0xffff,
            version & 0xffff
        )
    }

    fn read_counter(ctx: &Ctx<'_, Self>, _port: u32, index: usize) -> u64 {
        ctx.adapter.counters().get(index)
    }

    fn port_event(ctx: &Ctx<'_, Self>, port: u32, event: PortEvent) {
        port::follow(ctx, port, event);
    }

    fn netdev_port(ctx: &Ctx<'_, Self>, netdev: &NetDevice) -> Option<u32> {
        ctx.adapter.is_partner(netdev).then_some(1)
    }
}
