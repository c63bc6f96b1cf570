# SPDX-License-Identifier: GPL-2.0
"""Collects the results of the tests and prints them as tables."""

import time
from collections import Counter
from collections.abc import Callable

# The drivers, as the names of suites have them.
DRIVERS = ("c", "rust")

_DETAIL_LINES = 60


class Failed(Exception):
    """A check did not hold; the message says which and shows the evidence."""


class Skipped(Exception):
    """The test does not apply here; the message says why."""


class Report:
    """The table of results; a row is printed as soon as it is known."""

    def __init__(self):
        self.counts = Counter()
        self._by_driver = {}
        self._start = time.monotonic()

    def record(
        self,
        suite: str,
        name: str,
        outcome: str,
        seconds: float,
        detail: str = "",
        quiet: bool = False,
    ) -> None:
        """Adds a row; `outcome` is passed, failed, skipped or known: a listed failure.

        A `quiet` row is printed only if it failed, or in the comparison of the drivers.
        """
        self.counts[outcome] += 1
        self._note_driver(suite, name, outcome, detail)
        if quiet and outcome != "failed":
            return
        note = detail if outcome == "skipped" else ""
        mark = outcome.upper() if outcome == "failed" else outcome
        print(f"{suite:<14} {name:<44} {mark:<8} {seconds:6.1f} s  {note}".rstrip(), flush=True)
        if outcome == "failed":
            for line in detail.splitlines()[-_DETAIL_LINES:]:
                print(f"    | {line}", flush=True)

    def case(self, suite: str, name: str, check: Callable[[], None], quiet: bool = False) -> bool:
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
        self.record(suite, name, outcome, time.monotonic() - start, detail, quiet)
        return outcome != "failed"

    def _note_driver(self, suite: str, name: str, outcome: str, detail: str) -> None:
        """Remembers the row for the comparison, if its suite is one driver's."""
        for driver in DRIVERS:
            if driver in suite.split():
                base = " ".join(word for word in suite.split() if word != driver)
                row = self._by_driver.setdefault((base, name), {})
                row[driver] = outcome
                if outcome in ("skipped", "known"):
                    row["note"] = " ".join(detail.split())

    def _compare_drivers(self) -> None:
        """Prints what was run with both drivers, side by side."""
        both = [item for item in self._by_driver.items() if set(DRIVERS) <= item[1].keys()]
        if both:
            print(f"\n{'test':<80} {'C driver':<9} Rust driver")
        for (base, name), row in both:
            line = f"{base + ': ' + name:<80} {row['c']:<9} {row['rust']:<9} {row.get('note', '')}"
            print(line.rstrip())

    def finish(self) -> int:
        """Prints the comparison and the closing line; returns the exit status."""
        self._compare_drivers()
        print(f"total time {time.monotonic() - self._start:.0f} s")
        for outcome, words in (("skipped", "skipped"), ("known", "known to fail")):
            if self.counts[outcome]:
                print(f"{self.counts[outcome]} {words}")
        # Programs read this line: nothing else may be in it.
        passed, failed = self.counts["passed"], self.counts["failed"]
        print(f"{passed} passed, {failed} failed")
        return 1 if failed or not passed else 0
