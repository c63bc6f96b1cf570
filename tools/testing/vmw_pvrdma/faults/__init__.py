# SPDX-License-Identifier: GPL-2.0
"""Scenarios in which the adapter misbehaves.

A scenario is a function whose name begins with `fault_` and, where there is one, the number of
the fault in the project's list of known faults.  It gets a Bench and raises Failed when the driver
does not do the right thing.  It leaves the driver loaded and usable.
"""

import functools
from collections.abc import Callable


def scenario(*, drivers: str = "c rust", slow: bool = False, adapter: str = "") -> Callable:
    """Marks a function as a scenario: for some drivers only, not for every change, or on an
    adapter that is started with other options."""

    def mark(function: Callable) -> Callable:
        @functools.wraps(function)
        def run(bench) -> None:
            function(bench)

        run.drivers = drivers.split()
        run.is_slow = slow
        run.adapter = adapter
        return run

    return mark
