// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 40 bytes before the payload of a received datagram: where it came from.
//!
//! That is the header of the network layer as it was on the wire. An IPv4 header is half as long
//! and fills the second half.

use crate::abi::Gid;
use crate::limits::Roce;

/// Size of the route.
pub const SIZE: usize = 40;

/// Transport headers and checksum around a datagram's payload.
const TRANSPORT_SIZE: u32 = 12 + 8 + 4;
const UDP_HEADER_SIZE: u32 = 8;
const IPV4_HEADER_SIZE: u32 = 20;

const NEXT_HEADER_IBA: u8 = 0x1b;
const NEXT_HEADER_UDP: u8 = 17;

/// A path, as the sender's address vector and address table give it.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The sender.
    pub sgid: Gid,
    /// The receiver.
    pub dgid: Gid,
    /// Service level, traffic class and flow label in one word.
    pub sl_tclass_flowlabel: u32,
    /// Hop limit.
    pub hop_limit: u8,
}

/// Whether RoCE v2 uses IPv4 on this path.
pub fn is_ipv4(path: &Path) -> bool {
    path.sgid.ipv4().is_some() && path.dgid.ipv4().is_some()
}

/// The header for a payload of `len` bytes.
pub fn build(roce: Roce, path: &Path, len: u32) -> [u8; SIZE] {
    let payload = len.next_multiple_of(4) + TRANSPORT_SIZE;
    match (roce, path.sgid.ipv4(), path.dgid.ipv4()) {
        (Roce::V2, Some(source), Some(target)) => ipv4(path, source, target, payload),
        (Roce::V2, ..) => ipv6(path, payload + UDP_HEADER_SIZE, NEXT_HEADER_UDP),
        (Roce::V1, ..) => ipv6(path, payload, NEXT_HEADER_IBA),
    }
}

fn ipv6(path: &Path, payload: u32, next_header: u8) -> [u8; SIZE] {
    let mut header = [0; SIZE];
    let tclass_flowlabel = path.sl_tclass_flowlabel & 0x0fff_ffff;
    header[..4].copy_from_slice(&((6 << 28) | tclass_flowlabel).to_be_bytes());
    // A datagram is shorter than an MTU.
    header[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
    header[6] = next_header;
    header[7] = path.hop_limit;
    header[8..24].copy_from_slice(&path.sgid.0);
    header[24..40].copy_from_slice(&path.dgid.0);
    header
}

fn ipv4(path: &Path, source: [u8; 4], target: [u8; 4], payload: u32) -> [u8; SIZE] {
    const DONT_FRAGMENT: u16 = 0x4000;

    let mut header = [0; SIZE];
    let ip = &mut header[SIZE - IPV4_HEADER_SIZE as usize..];
    ip[0] = 0x45;
    ip[1] = (path.sl_tclass_flowlabel >> 20) as u8;
    let length = IPV4_HEADER_SIZE + UDP_HEADER_SIZE + payload;
    // A datagram is shorter than an MTU.
    ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    ip[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    ip[8] = path.hop_limit;
    ip[9] = NEXT_HEADER_UDP;
    ip[12..16].copy_from_slice(&source);
    ip[16..20].copy_from_slice(&target);
    let checksum = !ones_complement_sum(ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let sum: u32 =
        bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    // The sum of ten words leaves one carry at most after folding.
    ((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(last: u8) -> Gid {
        let mut gid = Gid::default();
        gid.0[10..].copy_from_slice(&[0xff, 0xff, 192, 168, 0, last]);
        gid
    }

    #[test]
    fn ipv4_header_is_valid_and_at_the_end() {
        let path = Path {
            sgid: mapped(1),
            dgid: mapped(2),
            sl_tclass_flowlabel: 0x1230_0005,
            hop_limit: 64,
        };
        assert!(is_ipv4(&path));
        let header = build(Roce::V2, &path, 5);
        assert_eq!(header[..20], [0; 20]);
        let ip = &header[20..];
        assert_eq!(ip[..2], [0x45, 0x23]);
        assert_eq!(u16::from_be_bytes([ip[2], ip[3]]), 20 + 8 + 24 + 8);
        assert_eq!(ip[8..10], [64, 17]);
        assert_eq!(ip[12..], [192, 168, 0, 1, 192, 168, 0, 2]);
        assert_eq!(ones_complement_sum(ip), 0xffff);
    }

    #[test]
    fn other_addresses_give_the_long_header() {
        let link_local = Gid([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0x50, 0x56, 0xff, 0xfe, 1, 2, 3]);
        let path = Path {
            sgid: link_local,
            dgid: mapped(2),
            sl_tclass_flowlabel: 0xf210_0007,
            hop_limit: 1,
        };
        for (roce, payload, next) in [(Roce::V2, 40, 17), (Roce::V1, 32, 0x1b)] {
            let header = build(roce, &path, 8);
            assert_eq!(header[..4], [0x62, 0x10, 0, 7]);
            assert_eq!(header[4..8], [0, payload, next, 1]);
            assert_eq!(header[8..24], link_local.0);
            assert_eq!(header[24..40], mapped(2).0);
        }
    }
}
