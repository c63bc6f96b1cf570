// SPDX-License-Identifier: GPL-2.0

//! Flag words of the verbs.
//!
//! A flag word keeps every bit that the C side passed, also bits without a name here, so that a
//! driver can see and refuse what it does not know.
//!
//! C header: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h)

use crate::bindings;

/// Defines a flag word whose bits are constants of the bindings.
macro_rules! c_flags {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($repr:ty) {
            $( $(#[$flag_meta:meta])* $flag:ident = $value:expr, )+
        }
    ) => {
        $(#[$meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
        pub struct $name($repr);

        impl $name {
            $(
                $(#[$flag_meta])*
                // CAST: The constants are small enough for the flag word.
                pub const $flag: Self = Self($value as $repr);
            )+

            /// No flag.
            pub const NONE: Self = Self(0);

            /// Makes a flag word out of its bits.
            #[inline]
            pub const fn from_bits(bits: $repr) -> Self {
                Self(bits)
            }

            /// Returns the bits as the C side knows them.
            #[inline]
            pub const fn bits(self) -> $repr {
                self.0
            }

            /// Returns whether no flag is set.
            #[inline]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Returns whether all flags of `other` are set.
            #[inline]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns the flags that are set in either word; usable in constants.
            #[inline]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Returns the flags that are not set in `other`.
            #[inline]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }

        impl core::ops::BitOr for $name {
            type Output = Self;

            #[inline]
            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }

        impl core::ops::BitOrAssign for $name {
            #[inline]
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }
    };
}

c_flags! {
    /// Attributes of a queue pair that a call is about.
    pub struct QpAttrMask(u32) {
        /// State to move to.
        STATE = bindings::ib_qp_attr_mask_IB_QP_STATE,
        /// State that the caller believes the queue pair to be in.
        CUR_STATE = bindings::ib_qp_attr_mask_IB_QP_CUR_STATE,
        /// Wish for an event when the send queue is drained.
        EN_SQD_ASYNC_NOTIFY = bindings::ib_qp_attr_mask_IB_QP_EN_SQD_ASYNC_NOTIFY,
        /// Remote operations allowed.
        ACCESS_FLAGS = bindings::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS,
        /// Index into the P_Key table.
        PKEY_INDEX = bindings::ib_qp_attr_mask_IB_QP_PKEY_INDEX,
        /// Primary port.
        PORT = bindings::ib_qp_attr_mask_IB_QP_PORT,
        /// Q_Key.
        QKEY = bindings::ib_qp_attr_mask_IB_QP_QKEY,
        /// Primary path.
        AV = bindings::ib_qp_attr_mask_IB_QP_AV,
        /// Path MTU.
        PATH_MTU = bindings::ib_qp_attr_mask_IB_QP_PATH_MTU,
        /// Local acknowledge timeout.
        TIMEOUT = bindings::ib_qp_attr_mask_IB_QP_TIMEOUT,
        /// Retry count.
        RETRY_CNT = bindings::ib_qp_attr_mask_IB_QP_RETRY_CNT,
        /// Receiver-not-ready retry count.
        RNR_RETRY = bindings::ib_qp_attr_mask_IB_QP_RNR_RETRY,
        /// Packet sequence number expected by the receive queue.
        RQ_PSN = bindings::ib_qp_attr_mask_IB_QP_RQ_PSN,
        /// Outstanding reads and atomics as initiator.
        MAX_QP_RD_ATOMIC = bindings::ib_qp_attr_mask_IB_QP_MAX_QP_RD_ATOMIC,
        /// Alternate path.
        ALT_PATH = bindings::ib_qp_attr_mask_IB_QP_ALT_PATH,
        /// Receiver-not-ready timer sent to the peer.
        MIN_RNR_TIMER = bindings::ib_qp_attr_mask_IB_QP_MIN_RNR_TIMER,
        /// First packet sequence number of the send queue.
        SQ_PSN = bindings::ib_qp_attr_mask_IB_QP_SQ_PSN,
        /// Outstanding reads and atomics as responder.
        MAX_DEST_RD_ATOMIC = bindings::ib_qp_attr_mask_IB_QP_MAX_DEST_RD_ATOMIC,
        /// Path migration state.
        PATH_MIG_STATE = bindings::ib_qp_attr_mask_IB_QP_PATH_MIG_STATE,
        /// Capacity of the queues.
        CAP = bindings::ib_qp_attr_mask_IB_QP_CAP,
        /// Queue pair number of the peer.
        DEST_QPN = bindings::ib_qp_attr_mask_IB_QP_DEST_QPN,
        /// Packet pacing.
        RATE_LIMIT = bindings::ib_qp_attr_mask_IB_QP_RATE_LIMIT,
        /// All attributes of the InfiniBand specification; a driver refuses others unless it
        /// knows them.
        STANDARD_BITS = bindings::ib_qp_attr_mask_IB_QP_ATTR_STANDARD_BITS,
    }
}

c_flags! {
    /// Operations allowed on a memory region or through a queue pair.
    pub struct AccessFlags(u32) {
        /// The adapter may write on behalf of local work.
        LOCAL_WRITE = bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE,
        /// Peers may write.
        REMOTE_WRITE = bindings::ib_access_flags_IB_ACCESS_REMOTE_WRITE,
        /// Peers may read.
        REMOTE_READ = bindings::ib_access_flags_IB_ACCESS_REMOTE_READ,
        /// Peers may do atomic operations.
        REMOTE_ATOMIC = bindings::ib_access_flags_IB_ACCESS_REMOTE_ATOMIC,
        /// Memory windows may be bound.
        MW_BIND = bindings::ib_access_flags_IB_ACCESS_MW_BIND,
        /// Addresses start at zero.
        ZERO_BASED = bindings::ib_access_flags_IB_ZERO_BASED,
        /// Pages are made present on demand.
        ON_DEMAND = bindings::ib_access_flags_IB_ACCESS_ON_DEMAND,
        /// Memory is backed by huge pages.
        HUGETLB = bindings::ib_access_flags_IB_ACCESS_HUGETLB,
        /// PCI relaxed ordering may be used.
        RELAXED_ORDERING = bindings::ib_access_flags_IB_ACCESS_RELAXED_ORDERING,
        /// Flags that a driver may ignore.
        OPTIONAL = bindings::ib_access_flags_IB_ACCESS_OPTIONAL,
        /// All flags that user space may pass.
        SUPPORTED = bindings::ib_access_flags_IB_ACCESS_SUPPORTED,
    }
}

c_flags! {
    /// Attributes of a shared receive queue that a call is about.
    pub struct SrqAttrMask(u32) {
        /// Number of requests; changing it resizes the queue.
        MAX_WR = bindings::ib_srq_attr_mask::IB_SRQ_MAX_WR.0,
        /// Fill level at which an event is raised.
        LIMIT = bindings::ib_srq_attr_mask::IB_SRQ_LIMIT.0,
    }
}

c_flags! {
    /// Flags of a send request.
    pub struct SendFlags(u32) {
        /// Wait for earlier reads and atomics.
        FENCE = bindings::ib_send_flags_IB_SEND_FENCE,
        /// Report success in the completion queue.
        SIGNALED = bindings::ib_send_flags_IB_SEND_SIGNALED,
        /// Raise a solicited event at the peer.
        SOLICITED = bindings::ib_send_flags_IB_SEND_SOLICITED,
        /// Take the data at once; keys are not used.
        INLINE = bindings::ib_send_flags_IB_SEND_INLINE,
        /// Compute the IP checksum.
        IP_CSUM = bindings::ib_send_flags_IB_SEND_IP_CSUM,
    }
}

c_flags! {
    /// Changes of a port.
    pub struct PortModifyMask(u32) {
        /// Shut the port down.
        SHUTDOWN = bindings::ib_port_modify_flags_IB_PORT_SHUTDOWN,
        /// Set the initialisation type.
        INIT_TYPE = bindings::ib_port_modify_flags_IB_PORT_INIT_TYPE,
        /// Reset the counter of Q_Key violations.
        RESET_QKEY_CNTR = bindings::ib_port_modify_flags_IB_PORT_RESET_QKEY_CNTR,
    }
}

c_flags! {
    /// Properties of a device, as reported to consumers.
    pub struct DeviceCapFlags(u64) {
        /// Port-active events are raised.
        PORT_ACTIVE_EVENT = bindings::ib_device_cap_flags_IB_DEVICE_PORT_ACTIVE_EVENT,
        /// Receiver-not-ready NAKs are generated for reliable connections.
        RC_RNR_NAK_GEN = bindings::ib_device_cap_flags_IB_DEVICE_RC_RNR_NAK_GEN,
        /// Memory windows.
        MEM_WINDOW = bindings::ib_device_cap_flags_IB_DEVICE_MEM_WINDOW,
        /// Fast registration, local and remote invalidate.
        MEM_MGT_EXTENSIONS = bindings::ib_device_cap_flags_IB_DEVICE_MEM_MGT_EXTENSIONS,
    }
}

c_flags! {
    /// What the core may do with a port.
    pub struct PortCapFlags(u32) {
        /// RoCE v1 with MADs and connection management.
        ROCE_V1 = bindings::RDMA_CORE_PORT_IBA_ROCE,
        /// RoCE v2 with MADs and connection management.
        ROCE_V2 = bindings::RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP,
    }
}
