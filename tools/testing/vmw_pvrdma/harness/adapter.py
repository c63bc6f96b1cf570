# SPDX-License-Identifier: GPL-2.0
"""The process that emulates the adapters."""

import select
import signal
import subprocess
from pathlib import Path

from harness.control import Control
from paths import device_binary

_START_SECONDS = 10


class AdapterError(Exception):
    """The adapter process did not start or did not live."""


class Adapters:
    """One pvrdma-device process that serves a number of adapters on one fabric.

    Use as a context manager.  `sockets` are what QEMU connects to; `control` rules the adapters.
    """

    def __init__(self, directory: Path, count: int = 1, options: tuple[str, ...] = ()):
        self.sockets = [directory / f"adapter{number}.sock" for number in range(count)]
        self.trace = directory / "trace.jsonl"
        self._log = directory / "adapter.log"
        self._control_socket = directory / "control.sock"
        self._control_socket.unlink(missing_ok=True)
        self._command = [str(device_binary()), "--trace", str(self.trace), *options]
        self._command += ["--control", str(self._control_socket)]
        for path in self.sockets:
            path.unlink(missing_ok=True)
            self._command += ["--socket", str(path)]

    def __enter__(self) -> "Adapters":
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log.open("w"),
            text=True,
        )
        readable, _, _ = select.select([self._process.stdout], [], [], _START_SECONDS)
        if not readable or self._process.stdout.readline().strip() != "ready":
            self._process.kill()
            raise AdapterError("the adapter did not start:\n" + self._log.read_text())
        self.control = self.connect()
        return self

    def connect(self) -> Control:
        """One more connection to the control socket."""
        return Control(self._control_socket)

    def check(self) -> None:
        """Raises AdapterError when the process has ended."""
        if self._process.poll() is not None:
            raise AdapterError(
                f"the adapter ended with {self._process.returncode}:\n" + self._log.read_text()
            )

    def __exit__(self, *_) -> None:
        self.control.close()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
