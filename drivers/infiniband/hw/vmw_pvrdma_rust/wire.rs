// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

//! The device and user ABI, byte for byte.
//!
//! Everything in here is plain data that is shared with the device or with user space. Structures
//! derive [`FromBytes`] and [`IntoBytes`], which refuses a structure with hidden padding: no
//! uninitialised byte can reach the other side. A value that was read is only bytes until it has
//! gone through a conversion such as the `TryFrom` of a `wire_enum!`.
//!
//! Each structure states its layout with `layout!` together with the name that the C headers use,
//! and each constant names its C counterpart. The compiler checks these statements against the
//! Rust side, `tools/testing/vmw_pvrdma/abi/check` against the C headers of the tree.

#![forbid(unsafe_code)]
// The tables below describe the complete ABI, including the parts that this driver does not use.
#![allow(dead_code)]

pub(crate) mod command;
pub(crate) mod queue;
pub(crate) mod shared;
pub(crate) mod uapi;
pub(crate) mod verbs;

pub(crate) use self::{
    queue::*,
    shared::*,
    verbs::*, //
};

/// Size in bytes of a page as the device understands it.
///
/// Kconfig restricts the driver to kernels whose pages have this size.
pub(crate) const PAGE: usize = kernel::sizes::SZ_4K;

/// Asserts the size of a structure and the offset of each of its fields.
///
/// The string is the C type, a field that has another name in C gives it after `=`. A Rust type
/// that is only the beginning of the C type says `prefix`.
macro_rules! layout {
    (
        $type:ty, $(prefix)? $c_type:literal, $size:literal,
        { $($field:ident $(= $c_field:literal)?: $offset:literal),* $(,)? }
    ) => {
        ::kernel::prelude::static_assert!(::core::mem::size_of::<$type>() == $size);
        $(::kernel::prelude::static_assert!(::core::mem::offset_of!($type, $field) == $offset);)*
    };
}
use layout;

/// Defines an enumeration of the ABI with its conversions to and from the number on the wire.
///
/// A number without a meaning becomes [`EIO`](kernel::error::code::EIO): it came from the device.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        $name:ident($repr:ident) {
            $($(#[$variant_meta:meta])* $variant:ident = $value:literal => $c_name:ident,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($repr)]
        pub(crate) enum $name {
            $(
                #[doc = concat!("`", stringify!($c_name), "`.")]
                $(#[$variant_meta])*
                $variant = $value,
            )*
        }

        impl $name {
            /// All values, in the order of the C header.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }

        impl From<$name> for $repr {
            fn from(value: $name) -> Self {
                // CAST: The enumeration has this representation.
                value as $repr
            }
        }

        impl TryFrom<$repr> for $name {
            type Error = ::kernel::error::Error;

            fn try_from(value: $repr) -> ::core::result::Result<Self, Self::Error> {
                match value {
                    $($value => Ok(Self::$variant),)*
                    _ => Err(::kernel::error::code::EIO),
                }
            }
        }
    };
}
use wire_enum;

/// Defines a module of constants, each with the name that C gives it.
macro_rules! wire_consts {
    (
        $(#[$meta:meta])*
        mod $name:ident: $type:ty {
            $($constant:ident = $value:expr => $c_name:ident,)*
        }
    ) => {
        $(#[$meta])*
        pub(crate) mod $name {
            $(
                #[doc = concat!("`", stringify!($c_name), "`.")]
                pub(crate) const $constant: $type = $value;
            )*
        }
    };
}
use wire_consts;

#[cfg(CONFIG_INFINIBAND_VMWARE_PVRDMA_RUST_KUNIT_TEST)]
#[kernel::prelude::kunit_tests(vmw_pvrdma_rust_wire)]
mod tests {
    use super::{
        command::Opcode,
        *, //
    };
    use kernel::prelude::*;

    #[test]
    fn numbers_without_a_meaning_are_errors() {
        assert_eq!(QpState::try_from(6), Ok(QpState::Err));
        assert_eq!(QpState::try_from(7), Err(EIO));
        assert_eq!(QpState::try_from(u32::MAX), Err(EIO));
        assert_eq!(Mtu::try_from(0), Err(EIO));
        assert_eq!(WcOpcode::try_from(128), Ok(WcOpcode::Recv));
        assert_eq!(WcOpcode::try_from(11), Err(EIO));
        assert_eq!(QpType::try_from(7), Err(EIO));
    }

    #[test]
    fn numbers_survive_the_way_there_and_back() {
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::try_from(u32::from(opcode)), Ok(opcode));
        }
        for &event in EventType::ALL {
            assert_eq!(EventType::try_from(u32::from(event)), Ok(event));
        }
        assert_eq!(Opcode::ALL.len(), 21);
    }

    #[test]
    fn acknowledgments() {
        assert_eq!(Opcode::QueryPort.ack(), command::ack::QUERY_PORT);
        assert_eq!(Opcode::CreateQp.ack(), command::ack::CREATE_QP);
        assert_eq!(Opcode::QuerySrq.ack(), command::ack::QUERY_SRQ);
        assert_eq!(Opcode::DestroySrq.ack(), command::ack::DESTROY_SRQ);
    }

    #[test]
    fn the_guest_introduces_itself() {
        assert_eq!(GosInfo::LINUX64.into_raw(), 0x46);
    }
}
