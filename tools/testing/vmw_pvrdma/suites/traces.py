# SPDX-License-Identifier: GPL-2.0
"""Both drivers ask the adapter for the same things, except for listed differences.

The programs of guest/workloads run in a guest of their own with each driver; then the traces are
compared.  Without --all that is only the first of them in the list below.
"""

from harness import trace
from harness.machine import DRIVERS, Machine
from harness.report import Failed
from paths import REPO, run_dir

_TESTING = REPO / "tools/testing/vmw_pvrdma"
_INTENDED = _TESTING / "intended-differences.toml"
_WORKLOADS = (
    "rc-pingpong",
    "ud-pingpong",
    "srq-pingpong",
    "perftest",
    "connections",
    "libfabric",
    "pyverbs",
)


def _path(workload: str, driver: str):
    return run_dir() / f"{workload}-{driver}.jsonl"


def _record(workload: str, driver: str) -> None:
    """Runs a workload with a driver and keeps the trace."""
    with Machine(driver) as machine:
        [result] = machine.run_everywhere([str(_TESTING / "guest/workloads" / workload)], timeout=240)
    if result.status != 0:
        raise Failed(result.output)
    path = _path(workload, driver)
    (run_dir() / "trace.jsonl").rename(path)
    # With less there would be nothing to compare.
    seen = trace.transitions(trace.load(path))
    if sum("RTR" in states for states in seen) < 3:
        raise Failed(f"too few queue pairs were used: {seen}")


def _equal(workload: str) -> None:
    events = [trace.load(_path(workload, driver)) for driver in DRIVERS]
    complaints = trace.compare(*events, trace.IntendedDifferences(_INTENDED))
    if complaints:
        raise Failed("\n".join(complaints))


def run(report, options) -> None:
    for workload in _WORKLOADS if options.all else _WORKLOADS[:1]:
        recorded = [
            report.case(f"traces {driver}", workload, lambda: _record(workload, driver))
            for driver in options.drivers
        ]
        if all(recorded) and len(recorded) == len(DRIVERS):
            name = f"{workload}: equal but for listed differences"
            report.case("traces", name, lambda: _equal(workload))
