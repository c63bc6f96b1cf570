# SPDX-License-Identifier: GPL-2.0
"""What scenarios work with: a guest, and a hand on its adapter."""

import contextlib
import errno
import json
import threading
from concurrent.futures import ThreadPoolExecutor

from harness.machine import Machine
from harness.report import Failed
from paths import REPO

_GUEST = REPO / "tools/testing/vmw_pvrdma/guest"
_LIB = f"set -euo pipefail; . {_GUEST}/lib.sh; "
# Shell functions that every run of a command has at hand.
_VERBS = str(_GUEST / "verbs")


def name_of(number: int) -> str:
    """An errno as people know it."""
    return errno.errorcode.get(number, str(number)) if number else "success"


def rule(on: str, nth: int = 1, times: int | None = 1, in_turn: bool = False, **effect) -> dict:
    """A rule for the adapter (see device/README.md)."""
    return {"on": on, "nth": nth, "times": times, "in_turn": in_turn, "effect": effect}


def same(what: str, expected, found) -> None:
    """Fails unless both are equal."""
    if expected != found:
        raise Failed(f"{what}: expected {expected}, found {found}")


class Bench:
    """One guest with the driver loaded."""

    def __init__(self, machine: Machine, driver: str):
        self._machine = machine
        self.driver = driver

    def ask(self, do: str, **keys):
        """Sends a request to the adapter."""
        return self._machine.adapters.control.ask(do, **keys)

    def rules(self, *rules: dict) -> None:
        """Puts rules in force in place of those before."""
        self.ask("rules", rules=list(rules))

    def objects(self) -> dict[str, int]:
        """How many objects the driver has on the adapter."""
        return self.ask("objects")

    def now(self) -> int:
        """A point in the adapter's trace."""
        return self._machine.adapters.trace.stat().st_size

    def events(self, since: int) -> list[dict]:
        """What the adapter's trace has got since then."""
        with self._machine.adapters.trace.open("rb") as trace:
            trace.seek(since)
            return [json.loads(line) for line in trace if line.endswith(b"\n")]

    def sh(self, script: str, timeout: float = 60) -> str:
        """Runs a script in the guest, with guest/lib.sh; it must succeed."""
        [result] = self._machine.run_everywhere(["bash", "-c", _LIB + script], timeout)
        if result.status != 0:
            raise Failed(f"{script}: exit status {result.status}\n{result.output}")
        return result.output

    def verbs(self, rounds: int = 1, *options: str, timeout: float = 120) -> list[dict[str, int]]:
        """Calls every verb; returns how each ended, for each round (see guest/verbs)."""
        output = self.sh(" ".join([_VERBS, *options, str(rounds)]), timeout)
        return [json.loads(line) for line in output.splitlines()]

    def all_verbs_work(self, *options: str, rounds: int = 1, timeout: float = 120) -> None:
        """Fails unless every verb succeeds."""
        for ends in self.verbs(rounds, *options, timeout=timeout):
            bad = {step: name_of(end) for step, end in ends.items() if end}
            if bad or "destroy_qp" not in ends:
                raise Failed(f"verbs that should succeed: {bad or ends}")

    @contextlib.contextmanager
    def hammering(self, *requests: dict):
        """Sends these requests over and over, as long as the context lasts."""
        stop = threading.Event()

        def hammer() -> None:
            with contextlib.closing(self._machine.adapters.connect()) as control:
                while not stop.is_set():
                    for request in requests:
                        control.ask(**request)

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(hammer)
            try:
                yield
            finally:
                stop.set()
            future.result()

    def no_trouble(self) -> None:
        """Fails if the guest's kernel complained."""
        if trouble := self._machine.new_trouble():
            raise Failed(f"the kernel complained:\n{trouble}")

    def recover(self) -> None:
        """Ends all faults; the driver must work again, by itself."""
        self.rules()
        self.ask("caps", caps={})
        self.ask("registers", registers={})
        self.ask("link", state="up")
        self.sh("load_driver")
