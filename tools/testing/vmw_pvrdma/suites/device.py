# SPDX-License-Identifier: GPL-2.0
"""The emulated adapter's own tests and static checks."""

import re

from harness.command import check
from harness.report import Failed
from paths import cargo_env, device_crate


def _cargo(*args: str) -> str:
    return check(["cargo", *args], cwd=device_crate(), env=cargo_env())


def _tests(report) -> None:
    """Adds a row for each test that cargo ran."""
    output = _cargo("test", "--release", "--locked", "--offline", "--no-fail-fast")
    rows = re.findall(r"^test (.+) \.\.\. (ok|ignored)", output, re.MULTILINE)
    if not rows:
        raise Failed("cargo ran no test\n" + output)
    for name, result in rows:
        report.record("device", name[-44:], "passed" if result == "ok" else "skipped", 0)


def run(report, options) -> None:
    report.case("device", "cargo fmt", lambda: _cargo("fmt", "--check"))
    report.case(
        "device",
        "cargo clippy",
        lambda: _cargo(
            "clippy", "--release", "--all-targets", "--locked", "--offline", "--", "-D", "warnings"
        ),
    )
    report.case("device", "cargo test", lambda: _tests(report))
