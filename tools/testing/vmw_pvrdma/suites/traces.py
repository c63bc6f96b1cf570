# SPDX-License-Identifier: GPL-2.0
"""Both drivers ask the adapter for the same things, except for listed differences."""

from harness import trace
from harness.machine import DRIVERS, Machine
from harness.report import Failed
from paths import REPO, run_dir

_WORKLOAD = str(REPO / "tools/testing/vmw_pvrdma/guest/pingpong-workload")
_INTENDED = REPO / "tools/testing/vmw_pvrdma/intended-differences.toml"
_PINGPONG = ["INIT", "RTR", "RTS"]


def _record(driver: str) -> None:
    with Machine(driver) as machine:
        [result] = machine.run_everywhere([_WORKLOAD], timeout=60)
        if result.status != 0:
            raise Failed(result.output)
    (run_dir() / "trace.jsonl").rename(run_dir() / f"pingpong-{driver}.jsonl")


def _events(driver: str) -> list[dict]:
    return trace.load(run_dir() / f"pingpong-{driver}.jsonl")


def _complete(driver: str) -> None:
    """Two queue pairs went the way of a ping-pong, so there is something to compare."""
    seen = trace.transitions(_events(driver))
    if sum(states[:3] == _PINGPONG for states in seen) < 2:
        raise Failed(f"the trace shows {seen}")


def _equal() -> None:
    complaints = trace.compare(_events("c"), _events("rust"), trace.IntendedDifferences(_INTENDED))
    if complaints:
        raise Failed("\n".join(complaints))


def run(report, options) -> None:
    recorded = [
        report.case("traces", f"ping-pong with the {driver} driver", lambda: _record(driver))
        and report.case("traces", f"trace of the {driver} driver is complete", lambda: _complete(driver))
        for driver in options.drivers
    ]
    if all(recorded) and len(recorded) == len(DRIVERS):
        report.case("traces", "traces are equal but for listed differences", _equal)
