# SPDX-License-Identifier: GPL-2.0
"""The emulated adapter's own tests and static checks."""

import re

from harness.command import check
from harness.report import Failed
from paths import cargo_env, device_crate


def _cargo(*args: str) -> str:
    return check(["cargo", *args], cwd=device_crate(), env=cargo_env())


def _tests(report) -> None:
    """Adds a row for each test program that cargo ran."""
    output = _cargo("test", "--release", "--locked", "--offline", "--no-fail-fast")
    programs = re.findall(r"Running (?:unittests )?(\S+).*?test result: ok\. (\d+) passed", output, re.DOTALL)
    if not any(int(count) for _, count in programs):
        raise Failed("cargo ran no test\n" + output)
    for program, count in programs:
        if int(count):
            report.record("device", f"{program}: {count} tests", "passed", 0)


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
