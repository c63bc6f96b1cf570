# SPDX-License-Identifier: GPL-2.0
"""Runs the programs of guest/tests in guests, with both drivers.

To add a test, add an executable file there.  It passes with exit status 0 and is skipped with
4, as kselftests do; it finds DRIVER (the module's name), GUEST (the guest's number) and PEER
(address of the other guest) in its environment.  Comment lines of its head may say:

  # drivers: rust              run with these drivers only (default: c rust)
  # guests: 2                  run in two guests at once, joined by a network (default: 1)
  # adapter: --hw-version 17   options of the adapter
  # timeout: 120               seconds (default: 60)
  # slow: yes                  run only if all tests are run

Tests that need the same machine share one, until one of them upsets its kernel.
"""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from harness.adapter import AdapterError
from harness.command import build_kernel
from harness.guest import GuestError
from harness.machine import Machine
from harness.report import Failed, Skipped
from paths import REPO

_TESTS = REPO / "tools/testing/vmw_pvrdma/guest/tests"
_SKIPPED = 4


@dataclass
class Test:
    """A guest test and what its head asks for."""

    path: Path
    drivers: list[str]
    guests: int
    adapter: str
    timeout: int
    slow: bool


def _read(path: Path) -> Test:
    head = itertools.takewhile(lambda line: line.startswith("#"), path.read_text().splitlines())
    found = (re.fullmatch(r"# (drivers|guests|adapter|timeout|slow): (.*)", line) for line in head)
    settings = {match[1]: match[2] for match in found if match}
    return Test(
        path,
        settings.get("drivers", "c rust").split(),
        int(settings.get("guests", 1)),
        settings.get("adapter", ""),
        int(settings.get("timeout", 60)),
        "slow" in settings,
    )


def _check(machine: Machine, test: Test) -> None:
    results = machine.run_everywhere([str(test.path)], test.timeout)
    output = "".join(result.output for result in results)
    statuses = [result.status for result in results]
    if trouble := machine.new_trouble():
        raise Failed(f"{output}\nthe kernel complained:\n{trouble}")
    if None in statuses:
        raise Failed(f"{output}\nstill running after {test.timeout} s")
    if statuses == [_SKIPPED] * len(statuses):
        raise Skipped(output.strip())
    if any(statuses):
        raise Failed(f"{output}\nexit status {statuses}")


def _run_on_machines(report, suite: str, driver: str, flavour: str, tests: list[Test]) -> None:
    """Runs tests that need the same machine; starts a new one after a test that spoilt it."""
    while tests:
        try:
            with Machine(driver, tests[0].guests, tests[0].adapter, flavour) as machine:
                while tests:
                    test = tests.pop(0)
                    if not report.case(suite, test.path.stem, lambda: _check(machine, test)):
                        break
        except (AdapterError, GuestError) as error:
            names = " ".join(test.path.stem for test in tests)
            report.record(suite, "start of the machine", "failed", 0, f"{error}\nnot run: {names}")
            return


def run(report, options) -> None:
    tests = [_read(path) for path in sorted(_TESTS.iterdir())]
    tests = [test for test in tests if options.all or not test.slow]
    flavours = ("base", "debug") if options.all else ("base",)
    for flavour in flavours[1:]:
        report.case("guest", f"build of the {flavour} kernel", lambda: build_kernel(flavour))
    for flavour, driver in itertools.product(flavours, options.drivers):
        suite = f"guest {driver}" + ("" if flavour == "base" else f" {flavour}")
        chosen = [test for test in tests if driver in test.drivers]
        machine = lambda test: (test.guests, test.adapter)
        for _, group in itertools.groupby(sorted(chosen, key=machine), key=machine):
            _run_on_machines(report, suite, driver, flavour, list(group))
