# SPDX-License-Identifier: GPL-2.0
"""Links that come and go, adapters that pause, drivers that are taken away."""

from faults import scenario
from faults.bench import Bench, same

_UNQUIESCE = 1


@scenario()
def fault_93_carrier_lost_and_found(bench: Bench) -> None:
    """Applications hear of both, and the port says so."""
    bench.sh("""
        stdbuf -oL ibv_asyncwatch >/tmp/watch 2>&1 & echo $! >/tmp/watcher
        wait_for 10 grep -q 'async event FD' /tmp/watch""")
    bench.ask("link", state="down")
    bench.sh("""
        wait_for 10 grep -q PORT_ERR /tmp/watch
        ! port_is_active || fail 'the port is active without a carrier'""")
    bench.ask("link", state="up")
    bench.sh("""
        wait_for 10 grep -q PORT_ACTIVE /tmp/watch
        wait_for 10 port_is_active
        kill $(cat /tmp/watcher)""")


@scenario()
def fault_38_interface_down_and_up(bench: Bench) -> None:
    """The device is told to go on once each time that the interface comes up."""
    start = bench.now()
    for _ in range(3):
        bench.sh("""
            ip link set eth0 down; sleep 0.2; ip link set eth0 up
            wait_for 10 port_is_active; wait_for 10 has_ip_gid""")
    same("UNQUIESCE", 3, _unquiesced(bench, start))


def _unquiesced(bench: Bench, since: int) -> int:
    wanted = ("write", "CTL", _UNQUIESCE)
    registers = (event for event in bench.events(since) if event["event"] == "reg")
    return sum((event["op"], event["name"], event["value"]) == wanted for event in registers)


@scenario(slow=True)
def fault_92_pause_of_the_adapter(bench: Bench) -> None:
    """The adapter does nothing for 8 seconds, as when its machine moves: applications go on."""
    bench.sh("""
        (sleep 1; loopback ibv_rc_pingpong -g "$(ip_gid_index)" -c -n 20; echo done) >/tmp/log 2>&1 &
        """)
    bench.ask("stall", ms=8000)
    bench.sh("wait_for 60 grep -q done /tmp/log", timeout=90)


@scenario(drivers="rust")
def fault_18_unbind_with_open_files(bench: Bench) -> None:
    """Unbinding does not wait for processes; they get an error."""
    bench.sh("""
        stdbuf -oL ibv_asyncwatch >/tmp/watch 2>&1 & echo $! >/tmp/watcher
        wait_for 10 grep -q 'async event FD' /tmp/watch
        timeout 10 sh -c "echo $ADAPTER >$PCI_DRIVER/unbind"
        wait_for 10 grep -q FATAL /tmp/watch""")
    same("objects without a driver", 0, sum(bench.objects().values()))
    bench.sh("""
        kill $(cat /tmp/watcher)
        echo $ADAPTER >$PCI_DRIVER/bind
        wait_for 10 port_is_active; wait_for 10 has_ip_gid""")
    bench.all_verbs_work()
