# SPDX-License-Identifier: GPL-2.0
"""Static checks of what goes into the kernel: rustfmt, checkpatch, clippy, rustdoc."""

from pathlib import Path

from harness.command import check
from harness.report import Failed, Skipped
from paths import REPO, tree

_DRIVER = "drivers/infiniband/hw/vmw_pvrdma_rust"


def _files(*suffixes: str) -> list[Path]:
    directories = ("drivers", "rust", "Documentation")
    found = [path for name in directories for path in (REPO / name).rglob("*")]
    return sorted(path for path in found if path.is_file() and path.suffix in suffixes)


def _rustfmt() -> None:
    # The kernel's rules: its configuration file is found from the file's place in the tree.
    files = [str(tree() / path.relative_to(REPO)) for path in _files(".rs")]
    if not files:
        raise Skipped("no Rust file yet")
    check(["rustfmt", "--check", "--edition", "2021", *files])


def _checkpatch() -> None:
    files = [str(path.relative_to(REPO)) for path in _files(".rs", ".c", ".h", ".rst", "")]
    command = [str(tree() / "scripts/checkpatch.pl"), f"--root={tree()}", "--file", "--terse"]
    # MAINTAINERS is part of the overlay, which checkpatch does not see.
    command += ["--no-summary", "--show-types", "--ignore", "FILE_PATH_CHANGES", *files]
    output = check(command, cwd=REPO)
    if output.strip():
        raise Failed(output)


def _kernel(flavour: str, *arguments: str) -> str:
    return check([str(REPO / "scripts/kernel"), flavour, "--make", *arguments])


def _clippy() -> None:
    _kernel("clippy", "CLIPPY=1", "prepare")
    _kernel("clippy", "CLIPPY=1", "rust/", f"{_DRIVER}/")


def _rustdoc() -> None:
    output = _kernel("base", "rustdoc")
    if "warning:" in output:
        raise Failed(output[output.index("warning:") :])


def run(report, options) -> None:
    report.case("static", "rustfmt", _rustfmt)
    report.case("static", "checkpatch", _checkpatch)
    report.case("static", "clippy", _clippy)
    if options.all:
        report.case("static", "rustdoc", _rustdoc)
