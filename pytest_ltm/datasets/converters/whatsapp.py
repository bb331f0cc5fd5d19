"""WhatsApp's export: a text file. Each telephone writes dates in its own way: only the whole file shows which."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from pytest_ltm._core.storage.disk import open_text
from pytest_ltm._core.storage.errors import DatasetError
from pytest_ltm._core.storage.schema import load_packaged_yaml
from pytest_ltm.datasets.converters.chats import ExportedMessage, Splitting, Talk
from pytest_ltm.datasets.rows import check_size

ORDERS = {"dmy": (2, 1, 0), "mdy": (2, 0, 1), "ymd": (0, 1, 2)}
"""Where year, month and day stand among a date's three numbers."""
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"))
# What iPhones write before a text that nobody typed.
_UNSAID = "\u200e"
_SPACES = dict.fromkeys(map(ord, "\u202f\u00a0"), " ")
# The grammar of a head, in any language: three numbers, then hours and minutes, with
# words around these, then its end.
_HEAD = re.compile(
    r"(?P<open>\[)?(?P<one>\d{1,4})(?P<sign>[-./\u5e74])\s?(?P<two>\d{1,2})[-./\u6708]\s?(?P<three>\d{1,4})[.\u65e5]?"
    r"(?P<before>[^\d\[\]\n:]{1,16}?)(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?P<after>\s?[^\W\d_]{1,3}\.?\s?(?:[^\W\d_]\.?)?)?(?P<end>(?(open)\]\s?|(?:\s[-\u2013]\s|:\s|,\s)))(?P<rest>.*)",
    re.DOTALL,
)
_BY = re.compile(r"(?P<who>[^:\n]{1,60}?)\s?: (?P<text>.*)", re.DOTALL)
# A message that is nothing but a note in angle brackets, a file and a note behind it,
# or a place on a map.
_NOTE = re.compile(
    r"<[^<>\n]{1,60}>|[\w -]{1,80}\.\w{2,5} \([^()\n]{3,40}\)|[^\W\d_]{2,20}: https://maps\.google\.com/\S+|null"
)
_NOON, _TWO_DIGITS = 12, 100
_BACK = timedelta(days=1)


@lru_cache(maxsize=1)
def _words() -> dict[str, re.Pattern[str]]:
    """Return what telephones write in words, by what it means."""
    lists = load_packaged_yaml(__file__, "whatsapp.yml")
    return {
        name: re.compile("|".join(forms), re.IGNORECASE)
        for name, forms in lists.items()
    }


@dataclass(slots=True)
class _ChatLine:
    """One message of the file, which may be several of its lines."""

    number: int
    head: re.Match[str]
    rest: list[str]
    raw: str
    """Its first line, with the signs that nobody sees."""


def read_whatsapp(
    path: Path, splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the one chat of a file; of a folder, that of each text file in it."""
    for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
        chat_lines = _chat_lines(file)
        order = splitting.order or _day_month_order(file, chat_lines)
        name = re.sub(r"[\W\d]+", "-", file.stem).strip(
            "-"
        )  # a chat with somebody unknown is named by a phone number
        words, said = _words(), []
        for place, line in enumerate(chat_lines):
            at = _message_time(line.head, order)
            if at is None:
                shown = f"{line.head.group()[:25]!r} does not fit the order {order}"
                raise DatasetError(
                    f"{file}:{line.number}: {shown}. Try another --dates"
                )
            by = _BY.fullmatch("\n".join(line.rest))
            text = words["edited"].sub("", by["text"]).strip() if by else ""
            if (
                by is None
                or f"{by['who']}: {_UNSAID}" in line.raw
                or words["system"].search(by["who"])
            ):
                counts["left out: messages of the system"] += 1
            elif not text or _NOTE.fullmatch(text) or words["deleted"].fullmatch(text):
                counts["left out: media, places and deleted messages"] += 1
            elif place == 0 and words["encrypted"].search(
                text
            ):  # which has an author in some exports
                counts["left out: messages of the system"] += 1
            else:
                said.append(
                    ExportedMessage(
                        at, by["who"].strip().removeprefix("~").strip(), text
                    )
                )
        yield Talk(name or "chat", said)


def _chat_lines(path: Path) -> list[_ChatLine]:
    chat_lines: list[_ChatLine] = []
    try:
        check_size(path.stat().st_size, str(path))
        with open_text(path, "utf-8-sig") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.rstrip("\n").translate(_SPACES)
                shown = line.translate(_MARKS)
                if not shown[
                    :24
                ].isascii():  # a head may have the digits of another script
                    shown = (
                        "".join(
                            str(unicodedata.digit(sign, sign)) for sign in shown[:40]
                        )
                        + shown[40:]
                    )
                head = _HEAD.fullmatch(shown)
                if head and (
                    not chat_lines or _shape(head) == _shape(chat_lines[0].head)
                ):
                    chat_lines.append(_ChatLine(number, head, [head["rest"]], line))
                elif chat_lines:
                    chat_lines[-1].rest.append(line.translate(_MARKS))
                elif line.strip():
                    begins = f"it begins with {line[:40]!r}, not a date"
                    raise DatasetError(
                        f"{path}:{number}: no export of WhatsApp: {begins}"
                    )
    except UnicodeDecodeError as error:
        cure = "Export it again, or save it as UTF-8"
        raise DatasetError(
            f"{path}: not UTF-8 (at byte {error.start}). {cure}"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    if not chat_lines:
        raise DatasetError(f"{path}: is empty")
    return chat_lines


def _shape(head: re.Match[str]) -> tuple[str | None, str, str]:
    """Return the form that all heads of a file share: a date quoted in a message has another one."""
    return head["open"], head["sign"], head["end"].strip()


def _message_time(head: re.Match[str], order: str) -> datetime | None:
    parts = (int(head["one"]), int(head["two"]), int(head["three"]))
    year, month, day = (parts[place] for place in ORDERS[order])
    hour, beside = (
        int(head["hour"]),
        f"{head['before'].strip(' ,')}|{(head['after'] or '').strip()}",
    )
    late, early = (
        _words()[name].search(beside) is not None for name in ("afternoon", "morning")
    )
    if late or early:
        if not 0 <= hour <= _NOON:
            return None
        hour = hour % _NOON + _NOON * late
    century = 2000 if year < _TWO_DIGITS else 0
    try:
        return datetime(  # noqa: DTZ001 - a telephone's own time
            century + year,
            month,
            day,
            hour,
            int(head["minute"]),
            int(head["second"] or 0),
        )
    except ValueError:
        return None


def _day_month_order(path: Path, chat_lines: Sequence[_ChatLine]) -> str:
    """Return the order of day and month that all dates of a file allow; DatasetError where two do, or none.

    Of two the one counts in which the file never goes back by a day.
    """
    known = {
        order: [_message_time(line.head, order) for line in chat_lines]
        for order in ORDERS
    }
    able = {
        order: [date for date in dates if date]
        for order, dates in known.items()
        if None not in dates
    }
    four = len(chat_lines[0].head["one"]) == len("2026")
    able = {order: dates for order, dates in able.items() if (order == "ymd") == four}
    if chat_lines[0].head["sign"] == "." and "dmy" in able:
        return "dmy"
    if len(able) > 1:
        steady = [
            order
            for order, dates in able.items()
            if all(b - a > -_BACK for a, b in pairwise(dates))
        ]
        able = {order: able[order] for order in steady} if steady else able
    if len(able) == 1:
        return next(iter(able))
    shown = chat_lines[0].head.group()[:20]
    if able:
        cure = "No date of the file tells. Say --dates=dmy or mdy"
        raise DatasetError(f"{path}:1: {shown!r}: day or month first? {cure}")
    raise DatasetError(
        f"{path}: its dates, such as {shown!r}, are in no order of day and month that holds for all"
    )
