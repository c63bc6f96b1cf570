# SPDX-License-Identifier: GPL-2.0
"""Collects the results of the tests and prints them as a table."""

import time
from collections import Counter
from collections.abc import Callable

_DETAIL_LINES = 60


class Failed(Exception):
    """A check did not hold; the message says which and shows the evidence."""


class Skipped(Exception):
    """The test does not apply here; the message says why."""


class Report:
    """The table of results; a row is printed as soon as it is known."""

    def __init__(self):
        self.counts = Counter()
        self._start = time.monotonic()

    def record(self, suite: str, name: str, outcome: str, seconds: float, detail: str = "") -> None:
        """Adds a row; `outcome` is passed, failed or skipped."""
        self.counts[outcome] += 1
        note = detail if outcome == "skipped" else ""
        mark = outcome.upper() if outcome == "failed" else outcome
        print(f"{suite:<14} {name:<44} {mark:<8} {seconds:6.1f} s  {note}".rstrip(), flush=True)
        if outcome == "failed":
            for line in detail.splitlines()[-_DETAIL_LINES:]:
                print(f"    | {line}", flush=True)

    def case(self, suite: str, name: str, check: Callable[[], None]) -> bool:
        """Runs one check and adds its row; returns whether it did not fail."""
        start = time.monotonic()
        outcome, detail = "passed", ""
        try:
            check()
        except Skipped as skipped:
            outcome, detail = "skipped", str(skipped)
        except Exception as error:  # A test that breaks has failed; the others still run.
            outcome = "failed"
            detail = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        self.record(suite, name, outcome, time.monotonic() - start, detail)
        return outcome != "failed"

    def finish(self) -> int:
        """Prints the closing line and returns the exit status."""
        print(f"total time {time.monotonic() - self._start:.0f} s")
        passed, failed, skipped = (self.counts[n] for n in ("passed", "failed", "skipped"))
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
        return 1 if failed or not passed else 0
