# SPDX-License-Identifier: GPL-2.0
"""Static checks of what goes into the kernel: rustfmt, checkpatch, clippy, rustdoc, the ABI."""

import os

from harness.command import build_kernel, check
from harness.report import Failed
from paths import REPO, tree

_DRIVER = "drivers/infiniband/hw/vmw_pvrdma_rust"


def _files(*suffixes: str) -> list[str]:
    directories = ("drivers", "rust", "Documentation")
    found = (path for name in directories for path in (REPO / name).rglob("*"))
    return sorted(
        str(path.relative_to(REPO)) for path in found if path.is_file() and path.suffix in suffixes
    )


def _rustfmt() -> None:
    config = str(tree() / ".rustfmt.toml")
    check(["rustfmt", "--check", "--color=never", "--config-path", config, *_files(".rs")], cwd=REPO)


def _checkpatch() -> None:
    command = [str(tree() / "scripts/checkpatch.pl"), f"--root={tree()}", "--file", "--terse"]
    # MAINTAINERS is part of the overlay, which checkpatch does not see.
    command += ["--no-summary", "--show-types", "--ignore", "FILE_PATH_CHANGES"]
    # Without a git directory checkpatch leaves out what needs more tools than we have.
    env = os.environ | {"GIT_DIR": "/nonexistent"}
    output = check([*command, *_files(".rs", ".c", ".h", ".rst", "")], cwd=REPO, env=env)
    if output.strip():
        raise Failed(output)


def _clippy() -> None:
    build_kernel("clippy", "--make", "CLIPPY=1", "prepare")
    build_kernel("clippy", "--make", "CLIPPY=1", f"{_DRIVER}/")


def _rustdoc() -> None:
    output = build_kernel("base", "--make", "rustdoc")
    if "warning:" in output:
        raise Failed(output[output.index("warning:") :])


def _abi() -> None:
    check([str(REPO / "tools/testing/vmw_pvrdma/abi/check"), str(tree())])


def run(report, options) -> None:
    report.case("static", "rustfmt", _rustfmt)
    report.case("static", "checkpatch", _checkpatch)
    report.case("static", "clippy", _clippy)
    report.case("static", "the ABI agrees with the C headers", _abi)
    if options.all:
        report.case("static", "rustdoc", _rustdoc)
        report.case("static", "kernel with INFINIBAND=y builds", lambda: build_kernel("builtin"))
