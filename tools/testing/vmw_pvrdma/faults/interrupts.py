# SPDX-License-Identifier: GPL-2.0
"""Adapters with fewer interrupt vectors than usual."""

from faults import scenario
from faults.bench import Bench, same


def _works_with(bench: Bench, vectors: int) -> None:
    """Answers, events and notifications arrive through what vectors there are."""
    script = "{ ls /sys/bus/pci/devices/$ADAPTER/msi_irqs 2>/dev/null || true; } | wc -l"
    same("vectors in use", vectors, int(bench.sh(script)))
    bench.sh("""
        loopback ibv_rc_pingpong -g "$(ip_gid_index)" -e -c -n 50
        stdbuf -oL ibv_asyncwatch >/tmp/watch 2>&1 & echo $! >/tmp/watcher
        wait_for 10 grep -q 'async event FD' /tmp/watch""")
    bench.ask("link", state="down")
    bench.sh("wait_for 10 grep -q PORT_ERR /tmp/watch; kill $(cat /tmp/watcher)")


@scenario(drivers="rust", slow=True, adapter="--vectors 2")
def fault_43_two_vectors(bench: Bench) -> None:
    """The second vector tells of events and notifications."""
    _works_with(bench, 2)


@scenario(drivers="rust", slow=True, adapter="--vectors 1")
def fault_43_one_vector(bench: Bench) -> None:
    """The only vector tells of everything."""
    _works_with(bench, 1)


@scenario(drivers="rust", slow=True, adapter="--vectors 0")
def fault_43_interrupt_line(bench: Bench) -> None:
    """Without vectors there is a line, shared with whatever else is on it."""
    _works_with(bench, 0)
