// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device's binary interface: what drivers and user libraries write and read.
//!
//! Every structure is a plain little-endian record without hidden padding; sizes and offsets are
//! asserted at compile time. Field names are those of the kernel's ABI headers, so that a trace
//! can be read next to them. Reserved fields are left out of traces.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub mod attrs;
pub mod commands;
pub mod cqe;
pub mod shared;
pub mod wqe;

/// Size of a page, of a page table and of every DMA chunk.
pub const PAGE_SIZE: usize = 4096;

/// First version with RoCE v2 addresses.
pub const VERSION_ROCE_V2: u32 = 18;
/// First version with 64-bit page frame numbers.
pub const VERSION_PFN64: u32 = 19;
/// First version where the handle of a queue pair differs from its number.
pub const VERSION_QP_HANDLE: u32 = 20;

/// Number of interrupt vectors.
pub const VECTORS: usize = 3;

/// Access flags of memory regions and queue pairs.
pub mod access {
    /// The adapter may write to the region on behalf of its owner.
    pub const LOCAL_WRITE: u32 = 1 << 0;
    /// Peers may write.
    pub const REMOTE_WRITE: u32 = 1 << 1;
    /// Peers may read.
    pub const REMOTE_READ: u32 = 1 << 2;
    /// Peers may run atomic operations.
    pub const REMOTE_ATOMIC: u32 = 1 << 3;
    /// Memory windows may be bound to the region. There are none, so it means nothing here.
    pub const MW_BIND: u32 = 1 << 4;
    /// Everything this adapter implements or need not implement.
    pub const SUPPORTED: u32 = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC | MW_BIND;
    /// Hints which a device is free to ignore.
    pub const OPTIONAL: u32 = 0x3ff0_0000;
}

/// A port address: 16 bytes, in RoCE an IPv6 or an IPv4-mapped address.
#[derive(Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The IPv4 address in an IPv4-mapped address.
    pub fn ipv4(&self) -> Option<[u8; 4]> {
        std::net::Ipv6Addr::from(self.0).to_ipv4_mapped().map(|address| address.octets())
    }

    /// True for the all-zero address.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::Ipv6Addr::from(self.0).fmt(f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Gid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::net::Ipv6Addr::deserialize(deserializer).map(|address| Self(address.octets()))
    }
}

/// An Ethernet address.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// True for the all-zero address, which no station has.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [a, b, c, d, e, f] = self.0;
        serializer.collect_str(&format_args!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"))
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes: Option<Vec<u8>> =
            text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| D::Error::custom(format_args!("'{text}' is no Ethernet address")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gid_knows_ipv4() {
        let mut gid = Gid::default();
        assert_eq!(gid.ipv4(), None);
        gid.0[10] = 0xff;
        gid.0[11] = 0xff;
        gid.0[12..].copy_from_slice(&[10, 0, 0, 1]);
        assert_eq!(gid.ipv4(), Some([10, 0, 0, 1]));
        assert_eq!(serde_json::to_string(&gid).unwrap(), "\"::ffff:10.0.0.1\"");
        assert_eq!(serde_json::from_str::<Gid>("\"::ffff:10.0.0.1\"").unwrap(), gid);
    }

    #[test]
    fn mac_is_written_with_colons() {
        let mac = Mac([0, 0x50, 0x56, 1, 2, 0xff]);
        assert_eq!(serde_json::to_string(&mac).unwrap(), "\"00:50:56:01:02:ff\"");
        assert_eq!(serde_json::from_str::<Mac>("\"00:50:56:01:02:ff\"").unwrap(), mac);
        assert!(serde_json::from_str::<Mac>("\"00:50:56:01:02\"").is_err());
    }
}
