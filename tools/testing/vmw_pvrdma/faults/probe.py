# SPDX-License-Identifier: GPL-2.0
"""Adapters that cannot be brought up, or only after a while."""

from faults import scenario
from faults.bench import Bench, rule, same
from harness.report import Failed

_PROBE = "QUERY_PORT QUERY_PKEY CREATE_PD CREATE_MR CREATE_CQ CREATE_QP MODIFY_QP CREATE_BIND".split()
_RESET = 2


def _unload(bench: Bench) -> None:
    bench.sh("unload_driver")
    same("objects without a driver", 0, sum(bench.objects().values()))


def _try_to_load(bench: Bench) -> bool:
    """Loads the module; returns whether it took the adapter. Unloads it again."""
    bench.sh('modprobe "$DRIVER"; sleep 0.5')
    bound = bench.sh("[ -e $PCI_DRIVER/$ADAPTER ] && echo yes || echo no").strip() == "yes"
    bench.sh('modprobe -r "$DRIVER"')
    return bound


def _is_reset(bench: Bench, since: int) -> bool:
    """Whether the last thing that the driver did to the device as a whole was to reset it."""
    writes = [
        (event["name"], event["value"])
        for event in bench.events(since)
        if event["event"] == "reg" and event["op"] == "write" and event["name"] in ("CTL", "DSRHIGH")
    ]
    return writes[-1:] == [("CTL", _RESET)]


def _each_command_of_probe(bench: Bench, **effect) -> None:
    """Whatever fails during probe, the device is reset in the end and can be bound again."""
    _unload(bench)
    for command in _PROBE:
        bench.rules(rule(command, **effect))
        start = bench.now()
        _try_to_load(bench)
        same(f"rules that did not go off, {command}", [], bench.ask("unused_rules"))
        same(f"objects left by {command} {effect}", 0, sum(bench.objects().values()))
        same(f"device is reset after {command} {effect}", True, _is_reset(bench, start))
        bench.no_trouble()
    bench.rules()
    bench.sh("load_driver")
    bench.all_verbs_work()


@scenario(drivers="rust")
def fault_33_each_command_of_probe_refused(bench: Bench) -> None:
    """Refused in the error register."""
    _each_command_of_probe(bench, reg_err=22)


@scenario(drivers="rust", slow=True)
def fault_33_error_byte_of_each_answer_of_probe(bench: Bench) -> None:
    """Refused in the error byte."""
    _each_command_of_probe(bench, err=5)


@scenario(drivers="rust")
def fault_33_activation_refused(bench: Bench) -> None:
    """An adapter that never becomes active is left alone, reset."""
    _unload(bench)
    bench.rules(rule("ACTIVATE", times=None, reg_err=1))
    start = bench.now()
    same("the driver took the adapter", False, _try_to_load(bench))
    same("the device is reset", True, _is_reset(bench, start))
    bench.rules()
    bench.sh("load_driver")


@scenario(drivers="rust")
def fault_16_activation_refused_at_first(bench: Bench) -> None:
    """An adapter that is plugged in may need a moment: the driver asks again."""
    _unload(bench)
    bench.rules(rule("ACTIVATE", times=3, reg_err=1))
    bench.sh("load_driver")
    same("rules that did not go off", [], bench.ask("unused_rules"))


@scenario(drivers="rust")
def fault_26_capabilities_change_later(bench: Bench) -> None:
    """Capabilities are read once: what the device writes there afterwards does no harm."""
    numbers = "max_qp max_cq max_srq max_uar gid_tbl_len max_pd max_mr".split()
    for value in (0, 0xFFFF_FFFF):
        bench.ask("caps", caps={name: value for name in numbers})
        bench.all_verbs_work()
        bench.no_trouble()
    bench.sh("unload_driver")
    bench.ask("caps", caps={})
    bench.sh("load_driver")


@scenario(drivers="rust", slow=True)
def fault_26_impossible_capabilities(bench: Bench) -> None:
    """A number that makes no sense is refused, or does no harm."""
    _unload(bench)
    numbers = "max_qp max_cq max_srq max_sge max_qp_wr max_cqe max_mr max_pd max_ah gid_tbl_len".split()
    for name in numbers:
        for value in (0, 0xFFFF_FFFF):
            bench.ask("caps", caps={name: value})
            _try_to_load(bench)
            same(f"objects left with {name} = {value}", 0, sum(bench.objects().values()))
            bench.no_trouble()
    bench.ask("caps", caps={})
    bench.sh("load_driver")
    bench.all_verbs_work()


@scenario(slow=True)
def fault_45_number_of_doorbell_pages(bench: Bench) -> None:
    """The number of doorbell pages must be a power of two."""
    _unload(bench)
    for value in (0, 1, 3, 1 << 31) if bench.driver == "rust" else (0, 3):
        bench.ask("caps", caps={"max_uar": value})
        same(f"the driver took an adapter with {value} pages", False, _try_to_load(bench))
        bench.no_trouble()
    bench.ask("caps", caps={})
    bench.sh("load_driver")


@scenario(drivers="rust")
def fault_36_interrupts_while_the_driver_comes_and_goes(bench: Bench) -> None:
    """Interrupts, events and notifications at any moment of probe and remove."""
    _unload(bench)
    vectors = ({"do": "interrupt", "vector": name} for name in ("response", "async", "completion"))
    # Not of queue 0, which is the first of the kernel's: __ib_alloc_cq() asks for notifications
    # before it knows what to do with them.
    reports = ({"do": "event", "kind": 9, "info": 1}, {"do": "notify", "cq": 77})
    with bench.hammering(*vectors, *reports):
        for _ in range(3):
            bench.sh("load_driver; unload_driver")
    bench.no_trouble()
    bench.sh("load_driver")
    bench.all_verbs_work()


@scenario(slow=True)
def fault_44_versions(bench: Bench) -> None:
    """Versions before 17 are refused; later ones than are known are taken for the last."""
    _unload(bench)
    for version in (0, 16):
        bench.ask("registers", registers={"VERSION": version})
        same(f"the driver took version {version}", False, _try_to_load(bench))
    bench.ask("registers", registers={"VERSION": 21})
    bench.sh("load_driver")
    bench.all_verbs_work()
    _unload(bench)
    bench.ask("registers", registers={})
    bench.sh("load_driver")


def _works_as_old_version(bench: Bench) -> None:
    bench.all_verbs_work()
    bench.sh('loopback ibv_rc_pingpong -g "$(ip_gid_index)" -e -c -n 20')


@scenario(slow=True, adapter="--hw-version 17")
def fault_44_version_17(bench: Bench) -> None:
    """RoCE v1, narrow frame numbers, queue pairs without a handle."""
    _works_as_old_version(bench)


@scenario(slow=True, adapter="--hw-version 18")
def fault_44_version_18(bench: Bench) -> None:
    """The first with RoCE v2; frame numbers are still narrow."""
    _works_as_old_version(bench)


@scenario(slow=True, adapter="--hw-version 19")
def fault_44_version_19(bench: Bench) -> None:
    """The first with wide frame numbers; queue pairs have no handle yet."""
    _works_as_old_version(bench)


@scenario(slow=True)
def fault_44_modes_and_gid_types(bench: Bench) -> None:
    """Only RoCE, and exactly one type of GIDs."""
    _unload(bench)
    for caps in ({"mode": 1}, {"mode": 2}, {"gid_types": 0}, {"gid_types": 3}):
        bench.ask("caps", caps=caps)
        same(f"the driver took an adapter with {caps}", False, _try_to_load(bench))
    bench.ask("caps", caps={"gid_types": 1})
    if not _try_to_load(bench):
        raise Failed("the driver did not take an adapter of RoCE v1")
    bench.ask("caps", caps={})
    bench.sh("load_driver")
