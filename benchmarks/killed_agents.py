"""Agents for runs that are killed: each reply depends on every message so far, and each message is logged first.

Copied into the folder of a run, so it uses the standard library only. LTM_DRILL_KILL:
the number of the message, and the delay in milliseconds, after which the process kills
itself; LTM_DRILL_SECONDS: the duration of a reply.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
from pathlib import Path

NOTES = Path(__file__).with_name("heard.jsonl")


class Remembering:
    """Replies with a digest of the conversation so far, and with the end of the current message."""

    def __init__(self) -> None:
        self.digest = ""
        self.asked = 0

    def reply(self, message: str) -> str:
        """Log the message, schedule the kill if it is due, and reply."""
        _note(message)
        self.asked += 1
        _die_soon(self.asked)
        time.sleep(float(os.environ.get("LTM_DRILL_SECONDS", "0")))
        said = hashlib.sha256(f"{self.digest}\n{message}".encode()).hexdigest()[:8]
        reply = f"{said} {message[-60:]}"
        self.remember(message, reply)
        return reply

    def remember(self, message: str, reply: str) -> None:
        """Add an exchange to the digest."""
        self.digest = hashlib.sha256(
            f"{self.digest}\n{message}\n{reply}".encode()
        ).hexdigest()


class Saved(Remembering):
    """Checkpointable."""

    def save(self) -> bytes:
        """Return the digest."""
        return self.digest.encode()

    def load(self, state: bytes) -> None:
        """Restore the digest."""
        self.digest = state.decode()


class Told(Remembering):
    """AcceptsHistory."""

    def accept(self, message: str, reply: str) -> None:
        """Add a told exchange."""
        self.remember(message, reply)


class SavedAndTold(Saved, Told):
    """Checkpointable and AcceptsHistory: filler is told, and the state is loaded."""


class Stateless(Remembering):
    """Stateless."""

    stateless = True

    def remember(self, message: str, reply: str) -> None:
        """Remember nothing."""


def _note(message: str) -> None:
    file = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(file, (json.dumps([os.getpid(), message]) + "\n").encode())
    os.close(file)


def _die_soon(asked: int) -> None:
    number, _, milliseconds = os.environ.get("LTM_DRILL_KILL", "").partition(":")
    if number and int(number) == asked:
        threading.Timer(
            float(milliseconds) / 1_000, os.kill, (os.getpid(), signal.SIGKILL)
        ).start()
        if float(milliseconds) == 0:
            threading.Event().wait()  # the message is in flight
