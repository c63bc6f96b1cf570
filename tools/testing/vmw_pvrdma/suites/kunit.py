# SPDX-License-Identifier: GPL-2.0
"""The KUnit tests of the modules, run in a guest without an adapter."""

import json
import tempfile
from pathlib import Path

from harness.command import check
from harness.guest import Guest
from harness.report import Failed
from paths import run_dir, tree

# Modules whose tests are run: the driver, and what tests it from outside.
_MODULES = "vmw_pvrdma_rust*"
RESULTS = "/sys/kernel/debug/kunit"


def _load(guest: Guest) -> None:
    """Loading a module runs its tests."""
    script = f"cd /usr/lib/modules/$(uname -r) && find . -name '{_MODULES}.ko' -printf '%f\\n'"
    modules = guest.run(["sh", "-c", script]).output.split()
    if not modules:
        raise Failed(f"no module {_MODULES}")
    for module in modules:
        result = guest.run(["modprobe", module.removesuffix(".ko")], timeout=300)
        if result.status != 0:
            raise Failed(f"modprobe {module}: {result.output}")
    if trouble := guest.new_trouble():
        raise Failed(trouble)


def _suites(guest: Guest) -> set[str]:
    """Names of the test suites that the kernel knows at the moment."""
    return set(guest.run(["ls", RESULTS]).output.split())


def parsed(text: str) -> dict:
    """The results of one suite, as the kernel's own parser sees them."""
    with tempfile.TemporaryDirectory() as name:
        log, result = Path(name) / "log", Path(name) / "result.json"
        log.write_text(text)
        check([str(tree() / "tools/testing/kunit/kunit.py"), "parse", f"--json={result}", str(log)])
        return json.loads(result.read_text())


def _suite(text: str) -> None:
    groups = parsed(text)["sub_groups"]
    counts = [group["misc"] for group in groups]
    passed = sum(count["passed"] for count in counts)
    if not passed or any(c["failed"] or c["crashed"] or c["errors"] for c in counts):
        raise Failed(text)


def run(report, options) -> None:
    with Guest(run_dir(), None, parameters=("kunit.enable=1", "kunit.autorun=1")) as guest:
        before = _suites(guest)
        if not report.case("kunit", "load the modules", lambda: _load(guest)):
            return
        names = sorted(_suites(guest) - before)
        for name in names:
            text = guest.run(["cat", f"{RESULTS}/{name}/results"]).output
            report.case("kunit", name, lambda: _suite(text))
        if not names:
            report.record("kunit", "tests found", "failed", 0, "the modules hold no KUnit test")
