# SPDX-License-Identifier: GPL-2.0
"""Guards what lets the driver load on a kernel with INFINIBAND=m, and on a stock one.

The kernel crate is part of the kernel image.  Nothing of kernel::rdma may end up in it: it could
not refer to the RDMA core, which is a module, and a distribution's kernel would not have it.
"""

import re
import subprocess

from harness.command import check
from harness.report import Failed
from paths import REPO, build_dir, tree

_RDMA_SYMBOL = re.compile(r"^(_?ib_|rdma_|__rdma_|_?uverbs_)")
_RDMA_MODULE = "6kernel4rdma"


def _symbols(path, *options: str) -> list[str]:
    output = check(["llvm-nm", "--format=just-symbols", *options, str(path)])
    symbols = output.split()
    if not symbols:
        raise Failed(f"{path} has no symbols")
    return symbols


def _no_reference() -> None:
    undefined = _symbols(build_dir("base") / "rust/kernel.o", "--undefined-only")
    found = [name for name in undefined if _RDMA_SYMBOL.match(name)]
    if found:
        raise Failed("rust/kernel.o refers to the RDMA core: " + " ".join(found))


def _no_code() -> None:
    found = [s for s in _symbols(build_dir("base") / "rust/kernel.o") if _RDMA_MODULE in s]
    if found:
        raise Failed("rust/kernel.o holds code or data of kernel::rdma: " + " ".join(found))


def _exports(path) -> set[str]:
    return set(_symbols(path, "--defined-only", "--extern-only"))


def _exports_of_plain_tree() -> set[str]:
    """What the kernel crate exports without this repository."""
    crate = build_dir("base") / "rust/kernel.o"
    build = f"{REPO}/scripts/kernel base --lenient --make prepare >&2"
    show = f"llvm-nm --format=just-symbols --defined-only --extern-only {crate}"
    command = [str(REPO / "scripts/without-overlay"), str(tree()), str(build_dir("base"))]
    process = subprocess.run(
        [*command, "sh", "-c", f"{build} && {show}"], capture_output=True, text=True
    )
    if process.returncode:
        raise Failed(process.stderr)
    return set(process.stdout.split())


def _exports_unchanged() -> None:
    plain = _exports_of_plain_tree()
    ours = _exports(build_dir("base") / "rust/kernel.o")
    if plain != ours:
        raise Failed(
            "exported names of the kernel crate differ from the plain tree's\n"
            + "".join(f"added {name}\n" for name in sorted(ours - plain))
            + "".join(f"gone  {name}\n" for name in sorted(plain - ours))
        )


def run(report, options) -> None:
    report.case("guard", "kernel crate has no reference to ib_core", _no_reference)
    report.case("guard", "kernel crate has no code of kernel::rdma", _no_code)
    report.case("guard", "kernel crate exports what it always did", _exports_unchanged)
