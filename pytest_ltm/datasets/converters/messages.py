"""Messages and talks, the parsed form of an export, and rules shared by all converters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.interchange import ToolCall
from pytest_ltm.language.speech import speech


class ExportedMessage(NamedTuple):
    """One message."""

    at: datetime | None
    """None if the export has no time; naive if it names no zone."""
    who: str
    """The sender's name; "" for the user and the assistant of a chat with a model."""
    text: str
    by_model: bool = False
    calls: tuple[ToolCall, ...] = ()


class Talk(NamedTuple):
    """One conversation, channel or chat."""

    name: str
    messages: Sequence[ExportedMessage]
    room: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """Settings for reading an export."""

    gap: timedelta = timedelta(hours=4)
    """Silence of this length ends a session."""
    order: str = ""
    """Day, month and year in numeric dates: `dmy`, `mdy` or `ymd`; "" to detect it."""
    assistants: tuple[str, ...] = ()
    """Names of senders that are the assistant."""
    zone: tzinfo | None = None
    """The zone for naive times, in which all times are written; None for UTC without conversion."""


# --- The text of a message, without parts that no one typed.

# Line separators other than the line feed.
_LINE_ENDS = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Invisible characters that set the direction of text.
UNSEEN = dict.fromkeys(map(ord, "\u200e\u200f\u061c\ufeff"))
UNSEEN |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def clean_message(message: ExportedMessage, counts: Counter[str]) -> ExportedMessage:
    """Return a message with normalized line breaks, and without a model's thoughts."""
    text = _LINE_ENDS.sub(_replace_line_end, message.text).translate(UNSEEN)
    if message.by_model:
        spoken = speech(text)
        counts["cut: thoughts and printed calls in replies"] += spoken != text
        text = spoken
    return message._replace(text=text.strip(), who=message.who.translate(UNSEEN))


def _replace_line_end(match: re.Match[str]) -> str:
    """Return a line feed for line ends of other systems, and a blank for breaks inside a line."""
    return "\n" if match[0] in ("\r\n", "\r") else " "


def mark_forwarded(text: str, source: object = "") -> str:
    """Mark a forwarded text, as it is not the sender's own."""
    if not text:
        return ""
    if source:
        return f"[forwarded from {source}] {text}"
    return f"[forwarded] {text}"


def mark_quoted(text: str) -> str:
    """Mark a quoted text, line by line."""
    return "\n".join(f"> {line}" for line in text.splitlines())


# Recipients and channels that mean the user, by the names that formats use.
_TO_THE_USER = {"", "all", "final", "user"}


def is_addressed_to_user(message: Mapping[str, Any]) -> bool:
    """Return whether a model's message is addressed to the user: no other recipient, no channel of its own."""
    names = (message.get("recipient"), message.get("channel"), message.get("phase"))
    for name in names:
        is_public = name is None or name in _TO_THE_USER or name == "final_answer"
        if not is_public:
            return False
    return True


THOUGHT_PARTS = ("thinking", "thought", "reasoning", "think", "redacted_thinking")
"""The types of message parts that contain a model's thoughts."""


def message_text(content: Any) -> str:
    """Return the text of a message: itself, its text parts, or its text field."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(message_text, content)))
    spoken = (None, "text", "output_text", "input_text")
    if isinstance(content, dict) and content.get("type") in spoken:
        names = (name for name in ("text", "content", "value") if content.get(name))
        return next((message_text(content[name]) for name in names), "")
    return ""


# --- Branches: editing a message or regenerating a reply leaves the old branch in the
# file.


class BranchNode(NamedTuple):
    """A node in a tree of messages."""

    id: str
    parent: str
    """The id of the previous message; "" or unknown for the first."""
    at: float
    """Seconds since 1970, to find the newest node; 0.0 if unknown."""
    message: Any


def shown_branch(
    nodes: Iterable[BranchNode], current: object = None
) -> list[BranchNode]:
    """Return the branch that was shown last.

    It ends at `current`, or else at the newest leaf; of equally new ones the last in the file counts.
    """
    tree = {node.id: node for node in nodes}
    followed = {node.parent for node in tree.values()}
    if current not in tree:
        leaves = [node for node in tree.values() if node.id not in followed]
        newest = max(
            enumerate(leaves), key=lambda place: (place[1].at, place[0]), default=None
        )
        current = newest[1].id if newest else next(iter(tree), "")
    branch: dict[str, BranchNode] = {}
    # an edited export may contain a cycle
    while current in tree and current not in branch:
        node = tree[str(current)]
        branch[node.id] = node
        current = node.parent
    return list(reversed(branch.values()))


REPLACED = "left out: messages in branches that edits replaced"


# --- Times, and errors of an export.


@contextmanager
def faults_of_export(where: str) -> Iterator[None]:
    """Convert any error caused by an export's form into a DatasetError with place and remedy."""
    try:
        yield
    except (
        AttributeError,
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        OverflowError,
        OSError,
    ) as error:
        if isinstance(error, KeyError):
            reason = f"the field {error} is missing"
        else:
            reason = str(error)
        raise DatasetError(
            f"{where}: cannot be read: {reason}. Mend this part of the file, or leave it out"
        ) from error


def utc_time(seconds: Any) -> datetime:
    """Convert seconds since 1970 to a time."""
    return datetime.fromtimestamp(float(seconds), tz=timezone.utc)


_MILLISECONDS = 10_000_000_000


def epoch_time(number: Any) -> datetime:
    """Convert a number since 1970 to a time, as milliseconds if seconds would be beyond the year 2286."""
    value = float(number)
    while value >= _MILLISECONDS:
        value /= 1000
    return utc_time(value)


def iso_time(text: Any) -> datetime | None:
    """Parse an ISO 8601 time; None for an empty value, ValueError for any other."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise TypeError(f"expected a time, got {text!r}")
    day, sign, fraction_and_zone = text.strip().replace("Z", "+00:00").partition(".")
    fraction = fraction_and_zone[
        : len(fraction_and_zone) - len(fraction_and_zone.lstrip("0123456789"))
    ]
    return datetime.fromisoformat(
        f"{day}{sign}{fraction[:6].ljust(6, '0') if sign else ''}{fraction_and_zone[len(fraction) :]}"
    )


def any_time(value: Any) -> datetime | None:
    """Parse the time of a field in any form: ISO 8601, a number since 1970, MongoDB's objects."""
    if isinstance(value, Mapping):
        inner = value.get("$date", value.get("$numberLong"))
        return any_time(inner)
    if isinstance(value, bool):
        raise TypeError(f"expected a time, got {value!r}")
    if isinstance(value, int | float) or (isinstance(value, str) and value.isdecimal()):
        return epoch_time(value)
    return iso_time(value)


def seconds_of(moment: datetime | None) -> float:
    """Return a time as seconds since 1970; 0.0 for None."""
    if moment is None:
        return 0.0
    if moment.tzinfo:
        return moment.timestamp()
    return moment.replace(tzinfo=timezone.utc).timestamp()
