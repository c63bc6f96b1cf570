# SPDX-License-Identifier: GPL-2.0
"""The verbs of kernel consumers, with both drivers: the KUnit module in ../kernel."""

from harness.machine import Machine
from harness.report import Failed
from suites.kunit import RESULTS, parsed

_MODULE = "pvrdma_kverbs_test"
_SUITE = "pvrdma_kverbs"
_SECONDS = 300
_OUTCOMES = {"PASS": "passed", "SKIP": "skipped"}


def _run(driver: str) -> tuple[str, list[dict]]:
    """Loads the module, which runs the tests; returns their log and their results."""
    with Machine(driver, parameters=("kunit.enable=1", "kunit.autorun=1")) as machine:
        [result] = machine.run_everywhere(["modprobe", _MODULE], timeout=_SECONDS)
        if result.status != 0:
            raise Failed(f"modprobe {_MODULE}: {result.output}")
        [result] = machine.run_everywhere(["cat", f"{RESULTS}/{_SUITE}/results"], timeout=60)
        [unload] = machine.run_everywhere(["modprobe", "-r", _MODULE], timeout=60)
        if unload.status != 0:
            raise Failed(f"modprobe -r {_MODULE}: {unload.output}")
        if trouble := machine.new_trouble():
            raise Failed(trouble)
    [group] = parsed(result.output)["sub_groups"]
    return result.output, group["test_cases"]


def run(report, options) -> None:
    for driver in options.drivers:
        suite, results = f"kverbs {driver}", []
        if not report.case(suite, "run the module", lambda: results.extend(_run(driver))):
            continue
        log, cases = results
        for case in cases:
            outcome = _OUTCOMES.get(case["status"], "failed")
            report.record(suite, case["name"], outcome, 0, log if outcome == "failed" else "")
        if not cases:
            report.record(suite, "tests found", "failed", 0, log)
