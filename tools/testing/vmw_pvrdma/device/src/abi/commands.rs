// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands and answers: one record for each, and the header they share.

use std::mem::{offset_of, size_of};

use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::attrs::{PortAttr, QpAttr, SrqAttr};
use super::Gid;
use crate::patch::{patched, Patch, PatchError};

/// Head of a command.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CommandHeader {
    /// Given back in the answer.
    pub response: u64,
    /// The command's number.
    pub cmd: u32,
    /// Not used.
    pub reserved: u32,
}
const _: () = assert!(size_of::<CommandHeader>() == HEADER_SIZE);

/// Head of an answer.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ResponseHeader {
    /// From the command.
    pub response: u64,
    /// The command's number with [`RESPONSE`] added.
    pub ack: u32,
    /// 0, or an errno.
    pub err: u8,
    /// Not used.
    pub reserved: [u8; 3],
}
const _: () = assert!(size_of::<ResponseHeader>() == HEADER_SIZE);

/// Size of both heads.
pub const HEADER_SIZE: usize = 16;
/// Where the acknowledgment is in an answer.
pub const ACK_OFFSET: usize = offset_of!(ResponseHeader, ack);
/// Marks the number of an answer.
pub const RESPONSE: u32 = 1 << 31;
/// Size of the largest command.
pub const MAX_COMMAND_SIZE: usize = 184;

/// Defines a record whose size, head included, is that of the ABI.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident: $size:literal { $($(#[$fmeta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, FromBytes, IntoBytes,
            Immutable, KnownLayout,
        )]
        #[repr(C)]
        #[allow(missing_docs)]
        pub struct $name { $($(#[$fmeta])* pub $field: $type,)* }
        const _: () = assert!(HEADER_SIZE + size_of::<$name>() == $size);
    };
}

record!(
    /// Ask for the state of the port.
    QueryPort: 24 { port_num: u8, #[serde(skip)] reserved: [u8; 7], }
);
record!(
    /// State of the port.
    QueryPortResp: 64 { attrs: PortAttr, }
);
record!(
    /// Ask for a partition key.
    QueryPkey: 24 { port_num: u8, index: u8, #[serde(skip)] reserved: [u8; 6], }
);
record!(
    /// A partition key.
    QueryPkeyResp: 24 { pkey: u16, #[serde(skip)] reserved: [u8; 6], }
);
record!(
    /// Create a user context on a doorbell page. The upper half of the frame number is undefined
    /// before 64-bit numbers.
    CreateUc: 24 { pfn: u64, }
);
record!(
    /// A user context.
    CreateUcResp: 24 { ctx_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Destroy a user context.
    DestroyUc: 24 { ctx_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Create a protection domain.
    CreatePd: 24 { ctx_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// A protection domain.
    CreatePdResp: 24 { pd_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Destroy a protection domain.
    DestroyPd: 24 { pd_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Register memory.
    CreateMr: 56 {
        start: u64, length: u64, pdir_dma: u64, pd_handle: u32, access_flags: u32, flags: u32,
        nchunks: u32,
    }
);
record!(
    /// A memory region.
    CreateMrResp: 32 {
        mr_handle: u32, lkey: u32, rkey: u32, #[serde(skip)] reserved: [u8; 4],
    }
);
record!(
    /// Deregister memory.
    DestroyMr: 24 { mr_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Create a completion queue.
    CreateCq: 40 {
        pdir_dma: u64, ctx_handle: u32, cqe: u32, nchunks: u32, #[serde(skip)] reserved: [u8; 4],
    }
);
record!(
    /// A completion queue.
    CreateCqResp: 24 { cq_handle: u32, cqe: u32, }
);
record!(
    /// Resize a completion queue.
    ResizeCq: 24 { cq_handle: u32, cqe: u32, }
);
record!(
    /// Destroy a completion queue.
    DestroyCq: 24 { cq_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Create a shared receive queue.
    CreateSrq: 56 {
        pdir_dma: u64, pd_handle: u32, nchunks: u32, attrs: SrqAttr, srq_type: u8,
        #[serde(skip)] reserved: [u8; 7],
    }
);
record!(
    /// A shared receive queue.
    CreateSrqResp: 24 { srqn: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Modify a shared receive queue.
    ModifySrq: 40 { srq_handle: u32, attr_mask: u32, attrs: SrqAttr, }
);
record!(
    /// Ask for the attributes of a shared receive queue.
    QuerySrq: 24 { srq_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Attributes of a shared receive queue.
    QuerySrqResp: 32 { attrs: SrqAttr, }
);
record!(
    /// Destroy a shared receive queue.
    DestroySrq: 24 { srq_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Create a queue pair.
    CreateQp: 80 {
        pdir_dma: u64, pd_handle: u32, send_cq_handle: u32, recv_cq_handle: u32, srq_handle: u32,
        max_send_wr: u32, max_recv_wr: u32, max_send_sge: u32, max_recv_sge: u32,
        max_inline_data: u32, lkey: u32, access_flags: u32, total_chunks: u16, send_chunks: u16,
        max_atomic_arg: u16, sq_sig_all: u8, qp_type: u8, is_srq: u8,
        #[serde(skip)] reserved: [u8; 3],
    }
);
record!(
    /// A queue pair, before handle and number became two things.
    CreateQpResp: 40 {
        qpn: u32, max_send_wr: u32, max_recv_wr: u32, max_send_sge: u32, max_recv_sge: u32,
        max_inline_data: u32,
    }
);

/// A queue pair with a handle of its own. The kernel's record ends in four bytes of alignment,
/// which are spelled out here.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Serialize,
    Deserialize,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[repr(C)]
#[allow(missing_docs)]
pub struct CreateQpRespV2 {
    pub qpn: u32,
    pub qp_handle: u32,
    pub max_send_wr: u32,
    pub max_recv_wr: u32,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_inline_data: u32,
    #[serde(skip)]
    pub pad: u32,
}
const _: () = assert!(HEADER_SIZE + size_of::<CreateQpRespV2>() == 48);

record!(
    /// Modify a queue pair.
    ModifyQp: 184 { qp_handle: u32, attr_mask: u32, attrs: QpAttr, }
);
record!(
    /// Ask for the attributes of a queue pair.
    QueryQp: 24 { qp_handle: u32, attr_mask: u32, }
);
record!(
    /// Attributes of a queue pair.
    QueryQpResp: 176 { attrs: QpAttr, }
);
record!(
    /// Destroy a queue pair.
    DestroyQp: 24 { qp_handle: u32, #[serde(skip)] reserved: [u8; 4], }
);
record!(
    /// Bind an address to an index of the address table.
    CreateBind: 48 {
        mtu: u32, vlan: u32, index: u32, new_gid: Gid, gid_type: u8,
        #[serde(skip)] reserved: [u8; 3],
    }
);
record!(
    /// Remove an address from the address table.
    DestroyBind: 40 { index: u32, dest_gid: Gid, #[serde(skip)] reserved: [u8; 4], }
);

/// Defines the command enum: number, name in the ABI, whether the driver waits for an answer.
macro_rules! commands {
    ($($variant:ident = $number:literal, $name:literal, $answered:literal;)*) => {
        /// A decoded command.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        #[allow(missing_docs)]
        pub enum Command { $($variant($variant),)* }

        impl Command {
            /// The names of all commands in the ABI.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// Decodes the command with number `cmd` from the bytes after the head.
            pub fn decode(cmd: u32, body: &[u8]) -> Option<Self> {
                match cmd {
                    $($number => {
                        $variant::read_from_prefix(body).ok().map(|(body, _)| Self::$variant(body))
                    })*
                    _ => None,
                }
            }

            /// The command's name in the ABI.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// Whether the driver waits for an answer and its interrupt. For the other commands
            /// it only reads the error register, and an interrupt would end its next wait.
            pub fn is_answered(&self) -> bool {
                match self { $(Self::$variant(_) => $answered,)* }
            }

            /// Size of the command with its head.
            pub fn size(&self) -> usize {
                match self { $(Self::$variant(_) => HEADER_SIZE + size_of::<$variant>(),)* }
            }
        }
    };
}

commands! {
    QueryPort = 0, "QUERY_PORT", true;
    QueryPkey = 1, "QUERY_PKEY", true;
    CreatePd = 2, "CREATE_PD", true;
    DestroyPd = 3, "DESTROY_PD", false;
    CreateMr = 4, "CREATE_MR", true;
    DestroyMr = 5, "DESTROY_MR", false;
    CreateCq = 6, "CREATE_CQ", true;
    ResizeCq = 7, "RESIZE_CQ", true;
    DestroyCq = 8, "DESTROY_CQ", false;
    CreateQp = 9, "CREATE_QP", true;
    ModifyQp = 10, "MODIFY_QP", true;
    QueryQp = 11, "QUERY_QP", true;
    DestroyQp = 12, "DESTROY_QP", false;
    CreateUc = 13, "CREATE_UC", true;
    DestroyUc = 14, "DESTROY_UC", false;
    CreateBind = 15, "CREATE_BIND", false;
    DestroyBind = 16, "DESTROY_BIND", false;
    CreateSrq = 17, "CREATE_SRQ", true;
    ModifySrq = 18, "MODIFY_SRQ", false;
    QuerySrq = 19, "QUERY_SRQ", true;
    DestroySrq = 20, "DESTROY_SRQ", false;
}

/// Defines the body of an answer: variant, record, and the command whose newest answer it is.
macro_rules! responses {
    ($($variant:ident = $record:ident $(, $command:literal)?;)*) => {
        /// The body of an answer.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        #[allow(missing_docs)]
        pub enum Response {
            /// Only the head.
            Empty {},
            $($variant($record),)*
        }

        impl Response {
            /// The bytes after the head.
            pub fn as_bytes(&self) -> &[u8] {
                match self {
                    Self::Empty {} => &[],
                    $(Self::$variant(body) => body.as_bytes(),)*
                }
            }

            /// An answer to the command with this name, in the newest form.
            pub fn sample(command: &str) -> Self {
                match command {
                    $($($command => Self::$variant($record::default()),)?)*
                    _ => Self::Empty {},
                }
            }

            /// A copy with some fields changed.
            pub fn patched(&self, patch: &Patch) -> Result<Self, PatchError> {
                match self {
                    Self::Empty {} => match patch.keys().next() {
                        Some(name) => Err(PatchError::NoField(name.clone())),
                        None => Ok(*self),
                    },
                    $(Self::$variant(body) => patched(body, patch).map(Self::$variant),)*
                }
            }
        }
    };
}

responses! {
    QueryPort = QueryPortResp, "QUERY_PORT";
    QueryPkey = QueryPkeyResp, "QUERY_PKEY";
    CreateUc = CreateUcResp, "CREATE_UC";
    CreatePd = CreatePdResp, "CREATE_PD";
    CreateMr = CreateMrResp, "CREATE_MR";
    CreateCq = CreateCqResp, "CREATE_CQ";
    CreateSrq = CreateSrqResp, "CREATE_SRQ";
    QuerySrq = QuerySrqResp, "QUERY_SRQ";
    CreateQpV2 = CreateQpRespV2, "CREATE_QP";
    CreateQp = CreateQpResp;
    QueryQp = QueryQpResp, "QUERY_QP";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_decodes_and_no_other() {
        let body = [0; MAX_COMMAND_SIZE - HEADER_SIZE];
        for cmd in 0..21 {
            assert!(Command::decode(cmd, &body).is_some(), "command {cmd}");
        }
        assert!(Command::decode(21, &body).is_none());
        assert!(Command::decode(RESPONSE, &body).is_none());
    }

    #[test]
    fn fields_are_where_the_header_puts_them() {
        let mut body = [0; MAX_COMMAND_SIZE - HEADER_SIZE];
        body[0] = 7;
        body[4] = 0x21;
        body[8] = 3;
        let Some(Command::ModifyQp(modify)) = Command::decode(10, &body) else {
            panic!("not a MODIFY_QP");
        };
        assert_eq!((modify.qp_handle, modify.attr_mask, modify.attrs.qp_state), (7, 0x21, 3));
    }
}
