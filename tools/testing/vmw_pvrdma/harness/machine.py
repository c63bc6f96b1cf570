# SPDX-License-Identifier: GPL-2.0
"""One or two guests whose adapters share a fabric, with a driver loaded."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from harness.adapter import Adapters
from harness.guest import Guest, GuestError, Result
from paths import REPO, run_dir

# What DRIVER= says, and the module it means.
DRIVERS = {"c": "vmw_pvrdma", "rust": "vmw_pvrdma_rust"}

_LOAD = str(REPO / "tools/testing/vmw_pvrdma/guest/load")


class Machine:
    """Use as a context manager; GuestError if the driver does not load."""

    def __init__(
        self,
        driver: str,
        guests: int = 1,
        adapter: str = "",
        flavour: str = "base",
        parameters: tuple[str, ...] = (),
    ):
        self._module = DRIVERS[driver]
        self._adapter_options = tuple(adapter.split())
        self._count = guests
        self._flavour = flavour
        self._parameters = parameters

    def __enter__(self) -> "Machine":
        directory = run_dir()
        with ExitStack() as stack:
            self.adapters = stack.enter_context(
                Adapters(directory, self._count, self._adapter_options)
            )
            link = directory / "link.sock" if self._count > 1 else None
            self.guests = [
                stack.enter_context(
                    Guest(directory, socket, number, self._flavour, link, self._parameters)
                )
                for number, socket in enumerate(self.adapters.sockets, start=1)
            ]
            for result in self.run_everywhere([_LOAD], timeout=60):
                if result.status != 0:
                    raise GuestError(f"the driver does not load\n{result.output}")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception) -> None:
        self._stack.close()

    def _environment(self, number: int) -> dict[str, str]:
        peer = number % self._count + 1
        return {"DRIVER": self._module, "GUEST": str(number), "PEER": f"192.168.77.{peer}"}

    def run_everywhere(self, argv: list[str], timeout: float) -> list[Result]:
        """Runs a command in all guests at once."""
        with ThreadPoolExecutor(len(self.guests)) as pool:
            running = [
                pool.submit(guest.run, argv, timeout, self._environment(number))
                for number, guest in enumerate(self.guests, start=1)
            ]
            return [future.result() for future in running]

    def new_trouble(self) -> str:
        """What the guests' kernels and the adapter complained about since the last call."""
        self.adapters.check()
        return "\n".join(filter(None, (guest.new_trouble() for guest in self.guests)))
