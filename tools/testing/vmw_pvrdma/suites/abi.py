# SPDX-License-Identifier: GPL-2.0
"""Requests that no library sends: refused with the right errno, before they reach the adapter.

guest/abi makes the requests; abi-answers.toml says what each driver answers.
"""

import json
import tomllib

from harness import trace
from harness.machine import Machine
from harness.report import Failed
from paths import REPO, run_dir

_TESTING = REPO / "tools/testing/vmw_pvrdma"
_PROGRAM = str(_TESTING / "guest/abi")
_ANSWERS = _TESTING / "abi-answers.toml"


def _run(driver: str) -> dict[str, str]:
    """Makes the requests; returns the answer to each."""
    with Machine(driver) as machine:
        [result] = machine.run_everywhere([_PROGRAM], timeout=120)
        trouble = machine.new_trouble()
    if trouble:
        raise Failed(f"the kernel complained:\n{trouble}")
    if result.status != 0:
        raise Failed(f"exit status {result.status}\n{result.output}")
    records = map(json.loads, result.output.splitlines())
    return {record["case"]: record["answer"] for record in records}


def _expect(answer: str | None, expected: str) -> None:
    if answer != expected:
        raise Failed(f"expected {expected}, the answer is {answer}")


def _adapter_refused_nothing() -> None:
    """What the driver ought to refuse did not get as far as the adapter."""
    refused = [
        event
        for event in trace.load(run_dir() / "trace.jsonl")
        if event["event"] == "answer" and (event["err"] or event["reg_err"])
    ]
    if refused:
        raise Failed("\n".join(map(json.dumps, refused)))


def run(report, options) -> None:
    entries = tomllib.loads(_ANSWERS.read_text())["answer"]
    for driver in options.drivers:
        suite = f"abi {driver}"
        answers = {}
        if not report.case(suite, "(the whole)", lambda: answers.update(_run(driver))):
            continue
        for entry in entries:
            for case in entry["cases"]:
                check = lambda: _expect(answers.pop(case, None), entry[driver])
                report.case(suite, case, check, quiet=True)
        report.case(suite, "no other cases", lambda: _expect(str(answers), "{}"))
        if driver == "rust":
            report.case(suite, "nothing refused by the adapter", _adapter_refused_nothing)
