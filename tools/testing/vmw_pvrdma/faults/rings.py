# SPDX-License-Identifier: GPL-2.0
"""What the adapter writes into the rings without a reason, and indices that cannot be."""

from faults import scenario
from faults.bench import Bench, same
from harness.report import Failed

_LAST_KIND = 18
_GSI_CQ = 0
_GSI_TYPE = 1


def _counter(bench: Bench, name: str) -> int:
    script = f"cat /sys/class/infiniband/$(rdma_device)/ports/1/hw_counters/{name}"
    return int(bench.sh(script))


def _is_drained(bench: Bench, ring) -> None:
    """Fails if entries of a ring still wait after a moment."""
    for _ in range(50):
        indices = bench.ask("ring", ring=ring)
        if indices["tail"] == indices["head"]:
            return
        bench.sh("sleep 0.1")
    raise Failed(f"entries of {ring} are left: {indices}")


@scenario(drivers="rust")
def fault_29_events_of_nothing(bench: Bench) -> None:
    """Events of kinds and objects that do not exist; they are taken off and ignored."""
    # Some kinds are about the port, and true after all.
    for kind in [*range(_LAST_KIND + 3), 99, 1 << 31, 0xFFFF_FFFF]:
        for info in (0, 1, 2, 77, 1024, 1 << 24, 0xFFFF_FFFF):
            bench.ask("event", kind=kind, info=info)
    for cq in (1, 77, 1024, 1 << 24, 0xFFFF_FFFF):
        bench.ask("notify", cq=cq)
    _is_drained(bench, "events")
    _is_drained(bench, "notifications")
    bench.all_verbs_work()


@scenario(drivers="rust")
def fault_07_more_entries_than_a_ring_has(bench: Bench) -> None:
    """Each entry arrives once, well beyond the place where the indices wrap around."""
    for do, ring, name, total, burst, keys in (
        ("event", "events", "async_events", 1400, 200, {"kind": 99, "info": 0}),
        ("notify", "notifications", "cq_notifications", 2400, 400, {"cq": 77}),
    ):
        before = _counter(bench, name)
        for _ in range(total // burst):
            bench.ask(do, times=burst, **keys)
            _is_drained(bench, ring)
        same(name, total, _counter(bench, name) - before)


@scenario(drivers="rust")
def fault_28_ring_that_never_comes_to_rest(bench: Bench) -> None:
    """The guest stays alive while a tail runs in circles, and the ring works afterwards."""
    for ring in ("events", "notifications"):
        bench.ask("storm", ring=ring, ms=1500)
        bench.sh("for _ in $(seq 10); do cat /proc/loadavg; done", timeout=30)
        bench.sh("sleep 1.5", timeout=30)
        bench.ask("interrupt", vector="async" if ring == "events" else "completion")
        _is_drained(bench, ring)
    bench.all_verbs_work()
    _events_arrive(bench)


@scenario(drivers="rust")
def fault_09_impossible_indices_of_the_device_rings(bench: Bench) -> None:
    """Indices out of range are left alone; when they are good again the ring goes on."""
    for ring, vector in (("events", "async"), ("notifications", "completion")):
        for end in ("tail", "head"):
            for value in (0xFFFF_FFFF, 1 << 31, 4096):
                good = bench.ask("ring", ring=ring, **{end: value})
                bench.ask("interrupt", vector=vector)
                bench.sh("sleep 0.05")
                bench.ask("ring", ring=ring, **good)
    _events_arrive(bench)
    bench.all_verbs_work()


@scenario(drivers="rust")
def fault_09_impossible_index_of_a_send_queue(bench: Bench) -> None:
    """Nothing is posted to a queue of the kernel's whose index makes no sense, and once that is
    good again the queue works."""
    handle = _gsi_handle(bench)
    for value in (0xFFFF_FFFF, 1 << 16):
        good = bench.ask("ring", ring={"send": handle}, head=value)
        start = bench.now()
        # The connection manager's messages go through this queue.
        bench.sh("! timeout 5 rping -c -a 192.168.77.$GUEST -C 1 || fail 'it succeeded'")
        rung = [
            event
            for event in bench.events(start)
            if event["event"] == "doorbell" and event["kind"] == "qp" and event["handle"] == handle
            and "send" in event["flags"]
        ]
        same("doorbells of the queue", [], rung)
        bench.ask("ring", ring={"send": handle}, head=good["head"])
        same("tail", good["tail"], bench.ask("ring", ring={"send": handle})["tail"])
    bench.sh("""
        rping -s -a 192.168.77.$GUEST -C 3 >/tmp/server 2>&1 &
        wait_for 20 rping -c -a 192.168.77.$GUEST -C 3""")


def _gsi_handle(bench: Bench) -> int:
    """The handle of the kernel's queue pair for management datagrams."""
    created = [
        event
        for event in bench.events(0)
        if event["event"] in ("command", "answer") and event["name"] == "CREATE_QP"
    ]
    handles = [
        answer["fields"]["qp_handle"]
        for ask, answer in zip(created, created[1:])
        if ask["fields"].get("qp_type") == _GSI_TYPE and "qp_handle" in answer["fields"]
    ]
    return handles[-1]


def _events_arrive(bench: Bench) -> None:
    before = _counter(bench, "async_events")
    bench.ask("event", kind=99, info=0, times=3)
    _is_drained(bench, "events")
    same("events that arrived", 3, _counter(bench, "async_events") - before)


@scenario(drivers="rust")
def fault_30_completions_of_nobody(bench: Bench) -> None:
    """Completions of queue pairs that do not exist do not block a queue of the kernel's."""
    for qp in (77, 0xFFFF, 0xFFFF_FFFF, (1 << 64) - 1):
        for status in (0, 5, 99, 0xFFFF_FFFF):
            bench.ask("complete", cq=_GSI_CQ, cqe={"qp": qp, "status": status, "opcode": 128})
    _is_drained(bench, {"cq": _GSI_CQ})
    bench.all_verbs_work()
