// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A small driver: what the tests drive the adapter with, over a socket as QEMU does.

#![allow(missing_docs, unreachable_pub)]
#![allow(dead_code)] // Each test program uses a part.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pvrdma_device::abi::attrs::{qp_mask as mask, AhAttr, GlobalRoute, QpAttr, SrqAttr, AH_GRH};
use pvrdma_device::abi::commands::*;
use pvrdma_device::abi::cqe::Cqe;
use pvrdma_device::abi::shared::{DeviceCaps, RingPages, SharedRegion, CAPS_OFFSET};
use pvrdma_device::abi::wqe::{
    recv_stride, send_flags, send_stride, RecvHeader, SendHeader, Sge, SEND_BODY_SIZE,
    SEND_SGE_OFFSET,
};
use pvrdma_device::abi::{access, Gid, Mac, PAGE_SIZE};
use pvrdma_device::fabric::Fabric;
use pvrdma_device::limits::{Config, Roce};
use pvrdma_device::memory::Memory;
use pvrdma_device::ring;
use pvrdma_device::trace::Trace;
use pvrdma_device::vfio::{self, Backend};
use vfio_user::Client;
use vmm_sys_util::eventfd::{EventFd, EFD_NONBLOCK};
use zerocopy::{FromBytes, Immutable, IntoBytes};

const MEMORY: u64 = 0x10_0000;
const MEMORY_SIZE: u64 = 8 << 20;
const UAR_PFN: u64 = 0xfe000;
const PAGE: u64 = PAGE_SIZE as u64;

const BAR1: u32 = 1;
const BAR2: u32 = 2;
const MSIX: u32 = 2;

/// Registers.
pub const VERSION: u64 = 0x00;
pub const DSRLOW: u64 = 0x04;
pub const DSRHIGH: u64 = 0x08;
pub const CTL: u64 = 0x0c;
pub const REQUEST: u64 = 0x10;
pub const ERR: u64 = 0x14;
pub const IMR: u64 = 0x1c;

/// Bits of doorbells.
pub const RING_SEND: u32 = 1 << 30;
const RING_RECV: u32 = 1 << 31;
const RING_SRQ: u32 = 1 << 30;
const ARM: u32 = 1 << 30;
const ARM_SOLICITED: u32 = 1 << 29;

/// Some Ethernet address.
pub const STATION: Mac = Mac([0x00, 0x50, 0x56, 0x12, 0x34, 0x56]);

/// Longest time that anything takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The fabric with its sockets.
pub struct Machines {
    directory: tempfile::TempDir,
    pub fabric: Arc<Fabric>,
    config: Config,
}

impl Machines {
    pub fn start(count: u32, config: Config) -> Self {
        Self::start_traced(count, config, &Trace::default())
    }

    pub fn start_traced(count: u32, config: Config, trace: &Trace) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fabric = Fabric::start(count, config, trace).unwrap();
        for adapter in 0..count {
            let server =
                vfio::server(&socket(directory.path(), adapter), config.vectors()).unwrap();
            let mut backend = Backend::new(Arc::clone(&fabric), adapter, trace);
            thread::spawn(move || backend.serve(&server));
        }
        Self { directory, fabric, config }
    }

    /// A machine without a driver.
    pub fn connect(&self, adapter: u32) -> Guest {
        Guest::new(&socket(self.directory.path(), adapter), self.config.roce())
    }

    /// A machine with a driver and an address.
    pub fn boot(&self, adapter: u32) -> Guest {
        let mut guest = self.connect(adapter);
        guest.bring_up();
        guest.bind(0, address(adapter as u8 + 1));
        guest
    }
}

fn socket(directory: &Path, adapter: u32) -> PathBuf {
    directory.join(format!("{adapter}.sock"))
}

/// An IPv4-mapped address.
pub fn address(last: u8) -> Gid {
    let mut gid = Gid::default();
    gid.0[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, last]);
    gid
}

/// One machine.
pub struct Guest {
    client: Client,
    pub memory: Memory,
    free: u64,
    vectors: Vec<EventFd>,
    slots: (u64, u64),
    events: (u64, u32),
    notifications: (u64, u32),
    roce: Roce,
}

/// A completion queue.
pub struct Cq {
    pub handle: u32,
    base: u64,
    size: u32,
}

/// A queue pair.
#[derive(Clone)]
pub struct Qp {
    pub handle: u32,
    pub qpn: u32,
    base: u64,
    recv_base: u64,
    send_wr: u32,
    recv_wr: u32,
}

/// A shared receive queue.
pub struct Srq {
    pub handle: u32,
    base: u64,
    size: u32,
}

/// Memory with a key.
#[derive(Clone, Copy)]
pub struct Mr {
    pub handle: u32,
    pub addr: u64,
    pub key: u32,
}

impl Mr {
    pub fn sge(&self, offset: u64, length: u32) -> Sge {
        Sge { addr: self.addr + offset, length, lkey: self.key }
    }
}

pub const MAX_SGE: u32 = 2;

impl Guest {
    fn new(socket: &Path, roce: Roce) -> Self {
        let deadline = Instant::now() + PATIENCE;
        let mut client = loop {
            match Client::new(socket) {
                Ok(client) => break client,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        let file: File = tempfile::tempfile().unwrap();
        file.set_len(MEMORY_SIZE).unwrap();
        client.dma_map(0, MEMORY, MEMORY_SIZE, file.as_raw_fd()).unwrap();
        let mut memory = Memory::default();
        memory.map(MEMORY, MEMORY_SIZE, file, 0).unwrap();
        let vectors: Vec<_> = (0..3).map(|_| EventFd::new(EFD_NONBLOCK).unwrap()).collect();
        for (index, vector) in (0..).zip(&vectors) {
            client.set_irqs(MSIX, 0x24, index, 1, &[vector.as_raw_fd()]).unwrap();
        }
        let free = MEMORY;
        let (slots, events, notifications) = ((0, 0), (0, 0), (0, 0));
        Self { client, memory, free, vectors, slots, events, notifications, roce }
    }

    pub fn read_reg(&mut self, offset: u64) -> u32 {
        let mut data = [0; 4];
        self.client.region_read(BAR1, offset, &mut data).unwrap();
        u32::from_le_bytes(data)
    }

    pub fn write_reg(&mut self, offset: u64, value: u32) {
        self.client.region_write(BAR1, offset, &value.to_le_bytes()).unwrap();
    }

    pub fn doorbell(&mut self, page: u64, offset: u64, word: u32) {
        self.client.region_write(BAR2, page * PAGE + offset, &word.to_le_bytes()).unwrap();
    }

    /// Fresh pages, zeroed.
    pub fn pages(&mut self, count: u64) -> u64 {
        let base = self.free;
        self.free += count * PAGE;
        assert!(self.free <= MEMORY + MEMORY_SIZE, "test guest is out of memory");
        base
    }

    /// A directory of `count` fresh pages that are contiguous. Returns it and the first page.
    fn directory(&mut self, count: u64) -> (u64, u64) {
        let base = self.pages(count);
        let directory = self.pages(2);
        self.memory.write_record(directory, &(directory + PAGE)).unwrap();
        for index in 0..count {
            let entry = directory + PAGE + index * 8;
            self.memory.write_record(entry, &(base + index * PAGE)).unwrap();
        }
        (directory, base)
    }

    /// Writes a shared region and returns its address.
    pub fn shared_region(&mut self) -> u64 {
        let dsr = self.pages(1);
        self.slots = (self.pages(1), self.pages(1));
        let (events_dir, events) = self.directory(4);
        let (notifications_dir, notifications) = self.directory(4);
        self.events = (events, 3 * 4096 / 8);
        self.notifications = (notifications, 3 * 4096 / 4);
        let ring = |pdir_dma| RingPages { num_pages: 4, reserved: 0, pdir_dma };
        let region = SharedRegion {
            driver_version: 20,
            cmd_slot_dma: self.slots.0,
            resp_slot_dma: self.slots.1,
            async_ring_pages: ring(events_dir),
            cq_ring_pages: ring(notifications_dir),
            uar_pfn: UAR_PFN,
            ..Default::default()
        };
        self.memory.write_record(dsr, &region).unwrap();
        dsr
    }

    pub fn set_dsr(&mut self, dsr: u64) {
        self.write_reg(DSRLOW, dsr as u32);
        self.write_reg(DSRHIGH, (dsr >> 32) as u32);
    }

    /// What a driver's probe does.
    pub fn bring_up(&mut self) -> DeviceCaps {
        let dsr = self.shared_region();
        self.set_dsr(dsr);
        let caps = self.memory.read_record(dsr + CAPS_OFFSET).unwrap();
        self.write_reg(IMR, 0);
        self.write_reg(CTL, 0);
        assert_eq!(self.read_reg(ERR), 0);
        caps
    }

    /// Number of interrupts of a vector since it was last asked.
    pub fn interrupts(&self, vector: usize) -> u64 {
        self.vectors[vector].read().unwrap_or(0)
    }

    /// Posts a command. `Err` is the error register.
    pub fn post<T: IntoBytes + Immutable>(&mut self, cmd: u32, body: &T) -> Result<(), u32> {
        let header = CommandHeader { response: 0x1234, cmd, reserved: 0 };
        let bytes = [header.as_bytes(), body.as_bytes()].concat();
        self.memory.write(self.slots.0, &[0; MAX_COMMAND_SIZE]).unwrap();
        self.memory.write(self.slots.0, &bytes).unwrap();
        self.write_reg(REQUEST, 0);
        match self.read_reg(ERR) {
            0 => Ok(()),
            error => Err(error),
        }
    }

    /// Makes the answer slot look as if nothing had been answered yet.
    pub fn clear_answer(&self) {
        self.memory.write_record(self.slots.1, &ResponseHeader::default()).unwrap();
    }

    /// The head of what is in the answer slot.
    pub fn answer_header(&self) -> ResponseHeader {
        self.memory.read_record(self.slots.1).unwrap()
    }

    /// Posts a command and takes its answer. `Err` is the error register or the error byte.
    pub fn command<T, R>(&mut self, cmd: u32, body: &T) -> Result<R, u32>
    where
        T: IntoBytes + Immutable,
        R: FromBytes + IntoBytes,
    {
        self.post(cmd, body)?;
        assert_eq!(self.interrupts(0), 1, "an answer has one interrupt");
        let header: ResponseHeader = self.memory.read_record(self.slots.1).unwrap();
        assert_eq!((header.response, header.ack), (0x1234, RESPONSE | cmd));
        match header.err {
            0 => Ok(self.memory.read_record(self.slots.1 + HEADER_SIZE as u64).unwrap()),
            err => Err(err.into()),
        }
    }

    /// Posts a command that has no answer.
    pub fn silent<T: IntoBytes + Immutable>(&mut self, cmd: u32, body: &T) -> Result<(), u32> {
        let result = self.post(cmd, body);
        assert_eq!(self.interrupts(0), 0, "command {cmd} has no interrupt");
        result
    }

    pub fn bind(&mut self, index: u32, gid: Gid) {
        let bind = CreateBind {
            mtu: 1024,
            vlan: 0xfff,
            index,
            new_gid: gid,
            gid_type: self.roce.gid_type(),
            ..Default::default()
        };
        self.silent(15, &bind).unwrap();
    }

    pub fn create_uc(&mut self, page: u64) -> Result<u32, u32> {
        let resp: CreateUcResp = self.command(13, &CreateUc { pfn: UAR_PFN + page })?;
        Ok(resp.ctx_handle)
    }

    pub fn create_pd(&mut self, context: u32) -> u32 {
        let create = CreatePd { ctx_handle: context, ..Default::default() };
        self.command::<_, CreatePdResp>(2, &create).unwrap().pd_handle
    }

    pub fn create_mr(&mut self, pd: u32, length: u64, access_flags: u32) -> Mr {
        let (pdir_dma, addr) = self.directory(length.div_ceil(PAGE));
        let create = CreateMr {
            start: addr,
            length,
            pdir_dma,
            pd_handle: pd,
            access_flags,
            flags: 0,
            nchunks: length.div_ceil(PAGE) as u32,
        };
        let resp: CreateMrResp = self.command(4, &create).unwrap();
        Mr { handle: resp.mr_handle, addr, key: resp.rkey }
    }

    /// A region that peers may do everything with.
    pub fn create_open_mr(&mut self, pd: u32, length: u64) -> Mr {
        self.create_mr(pd, length, access::SUPPORTED)
    }

    /// A region to be registered by work requests, and its page list directory and memory.
    pub fn create_fast_mr(&mut self, pd: u32, pages: u32) -> (Mr, u64) {
        let (pdir, addr) = self.directory(pages.into());
        let create = CreateMr { pd_handle: pd, flags: 2, nchunks: pages, ..Default::default() };
        let resp: CreateMrResp = self.command(4, &create).unwrap();
        (Mr { handle: resp.mr_handle, addr, key: resp.rkey }, pdir)
    }

    pub fn create_cq(&mut self, size: u32) -> Cq {
        let nchunks = 1 + (u64::from(size) * 64).div_ceil(PAGE);
        let (pdir_dma, base) = self.directory(nchunks);
        let create =
            CreateCq { pdir_dma, cqe: size, nchunks: nchunks as u32, ..Default::default() };
        let resp: CreateCqResp = self.command(6, &create).unwrap();
        assert_eq!(resp.cqe, size);
        Cq { handle: resp.cq_handle, base, size }
    }

    pub fn create_srq(&mut self, pd: u32, size: u32) -> Srq {
        let bytes = u64::from(size) * recv_stride(MAX_SGE) as u64;
        let nchunks = 1 + bytes.div_ceil(PAGE);
        let (pdir_dma, base) = self.directory(nchunks);
        let create = CreateSrq {
            pdir_dma,
            pd_handle: pd,
            nchunks: nchunks as u32,
            attrs: SrqAttr { max_wr: size, max_sge: MAX_SGE, ..Default::default() },
            ..Default::default()
        };
        let resp: CreateSrqResp = self.command(17, &create).unwrap();
        Srq { handle: resp.srqn, base, size }
    }

    /// The command for a queue pair with eight entries in each queue.
    pub fn create_qp_command(&mut self, pd: u32, cq: &Cq, qp_type: u8) -> (CreateQp, u64) {
        let (pdir_dma, base) = self.directory(3);
        let create = CreateQp {
            pdir_dma,
            pd_handle: pd,
            send_cq_handle: cq.handle,
            recv_cq_handle: cq.handle,
            max_send_wr: 8,
            max_recv_wr: 8,
            max_send_sge: MAX_SGE,
            max_recv_sge: MAX_SGE,
            total_chunks: 3,
            send_chunks: 1,
            qp_type,
            ..Default::default()
        };
        (create, base)
    }

    pub fn create_qp(&mut self, pd: u32, cq: &Cq, qp_type: u8) -> Qp {
        let (create, base) = self.create_qp_command(pd, cq, qp_type);
        self.finish_qp(&create, base)
    }

    pub fn create_qp_on_srq(&mut self, pd: u32, cq: &Cq, qp_type: u8, srq: &Srq) -> Qp {
        let (mut create, base) = self.create_qp_command(pd, cq, qp_type);
        (create.is_srq, create.srq_handle) = (1, srq.handle);
        (create.max_recv_wr, create.max_recv_sge) = (0, 0);
        self.finish_qp(&create, base)
    }

    pub fn finish_qp(&mut self, create: &CreateQp, base: u64) -> Qp {
        let (qpn, handle) = if self.read_reg(VERSION) < 20 {
            let resp: CreateQpResp = self.command(9, create).unwrap();
            (resp.qpn, resp.qpn)
        } else {
            let resp: CreateQpRespV2 = self.command(9, create).unwrap();
            assert_eq!((resp.max_send_wr, resp.max_send_sge), (8, MAX_SGE));
            (resp.qpn, resp.qp_handle)
        };
        let recv_base = base + (u64::from(create.send_chunks) + 1) * PAGE;
        Qp {
            handle,
            qpn,
            base,
            recv_base,
            send_wr: create.max_send_wr,
            recv_wr: create.max_recv_wr,
        }
    }

    pub fn modify(&mut self, qp: &Qp, attr_mask: u32, attrs: QpAttr) -> Result<(), u32> {
        let modify = ModifyQp { qp_handle: qp.handle, attr_mask, attrs };
        self.command::<_, [u8; 0]>(10, &modify).map(|_| ())
    }

    pub fn set_state(&mut self, qp: &Qp, state: u32) -> Result<(), u32> {
        self.modify(qp, mask::STATE, QpAttr { qp_state: state, ..Default::default() })
    }

    pub fn query(&mut self, qp: &Qp) -> QpAttr {
        let query = QueryQp { qp_handle: qp.handle, attr_mask: mask::ALL };
        self.command::<_, QueryQpResp>(11, &query).unwrap().attrs
    }

    pub fn enter_init(&mut self, qp: &Qp) {
        let attrs = QpAttr {
            qp_state: 1,
            port_num: 1,
            qp_access_flags: access::SUPPORTED,
            ..Default::default()
        };
        let bits = mask::STATE | mask::PKEY_INDEX | mask::PORT | mask::ACCESS_FLAGS;
        self.modify(qp, bits, attrs).unwrap();
    }

    pub fn enter_rtr(&mut self, qp: &Qp, dgid: Gid, dest_qp_num: u32) {
        let attrs = QpAttr {
            qp_state: 2,
            path_mtu: 3,
            dest_qp_num,
            rq_psn: 0xff_fffe,
            max_dest_rd_atomic: 1,
            // 10 us.
            min_rnr_timer: 1,
            ah_attr: AhAttr {
                grh: GlobalRoute { dgid, hop_limit: 1, ..Default::default() },
                ah_flags: AH_GRH,
                port_num: 1,
                dmac: STATION,
                ..Default::default()
            },
            ..Default::default()
        };
        let bits = mask::STATE
            | mask::AV
            | mask::PATH_MTU
            | mask::DEST_QPN
            | mask::RQ_PSN
            | mask::MAX_DEST_RD_ATOMIC
            | mask::MIN_RNR_TIMER;
        self.modify(qp, bits, attrs).unwrap();
    }

    pub fn enter_rts(&mut self, qp: &Qp) {
        let attrs = QpAttr {
            qp_state: 3,
            sq_psn: 0xff_fffe,
            // 33 us.
            timeout: 3,
            retry_cnt: 2,
            rnr_retry: 3,
            max_rd_atomic: 1,
            ..Default::default()
        };
        let bits = mask::STATE
            | mask::SQ_PSN
            | mask::TIMEOUT
            | mask::RETRY_CNT
            | mask::RNR_RETRY
            | mask::MAX_QP_RD_ATOMIC;
        self.modify(qp, bits, attrs).unwrap();
    }

    /// Takes a queue pair to RTS.
    pub fn connect_qp(&mut self, qp: &Qp, dgid: Gid, dest_qp_num: u32) {
        self.enter_init(qp);
        self.enter_rtr(qp, dgid, dest_qp_num);
        self.enter_rts(qp);
    }

    /// Takes a datagram queue pair to RTS.
    pub fn ready_datagrams(&mut self, qp: &Qp, qkey: u32) {
        let attrs = QpAttr { qp_state: 1, port_num: 1, qkey, ..Default::default() };
        let bits = mask::STATE | mask::PKEY_INDEX | mask::PORT | mask::QKEY;
        self.modify(qp, bits, attrs).unwrap();
        self.set_state(qp, 2).unwrap();
        let attrs = QpAttr { qp_state: 3, ..Default::default() };
        self.modify(qp, mask::STATE | mask::SQ_PSN, attrs).unwrap();
    }

    /// Puts an element into a ring and returns its address; `publish` makes it visible.
    fn tail(&self, ring: u64, entries: u64, stride: usize, size: u32) -> u64 {
        let tail = self.memory.load_index(ring).unwrap();
        let head = self.memory.load_index(ring + 4).unwrap();
        assert_eq!(ring::has_space(tail, head, size), Ok(true), "test queue is full");
        entries + u64::from(ring::slot(tail, size)) * stride as u64
    }

    fn publish(&self, ring: u64, size: u32) {
        let tail = self.memory.load_index(ring).unwrap();
        self.memory.store_index(ring, ring::next(tail, size)).unwrap();
    }

    /// Writes a send request without ringing.
    pub fn write_send<T: IntoBytes + Immutable>(
        &self,
        qp: &Qp,
        header: SendHeader,
        body: &T,
        sges: &[Sge],
    ) {
        let entry = self.tail(qp.base, qp.base + PAGE, send_stride(MAX_SGE), qp.send_wr);
        assert!(size_of::<T>() <= SEND_BODY_SIZE);
        let num_sge = header.num_sge.max(sges.len() as u32);
        self.memory.write_record(entry, &SendHeader { num_sge, ..header }).unwrap();
        self.memory.write(entry + size_of::<SendHeader>() as u64, body.as_bytes()).unwrap();
        self.memory.write(entry + SEND_SGE_OFFSET as u64, sges.as_bytes()).unwrap();
        self.publish(qp.base, qp.send_wr);
    }

    /// Tells that a send queue has requests.
    pub fn ring_send(&mut self, qp: &Qp) {
        self.doorbell(0, 0, RING_SEND | qp.handle);
    }

    /// Posts a send request.
    pub fn post_send<T: IntoBytes + Immutable>(
        &mut self,
        qp: &Qp,
        header: SendHeader,
        body: &T,
        sges: &[Sge],
    ) {
        self.write_send(qp, header, body, sges);
        self.ring_send(qp);
    }

    fn write_recv(&self, entry: u64, wr_id: u64, sges: &[Sge]) {
        let header = RecvHeader { wr_id, num_sge: sges.len() as u32, total_len: 0 };
        self.memory.write_record(entry, &header).unwrap();
        self.memory.write(entry + size_of::<RecvHeader>() as u64, sges.as_bytes()).unwrap();
    }

    /// Posts a receive request.
    pub fn post_recv(&mut self, qp: &Qp, wr_id: u64, sges: &[Sge]) {
        let ring = qp.base + 8;
        let entry = self.tail(ring, qp.recv_base, recv_stride(MAX_SGE), qp.recv_wr);
        self.write_recv(entry, wr_id, sges);
        self.publish(ring, qp.recv_wr);
        self.doorbell(0, 0, RING_RECV | qp.handle);
    }

    /// Posts a receive request to a shared queue.
    pub fn post_srq_recv(&mut self, srq: &Srq, wr_id: u64, sges: &[Sge]) {
        let ring = srq.base + 8;
        let entry = self.tail(ring, srq.base + PAGE, recv_stride(MAX_SGE), srq.size);
        self.write_recv(entry, wr_id, sges);
        self.publish(ring, srq.size);
        self.doorbell(0, 8, RING_SRQ | srq.handle);
    }

    pub fn arm(&mut self, cq: &Cq, solicited: bool) {
        let bit = if solicited { ARM_SOLICITED } else { ARM };
        self.doorbell(0, 4, bit | cq.handle);
    }

    fn take<T: FromBytes + IntoBytes>(&self, ring: u64, entries: u64, size: u32) -> Option<T> {
        let tail = self.memory.load_index(ring).unwrap();
        let head = self.memory.load_index(ring + 4).unwrap();
        if !ring::has_data(tail, head, size).unwrap() {
            return None;
        }
        let entry = entries + u64::from(ring::slot(head, size)) * size_of::<T>() as u64;
        let value = self.memory.read_record(entry).unwrap();
        self.memory.store_index(ring + 4, ring::next(head, size)).unwrap();
        Some(value)
    }

    /// The next completion, if there is one now.
    pub fn poll(&self, cq: &Cq) -> Option<Cqe> {
        self.take(cq.base + 8, cq.base + PAGE, cq.size)
    }

    /// The next completion.
    pub fn wait(&self, cq: &Cq) -> Cqe {
        patiently(|| self.poll(cq))
    }

    /// The next completion's request, status, operation and length.
    pub fn wait_brief(&self, cq: &Cq) -> (u64, u32, u32, u32) {
        let cqe = self.wait(cq);
        (cqe.wr_id, cqe.status, cqe.opcode, cqe.byte_len)
    }

    /// The next event, if there is one now.
    pub fn poll_event(&self) -> Option<[u32; 2]> {
        self.take(self.events.0 + 8, self.events.0 + PAGE, self.events.1)
    }

    /// The next event: type and object.
    pub fn wait_event(&self) -> [u32; 2] {
        patiently(|| self.poll_event())
    }

    /// The next notification, if there is one now.
    pub fn poll_notification(&self) -> Option<u32> {
        self.take(self.notifications.0 + 8, self.notifications.0 + PAGE, self.notifications.1)
    }

    /// The next notification.
    pub fn wait_notification(&self) -> u32 {
        patiently(|| self.poll_notification())
    }

    pub fn fill(&self, mr: &Mr, length: usize, seed: u8) -> Vec<u8> {
        let bytes: Vec<u8> = (0..length).map(|index| (index * 7) as u8 ^ seed).collect();
        self.memory.write(mr.addr, &bytes).unwrap();
        bytes
    }

    pub fn bytes(&self, mr: &Mr, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(mr.addr, &mut bytes).unwrap();
        bytes
    }

    /// Stores an index where the tail of a send queue is.
    pub fn corrupt_send_tail(&self, qp: &Qp, index: u32) {
        self.memory.store_index(qp.base, index).unwrap();
    }

    /// Takes all memory away from the adapter.
    pub fn unmap(&mut self) {
        self.client.dma_unmap(MEMORY, MEMORY_SIZE).unwrap();
    }

    pub fn disconnect(self) {
        self.client.shutdown().unwrap();
    }
}

/// A send request that reports its end.
pub fn signaled(wr_id: u64, opcode: u32) -> SendHeader {
    SendHeader { wr_id, opcode, send_flags: send_flags::SIGNALED, ..Default::default() }
}

/// Tries until something happens, or fails the test.
pub fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(Instant::now() < deadline, "nothing happened");
        thread::sleep(Duration::from_micros(200));
    }
}
