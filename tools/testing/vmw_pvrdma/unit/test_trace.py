# SPDX-License-Identifier: GPL-2.0
"""The comparison of traces sees what differs, and only that."""

import tempfile
import unittest
from pathlib import Path

from harness import trace


def command(name: str, **fields) -> dict:
    return {"event": "command", "name": name, "fields": fields}


def answer(name: str, **fields) -> dict:
    return {"event": "answer", "name": name, "err": 0, "reg_err": 0, "fields": fields}


def reg(op: str, name: str, value: int) -> dict:
    return {"event": "reg", "op": op, "name": name, "value": value}


def exchange(name: str, fields: dict, result: dict) -> list[dict]:
    return [
        reg("write", "REQUEST", 0),
        command(name, **fields),
        answer(name, **result),
        reg("read", "ERR", 0),
    ]


def context(ctx: int, pd: int) -> list[list[dict]]:
    """The exchanges of a process that creates one protection domain."""
    return [
        exchange("CREATE_UC", {"pfn": ctx + 4096}, {"ctx_handle": ctx}),
        exchange("CREATE_PD", {"ctx_handle": ctx}, {"pd_handle": pd}),
    ]


def modify(qp: int, state: int, mask: int = 1, **attrs) -> dict:
    return command("MODIFY_QP", qp_handle=qp, attr_mask=mask, attrs={"qp_state": state} | attrs)


class TraceTest(unittest.TestCase):
    def test_interleaving_and_handles_do_not_matter(self):
        (a1, a2), (b1, b2) = context(1, 5), context(2, 6)
        (c1, c2), (d1, d2) = context(7, 9), context(3, 8)
        self.assertEqual(trace.differences(a1 + a2 + b1 + b2, c1 + d1 + c2 + d2), [])

    def test_a_field_that_differs_is_seen(self):
        create = answer("CREATE_QP", qpn=3)
        self.assertEqual(
            trace.differences(
                [create, modify(3, 1, 0x21, port_num=1)], [create, modify(3, 1, 0x21, port_num=2)]
            ),
            [
                ("c", "kernel", "MODIFY_QP.attrs.port_num = 1"),
                ("rust", "kernel", "MODIFY_QP.attrs.port_num = 2"),
            ],
        )

    def test_an_attribute_outside_the_mask_is_marked(self):
        found = trace.differences([modify(3, 1, port_num=1)], [modify(3, 1, port_num=0)])
        self.assertEqual(
            [line for _, _, line in found],
            [f"MODIFY_QP.attrs.(not in mask) port_num = {n}" for n in (1, 0)],
        )

    def test_a_missing_command_is_seen(self):
        first, second = context(1, 5)
        self.assertIn(("c", "context 1", "CREATE_PD"), trace.differences(first + second, first))

    def test_a_chosen_value_must_still_be_set(self):
        found = trace.differences(
            [command("CREATE_CQ", pdir_dma=4096)], [command("CREATE_CQ", pdir_dma=0)]
        )
        self.assertEqual(len(found), 2)

    def test_transitions_of_a_reused_handle_are_kept_apart(self):
        create = answer("CREATE_QP", qpn=9, qp_handle=3)
        events = [create, modify(3, 1), modify(3, 2), create, modify(3, 1)]
        self.assertEqual(trace.transitions(events), [["INIT", "RTR"], ["INIT"]])

    def compare(self, c: list[dict], rust: list[dict], more: str = "") -> list[str]:
        entry = '[[difference]]\nonly = "c"\nstream = "kernel"\nline = "A.*"\nreason = "r"\n'
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(entry + more)
            file.flush()
            return trace.compare(c, rust, trace.IntendedDifferences(Path(file.name)))

    def test_list_covers_and_goes_out_of_date(self):
        one, nothing = [command("A")], []
        self.assertEqual(self.compare(one, nothing), [])
        self.assertEqual(len(self.compare(nothing, one)), 2)
        self.assertEqual(len(self.compare(nothing, nothing)), 1)
        self.assertEqual(self.compare(nothing, nothing, "sometimes = true\n"), [])
