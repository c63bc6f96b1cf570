# SPDX-License-Identifier: GPL-2.0
"""Runs a command of the toolbox as a check."""

import subprocess
from pathlib import Path

from harness.report import Failed


def check(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Returns the command's output; Failed, with the output, when it exits with an error."""
    process = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if process.returncode:
        raise Failed(f"{' '.join(map(str, command))}: exit status {process.returncode}\n{process.stdout}")
    return process.stdout
