"""Reads WhatsApp's text exports. Date formats vary by phone, so they are detected from the whole file."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pytest_ltm.api.storage import DatasetError, open_text
from pytest_ltm.datasets.converters.messages import (
    UNSEEN,
    ExportedMessage,
    Splitting,
    Talk,
)
from pytest_ltm.datasets.converters.written_dates import (
    CALENDARS,
    DATE_AND_TIME,
    DateForm,
    fitting_forms,
    half_of_day_words,
    read_date,
)
from pytest_ltm.datasets.rows import check_size

# The mark that iPhones put before text that no one typed.
_UNSAID = "\u200e"
_HEAD_LENGTH = 64
"""The most characters of a message's head."""
# The syntax of a head in any language: date and time, then its end.
_HEAD = re.compile(
    rf"(?P<open>\[)?{DATE_AND_TIME}"
    r"(?P<end>(?(open)\]\s?|(?:\s?[-\u2013]\s?|:\s|,\s)))(?P<rest>.*)",
    re.DOTALL,
)
_BY = re.compile(
    r"(?P<who>[^:\uff1a\n]{1,60}?)\s?[:\uff1a](?P<blank>[ \n]|$)?(?P<text>.*)",
    re.DOTALL,
)
# A message that is only a note in angle brackets, a file with a note, or a place on a
# map.
_NOTE = re.compile(
    r"<[^<>\n]{1,60}>|[\w -]{1,80}\.\w{2,5} \([^()\n]{3,40}\)|[^\W\d_]{2,20}: https://maps\.google\.com/\S+|null"
)
# A file with a caption: on a line of its own before it, or as a note before or after
# it.
_FILE_BEFORE = re.compile(r"\A[\w-]{1,80}\.\w{2,5} \([^()\n]{3,40}\)\n")
_FILE_BESIDE = re.compile(r"\s*<[^<>\n:]{2,30}: [^<>\n:]{1,80}\.\w{2,5}>\s*")
# The mark of an edited message: a note of several words, or in a script without blanks.
_EDITED = re.compile(
    r"\s*<(?:[^<>\s=/\"]+(?:\s[^<>\s=/\"]+)+|[^\W\d_a-zA-Z]{2,30})\.?>\s*$"
)
_QUOTES = re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb\u300c\u2018]")
_LONGEST_NAME = 5
"""The most words of a name that occurs only once."""
_BACK = timedelta(days=1)
_RECURS = 3
"""The fewest repetitions of a notice."""
_SYSTEM = "left out: messages of the system"


@dataclass(slots=True)
class _ChatLine:
    """One message of the file, which may span several lines."""

    number: int
    head: re.Match[str]
    rest: list[str]
    raw: str
    """Its first line, with invisible characters."""


def read_whatsapp(
    path: Path, splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the chat of a file, or of each text file in a folder."""
    for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
        chat_lines = _chat_lines(file)
        form = _date_form(file, chat_lines, splitting.order)
        speakers = _speakers(chat_lines)
        # a chat with an unknown person is named by a phone number
        name = re.sub(r"[\W\d]+", "-", file.stem).strip("-")
        messages = []
        for place, line in enumerate(chat_lines):
            moment = read_date(line.head, form)
            if moment is None:
                problem = (
                    f"{line.head.group()[:25]!r} does not fit the order {form.order}"
                )
                raise DatasetError(
                    f"{file}:{line.number}: {problem}. Try another --dates"
                )
            spoken = _spoken_by(line, speakers, counts, first=place == 0)
            if spoken is None:
                counts[_SYSTEM] += 1
            elif not spoken[1]:
                counts["left out: media, places and deleted messages"] += 1
            else:
                messages.append(ExportedMessage(moment, *spoken))
        for text, times in _shared_sentences(messages):
            counts[
                f"kept: the same words of several people, or a notice: {text!r}"
            ] += times
        yield Talk(name or "chat", messages)


def _shared_sentences(messages: Sequence[ExportedMessage]) -> Iterator[tuple[str, int]]:
    """Yield sentences that several people sent verbatim, with their counts.

    Notices in an unknown language look like that, but so do some things that people say.
    """
    senders: dict[str, list[str]] = {}
    for message in messages:
        senders.setdefault(message.text, []).append(message.who)
    for text, names in senders.items():
        is_sentence = len(text.split()) > 2 and not re.search(r"[\d?\n]", text)
        if is_sentence and len(names) >= _RECURS and len({*names}) > 1:
            yield text, len(names)


def _spoken_by(
    line: _ChatLine, speakers: Counter[str], counts: Counter[str], *, first: bool
) -> tuple[str, str] | None:
    """Return sender and text, which is "" for media and deleted messages; None for a system message."""
    words = half_of_day_words()
    by = _BY.fullmatch("\n".join(line.rest))
    if by is None or not _is_speaker(by, speakers):
        return None
    if f"{by['who']}: {_UNSAID}" in line.raw or words["system"].search(by["who"]):
        return None
    text = _EDITED.sub("", by["text"]).strip()
    # in some exports the encryption notice has an author
    if first and words["encrypted"].search(text):
        return None
    if _NOTE.fullmatch(by["text"].strip()) or words["deleted"].fullmatch(text):
        text = ""
    return by["who"].strip().removeprefix("~").strip(), _drop_file(text, counts)


def _drop_file(text: str, counts: Counter[str]) -> str:
    """Return the caption of a file, or the text if there is no file."""
    caption = _FILE_BESIDE.sub("", _FILE_BEFORE.sub("", text, count=1), count=1)
    if caption and caption != text:
        counts["left out: files with a caption, which is kept"] += 1
    return caption


def _speakers(chat_lines: Sequence[_ChatLine]) -> Counter[str]:
    """Return how often each name precedes a colon and a blank."""
    heads = (_BY.fullmatch("\n".join(line.rest)) for line in chat_lines)
    return Counter(head["who"] for head in heads if head and head["blank"] is not None)


def _is_speaker(by: re.Match[str], speakers: Counter[str]) -> bool:
    """Return whether the words before a colon are a name, not part of a notice.

    A name without a blank after the colon either has one on another line, or is not followed by a number or an address.
    """
    name = by["who"]
    text = by["text"]
    if speakers[name] > 1:
        return True
    if _QUOTES.search(name) or len(name.split()) > _LONGEST_NAME:
        return False
    if by["blank"] is not None:
        return True
    return not (text[:1].isdigit() or text.startswith("//"))


def _chat_lines(path: Path) -> list[_ChatLine]:
    chat_lines: list[_ChatLine] = []
    # the lines before the first message
    title: list[str] = []
    try:
        check_size(path.stat().st_size, str(path))
        with open_text(path, "utf-8-sig") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.rstrip("\n")
                head = _HEAD.fullmatch(_plain_head(line.translate(UNSEEN)))
                if head and (
                    not chat_lines or _form_of(head) == _form_of(chat_lines[0].head)
                ):
                    chat_lines.append(_ChatLine(number, head, [head["rest"]], line))
                elif chat_lines:
                    chat_lines[-1].rest.append(line.translate(UNSEEN))
                elif line.strip():
                    title.append(line)
    except UnicodeDecodeError as error:
        cure = "Export it again, or save it as UTF-8"
        raise DatasetError(
            f"{path}: not UTF-8 (at byte {error.start}). {cure}"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    if not chat_lines and title:
        begins = f"it begins with {title[0][:40]!r}, and no line with a date"
        raise DatasetError(f"{path}:1: no export of WhatsApp: {begins} and a time")
    if not chat_lines:
        raise DatasetError(f"{path}: is empty")
    return chat_lines


def _plain_head(line: str) -> str:
    """Return a line with ordinary blanks and digits in the part that may be its head."""
    head = line[:_HEAD_LENGTH]
    if head.isascii():
        return line
    plain = ""
    for sign in head:
        digit = str(unicodedata.digit(sign, sign))
        is_blank = digit.isspace() and digit not in "\u2028\u2029"
        plain += " " if is_blank else digit
    return plain + line[_HEAD_LENGTH:]


class _HeadForm(NamedTuple):
    """The form shared by all heads of a file; a date quoted in a message has a different one."""

    opening: str | None
    separator: str
    ending: str
    has_era: bool


def _form_of(head: re.Match[str]) -> _HeadForm:
    return _HeadForm(head["open"], head["sign"], head["end"].strip(), bool(head["era"]))


def _date_form(path: Path, chat_lines: Sequence[_ChatLine], order: str) -> DateForm:
    """Return the order of day and month, and the calendar, that fit all dates of a file.

    DatasetError if no order fits, or if two do. Of two orders, one in which the dates never go back by a day is
    preferred.
    """
    heads = [line.head for line in chat_lines]
    first = heads[0]
    if order:
        # the reading step reports which line does not fit
        fitting = [form for form, _ in fitting_forms(heads, [order])]
        if fitting:
            return fitting[0]
        return DateForm(order, CALENDARS[0])
    year_first = len(first["one"]) > 2 or bool(first["era"])
    orders = ["ymd"] if year_first else ["dmy", "mdy"]
    able = dict(fitting_forms(heads, orders))
    forms = list(able)
    if first["sign"] == "." and forms and forms[0].order == "dmy":
        return forms[0]
    if len(forms) > 1:
        steady = [form for form in forms if _never_goes_back(able[form])]
        forms = steady or forms
    if len(forms) == 1:
        return forms[0]
    first_date = first.group()[:20]
    if forms:
        cure = "No date of the file tells. Say --dates=dmy or mdy"
        raise DatasetError(f"{path}:1: {first_date!r}: day or month first? {cure}")
    raise DatasetError(
        f"{path}: no order of day and month, in any calendar, fits all dates, such as {first_date!r}"
    )


def _never_goes_back(times: Sequence[datetime]) -> bool:
    return all(after - earlier > -_BACK for earlier, after in pairwise(times))
