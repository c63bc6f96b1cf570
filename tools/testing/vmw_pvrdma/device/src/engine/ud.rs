// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Datagrams: a message to any queue pair that has the right key, or to nobody.

use zerocopy::IntoBytes;

use super::{completion, receive, Progress};
use crate::abi::cqe::{flags, network, Status};
use crate::abi::wqe::{AddressVector, SendBody, SendOpcode, UdBody};
use crate::abi::Gid;
use crate::fabric::World;
use crate::grh::{self, Path};
use crate::limits::{mtu_bytes, Roce, ACTIVE_MTU};
use crate::memory::{copy, Extent};
use crate::objects::port::PORT;
use crate::objects::qp::MASK_24;
use crate::qp_state::QpType;
use crate::request::total_length;
use crate::schedule::QpRef;

/// A Q_Key with this bit stands for that of the queue pair.
const QKEY_OF_QP: u32 = 1 << 31;

/// A datagram on its way.
struct Datagram {
    body: UdBody,
    qkey: u32,
    sgid: Gid,
    /// Number of the sender.
    qpn: u32,
    imm: Option<u32>,
    solicited: bool,
    len: u32,
    local: Vec<Extent>,
}

/// Executes the request under way, in one step.
pub(super) fn execute(world: &mut World, from: QpRef) -> Progress {
    let datagram = match prepare(world, from) {
        Ok(datagram) => datagram,
        Err(status) => return Progress::Done(status),
    };
    if let Some(to) = find_receiver(world, from, &datagram) {
        deliver(world, from, to, &datagram);
    }
    if let Some(qp) = world.qp_mut(from) {
        qp.attr.sq_psn = (qp.attr.sq_psn + 1) & MASK_24;
    }
    Progress::Done(Status::Success)
}

fn prepare(world: &World, from: QpRef) -> Result<Datagram, Status> {
    let adapter = &world.adapters[from.adapter];
    let qp = world.qp(from).ok_or(Status::Flushed)?;
    let request = qp.request.as_ref().ok_or(Status::Flushed)?;
    let sges = request.sges.as_deref().ok_or(Status::LocalOperation)?;
    let SendBody::Ud(body) = request.body else {
        return Err(Status::LocalOperation);
    };
    let AddressVector { port_pd, gid_index, dmac, .. } = body.av;
    if port_pd != (u32::from(PORT) << 24) | qp.pd || dmac.is_zero() {
        return Err(Status::LocalOperation);
    }
    let sgid = adapter.objects.gids.get(gid_index).ok_or(Status::LocalOperation)?;
    let len = u32::try_from(total_length(sges))
        .ok()
        .filter(|len| *len <= mtu_bytes(ACTIVE_MTU))
        .ok_or(Status::LocalLength)?;
    Ok(Datagram {
        body,
        qkey: match body.remote_qkey & QKEY_OF_QP {
            0 => body.remote_qkey,
            _ => qp.attr.qkey,
        },
        sgid,
        qpn: qp.qpn,
        imm: (request.opcode == Some(SendOpcode::SendWithImm)).then_some(request.ex),
        solicited: request.is_solicited(),
        len,
        local: receive::resolve(adapter, qp.pd, sges, 0)?,
    })
}

/// The queue pair that the datagram is for, if it takes it.
fn find_receiver(world: &mut World, from: QpRef, datagram: &Datagram) -> Option<QpRef> {
    let dgid = datagram.body.av.dgid;
    let index = super::rc::reachable(world, from.adapter)
        .find(|index| world.adapters[*index].objects.gids.contains(dgid))?;
    let adapter = &mut world.adapters[index];
    let handle = adapter.qp_by_number(datagram.body.remote_qpn)?;
    let peer = adapter.objects.qps.get(handle)?;
    if peer.kind == QpType::Rc || !peer.state.receives() {
        return None;
    }
    if peer.attr.qkey != datagram.qkey {
        adapter.qkey_violations = adapter.qkey_violations.saturating_add(1);
        return None;
    }
    Some(adapter.qp_ref(handle))
}

/// Hands the datagram to a queue pair. Without a receive request it is lost.
fn deliver(world: &mut World, from: QpRef, to: QpRef, datagram: &Datagram) {
    match receive::claim(&mut world.adapters[to.adapter], to.handle) {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => {
            log::info!("QP {}: receive queue: {error}", to.handle);
            return super::fatal(world, to);
        }
    }
    let Some(peer) = world.qp_mut(to) else {
        return;
    };
    let Some(wqe) = peer.recv.take() else {
        return;
    };
    let (cq, pd) = (peer.recv_cq, peer.pd);
    let adapter = &world.adapters[to.adapter];
    let grh_len = grh::SIZE as u64;
    let total = grh_len + u64::from(datagram.len);
    let places = receive::scatter(adapter, pd, &wqe, (0, grh_len, total)).and_then(|head| {
        let payload = (grh_len, datagram.len.into(), total);
        Ok((head, receive::scatter(adapter, pd, &wqe, payload)?))
    });
    let (head, payload) = match places {
        Ok(places) => places,
        Err(status) => {
            let cqe = completion::of_recv(to.handle, &wqe, status);
            completion::write(world, to, cq, cqe, true);
            return super::error(world, to);
        }
    };

    let AddressVector { dgid, sl_tclass_flowlabel, hop_limit, .. } = datagram.body.av;
    let path = Path { sgid: datagram.sgid, dgid, sl_tclass_flowlabel, hop_limit };
    let roce = adapter.config.roce();
    let source = &world.adapters[from.adapter].memory;
    let written = adapter
        .memory
        .write_extents(&head, grh::build(roce, &path, datagram.len).as_bytes())
        .and_then(|()| copy((source, &datagram.local), (&adapter.memory, &payload)));
    if written.is_err() {
        // Both sides were looked up in this step.
        return super::fatal(world, to);
    }

    let mut cqe = completion::of_recv(to.handle, &wqe, Status::Success);
    // At most an MTU and a GRH.
    cqe.byte_len = total as u32;
    cqe.src_qp = datagram.qpn;
    cqe.sl = (sl_tclass_flowlabel >> 28) as u8;
    cqe.wc_flags = flags::GRH | flags::WITH_NETWORK_HDR_TYPE;
    cqe.network_hdr_type = match (roce, grh::is_ipv4(&path)) {
        (Roce::V1, _) => network::ROCE_V1,
        (Roce::V2, true) => network::IPV4,
        (Roce::V2, false) => network::IPV6,
    };
    if let Some(imm) = datagram.imm {
        cqe.imm_data = imm;
        cqe.wc_flags |= flags::WITH_IMM;
    }
    if !completion::write(world, to, cq, cqe, datagram.solicited) {
        super::fatal(world, to);
    }
}
