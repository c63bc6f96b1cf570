// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From power on to objects, through the socket.

mod guest;

use guest::{address, Machines, CTL, ERR, IMR, REQUEST, STATION, VERSION};
use pvrdma_device::abi::attrs::{qp_mask as mask, QpAttr, SrqAttr};
use pvrdma_device::abi::commands::*;
use pvrdma_device::abi::shared::{DeviceCaps, CAPS_OFFSET};
use pvrdma_device::abi::{access, Gid};
use pvrdma_device::limits::{Config, Roce, MAX_VERSION, MIN_VERSION};
use pvrdma_device::trace::Trace;

const EBUSY: u32 = 16;
const EINVAL: u32 = 22;
const ENOENT: u32 = 2;
const EOPNOTSUPP: u32 = 95;

fn newest() -> Config {
    Config::new(MAX_VERSION, None).unwrap()
}

#[test]
fn nothing_works_before_activation() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.connect(0);
    assert_eq!(guest.read_reg(VERSION), 20);
    assert_ne!(guest.read_reg(ERR), 0);
    guest.write_reg(REQUEST, 0);
    assert_eq!(guest.read_reg(ERR), EINVAL);
    guest.write_reg(CTL, 0);
    assert_eq!(guest.read_reg(ERR), EINVAL, "activation without a shared region");
    let dsr = guest.shared_region();
    guest.set_dsr(dsr);
    let caps: DeviceCaps = guest.memory.read_record(dsr + CAPS_OFFSET).unwrap();
    assert_eq!((caps.phys_port_cnt, caps.gid_types, caps.hw_ver), (1, 2, 20));
    guest.write_reg(REQUEST, 0);
    assert_eq!(guest.read_reg(ERR), EINVAL, "request before activation");
    guest.write_reg(CTL, 1);
    assert_eq!(guest.read_reg(ERR), EINVAL, "resumption before activation");
    guest.write_reg(CTL, 0);
    assert_eq!(guest.read_reg(ERR), 0);
    guest.write_reg(CTL, 1);
    assert_eq!(guest.read_reg(ERR), 0);
    guest.write_reg(CTL, 3);
    assert_eq!(guest.read_reg(ERR), EINVAL);
}

#[test]
fn unusable_shared_region_gets_no_capabilities() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.connect(0);
    let dsr = guest.shared_region();
    // The number of pages of the event ring.
    guest.memory.write_record(dsr + 32, &1_u32).unwrap();
    guest.set_dsr(dsr);
    let caps: DeviceCaps = guest.memory.read_record(dsr + CAPS_OFFSET).unwrap();
    assert_eq!((caps.gid_types, caps.max_qp), (0, 0));
    guest.write_reg(CTL, 0);
    assert_eq!(guest.read_reg(ERR), EINVAL);
    guest.set_dsr(0xdead_0000_0000);
    guest.write_reg(CTL, 0);
    assert_eq!(guest.read_reg(ERR), EINVAL);
}

#[test]
fn reset_forgets_everything() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    assert_eq!(guest.create_pd(0), 0);
    assert_eq!(guest.create_pd(0), 1);
    guest.write_reg(CTL, 2);
    assert_ne!(guest.read_reg(ERR), 0);
    assert_eq!(guest.read_reg(IMR), u32::MAX);
    guest.write_reg(REQUEST, 0);
    assert_eq!(guest.read_reg(ERR), EINVAL);
    guest.bring_up();
    assert_eq!(guest.create_pd(0), 0);
}

/// A probe that fails late comes back without a reset.
#[test]
fn new_shared_region_starts_over() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    assert_eq!((guest.create_pd(0), guest.create_pd(0)), (0, 1));
    let dsr = guest.shared_region();
    guest.set_dsr(dsr);
    guest.write_reg(REQUEST, 0);
    assert_eq!(guest.read_reg(ERR), EINVAL);
    guest.write_reg(IMR, 0);
    guest.write_reg(CTL, 0);
    assert_eq!(guest.read_reg(ERR), 0);
    assert_eq!(guest.create_pd(0), 0);
}

#[test]
fn next_machine_finds_a_fresh_adapter() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    guest.create_pd(0);
    guest.disconnect();
    let mut guest = machines.boot(0);
    assert_eq!(guest.create_pd(0), 0);
}

#[test]
fn versions_differ_where_they_should() {
    for version in MIN_VERSION..=MAX_VERSION {
        for roce in [Roce::V1, Roce::V2] {
            let Ok(config) = Config::new(version, Some(roce)) else {
                continue;
            };
            let machines = Machines::start(1, config);
            let mut guest = machines.connect(0);
            assert_eq!(guest.read_reg(VERSION), version);
            let caps = guest.bring_up();
            assert_eq!(caps.gid_types, roce.gid_type());
            guest.bind(0, address(1));
            let other = CreateBind {
                mtu: 1024,
                new_gid: address(2),
                gid_type: roce.gid_type() ^ 3,
                ..Default::default()
            };
            assert_eq!(guest.silent(15, &other), Err(EINVAL));

            let pd = guest.create_pd(0);
            let cq = guest.create_cq(8);
            let gsi = guest.create_qp(pd, &cq, 1);
            let rc = guest.create_qp(pd, &cq, 2);
            assert_eq!(gsi.qpn, 1);
            assert_eq!(gsi.handle == gsi.qpn, version < 20);
            assert_eq!(rc.handle == rc.qpn, version < 20);
            assert!(rc.qpn < 1 << 24);

            // The upper half of a frame number counts from version 19 on.
            let wide = CreateUc { pfn: 0xdead_0000_0000_0000 | 0xfe001 };
            let result = guest.command::<_, CreateUcResp>(13, &wide);
            assert_eq!(result.is_ok(), version < 19);
        }
    }
}

#[test]
fn port_and_keys() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let query = |port_num| QueryPort { port_num, ..Default::default() };
    let port: QueryPortResp = guest.command(0, &query(1)).unwrap();
    assert_eq!((port.attrs.state, port.attrs.active_mtu, port.attrs.phys_state), (4, 3, 5));
    assert_eq!(guest.command::<_, QueryPortResp>(0, &query(2)), Err(EINVAL));
    let query = |index| QueryPkey { port_num: 1, index, ..Default::default() };
    assert_eq!(guest.command::<_, QueryPkeyResp>(1, &query(0)).unwrap().pkey, 0xffff);
    assert_eq!(guest.command::<_, QueryPkeyResp>(1, &query(1)), Err(EINVAL));
    assert_eq!(guest.post(21, &0_u64), Err(EINVAL), "no such command");
}

#[test]
fn carrier_changes_are_told() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    use pvrdma_device::link::Link;
    for (link, event, state) in [(Link::Down, 10, 1), (Link::Up, 9, 4)] {
        machines.fabric.with(0, |adapter, _| adapter.set_link(link));
        assert_eq!(guest.wait_event(), [event, 1]);
        assert_eq!(guest.interrupts(1), 1);
        let query = QueryPort { port_num: 1, ..Default::default() };
        assert_eq!(guest.command::<_, QueryPortResp>(0, &query).unwrap().attrs.state, state);
        machines.fabric.with(0, |adapter, _| adapter.set_link(link));
        assert_eq!(guest.poll_event(), None, "no change, no event");
    }
}

#[test]
fn bindings() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let bind = |index, new_gid| CreateBind {
        mtu: 1024,
        vlan: 0xfff,
        index,
        new_gid,
        gid_type: 2,
        ..Default::default()
    };
    assert_eq!(guest.silent(15, &bind(63, address(9))), Ok(()));
    assert_eq!(guest.silent(15, &bind(64, address(9))), Err(EINVAL));
    assert_eq!(guest.silent(15, &bind(1, Gid::default())), Err(EINVAL));
    assert_eq!(guest.silent(15, &CreateBind { mtu: 1000, ..bind(1, address(9)) }), Err(EINVAL));
    assert_eq!(guest.silent(15, &CreateBind { vlan: 0x1000, ..bind(1, address(9)) }), Err(EINVAL));
    let unbind = |index, dest_gid| DestroyBind { index, dest_gid, ..Default::default() };
    assert_eq!(guest.silent(16, &unbind(63, address(8))), Err(ENOENT));
    assert_eq!(guest.silent(16, &unbind(63, address(9))), Ok(()));
    assert_eq!(guest.silent(16, &unbind(63, address(9))), Err(ENOENT));
    assert_eq!(guest.silent(16, &unbind(64, address(9))), Err(EINVAL));
}

#[test]
fn contexts_own_their_pages() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    assert_eq!(guest.create_uc(0), Err(EINVAL), "the kernel's page");
    assert_eq!(guest.create_uc(256), Err(EINVAL), "beyond the region");
    let context = guest.create_uc(3).unwrap();
    assert_eq!(context, 1, "0 is the kernel");
    assert_eq!(guest.create_uc(3), Err(EBUSY));
    let pd = guest.create_pd(context);
    let destroy_uc = DestroyUc { ctx_handle: context, ..Default::default() };
    assert_eq!(guest.silent(14, &destroy_uc), Err(EBUSY));
    let destroy_pd = DestroyPd { pd_handle: pd, ..Default::default() };
    assert_eq!(guest.silent(3, &destroy_pd), Ok(()));
    assert_eq!(guest.silent(14, &destroy_uc), Ok(()));
    assert_eq!(guest.silent(14, &destroy_uc), Err(ENOENT));
    let stray = CreatePd { ctx_handle: context, ..Default::default() };
    assert_eq!(guest.command::<_, CreatePdResp>(2, &stray), Err(ENOENT));
}

#[test]
fn objects_in_use_stay() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let pd = guest.create_pd(0);
    let cq = guest.create_cq(8);
    let srq = guest.create_srq(pd, 8);
    let qp = guest.create_qp_on_srq(pd, &cq, 2, &srq);
    let destroy_cq = DestroyCq { cq_handle: cq.handle, ..Default::default() };
    let destroy_srq = DestroySrq { srq_handle: srq.handle, ..Default::default() };
    let destroy_pd = DestroyPd { pd_handle: pd, ..Default::default() };
    let destroy_qp = DestroyQp { qp_handle: qp.handle, ..Default::default() };
    assert_eq!(guest.silent(8, &destroy_cq), Err(EBUSY));
    assert_eq!(guest.silent(20, &destroy_srq), Err(EBUSY));
    assert_eq!(guest.silent(3, &destroy_pd), Err(EBUSY));
    assert_eq!(guest.silent(12, &destroy_qp), Ok(()));
    assert_eq!(guest.silent(12, &destroy_qp), Err(ENOENT));
    assert_eq!(guest.silent(20, &destroy_srq), Ok(()));
    assert_eq!(guest.silent(8, &destroy_cq), Ok(()));
    assert_eq!(guest.silent(3, &destroy_pd), Ok(()));
}

#[test]
fn completion_queues_of_wrong_size_are_refused() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let (template, _) = {
        let pd = guest.create_pd(0);
        let cq = guest.create_cq(8);
        guest.create_qp_command(pd, &cq, 2)
    };
    // The directory of a queue pair has three pages: room for 128 completions.
    let create =
        |cqe, nchunks| CreateCq { pdir_dma: template.pdir_dma, cqe, nchunks, ..Default::default() };
    for (cqe, nchunks, ok) in [
        (128, 3, true),
        (128, 2, false),
        (256, 3, false),
        (96, 3, false),
        (0, 3, false),
        (1 << 17, 3, false),
        (64, 0, false),
        (64, 4, false),
        (64, u32::MAX, false),
    ] {
        let result = guest.command::<_, CreateCqResp>(6, &create(cqe, nchunks));
        assert_eq!(result.is_ok(), ok, "{cqe} entries in {nchunks} pages");
        assert!(ok || result == Err(EINVAL));
    }
    let stray = CreateCq { ctx_handle: 5, ..create(64, 3) };
    assert_eq!(guest.command::<_, CreateCqResp>(6, &stray), Err(ENOENT));
    let resize = ResizeCq { cq_handle: 0, cqe: 16 };
    assert_eq!(guest.command::<_, ResizeCqResp>(7, &resize), Err(EOPNOTSUPP));
}

/// The answer that RESIZE_CQ never has.
type ResizeCqResp = CreateCqResp;

#[test]
fn queue_pairs_of_wrong_size_are_refused() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let pd = guest.create_pd(0);
    let cq = guest.create_cq(8);
    let srq = guest.create_srq(pd, 8);
    let (good, _) = guest.create_qp_command(pd, &cq, 2);
    let bad: [(&str, u32, CreateQp); 15] = [
        ("no send request", EINVAL, CreateQp { max_send_wr: 0, ..good }),
        ("odd number", EINVAL, CreateQp { max_recv_wr: 6, ..good }),
        ("too many requests", EINVAL, CreateQp { max_send_wr: 32768, ..good }),
        ("too many elements", EINVAL, CreateQp { max_recv_sge: 17, ..good }),
        ("no element", EINVAL, CreateQp { max_send_sge: 0, ..good }),
        ("send queue does not fit", EINVAL, CreateQp { max_send_wr: 64, ..good }),
        ("receive queue does not fit", EINVAL, CreateQp { max_recv_wr: 128, ..good }),
        ("no page left", EINVAL, CreateQp { total_chunks: 2, ..good }),
        ("wrong split", EINVAL, CreateQp { send_chunks: 65535, ..good }),
        ("inline data", EOPNOTSUPP, CreateQp { max_inline_data: 1, ..good }),
        ("unreliable connection", EOPNOTSUPP, CreateQp { qp_type: 3, ..good }),
        ("no such domain", ENOENT, CreateQp { pd_handle: 9, ..good }),
        ("no such queue", ENOENT, CreateQp { recv_cq_handle: 9, ..good }),
        ("no such shared queue", ENOENT, CreateQp { is_srq: 1, srq_handle: 9, ..good }),
        ("two receive queues", EINVAL, CreateQp { is_srq: 1, srq_handle: srq.handle, ..good }),
    ];
    for (what, errno, command) in bad {
        let result = guest.command::<_, CreateQpRespV2>(9, &command);
        assert_eq!(result, Err(errno), "{what}");
    }
    assert!(guest.command::<_, CreateQpRespV2>(9, &good).is_ok());
    let gsi = CreateQp { qp_type: 1, ..good };
    assert_eq!(guest.command::<_, CreateQpRespV2>(9, &gsi).unwrap().qpn, 1);
    assert_eq!(guest.command::<_, CreateQpRespV2>(9, &gsi), Err(EBUSY), "there is one GSI");
}

#[test]
fn memory_regions_are_checked() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let pd = guest.create_pd(0);
    let cq = guest.create_cq(8);
    let (template, base) = guest.create_qp_command(pd, &cq, 2);
    let good = CreateMr {
        start: base + 0x10,
        length: 0x2000,
        pdir_dma: template.pdir_dma,
        pd_handle: pd,
        access_flags: access::SUPPORTED,
        flags: 0,
        nchunks: 3,
    };
    let bad: [(&str, u32, CreateMr); 11] = [
        ("page short", EINVAL, CreateMr { nchunks: 2, ..good }),
        ("page long", EINVAL, CreateMr { length: 0x100, ..good }),
        ("empty", EINVAL, CreateMr { length: 0, ..good }),
        ("too long", EINVAL, CreateMr { length: (1 << 30) + 1, ..good }),
        ("wraps", EINVAL, CreateMr { start: u64::MAX - 0xff, ..good }),
        ("no directory", EINVAL, CreateMr { pdir_dma: 0, ..good }),
        ("no such domain", ENOENT, CreateMr { pd_handle: 7, ..good }),
        ("zero based", EINVAL, CreateMr { access_flags: 1 << 5, ..good }),
        ("remote but not local", EINVAL, CreateMr { access_flags: 2, ..good }),
        ("remote DMA", EINVAL, CreateMr { flags: 1, access_flags: 3, ..good }),
        ("too many pages", EINVAL, CreateMr { flags: 2, access_flags: 0, nchunks: 129, ..good }),
    ];
    for (what, errno, command) in bad {
        assert_eq!(guest.command::<_, CreateMrResp>(4, &command), Err(errno), "{what}");
    }
    let first: CreateMrResp = guest.command(4, &good).unwrap();
    let relaxed = CreateMr { access_flags: access::SUPPORTED | (1 << 20), ..good };
    let second: CreateMrResp = guest.command(4, &relaxed).unwrap();
    assert_ne!(first.lkey, second.lkey);
    let destroy = DestroyMr { mr_handle: first.mr_handle, ..Default::default() };
    assert_eq!(guest.silent(5, &destroy), Ok(()));
    assert_eq!(guest.silent(5, &destroy), Err(ENOENT));
    let third: CreateMrResp = guest.command(4, &good).unwrap();
    assert_eq!(third.mr_handle, first.mr_handle);
    assert_ne!(third.lkey, first.lkey, "an old key is not valid again");
}

#[test]
fn shared_receive_queues() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let pd = guest.create_pd(0);
    let srq = guest.create_srq(pd, 8);
    let modify = |attr_mask, srq_limit| ModifySrq {
        srq_handle: srq.handle,
        attr_mask,
        attrs: SrqAttr { srq_limit, ..Default::default() },
    };
    assert_eq!(guest.silent(18, &modify(2, 9)), Err(EINVAL));
    assert_eq!(guest.silent(18, &modify(1, 4)), Err(EINVAL));
    assert_eq!(guest.silent(18, &modify(2, 4)), Ok(()));
    let query = QuerySrq { srq_handle: srq.handle, ..Default::default() };
    let attrs = guest.command::<_, QuerySrqResp>(19, &query).unwrap().attrs;
    assert_eq!((attrs.max_wr, attrs.max_sge, attrs.srq_limit), (8, 2, 4));
    let stray = QuerySrq { srq_handle: 9, ..Default::default() };
    assert_eq!(guest.command::<_, QuerySrqResp>(19, &stray), Err(ENOENT));
}

#[test]
fn queue_pair_modification() {
    let machines = Machines::start(1, newest());
    let mut guest = machines.boot(0);
    let pd = guest.create_pd(0);
    let cq = guest.create_cq(8);
    let qp = guest.create_qp(pd, &cq, 2);
    assert_eq!(guest.query(&qp).qp_state, 0);

    // A refusal is in the answer and changes nothing.
    assert_eq!(guest.set_state(&qp, 3), Err(EINVAL));
    assert_eq!(guest.set_state(&qp, 77), Err(EINVAL));
    assert_eq!(guest.query(&qp).qp_state, 0);
    let init = mask::STATE | mask::PKEY_INDEX | mask::PORT | mask::ACCESS_FLAGS;
    let good = QpAttr { qp_state: 1, port_num: 1, ..Default::default() };
    for (what, bad) in [
        ("port", QpAttr { port_num: 2, ..good }),
        ("partition", QpAttr { pkey_index: 1, ..good }),
        ("access", QpAttr { qp_access_flags: 1 << 8, ..good }),
    ] {
        assert_eq!(guest.modify(&qp, init, bad), Err(EINVAL), "{what}");
    }
    assert_eq!(guest.modify(&qp, init | mask::QKEY, good), Err(EINVAL), "not of this type");
    guest.enter_init(&qp);

    // An address that is not bound.
    let bits = mask::STATE
        | mask::AV
        | mask::PATH_MTU
        | mask::DEST_QPN
        | mask::RQ_PSN
        | mask::MAX_DEST_RD_ATOMIC
        | mask::MIN_RNR_TIMER;
    let mut attrs = QpAttr { qp_state: 2, path_mtu: 3, ..Default::default() };
    attrs.ah_attr.ah_flags = 1;
    attrs.ah_attr.port_num = 1;
    attrs.ah_attr.grh.dgid = address(9);
    attrs.ah_attr.grh.sgid_index = 1;
    attrs.ah_attr.dmac = STATION;
    assert_eq!(guest.modify(&qp, bits, attrs), Err(EINVAL));
    attrs.ah_attr.grh.sgid_index = 0;
    attrs.path_mtu = 6;
    assert_eq!(guest.modify(&qp, bits, attrs), Err(EINVAL));
    attrs.path_mtu = 3;
    attrs.ah_attr.dmac = Default::default();
    assert_eq!(guest.modify(&qp, bits, attrs), Err(EINVAL), "no station");
    attrs.ah_attr.dmac = STATION;
    assert_eq!(guest.modify(&qp, bits | mask::ALT_PATH, attrs), Err(EOPNOTSUPP));
    assert_eq!(guest.modify(&qp, bits, attrs), Ok(()));
    guest.enter_rts(&qp);
    let attrs = guest.query(&qp);
    assert_eq!((attrs.qp_state, attrs.cur_qp_state), (3, 3));
    assert_eq!((attrs.path_mtu, attrs.ah_attr.grh.dgid), (3, address(9)));
    assert_eq!(
        (attrs.timeout, attrs.retry_cnt, attrs.rnr_retry, attrs.sq_psn),
        (3, 2, 3, 0xff_fffe)
    );
    assert_eq!((attrs.cap.max_send_wr, attrs.cap.max_recv_sge), (8, 2));

    // The driver's idea of the current state must be right.
    let wrong = QpAttr { qp_state: 3, cur_qp_state: 4, ..Default::default() };
    assert_eq!(guest.modify(&qp, mask::STATE | mask::CUR_STATE, wrong), Err(EINVAL));
    assert_eq!(guest.set_state(&qp, 0), Ok(()));
    let attrs = guest.query(&qp);
    assert_eq!((attrs.qp_state, attrs.path_mtu, attrs.cap.max_send_wr), (0, 0, 8));
    let stray = ModifyQp { qp_handle: 99, ..Default::default() };
    assert_eq!(guest.post(10, &stray), Err(ENOENT));
    assert_eq!(guest.interrupts(0), 0);
}

#[test]
fn trace_shows_what_the_driver_did() {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let trace = Trace::create(&path).unwrap();
    let machines = Machines::start_traced(1, newest(), &trace);
    let mut guest = machines.boot(0);
    let cq = guest.create_cq(8);
    guest.arm(&cq, true);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.windows(2).all(|pair| pair[0]["us"].as_u64() <= pair[1]["us"].as_u64()));
    let find = |event: &str, name: &str| {
        lines
            .iter()
            .find(|line| line["event"] == event && (name.is_empty() || line["name"] == name))
            .unwrap_or_else(|| panic!("no {event} {name}"))
    };
    assert_eq!(find("reg", "IMR")["op"], "write");
    assert_eq!(find("command", "CREATE_CQ")["fields"]["cqe"], 8);
    assert_eq!(find("command", "CREATE_BIND")["fields"]["new_gid"], "::ffff:10.0.0.1");
    assert_eq!(find("answer", "CREATE_CQ")["fields"]["cq_handle"], cq.handle);
    assert_eq!(find("irq", "")["vector"], 0);
    let doorbell = find("doorbell", "");
    assert_eq!((&doorbell["kind"], &doorbell["flags"][0]), (&"cq".into(), &"arm_solicited".into()));
    assert!(!lines.iter().any(|line| line["event"] == "answer" && line["name"] == "CREATE_BIND"));
}
