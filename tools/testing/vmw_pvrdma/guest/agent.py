#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs commands in the guest for the harness.

Requests and answers are JSON objects, one a line, on a virtio port.  A request holds `argv`,
`env` and `timeout`; the answer holds `status` (null when the time-out struck) and `output`.
The end of the connection ends the agent.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path


def find_port() -> Path:
    """The device file of the only port; the kernel may still be about to find it."""
    while not (ports := list(Path("/dev").glob("vport*p*"))):
        time.sleep(0.05)
    return ports[0]


def run(request: dict) -> dict:
    """Carries out one request; the command and its children share a process group."""
    process = subprocess.Popen(
        request["argv"],
        env=os.environ | request["env"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=request["timeout"])
        return {"status": process.returncode, "output": output}
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return {"status": None, "output": output}


def main() -> None:
    # The port can be opened only once.
    port = os.open(find_port(), os.O_RDWR)
    with open(port, "rb", closefd=False) as requests, open(port, "wb", closefd=False) as answers:

        def answer(message: dict) -> None:
            answers.write(json.dumps(message).encode() + b"\n")
            answers.flush()

        answer({"ready": True})
        for line in requests:
            answer(run(json.loads(line)))


main()
