# SPDX-License-Identifier: GPL-2.0
"""Reads traces of the adapter and compares what two drivers did.

Two runs of the same workload differ in handles, keys, addresses and in how the processes of the
guest interleave, whatever the driver.  So a trace is first split into streams, one for each user
context, one for the kernel's own objects and some without an order; then each stream becomes
lines in which such values are replaced by what they stand for.  Equal drivers give equal lines.
"""

import difflib
import json
import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

QP_STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
_IB_QP_STATE = 1

# The attribute mask's bits, and the attributes of MODIFY_QP that they make valid.
_QP_ATTRIBUTES = (
    (1 << 0, "qp_state"),
    (1 << 1, "cur_qp_state"),
    (1 << 2, "en_sqd_async_notify"),
    (1 << 3, "qp_access_flags"),
    (1 << 4, "pkey_index"),
    (1 << 5, "port_num"),
    (1 << 6, "qkey"),
    (1 << 7, "ah_attr"),
    (1 << 8, "path_mtu"),
    (1 << 9, "timeout"),
    (1 << 10, "retry_cnt"),
    (1 << 11, "rnr_retry"),
    (1 << 12, "rq_psn"),
    (1 << 13, "max_rd_atomic"),
    (1 << 14, "alt_ah_attr alt_pkey_index alt_port_num alt_timeout"),
    (1 << 15, "min_rnr_timer"),
    (1 << 16, "sq_psn"),
    (1 << 17, "max_dest_rd_atomic"),
    (1 << 18, "path_mig_state"),
    (1 << 19, "cap"),
    (1 << 20, "dest_qp_num"),
)

# Fields whose values are chosen anew in each run.
_CHOSEN = re.compile(r"(^|\.)(qpn|dest_qp_num|flow_label|rq_psn|sq_psn|lkey|rkey|pdir_dma|start|pfn)$")
# Commands that any reader of an attribute causes, at any time.
_QUERIES = ("QUERY_PORT", "QUERY_PKEY")
# Registers that belong to the exchange of a command.
_COMMAND_REGISTERS = ("REQUEST", "ERR")
# Register values that are addresses.
_ADDRESS_REGISTERS = ("DSRLOW", "DSRHIGH")
# Fields of an answer that name the new object, and the kind of object.
_NEW_OBJECT = {
    "CREATE_UC": ("ctx_handle", "ctx"),
    "CREATE_PD": ("pd_handle", "pd"),
    "CREATE_MR": ("mr_handle", "mr"),
    "CREATE_CQ": ("cq_handle", "cq"),
    "CREATE_SRQ": ("srqn", "srq"),
    "CREATE_QP": ("qp_handle", "qp"),
}
_HANDLE = re.compile(r"(?:send_|recv_)?(\w+)_handle$|^(srq)n$")


def load(path: Path) -> list[dict]:
    """The events of a trace file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def transitions(events: list[dict]) -> list[list[str]]:
    """The states that MODIFY_QP asked for, by queue pair in the order of their creation."""
    created = []
    by_handle = {}
    for event in events:
        name, fields = event.get("name"), event.get("fields", {})
        if event["event"] == "answer" and name == "CREATE_QP" and fields:
            by_handle[_qp_handle(fields)] = []
            created.append(by_handle[_qp_handle(fields)])
        elif event["event"] == "command" and name == "MODIFY_QP":
            if fields["attr_mask"] & _IB_QP_STATE and fields["qp_handle"] in by_handle:
                by_handle[fields["qp_handle"]].append(QP_STATES[fields["attrs"]["qp_state"]])
    return created


def _qp_handle(answer: dict) -> int:
    # Before version 20 a queue pair's number is its handle.
    return answer.get("qp_handle", answer["qpn"])


def _flatten(fields: dict, prefix: str = "") -> dict:
    result = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            result |= _flatten(value, f"{prefix}{name}.")
        else:
            result[prefix + name] = value
    return result


def _mark_invalid_attributes(command: str, fields: dict) -> dict:
    """Renames the attributes of MODIFY_QP that its mask does not select."""
    if command != "MODIFY_QP":
        return fields
    valid = {
        name
        for bit, names in _QP_ATTRIBUTES
        if fields["attr_mask"] & bit
        for name in names.split()
    }
    return fields | {
        "attrs": {
            name if name in valid else f"(not in mask) {name}": value
            for name, value in fields["attrs"].items()
        }
    }


def _kind(name: str) -> str | None:
    """The kind of object whose handle a field holds."""
    match = _HANDLE.search(name)
    return (match[1] or match[2]) if match else None


@dataclass
class _Streams:
    """Splits a trace; `lines` is the result."""

    lines: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    # (kind, handle) -> (name of the owning stream, number within it)
    _objects: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    _created: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    _contexts: int = 0
    _owner: str = "kernel"
    _request: list[str] = field(default_factory=list)

    def _owner_of(self, fields: dict) -> str:
        for name, value in fields.items():
            known = self._objects.get((_kind(name), value))
            if known:
                return known[0]
        return "kernel"

    def _value(self, name: str, value) -> str:
        kind = _kind(name)
        if kind:
            known = self._objects.get((kind, value))
            return f"<{kind} {known[1]} of {known[0]}>" if known else str(value)
        if _CHOSEN.search(name):
            return "<chosen>" if value else "0"
        return str(value)

    def _add_fields(self, prefix: str, fields: dict) -> None:
        for name, value in fields.items():
            self.lines[self._owner].append(f"{prefix}.{name} = {self._value(name, value)}")

    def _note_new_object(self, command: str, fields: dict) -> None:
        name, kind = _NEW_OBJECT.get(command, (None, None))
        if kind is None or not fields:
            return
        handle = _qp_handle(fields) if kind == "qp" else fields[name]
        if kind == "ctx":
            self._contexts += 1
            self._owner = f"context {self._contexts}"
        self._created[self._owner, kind] += 1
        self._objects[kind, handle] = (self._owner, self._created[self._owner, kind])

    def command(self, event: dict) -> None:
        name = event["name"]
        fields = _flatten(_mark_invalid_attributes(name, event["fields"]))
        self._owner = "queries" if name in _QUERIES else self._owner_of(fields)
        if name == "CREATE_UC":
            # The answer says to whom it belongs.
            self._owner = f"context {self._contexts + 1}"
        self.lines[self._owner] += self._request
        self._request = []
        self.lines[self._owner].append(name)
        self._add_fields(name, fields)
        if name.startswith("DESTROY_"):
            for field_name, value in fields.items():
                self._objects.pop((_kind(field_name), value), None)

    def answer(self, event: dict) -> None:
        name, fields = event["name"], _flatten(event["fields"])
        self.lines[self._owner].append(f"{name} answer err={event['err']} reg_err={event['reg_err']}")
        if event["err"] == 0 and event["reg_err"] == 0:
            self._note_new_object(name, fields)
        self._add_fields(f"{name} answer", fields)

    def reg(self, event: dict) -> None:
        name, value = event["name"], event["value"]
        if name in _ADDRESS_REGISTERS:
            value = "<address>"
        line = f"register {event['op']} {name} = {value}"
        if name == "REQUEST":
            self._request.append(line)
        elif name in _COMMAND_REGISTERS:
            self.lines[self._owner].append(line)
        else:
            self._owner = "kernel"
            self.lines["kernel"].append(line)

    def doorbell(self, event: dict) -> None:
        kind = event["kind"]
        owner, number = self._objects.get((kind, event["handle"]), ("nobody", 0))
        if owner.startswith("context") and event["flags"] == ["poll"]:
            # rdma-core says that it found a queue empty: that depends on timing.
            return
        self.lines["doorbells"].append(f"{owner}: {kind} {number} {' '.join(event['flags'])}")

    def irq(self, event: dict) -> None:
        self.lines["interrupts"].append(f"vector {event['vector']}")


# Streams whose order and number of events depend on timing.
_SETS = ("queries", "doorbells", "interrupts")


def streams(events: list[dict]) -> dict[str, list[str]]:
    """The lines of each stream of a trace."""
    result = _Streams()
    for event in events:
        handler = getattr(result, event["event"], None)
        if handler:
            handler(event)
    return {
        name: sorted(set(lines)) if name in _SETS else lines for name, lines in result.lines.items()
    }


def differences(c: list[dict], rust: list[dict]) -> list[tuple[str, str, str]]:
    """What one driver did and the other did not: (who, stream, line)."""
    c_streams, rust_streams = streams(c), streams(rust)
    result = []
    for name in sorted(c_streams.keys() | rust_streams.keys()):
        left, right = c_streams.get(name, []), rust_streams.get(name, [])
        matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag != "equal":
                result += [("c", name, line) for line in left[i1:i2]]
                result += [("rust", name, line) for line in right[j1:j2]]
    return result


class IntendedDifferences:
    """The list of differences that are meant to be, with their reasons."""

    def __init__(self, path: Path):
        self._entries = tomllib.loads(path.read_text()).get("difference", [])
        self._used = set()

    def covers(self, who: str, stream: str, line: str) -> bool:
        """Whether some entry of the list explains this difference."""
        for number, entry in enumerate(self._entries):
            patterns = ((entry["only"], who), (entry["stream"], stream), (entry["line"], line))
            if all(re.fullmatch(pattern, text) for pattern, text in patterns):
                self._used.add(number)
                return True
        return False

    def unused(self) -> list[str]:
        """Entries that explained nothing, though they always should: they are out of date."""
        return [
            entry["line"]
            for number, entry in enumerate(self._entries)
            if number not in self._used and not entry.get("sometimes")
        ]


def compare(c: list[dict], rust: list[dict], intended: IntendedDifferences) -> list[str]:
    """Complaints about the difference of two traces; none when they are as intended."""
    complaints = [
        f"only {who}: {stream}: {line}"
        for who, stream, line in differences(c, rust)
        if not intended.covers(who, stream, line)
    ]
    return complaints + [f"listed, but not seen: {line}" for line in intended.unused()]
