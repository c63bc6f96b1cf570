# SPDX-License-Identifier: GPL-2.0
"""Random misbehaviour, from a seed, while the guest calls every verb again and again."""

import random
import threading
import time

from faults import scenario
from faults.bench import Bench, rule
from harness.control import ControlError
from harness.report import Failed

_SEED = 20261201
_INTERACTIONS = 4000
_COMMANDS = """CREATE_UC QUERY_PORT CREATE_PD CREATE_CQ CREATE_MR CREATE_SRQ QUERY_SRQ CREATE_QP
MODIFY_QP QUERY_QP""".split()
_FIELDS = {
    "CREATE_PD": ("pd_handle",),
    "CREATE_CQ": ("cq_handle", "cqe"),
    "CREATE_MR": ("mr_handle", "lkey", "rkey"),
    "CREATE_SRQ": ("srqn",),
    "CREATE_QP": ("qpn", "qp_handle", "max_send_wr", "max_recv_wr", "max_send_sge", "max_inline_data"),
}
_EDGES = (0, 1, 2, 3, 77, 255, 256, 1023, 1024, 1 << 24, 1 << 31, 0xFFFF_FFFE, 0xFFFF_FFFF)


def _number(dice: random.Random) -> int:
    return dice.choice((dice.choice(_EDGES), dice.getrandbits(32)))


def _effect(dice: random.Random, command: str) -> dict:
    """Something that can go wrong and does not take the channel with it."""
    kind = dice.randrange(6)
    if kind == 0:
        return {"reg_err": dice.randrange(1, 1 << 16)}
    if kind == 1:
        return {"err": dice.randrange(1, 256)}
    if kind == 2:
        return {"delay_ms": dice.randrange(40)}
    if kind == 3:
        return {"repeat": dice.randrange(3)}
    if kind == 4 and command in _FIELDS:
        return {"fields": {dice.choice(_FIELDS[command]): _number(dice)}}
    return {"execute": False, "err": 5}


def _request(dice: random.Random) -> dict:
    kind = dice.randrange(6)
    if kind == 0:
        event = dice.choice((dice.randrange(20), _number(dice)))
        return {"do": "event", "kind": event, "info": _number(dice)}
    if kind == 1:
        return {"do": "notify", "cq": _number(dice)}
    if kind == 2:
        return {"do": "interrupt", "vector": dice.choice(("response", "async", "completion"))}
    if kind == 3:
        # Of no queue pair that exists (drivers look at 16 bits of the handle): what completions
        # carry are addresses for the kernel.
        qp = dice.getrandbits(48) << 16 | dice.randrange(1024, 1 << 16)
        cqe = {"qp": qp, "status": _number(dice), "opcode": _number(dice)}
        return {"do": "complete", "cq": 0, "cqe": cqe}
    if kind == 4:
        name = dice.choice(("max_cq", "max_qp", "max_srq", "gid_tbl_len"))
        return {"do": "caps", "caps": {name: _number(dice)}}
    commands = [dice.choice(_COMMANDS) for _ in range(3)]
    rules = [rule(name, nth=dice.randrange(1, 3), **_effect(dice, name)) for name in commands]
    return {"do": "rules", "rules": rules}


@scenario(drivers="rust", slow=True)
def fault_fuzz(bench: Bench) -> None:
    """Whatever the verbs answer, the kernel has nothing to complain of, and in the end all is
    well."""
    dice = random.Random(_SEED)
    bench.ask("counters", reset=True)
    done = threading.Event()
    problems = []

    def run_verbs() -> None:
        while not done.is_set():
            try:
                bench.verbs(20, timeout=200)
            except Failed as failed:
                # No device at all would be a problem; single verbs may fail.
                problems.append(str(failed))
                return

    guest = threading.Thread(target=run_verbs)
    guest.start()
    try:
        for _ in range(_INTERACTIONS):
            # Slow enough for verbs to run in between.
            time.sleep(0.005)
            try:
                bench.ask(**_request(dice))
            except ControlError as error:
                # Completions have no room while nobody polls.
                if "no room" not in str(error):
                    raise
    finally:
        done.set()
        guest.join()
    if problems:
        raise Failed(problems[0])
    bench.no_trouble()
    counters = bench.ask("counters")
    if counters["faults"] < 100 or counters["events"] < 100:
        raise Failed(f"hardly anything went wrong: {counters}")
    bench.recover()
    bench.all_verbs_work()
