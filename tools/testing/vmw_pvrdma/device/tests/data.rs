// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Data between queue pairs, through the socket.

mod guest;

use guest::{address, signaled, Cq, Guest, Machines, Mr, Qp, RING_SEND, STATION};
use pvrdma_device::abi::attrs::{qp_mask as mask, QpAttr};
use pvrdma_device::abi::commands::{DestroyMr, ModifySrq};
use pvrdma_device::abi::wqe::{
    AddressVector, AtomicBody, FastRegBody, RdmaBody, SendHeader, Sge, UdBody,
};
use pvrdma_device::abi::{access, Gid};
use pvrdma_device::limits::{Config, MAX_VERSION};

const RC: u8 = 2;
const UD: u8 = 4;

const WRITE: u32 = 0;
const WRITE_IMM: u32 = 1;
const SEND: u32 = 2;
const SEND_IMM: u32 = 3;
const READ: u32 = 4;
const CMP_SWP: u32 = 5;
const FETCH_ADD: u32 = 6;
const SEND_INV: u32 = 8;
const LOCAL_INV: u32 = 10;
const FAST_REG: u32 = 11;

const SUCCESS: u32 = 0;
const LOC_LEN: u32 = 1;
const LOC_OP: u32 = 2;
const LOC_PROT: u32 = 4;
const FLUSHED: u32 = 5;
const REM_INV_REQ: u32 = 9;
const REM_ACCESS: u32 = 10;
const REM_OP: u32 = 11;
const RETRY_EXC: u32 = 12;
const RNR_EXC: u32 = 13;

const WC_RECV: u32 = 128;
const WC_RECV_IMM: u32 = 129;

const ERR: u32 = 6;
const NONE: [u8; 0] = [];

fn machines(count: u32) -> Machines {
    Machines::start(count, Config::new(MAX_VERSION, None).unwrap())
}

/// Two connected queue pairs of one machine with a completion queue each, and memory.
struct Pair {
    guest: Guest,
    pd: u32,
    a: Qp,
    b: Qp,
    a_cq: Cq,
    b_cq: Cq,
    from: Mr,
    to: Mr,
}

const SIZE: u64 = 512 * 1024;

impl Pair {
    fn new(machines: &Machines) -> Self {
        let mut guest = machines.boot(0);
        let pd = guest.create_pd(0);
        let (a_cq, b_cq) = (guest.create_cq(32), guest.create_cq(32));
        let (a, b) = (guest.create_qp(pd, &a_cq, RC), guest.create_qp(pd, &b_cq, RC));
        guest.connect_qp(&a, address(1), b.qpn);
        guest.connect_qp(&b, address(1), a.qpn);
        let (from, to) = (guest.create_open_mr(pd, SIZE), guest.create_open_mr(pd, SIZE));
        Self { guest, pd, a, b, a_cq, b_cq, from, to }
    }

    /// Posts a request on `a` and returns its end.
    fn run<T: zerocopy::IntoBytes + zerocopy::Immutable>(
        &mut self,
        header: SendHeader,
        body: &T,
        sges: &[Sge],
    ) -> u32 {
        let a = self.a.clone();
        self.guest.post_send(&a, header, body, sges);
        let cqe = self.guest.wait(&self.a_cq);
        assert_eq!(cqe.wr_id, header.wr_id);
        assert_eq!(cqe.qp, u64::from(a.handle));
        cqe.status
    }

    fn rdma(&self, offset: u64) -> RdmaBody {
        RdmaBody { remote_addr: self.to.addr + offset, rkey: self.to.key, reserved: 0 }
    }

    fn states(&mut self) -> (u32, u32) {
        let (a, b) = (self.a.clone(), self.b.clone());
        (self.guest.query(&a).qp_state, self.guest.query(&b).qp_state)
    }
}

#[test]
fn messages_of_all_sizes_arrive() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    for (seed, size) in (1..).zip([0, 1, 1023, 1024, 1025, 4096, 65_536, 65_537, 300_001]) {
        let data = pair.guest.fill(&pair.from, size, seed);
        let half = size as u32 / 3;
        let lists = (
            [pair.to.sge(0, half + 5), pair.to.sge(u64::from(half) + 5, size as u32)],
            [pair.from.sge(0, half), pair.from.sge(half.into(), size as u32 - half)],
        );
        let b = pair.b.clone();
        pair.guest.post_recv(&b, 70, &lists.0);
        let header = SendHeader { ex: 0x0102_0304, ..signaled(7, SEND_IMM) };
        assert_eq!(pair.run(header, &NONE, &lists.1), SUCCESS);
        let cqe = pair.guest.wait(&pair.b_cq);
        assert_eq!((cqe.wr_id, cqe.status, cqe.opcode), (70, SUCCESS, WC_RECV));
        assert_eq!((cqe.byte_len, cqe.imm_data, cqe.wc_flags), (size as u32, 0x0102_0304, 2));
        assert_eq!((cqe.qp, cqe.src_qp), (b.handle.into(), pair.a.qpn));
        assert_eq!(pair.guest.bytes(&pair.to, size), data, "{size} bytes");
    }
}

#[test]
fn writes_and_reads() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let data = pair.guest.fill(&pair.from, 200_000, 3);
    let body = pair.rdma(0);
    let all = [pair.from.sge(0, 200_000)];
    assert_eq!(pair.run(signaled(1, WRITE), &body, &all), SUCCESS);
    assert_eq!(pair.guest.bytes(&pair.to, 200_000), data);

    let data = pair.guest.fill(&pair.to, 150_000, 4);
    assert_eq!(pair.run(signaled(2, READ), &body, &[pair.from.sge(0, 150_000)]), SUCCESS);
    assert_eq!(pair.guest.bytes(&pair.from, 150_000), data);

    let b = pair.b.clone();
    pair.guest.post_recv(&b, 30, &[]);
    let header = SendHeader { ex: 9, ..signaled(3, WRITE_IMM) };
    assert_eq!(pair.run(header, &body, &[pair.from.sge(0, 10)]), SUCCESS);
    let cqe = pair.guest.wait(&pair.b_cq);
    assert_eq!((cqe.opcode, cqe.byte_len, cqe.imm_data), (WC_RECV_IMM, 10, 9));
    assert_eq!(pair.states(), (3, 3));
    assert_eq!(pair.guest.poll_event(), None);
}

#[test]
fn only_what_asks_for_it_reports_success() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let a = pair.a.clone();
    let body = pair.rdma(0);
    let quiet = SendHeader { wr_id: 1, opcode: WRITE, ..Default::default() };
    pair.guest.write_send(&a, quiet, &body, &[pair.from.sge(0, 1)]);
    assert_eq!(pair.run(signaled(2, WRITE), &body, &[pair.from.sge(0, 1)]), SUCCESS);
    assert!(pair.guest.poll(&pair.a_cq).is_none());
}

/// Each request fails, with the status of both ends and the event at the peer.
#[test]
fn wrong_requests_fail_on_both_sides() {
    struct Case {
        what: &'static str,
        header: SendHeader,
        body: fn(&Pair) -> RdmaBody,
        sges: fn(&Pair) -> Vec<Sge>,
        recv: Option<fn(&Pair) -> Vec<Sge>>,
        status: u32,
        recv_status: Option<u32>,
        peer: u32,
        event: Option<u32>,
    }
    fn right(pair: &Pair) -> RdmaBody {
        pair.rdma(0)
    }
    fn source(pair: &Pair) -> Vec<Sge> {
        vec![pair.from.sge(0, 100)]
    }
    const LOCAL: Case = Case {
        what: "",
        header: SendHeader {
            wr_id: 5,
            opcode: WRITE,
            num_sge: 0,
            total_len: 0,
            send_flags: 0,
            ex: 0,
            reserved: 0,
        },
        body: right,
        sges: source,
        recv: None,
        status: LOC_PROT,
        recv_status: None,
        peer: 3,
        event: None,
    };
    const fn send(opcode: u32) -> SendHeader {
        SendHeader { opcode, ..LOCAL.header }
    }
    const REMOTE: Case = Case { status: REM_ACCESS, peer: ERR, event: Some(3), ..LOCAL };
    let cases = [
        Case {
            what: "no such key",
            sges: |pair| vec![Sge { lkey: pair.from.key ^ 1, ..pair.from.sge(0, 1) }],
            ..LOCAL
        },
        Case { what: "beyond the region", sges: |pair| vec![pair.from.sge(SIZE - 1, 2)], ..LOCAL },
        Case {
            what: "before the region",
            sges: |pair| vec![Sge { addr: pair.from.addr - 1, ..pair.from.sge(0, 2) }],
            ..LOCAL
        },
        Case {
            what: "second element is wrong",
            sges: |pair| vec![pair.from.sge(0, 8), pair.from.sge(SIZE, 1)],
            ..LOCAL
        },
        Case { what: "unknown operation", header: send(12), status: LOC_OP, ..LOCAL },
        Case {
            what: "inline",
            header: SendHeader { send_flags: 8, ..LOCAL.header },
            status: LOC_OP,
            ..LOCAL
        },
        Case {
            what: "too many elements",
            header: SendHeader { num_sge: 3, ..LOCAL.header },
            status: LOC_OP,
            ..LOCAL
        },
        Case {
            what: "too long",
            sges: |pair| vec![Sge { length: u32::MAX, ..pair.from.sge(0, 1) }],
            status: LOC_LEN,
            ..LOCAL
        },
        Case {
            what: "no such remote key",
            body: |pair| RdmaBody { rkey: pair.to.key ^ 1, ..pair.rdma(0) },
            ..REMOTE
        },
        Case { what: "beyond the remote region", body: |pair| pair.rdma(SIZE - 99), ..REMOTE },
        Case {
            what: "read beyond the remote region",
            header: send(READ),
            body: |pair| pair.rdma(SIZE - 99),
            ..REMOTE
        },
        Case {
            what: "remote address wraps",
            body: |pair| RdmaBody { remote_addr: u64::MAX - 5, ..pair.rdma(0) },
            ..REMOTE
        },
        Case {
            what: "receive buffer is short",
            header: send(SEND),
            recv: Some(|pair| vec![pair.to.sge(0, 99)]),
            status: REM_INV_REQ,
            recv_status: Some(LOC_LEN),
            event: None,
            ..REMOTE
        },
        Case {
            what: "receive buffer has a wrong key",
            header: send(SEND),
            recv: Some(|pair| vec![Sge { lkey: 0, ..pair.to.sge(0, 100) }]),
            status: REM_OP,
            recv_status: Some(LOC_PROT),
            event: None,
            ..REMOTE
        },
        Case {
            what: "invalidates what cannot be",
            header: SendHeader { ex: 0, ..send(SEND_INV) },
            recv: Some(|pair| vec![pair.to.sge(0, 100)]),
            recv_status: Some(FLUSHED),
            ..REMOTE
        },
        Case { what: "local invalidation", header: send(LOCAL_INV), ..LOCAL },
    ];
    let machines = machines(1);
    for case in cases {
        let mut pair = Pair::new(&machines);
        let (body, sges) = ((case.body)(&pair), (case.sges)(&pair));
        let b = pair.b.clone();
        if let Some(recv) = case.recv {
            let recv = recv(&pair);
            pair.guest.post_recv(&b, 50, &recv);
        }
        assert_eq!(pair.run(case.header, &body, &sges), case.status, "{}", case.what);
        assert_eq!(pair.states(), (ERR, case.peer), "{}", case.what);
        if let Some(status) = case.recv_status {
            let cqe = pair.guest.wait(&pair.b_cq);
            assert_eq!((cqe.wr_id, cqe.status), (50, status), "{}", case.what);
        }
        let event = pair.guest.poll_event();
        assert_eq!(event, case.event.map(|kind| [kind, b.handle]), "{}", case.what);
        pair.guest.disconnect();
    }
}

#[test]
fn rights_are_those_of_region_and_queue_pair() {
    let machines = machines(1);
    let rights = [
        (WRITE, access::REMOTE_WRITE),
        (READ, access::REMOTE_READ),
        (FETCH_ADD, access::REMOTE_ATOMIC),
        (CMP_SWP, access::REMOTE_ATOMIC),
    ];
    for (opcode, right) in rights {
        for (region, queue_pair, status) in [
            (access::SUPPORTED, access::SUPPORTED, SUCCESS),
            (right | access::LOCAL_WRITE, right, SUCCESS),
            (access::SUPPORTED & !right, access::SUPPORTED, REM_ACCESS),
            (access::SUPPORTED, access::SUPPORTED & !right, REM_ACCESS),
        ] {
            let mut pair = Pair::new(&machines);
            let mr = pair.guest.create_mr(pair.pd, 4096, region);
            let b = pair.b.clone();
            let attrs = QpAttr { qp_access_flags: queue_pair, ..Default::default() };
            pair.guest.modify(&b, mask::ACCESS_FLAGS, attrs).unwrap();
            let list = [pair.from.sge(0, 8)];
            let what = format!("operation {opcode} on {region:x} through {queue_pair:x}");
            let ended = if right == access::REMOTE_ATOMIC {
                let body = AtomicBody { remote_addr: mr.addr, rkey: mr.key, ..Default::default() };
                pair.run(signaled(1, opcode), &body, &list)
            } else {
                let body = RdmaBody { remote_addr: mr.addr, rkey: mr.key, reserved: 0 };
                pair.run(signaled(1, opcode), &body, &list)
            };
            assert_eq!(ended, status, "{what}");
            pair.guest.disconnect();
        }
    }
}

#[test]
fn local_memory_must_be_writable_for_answers() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let mr = pair.guest.create_mr(pair.pd, 4096, 0);
    let body = pair.rdma(0);
    assert_eq!(pair.run(signaled(1, WRITE), &body, &[mr.sge(0, 8)]), SUCCESS);
    assert_eq!(pair.run(signaled(2, READ), &body, &[mr.sge(0, 8)]), LOC_PROT);
}

#[test]
fn domains_are_separate() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let other = pair.guest.create_pd(0);
    let mr = pair.guest.create_open_mr(other, 4096);
    let body = RdmaBody { remote_addr: mr.addr, rkey: mr.key, reserved: 0 };
    assert_eq!(pair.run(signaled(1, WRITE), &body, &[pair.from.sge(0, 8)]), REM_ACCESS);
}

#[test]
fn destroyed_region_is_gone() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let destroy = DestroyMr { mr_handle: pair.to.handle, ..Default::default() };
    pair.guest.silent(5, &destroy).unwrap();
    let body = pair.rdma(0);
    assert_eq!(pair.run(signaled(1, WRITE), &body, &[pair.from.sge(0, 8)]), REM_ACCESS);
}

#[test]
fn atomic_operations() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let list = [pair.from.sge(0, 8)];
    let word = |pair: &Pair, mr: &Mr| pair.guest.memory.read_record::<u64>(mr.addr).unwrap();
    pair.guest.memory.write_record(pair.to.addr, &100_u64).unwrap();
    let body = |compare_add, swap, offset| AtomicBody {
        remote_addr: pair.to.addr + offset,
        compare_add,
        swap,
        rkey: pair.to.key,
        reserved: 0,
    };
    let bodies = [body(5, 0, 0), body(105, 7, 0), body(0, 8, 0), body(1, 0, 4)];
    for (opcode, body, old, new) in
        [(FETCH_ADD, bodies[0], 100, 105), (CMP_SWP, bodies[1], 105, 7), (CMP_SWP, bodies[2], 7, 7)]
    {
        assert_eq!(pair.run(signaled(1, opcode), &body, &list), SUCCESS);
        assert_eq!((word(&pair, &pair.from), word(&pair, &pair.to)), (old, new));
    }
    assert_eq!(pair.run(signaled(2, FETCH_ADD), &bodies[3], &list), REM_INV_REQ);
    assert_eq!(pair.guest.wait_event(), [2, pair.b.handle]);
}

#[test]
fn atomic_operations_take_eight_bytes() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let body = AtomicBody { remote_addr: pair.to.addr, rkey: pair.to.key, ..Default::default() };
    assert_eq!(pair.run(signaled(2, FETCH_ADD), &body, &[pair.from.sge(0, 4)]), LOC_LEN);
}

#[test]
fn fast_registration() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (mr, pdir) = pair.guest.create_fast_mr(pair.pd, 2);
    let data = pair.guest.fill(&pair.from, 5000, 8);
    let iova = 0x7000_0100_u64;
    let key = mr.key ^ 0x55;
    let register = FastRegBody {
        iova_start: iova,
        pl_pdir_dma: pdir,
        page_shift: 12,
        page_list_len: 2,
        length: 5000,
        access_flags: access::LOCAL_WRITE | access::REMOTE_WRITE,
        rkey: key,
        reserved: 0,
    };
    assert_eq!(pair.run(signaled(1, FAST_REG), &register, &[]), SUCCESS);
    let body = RdmaBody { remote_addr: iova, rkey: key, reserved: 0 };
    let list = [pair.from.sge(0, 5000)];
    assert_eq!(pair.run(signaled(2, WRITE), &body, &list), SUCCESS);
    let mut bytes = vec![0; 5000];
    pair.guest.memory.read(mr.addr + 0x100, &mut bytes).unwrap();
    assert_eq!(bytes, data);

    // The peer's send takes the key away.
    let (a, b) = (pair.a.clone(), pair.b.clone());
    pair.guest.post_recv(&a, 9, &[pair.to.sge(0, 16)]);
    let header = SendHeader { ex: key, ..signaled(3, SEND_INV) };
    pair.guest.post_send(&b, header, &NONE, &[pair.from.sge(0, 16)]);
    assert_eq!(pair.guest.wait(&pair.b_cq).status, SUCCESS);
    let cqe = pair.guest.wait(&pair.a_cq);
    assert_eq!((cqe.wr_id, cqe.imm_data, cqe.wc_flags), (9, key, 4));

    // So it can be given again, and taken away here.
    assert_eq!(pair.run(signaled(4, FAST_REG), &register, &[]), SUCCESS);
    let header = SendHeader { ex: key, ..signaled(5, LOCAL_INV) };
    assert_eq!(pair.run(header, &NONE, &[]), SUCCESS);
    assert_eq!(pair.run(signaled(6, WRITE), &body, &list), REM_ACCESS);
}

#[test]
fn fast_registration_beyond_its_pages_fails() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (mr, pdir) = pair.guest.create_fast_mr(pair.pd, 1);
    let register = FastRegBody {
        iova_start: 0x100,
        pl_pdir_dma: pdir,
        page_shift: 12,
        page_list_len: 1,
        length: 4096,
        rkey: mr.key,
        ..Default::default()
    };
    assert_eq!(pair.run(signaled(1, FAST_REG), &register, &[]), LOC_PROT);
}

#[test]
fn error_flushes_what_is_posted() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (a, b) = (pair.a.clone(), pair.b.clone());
    for wr_id in 10..13 {
        pair.guest.post_recv(&a, wr_id, &[pair.to.sge(0, 1)]);
    }
    let mut wrong = pair.rdma(0);
    wrong.rkey = 0;
    let right = pair.rdma(0);
    let list = [pair.from.sge(0, 8)];
    pair.guest.write_send(&a, signaled(1, WRITE), &wrong, &list);
    pair.guest.write_send(&a, signaled(2, WRITE), &right, &list);
    let quiet = SendHeader { wr_id: 3, opcode: READ, ..Default::default() };
    pair.guest.post_send(&a, quiet, &right, &list);
    assert_eq!(pair.guest.wait_brief(&pair.a_cq), (1, REM_ACCESS, 1, 8));
    assert_eq!(pair.guest.wait_brief(&pair.a_cq), (2, FLUSHED, 1, 8));
    assert_eq!(pair.guest.wait_brief(&pair.a_cq), (3, FLUSHED, 2, 8));
    for wr_id in 10..13 {
        assert_eq!(pair.guest.wait_brief(&pair.a_cq), (wr_id, FLUSHED, WC_RECV, 0));
    }
    // What comes later is flushed too.
    pair.guest.post_recv(&a, 13, &[]);
    assert_eq!(pair.guest.wait_brief(&pair.a_cq), (13, FLUSHED, WC_RECV, 0));
    assert_eq!(pair.run(signaled(4, SEND), &NONE, &[]), FLUSHED);
    assert_eq!(pair.guest.wait_event(), [3, b.handle]);
}

#[test]
fn reset_starts_over() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (a, b) = (pair.a.clone(), pair.b.clone());
    for qp in [&a, &b] {
        pair.guest.set_state(qp, ERR).unwrap();
        pair.guest.set_state(qp, 0).unwrap();
    }
    pair.guest.connect_qp(&a, address(1), b.qpn);
    pair.guest.connect_qp(&b, address(1), a.qpn);
    let body = pair.rdma(0);
    assert_eq!(pair.run(signaled(1, WRITE), &body, &[pair.from.sge(0, 8)]), SUCCESS);
}

#[test]
fn receiver_that_is_not_ready_is_asked_again() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    assert_eq!(pair.run(signaled(1, SEND), &NONE, &[pair.from.sge(0, 8)]), RNR_EXC);
    assert_eq!(pair.states(), (ERR, 3));

    // For ever, if it says so.
    let mut pair = {
        pair.guest.disconnect();
        Pair::new(&machines)
    };
    let (a, b) = (pair.a.clone(), pair.b.clone());
    pair.guest.set_state(&a, 0).unwrap();
    pair.guest.enter_init(&a);
    pair.guest.enter_rtr(&a, address(1), b.qpn);
    let attrs =
        QpAttr { qp_state: 3, sq_psn: 0xff_fffe, timeout: 3, rnr_retry: 7, ..Default::default() };
    let bits = mask::STATE
        | mask::SQ_PSN
        | mask::TIMEOUT
        | mask::RETRY_CNT
        | mask::RNR_RETRY
        | mask::MAX_QP_RD_ATOMIC;
    pair.guest.modify(&a, bits, attrs).unwrap();
    pair.guest.post_send(&a, signaled(2, SEND), &NONE, &[pair.from.sge(0, 8)]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(pair.guest.poll(&pair.a_cq).is_none());
    pair.guest.post_recv(&b, 20, &[pair.to.sge(0, 8)]);
    assert_eq!(pair.guest.wait(&pair.a_cq).status, SUCCESS);
    assert_eq!(pair.guest.wait(&pair.b_cq).wr_id, 20);
}

#[test]
fn peer_that_does_not_answer_is_given_up() {
    let machines = machines(1);
    for peer_state in [0, ERR] {
        let mut pair = Pair::new(&machines);
        let b = pair.b.clone();
        pair.guest.set_state(&b, peer_state).unwrap();
        let body = pair.rdma(0);
        assert_eq!(pair.run(signaled(1, WRITE), &body, &[pair.from.sge(0, 8)]), RETRY_EXC);
        pair.guest.disconnect();
    }
}

#[test]
fn packet_numbers_must_fit() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (a, b) = (pair.a.clone(), pair.b.clone());
    let body = pair.rdma(0);
    assert_eq!(pair.run(signaled(1, WRITE), &body, &[pair.from.sge(0, 3000)]), SUCCESS);
    // Three packets of 1024 bytes, modulo 2^24.
    assert_eq!((pair.guest.query(&a).sq_psn, pair.guest.query(&b).rq_psn), (1, 1));
    pair.guest.set_state(&a, 0).unwrap();
    pair.guest.connect_qp(&a, address(1), b.qpn);
    assert_eq!(pair.run(signaled(2, WRITE), &body, &[pair.from.sge(0, 8)]), RETRY_EXC);
}

#[test]
fn notifications() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (b, list) = (pair.b.clone(), [pair.from.sge(0, 8)]);
    let send = |pair: &mut Pair, flags: u32| {
        pair.guest.post_recv(&b, 1, &[pair.to.sge(0, 8)]);
        let header = SendHeader { send_flags: 2 | flags, ..signaled(1, SEND) };
        assert_eq!(pair.run(header, &NONE, &list), SUCCESS);
        pair.guest.wait(&pair.b_cq);
        (pair.guest.poll_notification(), pair.guest.interrupts(2))
    };
    let b_cq = pair.b_cq.handle;
    assert_eq!(send(&mut pair, 0), (None, 0), "not armed");
    pair.guest.arm(&pair.b_cq, false);
    assert_eq!(send(&mut pair, 0), (Some(b_cq), 1));
    assert_eq!(send(&mut pair, 4), (None, 0), "once only");
    pair.guest.arm(&pair.b_cq, true);
    assert_eq!(send(&mut pair, 0), (None, 0), "not solicited");
    assert_eq!(send(&mut pair, 4), (Some(b_cq), 1));
    pair.guest.arm(&pair.b_cq, false);
    pair.guest.arm(&pair.b_cq, true);
    assert_eq!(send(&mut pair, 0), (Some(b_cq), 1), "the stronger wish stays");
    // An error is always solicited.
    pair.guest.arm(&pair.b_cq, true);
    pair.guest.post_recv(&b, 2, &[]);
    pair.guest.set_state(&b, ERR).unwrap();
    assert_eq!(pair.guest.wait_notification(), b_cq);
}

#[test]
fn notification_ring_goes_round() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let body = pair.rdma(0);
    // The masks make 1024 entries of it, and 2048 indices.
    for round in 0..2100_u64 {
        let a_cq = pair.a_cq.handle;
        pair.guest.arm(&pair.a_cq, false);
        assert_eq!(pair.run(signaled(round, WRITE), &body, &[]), SUCCESS);
        assert_eq!(pair.guest.wait_notification(), a_cq);
    }
}

#[test]
fn doorbells_of_others_are_ignored() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let context = pair.guest.create_uc(1).unwrap();
    assert_eq!(context, 1);
    let (a, body) = (pair.a.clone(), pair.rdma(0));
    pair.guest.write_send(&a, signaled(1, WRITE), &body, &[]);
    pair.guest.doorbell(1, 0, RING_SEND | a.handle);
    pair.guest.doorbell(0, 0, RING_SEND | 999);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(pair.guest.poll(&pair.a_cq).is_none());
    pair.guest.ring_send(&a);
    assert_eq!(pair.guest.wait(&pair.a_cq).status, SUCCESS);
}

#[test]
fn overrun_completion_queue_ends_its_queue_pairs() {
    let machines = machines(1);
    let mut guest = machines.boot(0);
    let pd = guest.create_pd(0);
    let cq = guest.create_cq(2);
    let qp = guest.create_qp(pd, &cq, RC);
    guest.connect_qp(&qp, address(1), qp.qpn);
    let mr = guest.create_open_mr(pd, 4096);
    let body = RdmaBody { remote_addr: mr.addr, rkey: mr.key, reserved: 0 };
    for wr_id in 0..3 {
        guest.write_send(&qp, signaled(wr_id, WRITE), &body, &[]);
    }
    guest.ring_send(&qp);
    assert_eq!(guest.wait_event(), [0, cq.handle]);
    assert_eq!(guest.wait_event(), [1, qp.handle]);
    assert_eq!(guest.query(&qp).qp_state, ERR);
    assert_eq!((guest.wait(&cq).wr_id, guest.wait(&cq).wr_id), (0, 1));
    assert!(guest.poll(&cq).is_none());
}

#[test]
fn broken_ring_index_ends_the_queue_pair() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let a = pair.a.clone();
    pair.guest.corrupt_send_tail(&a, 0x1234_5678);
    pair.guest.ring_send(&a);
    assert_eq!(pair.guest.wait_event(), [1, a.handle]);
    assert_eq!(pair.states(), (ERR, 3));
}

#[test]
fn established_connections_are_told() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (b, body) = (pair.b.clone(), pair.rdma(0));
    pair.guest.set_state(&b, 0).unwrap();
    pair.guest.enter_init(&b);
    let dest = pair.a.qpn;
    pair.guest.enter_rtr(&b, address(1), dest);
    for wr_id in 1..3 {
        assert_eq!(pair.run(signaled(wr_id, WRITE), &body, &[]), SUCCESS);
    }
    assert_eq!(pair.guest.wait_event(), [4, b.handle]);
    assert_eq!(pair.guest.poll_event(), None, "once");
}

#[test]
fn send_queue_stops_when_asked() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let (a, body) = (pair.a.clone(), pair.rdma(0));
    let attrs = QpAttr { qp_state: 4, en_sqd_async_notify: 1, ..Default::default() };
    pair.guest.modify(&a, mask::STATE | mask::EN_SQD_ASYNC_NOTIFY, attrs).unwrap();
    assert_eq!(pair.guest.wait_event(), [5, a.handle]);
    pair.guest.post_send(&a, signaled(1, WRITE), &body, &[]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(pair.guest.poll(&pair.a_cq).is_none());
    pair.guest.set_state(&a, 3).unwrap();
    assert_eq!(pair.guest.wait(&pair.a_cq).wr_id, 1);
}

#[test]
fn shared_receive_queue_serves_its_queue_pairs() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let srq = pair.guest.create_srq(pair.pd, 8);
    let b = pair.guest.create_qp_on_srq(pair.pd, &pair.b_cq, RC, &srq);
    let a = pair.a.clone();
    pair.guest.set_state(&a, 0).unwrap();
    pair.guest.connect_qp(&a, address(1), b.qpn);
    pair.guest.connect_qp(&b, address(1), a.qpn);
    for wr_id in 0..4 {
        pair.guest.post_srq_recv(&srq, wr_id, &[pair.to.sge(0, 8)]);
    }
    let limit = ModifySrq {
        srq_handle: srq.handle,
        attr_mask: 2,
        attrs: pvrdma_device::abi::attrs::SrqAttr { srq_limit: 3, ..Default::default() },
    };
    pair.guest.silent(18, &limit).unwrap();
    for wr_id in 0..3 {
        assert_eq!(pair.guest.poll_event(), (wr_id == 2).then_some([15, srq.handle]));
        assert_eq!(pair.run(signaled(9, SEND), &NONE, &[pair.from.sge(0, 8)]), SUCCESS);
        assert_eq!(pair.guest.wait(&pair.b_cq).wr_id, wr_id);
    }
    assert_eq!(pair.guest.poll_event(), None, "a limit warns once");
    pair.guest.set_state(&b, ERR).unwrap();
    assert_eq!(pair.guest.wait_event(), [16, b.handle]);
    assert!(pair.guest.poll(&pair.b_cq).is_none(), "the queue keeps its entries");
}

/// Datagrams of one queue pair to another: what the address, key and size do.
#[test]
fn datagrams() {
    let machines = machines(1);
    let mut guest = machines.boot(0);
    let pd = guest.create_pd(0);
    let (a_cq, b_cq) = (guest.create_cq(8), guest.create_cq(8));
    let (a, b) = (guest.create_qp(pd, &a_cq, UD), guest.create_qp(pd, &b_cq, UD));
    guest.ready_datagrams(&a, 0x77);
    guest.ready_datagrams(&b, 0x55);
    let (from, to) = (guest.create_open_mr(pd, 4096), guest.create_open_mr(pd, 4096));
    let data = guest.fill(&from, 100, 1);
    let body = |remote_qpn, remote_qkey, dgid: Gid| UdBody {
        remote_qpn,
        remote_qkey,
        av: AddressVector {
            port_pd: (1 << 24) | pd,
            dgid,
            hop_limit: 9,
            dmac: STATION,
            ..Default::default()
        },
    };
    let list = [from.sge(0, 100)];

    guest.post_recv(&b, 1, &[to.sge(0, 30), to.sge(30, 1000)]);
    for (what, lost) in [
        ("wrong key", body(b.qpn, 0x56, address(1))),
        ("the sender's key", body(b.qpn, 0x8000_0000, address(1))),
        ("no such queue pair", body(b.qpn + 1, 0x55, address(1))),
        ("no such address", body(b.qpn, 0x55, address(2))),
    ] {
        guest.post_send(&a, signaled(1, SEND), &lost, &list);
        assert_eq!(guest.wait(&a_cq).status, SUCCESS, "{what}");
        assert!(guest.poll(&b_cq).is_none(), "{what}");
    }

    let right = body(b.qpn, 0x55, address(1));
    let header = SendHeader { ex: 3, ..signaled(2, SEND_IMM) };
    guest.post_send(&a, header, &right, &list);
    assert_eq!(guest.wait(&a_cq).status, SUCCESS);
    let cqe = guest.wait(&b_cq);
    assert_eq!((cqe.wr_id, cqe.status, cqe.byte_len), (1, SUCCESS, 140));
    assert_eq!((cqe.src_qp, cqe.wc_flags, cqe.imm_data), (a.qpn, 1 | 2 | 64, 3));
    assert_eq!(cqe.network_hdr_type, 1, "IPv4");
    let bytes = guest.bytes(&to, 140);
    assert_eq!(bytes[..20], [0; 20]);
    assert_eq!(bytes[20..22], [0x45, 0]);
    assert_eq!(bytes[32..40], [10, 0, 0, 1, 10, 0, 0, 1]);
    assert_eq!(bytes[40..], data);

    // Without a receive request it is lost; nobody waits.
    guest.post_send(&a, signaled(3, SEND), &right, &list);
    assert_eq!(guest.wait(&a_cq).status, SUCCESS);

    // A buffer that is too short ends the receiver.
    guest.post_recv(&b, 2, &[to.sge(0, 139)]);
    guest.post_send(&a, signaled(4, SEND), &right, &list);
    assert_eq!(guest.wait_brief(&b_cq), (2, LOC_LEN, WC_RECV, 0));
    assert_eq!(guest.query(&b).qp_state, ERR);
    assert_eq!(guest.wait(&a_cq).status, SUCCESS);

    // What does not fit into a packet stops the send queue only.
    guest.post_send(&a, signaled(5, SEND), &right, &[from.sge(0, 1025)]);
    assert_eq!(guest.wait(&a_cq).status, LOC_LEN);
    assert_eq!(guest.query(&a).qp_state, 5);
    guest.post_send(&a, signaled(6, SEND), &right, &list);
    assert_eq!(guest.wait(&a_cq).status, FLUSHED);
    guest.set_state(&a, 3).unwrap();
    guest.post_send(&a, signaled(7, SEND), &right, &list);
    assert_eq!(guest.wait(&a_cq).status, SUCCESS);
    for (wr_id, av) in (8..).zip([
        AddressVector { port_pd: pd, ..right.av },
        AddressVector { port_pd: right.av.port_pd + 1, ..right.av },
        AddressVector { gid_index: 1, ..right.av },
        AddressVector { dmac: Default::default(), ..right.av },
    ]) {
        guest.post_send(&a, signaled(wr_id, SEND), &UdBody { av, ..right }, &list);
        assert_eq!(guest.wait(&a_cq).status, LOC_OP, "{av:?}");
        guest.set_state(&a, 3).unwrap();
    }
}

#[test]
fn two_machines_talk() {
    let machines = machines(2);
    let (mut one, mut two) = (machines.boot(0), machines.boot(1));
    let (pd, pd_two) = (one.create_pd(0), two.create_pd(0));
    let (cq, cq_two) = (one.create_cq(8), two.create_cq(8));
    let (qp, qp_two) = (one.create_qp(pd, &cq, RC), two.create_qp(pd_two, &cq_two, RC));
    assert_eq!(qp.qpn, qp_two.qpn, "the address tells them apart");
    one.connect_qp(&qp, address(2), qp_two.qpn);
    two.connect_qp(&qp_two, address(1), qp.qpn);
    let (mr, mr_two) = (one.create_open_mr(pd, 8192), two.create_open_mr(pd_two, 8192));
    let data = one.fill(&mr, 5000, 6);
    two.post_recv(&qp_two, 2, &[mr_two.sge(0, 8192)]);
    one.post_send(&qp, signaled(1, SEND), &NONE, &[mr.sge(0, 5000)]);
    assert_eq!(one.wait(&cq).status, SUCCESS);
    assert_eq!(two.wait_brief(&cq_two), (2, SUCCESS, WC_RECV, 5000));
    assert_eq!(two.bytes(&mr_two, 5000), data);

    // When the other machine is gone nobody answers.
    two.disconnect();
    guest::patiently(|| machines.fabric.with(1, |adapter, _| adapter.is_idle().then_some(())));
    let body = RdmaBody { remote_addr: mr_two.addr, rkey: mr_two.key, reserved: 0 };
    one.post_send(&qp, signaled(3, WRITE), &body, &[mr.sge(0, 8)]);
    assert_eq!(one.wait(&cq).status, RETRY_EXC);
}

#[test]
fn memory_that_is_taken_away_is_not_used() {
    let machines = machines(1);
    let mut pair = Pair::new(&machines);
    let body = pair.rdma(0);
    // The queue itself is in that memory.
    pair.guest.unmap();
    let a = pair.a.clone();
    pair.guest.write_send(&a, signaled(1, WRITE), &body, &[]);
    pair.guest.ring_send(&a);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(pair.guest.poll(&pair.a_cq).is_none());
}
