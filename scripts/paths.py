# SPDX-License-Identifier: GPL-2.0
"""Where things are inside the toolbox (see scripts/toolbox)."""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path("/repo")
CACHE = Path("/cache")
SOURCE_PACKAGE = "linux-source-7.3"


def die(message: str) -> None:
    """Ends the program with one line, for anything the user has to put right."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def need_space(path: Path, mib: int, what: str) -> None:
    """Stops early when the file system of `path` is too full."""
    free = shutil.disk_usage(path).free // 2**20
    if free < mib:
        die(f"{what} needs {mib} MiB of free disk space, {free} MiB are left")


def _package_version() -> str:
    query = ["dpkg-query", "-W", "-f", "${Version}", SOURCE_PACKAGE]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout


def own_tree() -> bool:
    """Whether the kernel tree is one that this repository unpacked (KDIR is not set)."""
    return not os.environ.get("KDIR")


def tree() -> Path:
    """The kernel tree."""
    return CACHE / "tree" / _package_version() if own_tree() else Path(os.environ["KDIR"])


def build_dir(flavour: str) -> Path:
    """The kernel's build directory for one set of configuration fragments."""
    if own_tree():
        key = _package_version()
    else:
        key = "kdir-" + hashlib.sha256(os.environ["KDIR_NAME"].encode()).hexdigest()[:8]
    return CACHE / "build" / key / flavour


def kernel_image(flavour: str) -> Path:
    """The bootable kernel."""
    return build_dir(flavour) / "arch/x86/boot/bzImage"


def modules_dir(flavour: str) -> Path:
    """What stands for / of the installed modules: they are in lib/modules below it."""
    return build_dir(flavour) / "modules"


def device_crate() -> Path:
    """The crate of the emulated adapter."""
    return REPO / "tools/testing/vmw_pvrdma/device"


def cargo_env() -> dict[str, str]:
    """Environment that keeps cargo's files in the cache."""
    return os.environ | {
        "CARGO_HOME": str(CACHE / "cargo"),
        "CARGO_TARGET_DIR": str(CACHE / "device"),
    }


def device_binary() -> Path:
    """The emulated adapter."""
    return CACHE / "device/release/pvrdma-device"


@functools.cache
def run_dir() -> Path:
    """Logs, traces and sockets of the guests and the adapter, for one process at a time."""
    directory = CACHE / "run"
    directory.mkdir(exist_ok=True)
    # The descriptor, and with it the lock, stays until the process ends.
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        die("other guests run in this cache directory; wait for them, or set CACHE=")
    return directory
