# SPDX-License-Identifier: GPL-2.0
"""Finds trouble in a kernel log."""

import re

# What starts a report of the kernel about itself.
_TROUBLE = re.compile(
    r"BUG:|WARNING:|Oops|Kernel panic|general protection fault|Call Trace:|"
    r"UBSAN:|KASAN:|KMSAN:|DMA-API:|INFO: (task|rcu|trying to register)|rcu: INFO|"
    r"possible (circular|recursive) locking|suspicious RCU usage|"
    r"unregister_netdevice: waiting|rust_kernel: panicked|refcount_t:|soft lockup|blocked for more than"
)
_LINES_AFTER = 40


def trouble(log: str) -> str:
    """The part of `log` from the first report on, or an empty string."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if _TROUBLE.search(line):
            return "\n".join(lines[max(0, number - 3) : number + _LINES_AFTER])
    return ""
