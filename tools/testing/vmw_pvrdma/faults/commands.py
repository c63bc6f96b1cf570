# SPDX-License-Identifier: GPL-2.0
"""Commands that the adapter refuses, forgets, answers late, twice or wrongly."""

import errno
import time

from faults import scenario
from faults.bench import Bench, name_of, rule, same
from harness.report import Failed

# Steps of guest/verbs and the commands they send, the last of a round first: when one has failed,
# the next rule finds no occurrence any more in the same round.
_ASKING = {
    "query_qp": "QUERY_QP",
    "modify_to_init": "MODIFY_QP",
    "create_qp": "CREATE_QP",
    "query_srq": "QUERY_SRQ",
    "create_srq": "CREATE_SRQ",
    "reg_mr": "CREATE_MR",
    "create_cq": "CREATE_CQ",
    "alloc_pd": "CREATE_PD",
    "query_port": "QUERY_PORT",
    "alloc_context": "CREATE_UC",
}
# Occurrences in what is left of the round before, where there are any.
_LEFT_OVER = {"modify_to_init": 1}
_TELLING = {"modify_srq": "MODIFY_SRQ"}
_DESTROYING = ["DESTROY_" + kind for kind in ("MR", "SRQ", "QP", "CQ", "PD", "UC")]


def _each_fails(
    bench: Bench, commands: dict[str, str], expected: int, other: dict[str, int] = {}, **effect
) -> None:
    """Lets each command fail in turn: its verb fails with the errno expected, which is an `other`
    one for some; nothing is left behind, and the other verbs are not affected."""
    before = bench.objects()
    bench.rules(
        *(
            rule(command, nth=1 + _LEFT_OVER.get(step, 0), in_turn=True, **effect)
            for step, command in commands.items()
        )
    )
    rounds = bench.verbs(len(commands))
    same("rules that did not go off", [], bench.ask("unused_rules"))
    for step, ends in zip(commands, rounds, strict=True):
        same(f"end of {step}", name_of(other.get(step, expected)), name_of(ends[step]))
        others = {name: name_of(end) for name, end in ends.items() if end and name != step}
        same(f"other failures when {step} fails", {}, others)
    same("objects left", before, bench.objects())
    bench.all_verbs_work()


def _each_answer(bench: Bench, command: str, step: str, fields: list[dict], expected: int) -> None:
    """Lets a command be answered with each of some impossible values."""
    bench.rules(*(rule(command, in_turn=True, fields=values) for values in fields))
    rounds = bench.verbs(len(fields))
    same("rules that did not go off", [], bench.ask("unused_rules"))
    for values, ends in zip(fields, rounds, strict=True):
        same(f"end of {step} with {values}", name_of(expected), name_of(ends[step]))
    bench.rules()
    bench.all_verbs_work()


@scenario()
def fault_88_each_command_refused(bench: Bench) -> None:
    """Refused in the error register."""
    # The C driver has always had another errno for the verbs of shared receive queues; that of
    # modify_srq is also right for what the device can refuse there.
    other = {"query_srq": errno.EINVAL} if bench.driver == "c" else {}
    _each_fails(bench, _ASKING, errno.EFAULT, other, reg_err=22)
    _each_fails(bench, _TELLING, errno.EINVAL, reg_err=22)


@scenario(drivers="rust")
def fault_20_error_byte_of_each_answer(bench: Bench) -> None:
    """Refused in the error byte; the C driver looks at it for one command only."""
    _each_fails(bench, _ASKING, errno.EINVAL, err=5)


@scenario(slow=True)
def fault_88_each_command_of_a_pingpong_refused(bench: Bench) -> None:
    """The program ends with an error, and nothing of it is left."""
    before = bench.objects()
    effects = [{"reg_err": 22}]
    if bench.driver == "rust":
        effects.append({"err": 5})
    for effect in effects:
        for command in ("CREATE_UC", "CREATE_PD", "CREATE_MR", "CREATE_CQ", "CREATE_QP", "MODIFY_QP"):
            bench.rules(rule(command, **effect))
            bench.sh('! timeout 20 ibv_rc_pingpong -g "$(ip_gid_index)" || fail "it succeeded"')
            same("rules that did not go off", [], bench.ask("unused_rules"))
            same(f"objects left by {command} {effect}", before, bench.objects())
    bench.rules()
    bench.sh('loopback ibv_rc_pingpong -g "$(ip_gid_index)" -c -n 20')


@scenario(slow=True)
def fault_76_each_destroy_refused(bench: Bench) -> None:
    """The device says no, although it does it: nothing crashes, and later objects work."""
    before = bench.objects()
    bench.rules(*(rule(command, reg_err=16, execute=True) for command in _DESTROYING))
    bench.verbs()
    same("rules that did not go off", [], bench.ask("unused_rules"))
    same("objects left", before, bench.objects())
    bench.all_verbs_work(rounds=3)


@scenario()
def fault_56_state_of_a_refused_modify(bench: Bench) -> None:
    """A queue pair stays in its state when the device refuses to move it: the same step can be
    tried again."""
    for nth, step in enumerate(("modify_to_init", "modify_to_rtr", "modify_to_rts"), start=1):
        bench.rules(rule("MODIFY_QP", nth=nth, reg_err=22))
        [ends] = bench.verbs()
        same(step, name_of(errno.EFAULT), name_of(ends[step]))
        if bench.driver == "rust":
            same(f"{step} again", name_of(0), name_of(ends[f"{step}_again"]))
    bench.rules()
    bench.all_verbs_work()


@scenario(drivers="rust")
def fault_03_signals_during_commands(bench: Bench) -> None:
    """Signals all the time, and answers that take their time: every verb succeeds."""
    before = bench.objects()
    bench.rules(rule("*", times=None, delay_ms=15))
    bench.all_verbs_work("--signals", rounds=3)
    same("objects left", before, bench.objects())


@scenario(drivers="rust")
def fault_05_interrupts_nobody_waits_for(bench: Bench) -> None:
    """Interrupts of commands without an answer, late, in the middle of the next command."""
    quiet = [rule(name, times=None, interrupt=True, delay_ms=4) for name in _DESTROYING]
    bench.rules(*quiet, rule("*", times=None, delay_ms=8, repeat=1, answer=None))
    bench.all_verbs_work(rounds=3)


@scenario(slow=True)
def fault_03_late_answers(bench: Bench) -> None:
    """Answers that come after the register was read."""
    bench.rules(rule("*", times=None, delay_ms=20))
    bench.all_verbs_work(rounds=2)


@scenario(drivers="rust")
def fault_05_answer_without_interrupt(bench: Bench) -> None:
    """The answer is there, only the interrupt is lost."""
    bench.rules(rule("CREATE_MR", interrupt=False), rule("CREATE_QP", interrupt=False, delay_ms=50))
    bench.all_verbs_work()
    same("rules that did not go off", [], bench.ask("unused_rules"))


@scenario(drivers="rust")
def fault_04_command_never_answered(bench: Bench) -> None:
    """One bounded failure, no more commands, and a working device after the next bind."""
    bench.rules(rule("CREATE_CQ", answer=False, interrupt=False))
    start = time.monotonic()
    [ends] = bench.verbs()
    if time.monotonic() - start > 60:
        raise Failed("the time-out took more than a minute")
    same("create_cq", name_of(errno.ETIMEDOUT), name_of(ends["create_cq"]))
    same("reg_mr, after it", name_of(errno.EIO), name_of(ends["reg_mr"]))
    _rebind(bench)


@scenario(drivers="rust", slow=True)
def fault_03_answer_after_the_timeout(bench: Bench) -> None:
    """The answer to the first of two equal commands comes when the second might wait."""
    bench.rules(rule("CREATE_MR", delay_ms=11000))
    [first, second] = bench.verbs(2)
    same("reg_mr", name_of(errno.ETIMEDOUT), name_of(first["reg_mr"]))
    same("alloc_context, after it", name_of(errno.EIO), name_of(second["alloc_context"]))
    _rebind(bench)


@scenario(drivers="rust", slow=True)
def fault_03_wrong_answers(bench: Bench) -> None:
    """Answers that belong to another command, or carry another key, are no answers."""
    for wrong in ({"ack": 0x8000_0004}, {"key": 77}):
        bench.rules(rule("CREATE_CQ", **wrong))
        [ends] = bench.verbs()
        same(f"create_cq with {wrong}", name_of(errno.ETIMEDOUT), name_of(ends["create_cq"]))
        _rebind(bench)


def _rebind(bench: Bench) -> None:
    """Binding the driver anew resets the device and ends the trouble."""
    bench.rules()
    bench.sh("echo $ADAPTER >$PCI_DRIVER/unbind")
    same("objects without a driver", 0, sum(bench.objects().values()))
    bench.sh("echo $ADAPTER >$PCI_DRIVER/bind; wait_for 10 port_is_active; wait_for 10 has_ip_gid")
    bench.all_verbs_work()


@scenario(drivers="rust")
def fault_23_handles_out_of_range_or_taken(bench: Bench) -> None:
    """Handles beyond the tables, and of objects that exist: 0 and 1 are the kernel's own."""
    far = (1024, 1 << 31, 0xFFFF_FFFF)
    cqs = [{"cq_handle": handle} for handle in (*far, 0)]
    _each_answer(bench, "CREATE_CQ", "create_cq", cqs, errno.EIO)
    qps = [{"qp_handle": handle} for handle in far]
    _each_answer(bench, "CREATE_QP", "create_qp", qps, errno.EIO)
    srqs = [{"srqn": handle} for handle in (256, *far)]
    _each_answer(bench, "CREATE_SRQ", "create_srq", srqs, errno.EIO)


@scenario(drivers="rust")
def fault_62_size_of_the_completion_queue(bench: Bench) -> None:
    """A queue of another size than was asked for."""
    sizes = [{"cqe": cqe} for cqe in (0, 3, 32, 1 << 31, 0xFFFF_FFFF)]
    _each_answer(bench, "CREATE_CQ", "create_cq", sizes, errno.EIO)


@scenario(drivers="rust")
def fault_57_state_that_does_not_exist(bench: Bench) -> None:
    """A queue pair in a state beyond the last one; the next modify_qp must not be misled."""
    states = [{"attrs": {"qp_state": state}} for state in (7, 200, 0xFFFF_FFFF)]
    _each_answer(bench, "QUERY_QP", "query_qp", states, errno.EIO)


@scenario(drivers="rust")
def fault_10_rest_of_the_command_slot(bench: Bench) -> None:
    """Nothing but zeros lies behind a command."""
    bench.ask("counters", reset=True)
    bench.all_verbs_work()
    counters = bench.ask("counters")
    if counters["commands"] < 10:
        raise Failed(f"hardly any command came in: {counters}")
    same("commands with something behind them", 0, counters["dirty_commands"])
