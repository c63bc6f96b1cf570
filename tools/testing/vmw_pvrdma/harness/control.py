# SPDX-License-Identifier: GPL-2.0
"""The control channel of the adapters (see device/README.md)."""

import json
import socket
from pathlib import Path

_SECONDS = 30


class ControlError(Exception):
    """The adapters refused a request, or do not answer."""


class Control:
    """A connection to the control socket of one pvrdma-device process."""

    def __init__(self, path: Path):
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.settimeout(_SECONDS)
        self._connection.connect(str(path))
        self._lines = self._connection.makefile("r")

    def ask(self, do: str, **keys):
        """Sends a request and returns what its answer has."""
        request = json.dumps({"do": do, **keys})
        self._connection.sendall(request.encode() + b"\n")
        line = self._lines.readline()
        answer = json.loads(line) if line else {"error": "the connection has ended"}
        if "error" in answer:
            raise ControlError(f"{request}: {answer['error']}")
        return answer["ok"]

    def close(self) -> None:
        """Ends the connection."""
        self._lines.close()
        self._connection.close()
