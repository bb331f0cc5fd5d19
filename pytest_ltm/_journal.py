"""Journal: the conversation on disk, one JSON event a line; what differs between equal runs goes to timings.

Events of `journal.jsonl` (format 1), each an object with the key "event":
header   format, plan, plan_fingerprint, agent_fingerprint
begin    example, position, now
message  exchange, by, kind, text, tokens, position, now[, about: numbers of the exchanges it depends on]
reply    exchange, text, tokens[, usage][, cost_usd]
filler   exchange, message, message_tokens, reply, reply_tokens: told, nothing was generated
wait     example, tokens, time: until both targets
jump     to
watcher  example, replies: null lasts to the end
verdict  example, score (null: unscored), reason, rule, evidence, checks
fault    exchange, text
end      example | reason: of an example, or of the conversation
"""

from __future__ import annotations

import json
import os
import re
from typing import IO, TYPE_CHECKING, Any

from pytest_ltm._clock import stopwatch, wall_time
from pytest_ltm._errors import LtmError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typing_extensions import Self

FORMAT = 1
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Journal:
    """Writes events, each handed to the operating system before the next message is sent.

    A killed process loses nothing that was written; `close` also asks the disk (fsync). A file that was given
    (`io.StringIO`, say) stays open.
    """

    def __init__(self, file: IO[str] | None = None, *, owned: bool = False) -> None:
        self._file, self._owned = file, owned

    @classmethod
    def at(cls, path: Path) -> Self:
        """Begin a journal in a new file."""
        try:
            return cls(path.open("x", encoding="utf-8", newline="\n"), owned=True)
        except OSError as error:
            raise LtmError(f"cannot write the journal {path}: {error.strerror or error}") from error

    def write(self, event: str, **fields: Any) -> None:
        """Append one event."""
        if self._file is not None:
            self._file.write(line(event, **fields))
            self._file.flush()

    def close(self) -> None:
        """Make sure that everything is on disk."""
        if self._file is not None and self._owned and not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()


class Timings(Journal):
    """`timings.jsonl`: wall times and latencies, apart from the journal so that equal runs have equal journals."""

    def write(self, event: str, **fields: Any) -> None:
        """Append one event with the time on the wall."""
        if self._file is not None:
            super().write(event, **fields, at=wall_time().isoformat())

    @staticmethod
    def clock() -> float:
        """Return seconds for measuring a latency."""
        return stopwatch()


def line(event: str, **fields: Any) -> str:
    """Return one event as its line."""
    text = json.dumps({"event": event, **fields}, ensure_ascii=False, separators=(",", ":")) + "\n"
    # A lone surrogate, which UTF-8 cannot hold, is an escape in JSON.
    return text if text.isascii() else _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a journal; a torn last line is dropped, any other broken line is an LtmError."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                event = json.loads(raw)
            except (ValueError, RecursionError) as error:
                if not raw.endswith(b"\n"):
                    return
                raise LtmError(f"{path}, line {number}: not a JSON event: {error}") from error
            yield event
