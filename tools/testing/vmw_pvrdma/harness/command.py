# SPDX-License-Identifier: GPL-2.0
"""Runs commands of the toolbox as checks."""

import subprocess
from pathlib import Path

from harness.report import Failed
from paths import REPO

# The longest that a command may take, a kernel build on a busy machine.
_SECONDS = 3000


def check(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Returns the command's output; Failed, with the output, when it exits with an error or hangs."""
    shown = " ".join(command)[:200]
    try:
        process = subprocess.run(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as expired:
        raise Failed(f"{shown}: still running after {_SECONDS} s\n{expired.output}") from expired
    if process.returncode:
        raise Failed(f"{shown}: exit status {process.returncode}\n{process.stdout}")
    return process.stdout


def build_kernel(flavour: str, *arguments: str) -> str:
    """Builds a flavour of the kernel; returns the output of the build."""
    return check([str(REPO / "scripts/kernel"), flavour, *arguments])
