"""What an export is read as: messages and talks, and the rules that hold for every converter."""

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
    """None where the export does not say; without a zone where it names none."""
    who: str
    """A name; "" for the user and the assistant of a chat with a model."""
    text: str
    by_model: bool = False
    calls: tuple[ToolCall, ...] = ()


class Talk(NamedTuple):
    """What was said in one conversation, channel or chat."""

    name: str
    messages: Sequence[ExportedMessage]
    room: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How an export is read."""

    gap: timedelta = timedelta(hours=4)
    """A session ends where nothing was said for so long."""
    order: str = ""
    """Of day, month and year in dates of numbers: `dmy`, `mdy` or `ymd`; "": as the file shows."""
    assistants: tuple[str, ...] = ()
    """Names of those who are the assistant."""
    zone: tzinfo | None = None
    """In which times without a zone are read, and all are written; None: UTC, and as they stand."""


# --- What was said: the text, without what nobody typed.

# Signs that end a line, beside the line feed.
_LINE_ENDS = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Signs without a width that say in which direction a text runs.
UNSEEN = dict.fromkeys(map(ord, "\u200e\u200f\u061c\ufeff"))
UNSEEN |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def clean_message(message: ExportedMessage, counts: Counter[str]) -> ExportedMessage:
    """Return a message with one kind of line break, and without a model's thoughts."""
    text = _LINE_ENDS.sub(_replace_line_end, message.text).translate(UNSEEN)
    if message.by_model:
        spoken = speech(text)
        counts["cut: thoughts and printed calls in replies"] += spoken != text
        text = spoken
    return message._replace(text=text.strip(), who=message.who.translate(UNSEEN))


def _replace_line_end(match: re.Match[str]) -> str:
    """Return a line feed for the ends of other systems, a blank for breaks inside a line."""
    return "\n" if match[0] in ("\r\n", "\r") else " "


def mark_forwarded(text: str, source: object = "") -> str:
    """Return a text that somebody passed on: it is not the sender's own."""
    if not text:
        return ""
    if source:
        return f"[forwarded from {source}] {text}"
    return f"[forwarded] {text}"


def mark_quoted(text: str) -> str:
    """Return a text that somebody quotes, each line with the usual mark."""
    return "\n".join(f"> {line}" for line in text.splitlines())


# Where a model's message goes, by the names that formats have for it.
_TO_THE_USER = {"", "all", "final", "user"}


def is_addressed_to_user(message: Mapping[str, Any]) -> bool:
    """Return whether a message of a model is for the user: no other recipient, no channel of its own."""
    names = (message.get("recipient"), message.get("channel"), message.get("phase"))
    return all(
        name is None or name in _TO_THE_USER or name == "final_answer" for name in names
    )


THOUGHT_PARTS = ("thinking", "thought", "reasoning", "think", "redacted_thinking")
"""How parts of a message are called that a model only thought."""


def message_text(content: Any) -> str:
    """Return the text of a message: itself, its parts that are texts, or the field that holds it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(message_text, content)))
    spoken = (None, "text", "output_text", "input_text")
    if isinstance(content, dict) and content.get("type") in spoken:
        names = (name for name in ("text", "content", "value") if content.get(name))
        return next((message_text(content[name]) for name in names), "")
    return ""


# --- Branches: who edits a message or asks again leaves the old branch in the file.


class BranchNode(NamedTuple):
    """A message in a tree of messages."""

    id: str
    parent: str
    """The id of the one before; "" or an unknown one for the first."""
    at: float
    """Seconds since 1970, to find the newest; 0.0 where that is not known."""
    message: Any


def shown_branch(
    nodes: Iterable[BranchNode], current: object = None
) -> list[BranchNode]:
    """Return the branch that was shown last.

    It ends at `current`, or at the newest message that nothing follows if there is
    no such message; of equally new ones the last of the file counts.
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
    # an edited export may run in a circle
    while current in tree and current not in branch:
        node = tree[str(current)]
        branch[node.id] = node
        current = node.parent
    return list(reversed(branch.values()))


REPLACED = "left out: messages in branches that edits replaced"


# --- Times, and what is wrong with an export.


@contextmanager
def faults_of_export(where: str) -> Iterator[None]:
    """Make whatever an export's odd form causes a DatasetError that names its place and a way out."""
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
    """Return the time of so many seconds since 1970."""
    return datetime.fromtimestamp(float(seconds), tz=timezone.utc)


_MILLISECONDS = 10_000_000_000


def epoch_time(number: Any) -> datetime:
    """Return the time of a number since 1970: of milliseconds if seconds would be beyond the year 2286."""
    value = float(number)
    while value >= _MILLISECONDS:
        value /= 1000
    return utc_time(value)


def iso_time(text: Any) -> datetime | None:
    """Return the time that a text of ISO 8601 gives, None for none; ValueError for any other."""
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
    """Return the time of a field, whatever its form: ISO 8601, a number since 1970, MongoDB's objects."""
    if isinstance(value, Mapping):
        inner = value.get("$date", value.get("$numberLong"))
        return any_time(inner)
    if isinstance(value, bool):
        raise TypeError(f"expected a time, got {value!r}")
    if isinstance(value, int | float) or (isinstance(value, str) and value.isdecimal()):
        return epoch_time(value)
    return iso_time(value)


def seconds_of(moment: datetime | None) -> float:
    """Return a time as seconds since 1970; 0.0 for none."""
    if moment is None:
        return 0.0
    if moment.tzinfo:
        return moment.timestamp()
    return moment.replace(tzinfo=timezone.utc).timestamp()
