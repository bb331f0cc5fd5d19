"""The normal form of speech: without typography, frames, citation marks, and the talk around an answer."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.settling import settle_text
from pytest_ltm.language.structured import read_answer
from pytest_ltm.language.talk import UNKNOWN, Topic, without_offer, without_talk


def normalize(
    speech: str, *, objects_within: bool = True, topic: Topic | None = UNKNOWN
) -> str:
    """Return the normal form of an agent's speech; "" only for blank text. Idempotent, in linear time.

    A frame (a fence, a tag, a label) is removed if it encloses everything; unmarked
    words only if they are talk at the beginning or the end and something else remains.
    `objects_within`: replace an object in prose with the answer that it names.
    `topic`: what the talk is around; None if the speech is an act: only an offer of help is removed.
    """

    def simplify(text: str) -> str:
        # typography first: the other steps expect plain quotes and dashes
        steps: list[Callable[[str], str]] = [plain_type, _without_pictures, _unwrap]
        steps += [
            partial(read_answer, within=objects_within),
            _without_tags,
            _strip_quotes,
            _without_math,
            _strip_wrapping,
            _without_reports,
            _without_citations,
        ]
        if topic:
            steps.append(partial(without_talk, topic=topic))
        else:
            steps.append(without_offer)
        for step in steps:
            # if a step would leave nothing, it found the answer, not a layer around it
            text = step(text.strip()).strip() or text
        return text.strip()

    return settle_text(speech, simplify)


# --- Typography.

RE = LEXICON.expressions("normal form")
_PLAIN_CHARACTERS = str.maketrans(
    dict.fromkeys(
        "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
        " ",
    )
    | dict.fromkeys("\u2010\u2011\u2212\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2028\u2029\u0085", "\n")
    | {chr(0xFF01 + n): chr(0x21 + n) for n in range(94) if chr(0x21 + n).isalnum()}
)


def plain_type(text: str) -> str:
    """Return a text with plain spaces, quotes, dashes, letters and line ends, and without entities."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        text = RE.invisible.sub("", text).translate(_PLAIN_CHARACTERS)
        text = unicodedata.normalize("NFC", text)
    if "&" in text:
        text = RE.entity.sub(lambda match: html.unescape(match[0]), text)
    return text


def _without_pictures(text: str) -> str:
    return text if text.isascii() else RE.pictures.sub("", text.strip())


# Prose is not wrapped at a narrower width.
_NARROWEST = 24
# Wrapping cannot be recognised in fewer lines.
_FEWEST_LINES = 3


def _unwrap(text: str) -> str:
    """Return a text without fixed-width wrapping: line ends where the next word did not fit."""
    if "\n" not in text:
        return text
    return "\n\n".join(map(_unwrap_paragraph, RE.paragraph_end.split(text)))


def _unwrap_paragraph(text: str) -> str:
    lines = text.split("\n")
    width = max(map(len, lines))
    is_long = width >= _NARROWEST and len(lines) >= _FEWEST_LINES
    is_prose = is_long and not any(map(RE.list_line.match, lines))
    if not is_prose or lines[0][:1].islower():
        return text
    continuations = 0
    for line, next_line in pairwise(lines):
        next_word = next_line.split(" ")[0]
        if len(line) + 1 + len(next_word) <= width:
            return text  # the next word would have fitted
        continuations += next_line[:1].islower()
    # most lines go on with a sentence
    return " ".join(lines) if 2 * continuations > len(lines) - 1 else text


# --- Frames.

_MARKS = ("**", "__", "`", '"', "*", "_", "==", "'", "$")
_ENCLOSING_MARKS = (
    *zip(_MARKS, _MARKS, strict=True),
    ("(", ")"),
    ("[", "]"),
    ("<<", ">>"),
)


def _without_tags(text: str) -> str:
    text = strip_struck(text)
    if "<" not in text and "[/" not in text:
        return text
    frames = list(RE.frame.finditer(text))
    for frame in reversed(frames):
        content = (frame[2] or frame[4] or "").strip()
        if content:
            text = content
            break
    element = RE.whole_tag.match(text)
    if element and f"<{element[1]}" not in element[2]:
        text = element[2].strip()
    return RE.inline.sub("", RE.block.sub("\n", RE.note.sub("", text)))


def strip_struck(text: str) -> str:
    """Return a text without struck-out parts."""
    if "~~" in text or "<" in text:
        return RE.struck.sub(" ", text)
    return text


def _strip_quotes(text: str) -> str:
    if match := RE.fence.match(text):
        text = match[2] if "\n" + match[1] not in match[2] else text
    if text.startswith(">") and (
        RE.unquoted_line.search(text) is None
        or ("\n\n" not in text and text[1:2] == " ")
    ):
        text = RE.quote_mark.sub("", text)
    return RE.pointer.sub("", RE.before_items.sub("", RE.rules.sub("", text)))


def _without_math(text: str) -> str:
    if "\\" in text:
        if text.startswith("\\boxed{") and text.endswith("}"):
            text = text[len("\\boxed{") : -1]
        text = RE.math.sub(
            lambda match: match[1] or match[2], RE.latex.sub(r"\1", text)
        )
        text = RE.escaped.sub(r"\1", text.replace("{,}", ","))
    return RE.link.sub(r"\1", text) if "](" in text else text


def _strip_wrapping(text: str) -> str:
    """Return the content of a pair of marks that encloses the whole text and occurs nowhere else, without its label."""
    for opening, closing in _ENCLOSING_MARKS:
        inner = text[len(opening) : -len(closing)]
        if not (text.startswith(opening) and text.endswith(closing) and inner.strip()):
            continue
        if (
            opening not in inner
            and closing not in inner
            and not (opening in "([" and RE.lists.search(inner))
        ):
            text = inner.strip()
            break
    for pattern in (RE.heading, RE.prefix):
        match = pattern.match(text)
        label = next(filter(None, match.groups())) if match else ""
        # other words before a colon are part of the answer: "Bus: line 4"
        if match and text[match.end() :].strip() and RE.own_label.fullmatch(label):
            text = text[match.end() :]
    return text


# --- A program's reports around an answer.


def _without_reports(text: str) -> str:
    """Return a text without trace lines, status lines at its ends, and suggested next questions."""
    if "\n" not in text:
        return text
    text = RE.trace.sub("", text).strip()
    if match := RE.next_questions.search(text):
        text = text[: match.start()]
    for pattern in (RE.status_before, RE.status_after):
        match = pattern.search(text)
        if match and _reports_status(match[1]):
            text = f"{text[: match.start()]}{text[match.end() :]}"
    return text


def _reports_status(line: str) -> bool:
    """Return whether a line has only a program's counts and statistics."""
    if RE.tokens_counted.search(line):
        return True
    words = " ".join(RE.word.findall(line.lower())).replace("'", "").split()
    return (
        any(map(RE.counted.match, words))
        and any(map(str.isdigit, line))
        and all(map(RE.status_word.fullmatch, words))
    )


# --- Citation marks.

# Characters of a list of sources; looking for one takes time in proportion.
_LONGEST_LIST = 800


def _without_citations(text: str) -> str:
    if not RE.citing.search(text):
        return text
    text = RE.footnote.sub("", text)
    shorter = _strip_sources(text)
    # if more lists precede it, they are the text itself, not an appended list
    if _strip_sources(shorter) == shorter:
        text = shorter
    return RE.told_at_end.sub("", RE.cites.sub("", text))


def _strip_sources(text: str) -> str:
    """Return a text without its final list of sources; an earlier list is part of the answer."""
    for header in RE.sources.finditer(text, max(0, len(text) - _LONGEST_LIST)):
        items = RE.source_item_start.split(text[header.end() :].strip())
        if all(RE.source_item.fullmatch(item.strip()) for item in items):
            return text[: header.start()]
    return text
