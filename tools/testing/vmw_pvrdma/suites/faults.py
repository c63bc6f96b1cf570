# SPDX-License-Identifier: GPL-2.0
"""Runs the scenarios of faults/ with both drivers: an adapter that misbehaves.

Scenarios share a machine until one of them fails.
"""

import importlib
import itertools

from faults.bench import Bench
from harness.adapter import AdapterError
from harness.control import ControlError
from harness.guest import GuestError
from harness.machine import Machine

_MODULES = ("commands", "probe", "rings", "link", "user", "interrupts", "fuzz")


def _scenarios() -> list:
    """All scenarios, in the order in which the files have them."""
    modules = [importlib.import_module(f"faults.{name}") for name in _MODULES]
    return [
        function
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("fault_")
    ]


def _check(bench: Bench, scenario) -> None:
    scenario(bench)
    bench.no_trouble()
    bench.recover()


def _run_in_machines(report, driver: str, scenarios: list) -> None:
    """Runs scenarios that need the same adapter; starts a new machine after one that failed."""
    while scenarios:
        try:
            with Machine(driver, adapter=scenarios[0].adapter) as machine:
                bench = Bench(machine, driver)
                while scenarios:
                    scenario = scenarios.pop(0)
                    check = lambda: _check(bench, scenario)
                    if not report.case(f"faults {driver}", scenario.__name__, check):
                        break
        except (AdapterError, ControlError, GuestError) as error:
            names = " ".join(scenario.__name__ for scenario in scenarios)
            detail = f"{error}\nnot run: {names}"
            report.record(f"faults {driver}", "start of the machine", "failed", 0, detail)
            return


def run(report, options) -> None:
    for driver in options.drivers:
        chosen = [
            scenario
            for scenario in _scenarios()
            if driver in scenario.drivers and (options.all or not scenario.is_slow)
        ]
        adapter = lambda scenario: scenario.adapter
        for _, group in itertools.groupby(sorted(chosen, key=adapter), key=adapter):
            _run_in_machines(report, driver, list(group))
