# SPDX-License-Identifier: GPL-2.0
"""Starts a guest with an adapter and runs commands in it.

QEMU is started directly, not through virtme-ng: with a small init of our own a guest is up in
about 3 seconds under emulation instead of 10, its console is kept apart from the output of
commands, and several guests can be driven side by side.
"""

import json
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness import kernel_log
from paths import CACHE, REPO, kernel_image, modules_dir

_GUEST = REPO / "tools/testing/vmw_pvrdma/guest"
_BOOT_SECONDS = 120
_CONSOLE = "console=ttyS0 panic=-1 oops=panic tsc=nowatchdog"
_HANGS = "hung_task_panic=1 softlockup_panic=1 sysctl.kernel.hung_task_timeout_secs=60"
_ROOT = "root=root rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=loose ro"


class GuestError(Exception):
    """The guest did not come up, died, or hangs."""


@dataclass
class Result:
    """How a command in the guest ended: status is None when it ran out of time."""

    status: int | None
    output: str


def accelerator() -> str:
    """KVM if a guest really runs with it here, else emulation."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    cached = CACHE / f"accelerator-{boot_id}"
    if not cached.exists():
        cached.write_text("kvm" if _kvm_works() else "tcg,thread=multi")
    return cached.read_text()


def _kvm_works() -> bool:
    # Without a root file system the kernel panics, which ends QEMU.
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "kvm", "-cpu", "host", "-m", "256"]
    command += ["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"]
    command += ["-kernel", str(kernel_image("base")), "-append", "console=ttyS0 panic=-1"]
    try:
        probe = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=8)
    except (subprocess.TimeoutExpired, OSError):
        return False
    return b"Kernel panic" in probe.stdout


class Guest:
    """A virtual machine.  Use as a context manager, then call `run`.

    `link` is the path of a socket that joins the network cards of two guests; without it the
    card is connected to nothing but QEMU.  `parameters` are added to the kernel command line.
    """

    def __init__(
        self,
        directory: Path,
        adapter: Path | None,
        number: int = 1,
        flavour: str = "base",
        link: Path | None = None,
        parameters: tuple[str, ...] = (),
    ):
        self._number = number
        self._flavour = flavour
        self._adapter = adapter
        self._link = link
        self._parameters = parameters
        self._port = directory / f"guest{number}.sock"
        self.console = directory / f"guest{number}.console"
        self._checked = 0

    def _command(self, mode: str, env: dict[str, str]) -> list[str]:
        settings = {
            "PVRDMA_MODULES": str(modules_dir(self._flavour) / "lib/modules"),
            "PVRDMA_GUEST": str(self._number),
            "PVRDMA_MODE": mode,
        } | env
        append = [_CONSOLE, _HANGS, _ROOT, f"init={_GUEST}/init", *self._parameters]
        append += ["quiet"] if mode == "shell" else []
        append += [f"{name}={value}" for name, value in settings.items()]
        accel = accelerator()
        card = {
            "driver": "vmxnet3",
            "netdev": "net",
            "addr": "10.0",
            "multifunction": True,
            "mac": f"00:50:56:00:00:{self._number:02x}",
        }
        command = ["qemu-system-x86_64", "-machine", "q35,memory-backend=ram"]
        command += ["-accel", accel, "-cpu", "host" if accel == "kvm" else "max"]
        command += ["-smp", "2", "-m", "1024", "-object"]
        # The adapter maps the guest's memory, so it must be shared.
        command += ["memory-backend-memfd,id=ram,size=1024M,share=on"]
        command += ["-nodefaults", "-display", "none", "-no-reboot"]
        command += ["-kernel", str(kernel_image(self._flavour)), "-append", " ".join(append)]
        command += ["-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"]
        command += ["-device", "virtio-9p-pci,fsdev=root,mount_tag=root"]
        command += ["-device", "virtio-rng-pci"]
        if self._link:
            server = "on" if self._number == 1 else "off"
            command += ["-netdev"]
            command += [f"stream,id=net,server={server},addr.type=unix,addr.path={self._link}"]
        else:
            command += ["-netdev", "user,id=net,restrict=on,ipv6=off"]
        command += ["-device", json.dumps(card)]
        if self._adapter:
            adapter = {
                "driver": "vfio-user-pci",
                "addr": "10.1",
                # The driver reads memory that the adapter fills in while it handles a register
                # write, without reading a register in between.
                "x-no-posted-writes": True,
                "socket": {"type": "unix", "path": str(self._adapter)},
            }
            command += ["-device", json.dumps(adapter)]
        return command

    def interactive(self, env: dict[str, str]) -> int:
        """Gives the guest's shell to the terminal; returns when the guest ends."""
        size = os.get_terminal_size()
        env = env | {"PVRDMA_ROWS": str(size.lines), "PVRDMA_COLUMNS": str(size.columns)}
        return subprocess.run(
            self._command("shell", env) + ["-chardev", "stdio,id=tty,signal=off", "-serial", "chardev:tty"]
        ).returncode

    def __enter__(self) -> "Guest":
        self._port.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._port))
        listener.listen()
        command = self._command("agent", {}) + ["-serial", f"file:{self.console}"]
        command += ["-chardev", f"socket,id=agent,path={self._port}", "-device", "virtio-serial-pci"]
        command += ["-device", "virtserialport,chardev=agent,name=agent"]
        self._log = self.console.with_suffix(".qemu")
        self._qemu = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log.open("w"), stderr=subprocess.STDOUT
        )
        try:
            self._accept(listener)
            self._lines = self._connection.makefile("rb")
            self._receive(_BOOT_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _accept(self, listener: socket.socket) -> None:
        """Waits for QEMU, which connects as soon as it starts."""
        listener.settimeout(1)
        while self._qemu.poll() is None:
            try:
                self._connection, _ = listener.accept()
                return
            except TimeoutError:
                continue
        raise GuestError("QEMU did not start:\n" + self._log.read_text())

    def _receive(self, seconds: float) -> dict:
        self._connection.settimeout(seconds)
        try:
            line = self._lines.readline()
        except TimeoutError:
            raise GuestError(f"no answer from the guest in {seconds:.0f} s\n" + self._end_of_console()) from None
        except OSError:
            line = b""
        if not line:
            raise GuestError("the guest died\n" + self._end_of_console())
        return json.loads(line)

    def run(self, argv: list[str], timeout: float = 60, env: dict[str, str] | None = None) -> Result:
        """Runs a command in the guest; GuestError if the guest does not survive it."""
        request = {"argv": argv, "env": env or {}, "timeout": timeout}
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        # The guest keeps the time-out itself; past it, the guest hangs.
        answer = self._receive(timeout + 30)
        return Result(answer["status"], answer["output"])

    def _log_text(self) -> str:
        return self.console.read_text(errors="replace")

    def _end_of_console(self) -> str:
        log = self._log_text()
        return kernel_log.trouble(log[self._checked :]) or "\n".join(log.splitlines()[-30:])

    def new_trouble(self) -> str:
        """What the kernel complained about since the last call; empty when it did not."""
        log = self._log_text()
        part, self._checked = log[self._checked :], len(log)
        return kernel_log.trouble(part)

    def __exit__(self, *_) -> None:
        if hasattr(self, "_connection"):
            # The end of the connection ends the agent, and with it the guest.
            self._connection.shutdown(socket.SHUT_RDWR)
            self._connection.close()
        else:
            self._qemu.kill()
        try:
            self._qemu.wait(15)
        except subprocess.TimeoutExpired:
            self._qemu.kill()
            self._qemu.wait()
