# SPDX-License-Identifier: GPL-2.0
"""What processes see and may do, whatever the adapter does."""

import errno
import json

from faults import scenario
from faults.bench import Bench, name_of, same
from harness.report import Failed
from paths import REPO

_USER_MEMORY = str(REPO / "tools/testing/vmw_pvrdma/guest/user-memory")
_IOVA = 0x7000_0000_0000


@scenario(drivers="rust")
def fault_01_attributes_of_a_fresh_queue_pair(bench: Bench) -> None:
    """Nothing but known values in what query_qp says of a queue pair that was never moved. The C
    driver shows old contents of the kernel's memory."""
    [ends] = bench.verbs(1, "--query-fresh")
    if "fresh_attributes" not in ends:
        raise Failed(f"no queue pair was queried: {ends}")
    same("attributes that are not zero", 0, ends["fresh_attributes"])


@scenario(drivers="rust")
def fault_24_53_addresses_and_mappings(bench: Bench) -> None:
    """Memory is known to the device under the address that the process chose; only one doorbell
    page can be mapped, shared, at offset 0."""
    start = bench.now()
    ends = json.loads(bench.sh(_USER_MEMORY))
    for step, expected in (
        ("iova", 0),
        ("iova of another offset in the page", errno.EINVAL),
        ("one page", 0),
        ("two pages", errno.EINVAL),
        ("another offset", errno.EINVAL),
        ("private", errno.EINVAL),
    ):
        same(step, name_of(expected), name_of(ends[step]))
    starts = [
        event["fields"]["start"]
        for event in bench.events(start)
        if event["event"] == "command" and event["name"] == "CREATE_MR"
    ]
    same("addresses of the regions on the device", [_IOVA], starts)
