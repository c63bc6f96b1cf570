// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! What the driver can ask of the device, one type a command.
//!
//! The types here carry meaning: handles that know their kind, directories that know their length.
//! Their bytes are made in one place each, the `wire()` next to the type.

#![forbid(unsafe_code)]

use crate::{
    caps::Version,
    cmd::{
        Ask,
        Command,
        Tell, //
    },
    handle::{
        Cq,
        Handle,
        Kind,
        Mr,
        Pd,
        Qp,
        Srq,
        Uc, //
    },
    page_dir::PageDir,
    wire::{
        self,
        command::{
            self,
            Opcode,
            RequestHeader,
            Response, //
        }, //
    },
};
use kernel::{
    dma::DmaAddress,
    prelude::*, //
};

/// Reads the beginning of a response as a `T`.
fn read<T: FromBytes>(response: &Response) -> Result<T> {
    let mut copy = *response;
    T::read_from_prefix(copy.as_mut_bytes())
        .map(|(value, _)| value)
        .map_err(|_| EIO)
}

/// Pages that are given to the device.
#[derive(Clone, Copy)]
pub(crate) struct Pages {
    /// Bus address of their page directory.
    pub(crate) directory: DmaAddress,
    /// Their number.
    pub(crate) count: u32,
}

impl From<&PageDir> for Pages {
    fn from(directory: &PageDir) -> Self {
        Self {
            directory: directory.dma_address(),
            // CAST: At most 2^18.
            count: directory.count() as u32,
        }
    }
}

/// Asks for the attributes of a port.
pub(crate) struct QueryPort {
    /// Number of the port.
    pub(crate) port: u8,
}

impl Command for QueryPort {
    const OPCODE: Opcode = Opcode::QueryPort;
    type Wire = command::QueryPort;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::QueryPort {
            hdr,
            port_num: self.port,
            reserved: [0; 7],
        }
    }
}

impl Ask for QueryPort {
    type Reply = wire::PortAttr;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        Ok(read::<command::QueryPortResp>(response)?.attrs)
    }
}

/// Asks for an entry of the partition key table.
pub(crate) struct QueryPkey {
    /// Number of the port.
    pub(crate) port: u8,
    /// Index of the entry.
    pub(crate) index: u8,
}

impl Command for QueryPkey {
    const OPCODE: Opcode = Opcode::QueryPkey;
    type Wire = command::QueryPkey;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::QueryPkey {
            hdr,
            port_num: self.port,
            index: self.index,
            reserved: [0; 6],
        }
    }
}

impl Ask for QueryPkey {
    type Reply = u16;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        Ok(read::<command::QueryPkeyResp>(response)?.pkey)
    }
}

/// Creates a user context.
pub(crate) struct CreateUc {
    /// Page frame number of the doorbell page that the context uses.
    pub(crate) pfn: u64,
}

impl Command for CreateUc {
    const OPCODE: Opcode = Opcode::CreateUc;
    type Wire = command::CreateUc;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::CreateUc { hdr, pfn: self.pfn }
    }
}

impl Ask for CreateUc {
    type Reply = Handle<Uc>;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        Ok(Handle::new(
            read::<command::CreateUcResp>(response)?.ctx_handle,
        ))
    }
}

/// Creates a protection domain.
pub(crate) struct CreatePd {
    /// The user context it belongs to; none for the kernel.
    pub(crate) context: Option<Handle<Uc>>,
}

impl Command for CreatePd {
    const OPCODE: Opcode = Opcode::CreatePd;
    type Wire = command::CreatePd;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::CreatePd {
            hdr,
            ctx_handle: self.context.map_or(0, Handle::raw),
            reserved: [0; 4],
        }
    }
}

impl Ask for CreatePd {
    type Reply = Handle<Pd>;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        Ok(Handle::new(
            read::<command::CreatePdResp>(response)?.pd_handle,
        ))
    }
}

/// What a memory region covers.
#[derive(Clone, Copy)]
pub(crate) enum Region {
    /// All memory that the device can address.
    Dma,
    /// User memory.
    User {
        /// Address of the first byte as work requests give it.
        start: u64,
        /// Number of bytes.
        length: u64,
        /// The pages, in order.
        pages: Pages,
    },
    /// Nothing until a fast registration work request says so.
    ///
    /// The device learns of the page directory from the work request.
    FastReg {
        /// How many pages can be registered.
        max_pages: u32,
    },
}

/// Creates a memory region.
pub(crate) struct CreateMr {
    /// The protection domain it belongs to.
    pub(crate) pd: Handle<Pd>,
    /// Bits of [`wire::access`].
    pub(crate) access: u32,
    /// What it covers.
    pub(crate) region: Region,
}

impl Command for CreateMr {
    const OPCODE: Opcode = Opcode::CreateMr;
    type Wire = command::CreateMr;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        let no_pages = |count| Pages {
            directory: 0,
            count,
        };
        let (start, length, pages, flags) = match self.region {
            Region::Dma => (0, 0, no_pages(0), command::mr_flag::DMA),
            Region::User {
                start,
                length,
                pages,
            } => (start, length, pages, 0),
            Region::FastReg { max_pages } => (0, 0, no_pages(max_pages), command::mr_flag::FRMR),
        };

        command::CreateMr {
            hdr,
            start,
            length,
            pdir_dma: pages.directory,
            pd_handle: self.pd.raw(),
            access_flags: self.access,
            flags,
            nchunks: pages.count,
        }
    }
}

impl Ask for CreateMr {
    type Reply = MrReply;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        let reply: command::CreateMrResp = read(response)?;

        Ok(MrReply {
            handle: Handle::new(reply.mr_handle),
            lkey: reply.lkey,
            rkey: reply.rkey,
        })
    }
}

/// Answer to [`CreateMr`].
pub(crate) struct MrReply {
    /// Handle of the region.
    pub(crate) handle: Handle<Mr>,
    /// Key for local use.
    pub(crate) lkey: u32,
    /// Key for remote use.
    pub(crate) rkey: u32,
}

/// Creates a completion queue.
pub(crate) struct CreateCq {
    /// The user context it belongs to; none for the kernel.
    pub(crate) context: Option<Handle<Uc>>,
    /// Number of entries.
    pub(crate) entries: u32,
    /// The queue with its header page.
    pub(crate) pages: Pages,
}

impl Command for CreateCq {
    const OPCODE: Opcode = Opcode::CreateCq;
    type Wire = command::CreateCq;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::CreateCq {
            hdr,
            pdir_dma: self.pages.directory,
            ctx_handle: self.context.map_or(0, Handle::raw),
            cqe: self.entries,
            nchunks: self.pages.count,
            reserved: [0; 4],
        }
    }
}

impl Ask for CreateCq {
    type Reply = CqReply;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        let reply: command::CreateCqResp = read(response)?;

        Ok(CqReply {
            handle: Handle::new(reply.cq_handle),
            entries: reply.cqe,
        })
    }
}

/// Answer to [`CreateCq`].
pub(crate) struct CqReply {
    /// Handle of the queue.
    pub(crate) handle: Handle<Cq>,
    /// Number of entries. Not validated.
    pub(crate) entries: u32,
}

/// Creates a shared receive queue.
pub(crate) struct CreateSrq {
    /// The protection domain it belongs to.
    pub(crate) pd: Handle<Pd>,
    /// Its size and limit.
    pub(crate) attrs: wire::SrqAttr,
    /// The queue with its header page.
    pub(crate) pages: Pages,
}

impl Command for CreateSrq {
    const OPCODE: Opcode = Opcode::CreateSrq;
    type Wire = command::CreateSrq;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::CreateSrq {
            hdr,
            pdir_dma: self.pages.directory,
            pd_handle: self.pd.raw(),
            nchunks: self.pages.count,
            attrs: self.attrs,
            // The basic type; there is no other.
            srq_type: 0,
            reserved: [0; 7],
        }
    }
}

impl Ask for CreateSrq {
    type Reply = Handle<Srq>;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        Ok(Handle::new(read::<command::CreateSrqResp>(response)?.srqn))
    }
}

/// Changes a shared receive queue.
pub(crate) struct ModifySrq {
    /// The queue.
    pub(crate) handle: Handle<Srq>,
    /// Which of `attrs` are to be taken over.
    pub(crate) mask: u32,
    /// The new attributes.
    pub(crate) attrs: wire::SrqAttr,
}

impl Command for ModifySrq {
    const OPCODE: Opcode = Opcode::ModifySrq;
    type Wire = command::ModifySrq;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::ModifySrq {
            hdr,
            srq_handle: self.handle.raw(),
            attr_mask: self.mask,
            attrs: self.attrs,
        }
    }
}

impl Tell for ModifySrq {}

/// Asks for the attributes of a shared receive queue.
pub(crate) struct QuerySrq {
    /// The queue.
    pub(crate) handle: Handle<Srq>,
}

impl Command for QuerySrq {
    const OPCODE: Opcode = Opcode::QuerySrq;
    type Wire = command::QuerySrq;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::QuerySrq {
            hdr,
            srq_handle: self.handle.raw(),
            reserved: [0; 4],
        }
    }
}

impl Ask for QuerySrq {
    type Reply = wire::SrqAttr;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        Ok(read::<command::QuerySrqResp>(response)?.attrs)
    }
}

/// Creates a queue pair.
pub(crate) struct CreateQp {
    /// The protection domain it belongs to.
    pub(crate) pd: Handle<Pd>,
    /// Where completions of sent requests go.
    pub(crate) send_cq: Handle<Cq>,
    /// Where completions of received messages go.
    pub(crate) recv_cq: Handle<Cq>,
    /// The shared receive queue that takes the place of its own receive queue.
    pub(crate) srq: Option<Handle<Srq>>,
    /// The size of its queues.
    pub(crate) cap: wire::QpCap,
    /// Bits of [`wire::access`].
    pub(crate) access: u32,
    /// Its transport service.
    pub(crate) kind: wire::QpType,
    /// Whether every work request completes with an entry, asked for or not.
    pub(crate) signal_all: bool,
    /// Bus address of the page directory of its queues.
    pub(crate) directory: DmaAddress,
    /// Number of pages, header included.
    pub(crate) total_pages: u16,
    /// Number of pages of the send queue, header not included.
    pub(crate) send_pages: u16,
}

impl Command for CreateQp {
    const OPCODE: Opcode = Opcode::CreateQp;
    type Wire = command::CreateQp;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::CreateQp {
            hdr,
            pdir_dma: self.directory,
            pd_handle: self.pd.raw(),
            send_cq_handle: self.send_cq.raw(),
            recv_cq_handle: self.recv_cq.raw(),
            srq_handle: self.srq.map_or(0, Handle::raw),
            max_send_wr: self.cap.max_send_wr,
            max_recv_wr: self.cap.max_recv_wr,
            max_send_sge: self.cap.max_send_sge,
            max_recv_sge: self.cap.max_recv_sge,
            max_inline_data: self.cap.max_inline_data,
            lkey: 0,
            access_flags: self.access,
            total_chunks: self.total_pages,
            send_chunks: self.send_pages,
            max_atomic_arg: 0,
            sq_sig_all: self.signal_all.into(),
            qp_type: self.kind.into(),
            is_srq: self.srq.is_some().into(),
            reserved: [0; 3],
        }
    }
}

impl Ask for CreateQp {
    type Reply = QpReply;

    /// The answer got longer when devices began to tell handle and number apart.
    fn reply(response: &Response, version: Version) -> Result<Self::Reply> {
        if version.has_qp_handle() {
            let reply: command::CreateQpRespV2 = read(response)?;

            Ok(QpReply {
                handle: Handle::new(reply.qp_handle),
                number: reply.qpn,
            })
        } else {
            let reply: command::CreateQpResp = read(response)?;

            Ok(QpReply {
                handle: Handle::new(reply.qpn),
                number: reply.qpn,
            })
        }
    }
}

/// Answer to [`CreateQp`].
///
/// The device also repeats the size of the queues, which it does not change.
pub(crate) struct QpReply {
    /// What commands, doorbells and completions call the queue pair.
    pub(crate) handle: Handle<Qp>,
    /// What users and other hosts call it.
    pub(crate) number: u32,
}

/// Changes a queue pair.
pub(crate) struct ModifyQp {
    /// The queue pair.
    pub(crate) handle: Handle<Qp>,
    /// Which of `attrs` are to be taken over: bits of [`wire::qp_attr`].
    pub(crate) mask: u32,
    /// The new attributes.
    pub(crate) attrs: wire::QpAttr,
}

impl Command for ModifyQp {
    const OPCODE: Opcode = Opcode::ModifyQp;
    type Wire = command::ModifyQp;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::ModifyQp {
            hdr,
            qp_handle: self.handle.raw(),
            attr_mask: self.mask,
            attrs: self.attrs,
        }
    }
}

impl Ask for ModifyQp {
    type Reply = ();

    fn reply(_: &Response, _: Version) -> Result {
        Ok(())
    }
}

/// Asks for the attributes of a queue pair.
pub(crate) struct QueryQp {
    /// The queue pair.
    pub(crate) handle: Handle<Qp>,
    /// Which attributes are asked for: bits of [`wire::qp_attr`].
    pub(crate) mask: u32,
}

impl Command for QueryQp {
    const OPCODE: Opcode = Opcode::QueryQp;
    type Wire = command::QueryQp;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::QueryQp {
            hdr,
            qp_handle: self.handle.raw(),
            attr_mask: self.mask,
        }
    }
}

impl Ask for QueryQp {
    type Reply = wire::QpAttr;

    fn reply(response: &Response, _: Version) -> Result<Self::Reply> {
        Ok(read::<command::QueryQpResp>(response)?.attrs)
    }
}

/// Destroys an object.
pub(crate) struct Destroy<K>(pub(crate) Handle<K>);

impl<K: Kind> Command for Destroy<K> {
    const OPCODE: Opcode = K::DESTROY;
    type Wire = command::Destroy;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::Destroy {
            hdr,
            handle: self.0.raw(),
            reserved: [0; 4],
        }
    }
}

impl<K: Kind> Tell for Destroy<K> {}

/// Fills an entry of the device's GID table.
pub(crate) struct CreateBind {
    /// Index of the entry.
    pub(crate) index: u32,
    /// The GID.
    pub(crate) gid: [u8; 16],
    /// A value of [`wire::gid_type`].
    pub(crate) gid_type: u8,
}

impl CreateBind {
    /// The MTU that goes with each binding, in bytes.
    const MTU: u32 = 1024;

    /// The VLAN that goes with each binding: none.
    const VLAN: u32 = 0xfff;
}

impl Command for CreateBind {
    const OPCODE: Opcode = Opcode::CreateBind;
    type Wire = command::CreateBind;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::CreateBind {
            hdr,
            mtu: Self::MTU,
            vlan: Self::VLAN,
            index: self.index,
            new_gid: self.gid,
            gid_type: self.gid_type,
            reserved: [0; 3],
        }
    }
}

impl Tell for CreateBind {}

/// Clears an entry of the device's GID table.
pub(crate) struct DestroyBind {
    /// Index of the entry.
    pub(crate) index: u32,
    /// The GID that was there.
    pub(crate) gid: [u8; 16],
}

impl Command for DestroyBind {
    const OPCODE: Opcode = Opcode::DestroyBind;
    type Wire = command::DestroyBind;

    fn wire(&self, hdr: RequestHeader) -> Self::Wire {
        command::DestroyBind {
            hdr,
            index: self.index,
            dest_gid: self.gid,
            reserved: [0; 4],
        }
    }
}

impl Tell for DestroyBind {}

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kunit_tests(vmw_pvrdma_rust_commands)]
mod tests {
    use super::*;
    use crate::wire::command::ResponseHeader;

    const HDR: RequestHeader = RequestHeader {
        response: 0,
        cmd: 0,
        reserved: 0,
    };

    /// A response whose words behind the header are 1, 2, 3 and so on.
    fn response() -> Response {
        let mut response = Response {
            header: ResponseHeader {
                response: 0,
                ack: 0,
                err: 0,
                reserved: [0; 3],
            },
            body: [0; wire::command::RESPONSE_LEN / 8 - 2],
        };

        for (number, word) in (1u32..).zip(
            response
                .as_mut_bytes()
                .get_mut(16..)
                .unwrap_or_default()
                .chunks_exact_mut(4),
        ) {
            word.copy_from_slice(&number.to_le_bytes());
        }
        response
    }

    #[test]
    fn the_number_is_the_handle_below_version_20() -> Result {
        let old = CreateQp::reply(&response(), Version::new(19)?)?;
        let new = CreateQp::reply(&response(), Version::new(20)?)?;

        assert_eq!((old.number, old.handle.raw()), (1, 1));
        assert_eq!((new.number, new.handle.raw()), (1, 2));
        Ok(())
    }

    #[test]
    fn replies_come_from_their_fields() -> Result {
        let version = Version::new(20)?;
        let mr = CreateMr::reply(&response(), version)?;
        let cq = CreateCq::reply(&response(), version)?;

        assert_eq!((mr.handle.raw(), mr.lkey, mr.rkey), (1, 2, 3));
        assert_eq!((cq.handle.raw(), cq.entries), (1, 2));
        assert_eq!(CreatePd::reply(&response(), version)?.raw(), 1);
        assert_eq!(CreateUc::reply(&response(), version)?.raw(), 1);
        assert_eq!(CreateSrq::reply(&response(), version)?.raw(), 1);
        assert_eq!(QueryPkey::reply(&response(), version)?, 1);
        assert_eq!(QueryPort::reply(&response(), version)?.gid_tbl_len, 4);
        assert_eq!(QueryQp::reply(&response(), version)?.qkey, 5);
        assert_eq!(QuerySrq::reply(&response(), version)?.srq_limit, 3);
        Ok(())
    }

    #[test]
    fn regions_say_what_they_cover() {
        let wire = |region| {
            CreateMr {
                pd: Handle::new(9),
                access: wire::access::LOCAL_WRITE,
                region,
            }
            .wire(HDR)
        };

        let dma = wire(Region::Dma);
        assert_eq!((dma.flags, dma.nchunks, dma.pdir_dma), (1, 0, 0));
        assert_eq!((dma.start, dma.length, dma.pd_handle), (0, 0, 9));

        let user = wire(Region::User {
            start: 0x1234,
            length: 0x5000,
            pages: Pages {
                directory: 0xd000,
                count: 6,
            },
        });
        assert_eq!((user.flags, user.nchunks, user.pdir_dma), (0, 6, 0xd000));
        assert_eq!((user.start, user.length), (0x1234, 0x5000));

        let fast = wire(Region::FastReg { max_pages: 128 });
        assert_eq!((fast.flags, fast.nchunks, fast.pdir_dma), (2, 128, 0));
    }

    #[test]
    fn kernel_objects_have_no_context() {
        assert_eq!(CreatePd { context: None }.wire(HDR).ctx_handle, 0);
    }
}
