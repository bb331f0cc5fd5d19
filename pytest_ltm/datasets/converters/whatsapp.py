"""WhatsApp's export: a text file. Each telephone writes dates in its own way: only the whole file shows which."""

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

# What iPhones write before a text that nobody typed.
_UNSAID = "\u200e"
_HEAD_LENGTH = 64
"""Characters in which the head of a message ends."""
# The grammar of a head, in any language: date and time, then its end.
_HEAD = re.compile(
    rf"(?P<open>\[)?{DATE_AND_TIME}"
    r"(?P<end>(?(open)\]\s?|(?:\s?[-\u2013]\s?|:\s|,\s)))(?P<rest>.*)",
    re.DOTALL,
)
_BY = re.compile(
    r"(?P<who>[^:\uff1a\n]{1,60}?)\s?[:\uff1a](?P<blank>[ \n]|$)?(?P<text>.*)",
    re.DOTALL,
)
# A message that is nothing but a note in angle brackets, a file and a note behind it,
# or a place on a map.
_NOTE = re.compile(
    r"<[^<>\n]{1,60}>|[\w -]{1,80}\.\w{2,5} \([^()\n]{3,40}\)|[^\W\d_]{2,20}: https://maps\.google\.com/\S+|null"
)
# A file with a caption: a line of its own before it, or a note before or behind it.
_FILE_BEFORE = re.compile(r"\A[\w-]{1,80}\.\w{2,5} \([^()\n]{3,40}\)\n")
_FILE_BESIDE = re.compile(r"\s*<[^<>\n:]{2,30}: [^<>\n:]{1,80}\.\w{2,5}>\s*")
# What telephones write behind a message that was changed: a note of several words, or
# in a script without blanks.
_EDITED = re.compile(
    r"\s*<(?:[^<>\s=/\"]+(?:\s[^<>\s=/\"]+)+|[^\W\d_a-zA-Z]{2,30})\.?>\s*$"
)
_QUOTES = re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb\u300c\u2018]")
_LONGEST_NAME = 5
"""Words of a name that occurs only once."""
_BACK = timedelta(days=1)
_RECURS = 3
"""Times that a notice comes at least."""
_SYSTEM = "left out: messages of the system"


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
        form = _date_form(file, chat_lines, splitting.order)
        speakers = _speakers(chat_lines)
        # a chat with somebody unknown is named by a phone number
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


def _shared_sentences(
    messages: Sequence[ExportedMessage],
) -> Iterator[tuple[str, int]]:
    """Yield statements that several people sent word for word, and how often.

    A notice of a telephone looks like that in a language in which it is not known; so
    do some things that people say.
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
    """Return who said what, "" for media and what was deleted; None for a message of the system."""
    words = half_of_day_words()
    by = _BY.fullmatch("\n".join(line.rest))
    if by is None or not _is_speaker(by, speakers):
        return None
    if f"{by['who']}: {_UNSAID}" in line.raw or words["system"].search(by["who"]):
        return None
    text = _EDITED.sub("", by["text"]).strip()
    # the notice has an author in some exports
    if first and words["encrypted"].search(text):
        return None
    if _NOTE.fullmatch(by["text"].strip()) or words["deleted"].fullmatch(text):
        text = ""
    return by["who"].strip().removeprefix("~").strip(), _drop_file(text, counts)


def _drop_file(text: str, counts: Counter[str]) -> str:
    """Return the caption of a file, or the text where there is no file."""
    caption = _FILE_BESIDE.sub("", _FILE_BEFORE.sub("", text, count=1), count=1)
    if caption and caption != text:
        counts["left out: files with a caption, which is kept"] += 1
    return caption


def _speakers(chat_lines: Sequence[_ChatLine]) -> Counter[str]:
    """Return how often each name stands before a colon and a blank."""
    heads = (_BY.fullmatch("\n".join(line.rest)) for line in chat_lines)
    return Counter(head["who"] for head in heads if head and head["blank"] is not None)


def _is_speaker(by: re.Match[str], speakers: Counter[str]) -> bool:
    """Return whether what stands before a colon is a name, not a part of a notice.

    A name without a blank behind the colon has another line with one, or no
    number and no address behind it.
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
    # what stands before the first message
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
    """Return a line with the usual blanks and digits where its head may be."""
    head = line[:_HEAD_LENGTH]
    if head.isascii():
        return line
    plain = [str(unicodedata.digit(sign, sign)) for sign in head]
    blanks = [
        " " if sign.isspace() and sign not in "\u2028\u2029" else sign for sign in plain
    ]
    return "".join(blanks) + line[_HEAD_LENGTH:]


class _HeadForm(NamedTuple):
    """The form that all heads of a file share: a date quoted in a message has another one."""

    opening: str | None
    separator: str
    ending: str
    has_era: bool


def _form_of(head: re.Match[str]) -> _HeadForm:
    return _HeadForm(head["open"], head["sign"], head["end"].strip(), bool(head["era"]))


def _date_form(path: Path, chat_lines: Sequence[_ChatLine], order: str) -> DateForm:
    """Return the order of day and month, and the calendar, that all dates of a file allow.

    DatasetError where two orders do, or none. Of two the one counts in which the file
    never goes back by a day.
    """
    heads = [line.head for line in chat_lines]
    first = heads[0]
    if order:
        # which line does not fit is said when it is read
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
        f"{path}: its dates, such as {first_date!r}, are in no order of day and month, and no calendar, that "
        "holds for all"
    )


def _never_goes_back(times: Sequence[datetime]) -> bool:
    return all(after - earlier > -_BACK for earlier, after in pairwise(times))
