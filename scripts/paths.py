# SPDX-License-Identifier: GPL-2.0
"""Where things are inside the toolbox (see scripts/toolbox)."""

import hashlib
import os
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
