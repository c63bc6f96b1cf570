# SPDX-License-Identifier: GPL-2.0
"""The harness itself: its unit tests, and that a guest in trouble does not go unnoticed."""

import sys
from collections.abc import Callable

from harness.command import check
from harness.guest import Guest, GuestError
from harness.report import Failed
from paths import REPO, run_dir

_TESTING = REPO / "tools/testing/vmw_pvrdma"
_CRASH = "modprobe lkdtm && echo {} >/sys/kernel/debug/provoke-crash/DIRECT"


def _unit_tests() -> None:
    output = check([sys.executable, "-m", "unittest", "discover", "-s", "unit", "-t", "."], cwd=_TESTING)
    if "\nRan 0 tests" in output:
        raise Failed(output)


def _in_guest(act: Callable[[Guest], None]) -> None:
    with Guest(run_dir(), None) as guest:
        act(guest)


def _warning(guest: Guest) -> None:
    guest.run(["sh", "-c", _CRASH.format("WARNING")])
    if "WARNING:" not in (trouble := guest.new_trouble()):
        raise Failed(f"a warning was not noticed: '{trouble}'")


def _panic(guest: Guest) -> None:
    try:
        guest.run(["sh", "-c", _CRASH.format("PANIC")])
    except GuestError as error:
        if "Kernel panic" in str(error):
            return
        raise Failed(f"no panic in the report: {error}") from error
    raise Failed("a panic was not noticed")


def _timeout(guest: Guest) -> None:
    result = guest.run(["sleep", "60"], timeout=1)
    if result.status is not None:
        raise Failed(f"a command that takes too long ended with {result.status}")


def run(report, options) -> None:
    report.case("harness", "unit tests", _unit_tests)
    report.case("harness", "a warning is noticed", lambda: _in_guest(_warning))
    report.case("harness", "a panic is noticed", lambda: _in_guest(_panic))
    report.case("harness", "a command that hangs is ended", lambda: _in_guest(_timeout))
