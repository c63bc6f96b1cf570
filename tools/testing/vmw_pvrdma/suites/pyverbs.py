# SPDX-License-Identifier: GPL-2.0
"""rdma-core's own test suite, pyverbs, with both drivers.

Only the suite itself may skip a case, and not with the Rust driver what passes with the C driver.
A case may fail only if known-failures.toml says why.  Without --all only those modules run that
have cases for an adapter of this kind.
"""

import json
import re
import tomllib
from pathlib import Path

from harness.machine import Machine
from harness.report import Failed
from paths import REPO

_TESTING = REPO / "tools/testing/vmw_pvrdma"
_PROGRAM = str(_TESTING / "guest/pyverbs")
_SECONDS = 900

_QUICK = """test_addr test_atomic test_cq test_cq_events test_device test_mr test_pd test_qp
test_rdmacm test_relaxed_ordering test_srq""".split()


class KnownFailures:
    """The list of cases that are known to fail with one driver."""

    def __init__(self, path: Path, driver: str):
        self._entries = {
            case: entry
            for entry in tomllib.loads(path.read_text())["failure"]
            for case in entry["cases"]
            if driver in entry["drivers"]
        }

    def judge(self, record: dict) -> tuple[str, str]:
        """The outcome of a case, in the light of the list, and its explanation."""
        outcome, detail = record["outcome"], record["detail"]
        entry = self._entries.get(record["test"])
        if entry is None:
            return outcome, detail
        if outcome == "failed" and re.search(entry["detail"], detail):
            return "known", entry["reason"]
        return "failed", f"known to fail with '{entry['detail']}', but it {outcome}\n{detail}"


def _run(driver: str, modules: list[str]) -> list[dict]:
    """Runs the suite in a guest; returns its records."""
    with Machine(driver) as machine:
        [result] = machine.run_everywhere([_PROGRAM, *modules], _SECONDS)
        trouble = machine.new_trouble()
    if trouble:
        raise Failed(f"the kernel complained:\n{trouble}")
    if result.status != 0:
        raise Failed(f"exit status {result.status}\n{result.output}")
    return [json.loads(line) for line in result.output.splitlines()]


def run(report, options) -> None:
    passed_with_c = set()
    for driver in options.drivers:
        records = []
        suite = f"pyverbs {driver}"
        complete = lambda: records.extend(_run(driver, [] if options.all else _QUICK))
        report.case(suite, "(the whole)", complete)
        known = KnownFailures(_TESTING / "known-failures.toml", driver)
        for record in records:
            test = record["test"]
            outcome, detail = known.judge(record)
            if driver == "c" and outcome == "passed":
                passed_with_c.add(test)
            elif outcome == "skipped" and test in passed_with_c:
                outcome, detail = "failed", f"passed with the C driver, but is skipped: {detail}"
            report.record(suite, test, outcome, record["seconds"], detail, quiet=True)
