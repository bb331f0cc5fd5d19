"""The normal form of speech: without typography, frames, citation marks, and the courtesies around an answer."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from typing import TYPE_CHECKING

from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable


def normalize(speech: str) -> str:
    """Return the normal form of what an agent said; "" only for what is blank. Idempotent, in linear time.

    A frame (a fence, a tag, a label) goes if it encloses all; unmarked words only if they are courtesies, at the
    beginning or the end, and something else remains.
    """
    return settle_text(speech, _simplify_once)


def _simplify_once(text: str) -> str:
    for part in (_plain_type, _strip_frame, _without_citations, _without_closings, _without_openings):
        text = part(text).strip() or text
    return text.strip()


# --- Typography.

_INVISIBLE = lazy_pattern("[\u200b-\u200f\u2060\u2066-\u2069\u202a-\u202e\ufeff\u00ad\ufe0e\ufe0f]")
_TYPES = str.maketrans(
    dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
    | dict.fromkeys("\u2010\u2011\u2212\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2028\u2029\u0085", "\n")
    | {chr(0xFF01 + n): chr(0x21 + n) for n in range(94) if chr(0x21 + n).isalnum()}
)
_PICTURE = (
    "(?:[\U0001f300-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u231a-\u23ff\u25aa-\u25fe\u2190-\u21ff](?![0-9a-z])\u20e3?)"
)
_PICTURES = lazy_pattern(rf"\A(?:{_PICTURE}\s{{0,4}})+(?=[^\s])|(?<=\S)(?:\s{{0,4}}(?![\u2190-\u21ff]){_PICTURE})+\Z")
_ENTITY = lazy_pattern(r"&(?:#\d{1,6}|#x[0-9a-f]{1,5}|[a-z]{2,8});", re.IGNORECASE)


def _plain_type(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text).translate(_TYPES))
        text = _PICTURES.sub("", text.strip()) or text
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


# --- Frames.

_FRAME = LEXICON.expression(r"{normal form frame}", re.IGNORECASE)
_STRUCK = lazy_pattern(r"~~[^~\n]*~~|<(s|del|strike)>.{0,400}?</\1>", re.DOTALL | re.IGNORECASE)
_WHOLE_TAG = lazy_pattern(r"\A<([A-Za-z][\w-]{0,30})(?:\s[^<>\n]{0,120})?>(.*)</\1>\Z", re.DOTALL)
_BLOCK = LEXICON.expression(r"{normal form block}", re.IGNORECASE)
_INLINE = LEXICON.expression(r"{normal form inline}", re.IGNORECASE)
_NOTE = lazy_pattern(r"<(sup|ref)\b[^<>\n]{0,80}>[^<>\n]{0,20}</\1>", re.IGNORECASE)
_FENCE = lazy_pattern(r"\A(```|~~~)[^\n`]{0,20}\n(.*?)\n?\1\Z", re.DOTALL)
_QUOTE_MARK = lazy_pattern(r"^[ \t]*>[ \t]?", re.MULTILINE)
_UNQUOTED_LINE = lazy_pattern(r"^[ \t]*[^>\s]", re.MULTILINE)
_LATEX = lazy_pattern(r"\\(?:boxed|text|textbf|textit|mathrm|mathbf|emph|fbox|underline)\{([^{}\n]{0,2000})\}")
_MATH = LEXICON.expression(r"{normal form math}")
_ESCAPED = lazy_pattern(r"\\([$%&#_{}*.\[\]()!+-])")
_LINK = lazy_pattern(r"(?<!!)\[([^\[\]\n]{1,200})\]\((?:https?:|#|mailto:|memory:|/)[^()\s]{0,300}\)")
_PAIRS = (
    *((mark, mark) for mark in ("**", "__", "`", '"', "*", "_", "==", "'", "$")),
    ("(", ")"),
    ("[", "]"),
    ("<<", ">>"),
)
# A mark before the first of several items belongs to none of them.
_BEFORE_ITEMS = LEXICON.expression(r"{normal form before items}")
_POINTER = lazy_pattern(r"\A(?:\u2192|->|=>|\u279c|\u25b6|\u2022|>{2,3}|[-*+] (?=[^\n]*\Z)|#{1,6} (?=[^\n]*\Z))\s*")
_RULES = LEXICON.expression(r"{normal form rules}")
_HEADING = LEXICON.expression(r"{normal form heading}")
_PREFIX = LEXICON.expression(r"{normal form prefix}")
_KEYS = frozenset(
    ("answer", "response", "reply", "final_answer", "output", "result", "text", "message", "content", "value")
)


def _strip_frame(text: str) -> str:
    for part in (_without_tags, _strip_quotes, _without_math, _strip_pair, _strip_label):
        text = part(text.strip()).strip() or text
    return text


def _without_tags(text: str) -> str:
    text = strip_struck(text)
    if "<" not in text:
        return text
    framed = [match[2].strip() for match in _FRAME.finditer(text) if match[2].strip()]
    text = framed[-1] if framed else text
    whole = _WHOLE_TAG.match(text)
    if whole and f"<{whole[1]}" not in whole[2]:
        text = whole[2].strip()
    return _INLINE.sub("", _BLOCK.sub("\n", _NOTE.sub("", text)))


def strip_struck(text: str) -> str:
    """Return a text without what it strikes out."""
    return _STRUCK.sub(" ", text) if "~~" in text or "<" in text else text


def _strip_quotes(text: str) -> str:
    if match := _FENCE.match(text):
        text = match[2] if "\n" + match[1] not in match[2] else text
    if text.startswith(">") and (_UNQUOTED_LINE.search(text) is None or ("\n\n" not in text and text[1:2] == " ")):
        text = _QUOTE_MARK.sub("", text)
    text = _POINTER.sub("", _BEFORE_ITEMS.sub("", _RULES.sub("", text)))
    return _only_value(text) if text.startswith("{") and text.endswith("}") else text


def _only_value(text: str) -> str:
    """Return the text in a JSON object that holds nothing but an answer."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
    if len(value) == 1 and (only := next(iter(value))).lower() in _KEYS and isinstance(value[only], str):
        return str(value[only])
    return text


def _without_math(text: str) -> str:
    if "\\" in text:
        if text.startswith("\\boxed{") and text.endswith("}"):
            text = text[len("\\boxed{") : -1]
        text = _MATH.sub(lambda match: match[1] or match[2], _LATEX.sub(r"\1", text))
        text = _ESCAPED.sub(r"\1", text.replace("{,}", ","))
    return _LINK.sub(r"\1", text) if "](" in text else text


def _strip_pair(text: str) -> str:
    """Return what one pair of marks encloses, if it encloses all and stands nowhere else."""
    for opening, closing in _PAIRS:
        inner = text[len(opening) : -len(closing)]
        if not (text.startswith(opening) and text.endswith(closing) and inner.strip()):
            continue
        if opening not in inner and closing not in inner and not (opening in "([" and _LISTS.search(inner)):
            return inner
    return text


_LISTS = lazy_pattern(r"[,\"'{}]")


def _strip_label(text: str) -> str:
    for pattern in (_HEADING, _PREFIX):
        match = pattern.match(text)
        if (
            match
            and _consists_of(next(filter(None, match.groups())), LEXICON.words("roles"))
            and text[match.end() :].strip()
        ):
            text = text[match.end() :]
    return text


# --- Citation marks.

_NUMBERED = r"(?:\^?\[\^?\d{1,3}(?:[,;\u2013-] ?\d{1,3}){0,5}\]){1,6}"
_PLACES = (
    r"(?:memory|memories|mem|source|sources|msg|message|messages|doc|note|notes|ref|session|sessions|turn|turns|chat|"
    r"citation|cite|context|record)"
)
_EXPECTS_NUMBER = "".join(
    f"(?<!{word})" for word in ("[ \t]is", "option", "number", "chapter", "answer", "choose", "pick")
)
_CITES = lazy_pattern(
    r"[ \t]?\u3010[^\u3010\u3011\n]{1,60}\u3011|[ \t]?\ue200[^\ue201\n]{0,80}\ue201"
    r"|[ \t]?\^?\[\^\w{1,12}\](?!:)|[ \t]?\^\[\w{1,12}\]|[ \t]?\{\{(?:cite|ref)[^{}\n]{0,60}\}\}"
    rf"|[ \t]?\[{_PLACES}(?:[_ ]?ids?)?[ #:.=-]{{0,3}}[\w, #.:-]{{0,40}}\]"
    rf"|[ \t]?\((?:sources?\b[:.]? ?(?:{_PLACES})?|(?:see|cf|ref|via|from|per|according to)\b[:.]? ?(?:the |our |"
    rf"your )?{_PLACES})[ #]{{0,2}}[\w, #-]{{0,30}}\)"
    rf"|[ \t]?\({_PLACES} ?[#:]? ?\d[\w, #-]{{0,30}}\)"
    r"|(?:(?<=[A-Za-z]{4})|(?<=[.!?\"')*]))[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3}(?=[\s.,;!?]|\Z)"
    rf"|(?<=[.!?\"')*}}\]])[ \t]?{_NUMBERED}|(?<=\|)[ \t]?{_NUMBERED}(?=[ \t]*(?:\n|\Z))|"
    rf"{_EXPECTS_NUMBER}(?<=[^\W_])[ \t]?{_NUMBERED}(?=[\s.,;!?]|\Z)",
    re.IGNORECASE,
)
_SOURCES = LEXICON.expression(r"{normal form sources}", re.IGNORECASE)
_LONGEST_SOURCES = 800
_FOOTNOTE = lazy_pattern(r"\n\[\^?\w{1,12}\]: [^\n]{1,200}(?=\n|\Z)")
_LETTERS = lazy_pattern(r"[^\W\d_]+")
_TOLD_AT_END = LEXICON.expression(r"{normal form told at end}", re.IGNORECASE)


def _without_citations(text: str) -> str:
    if not _CITING.search(text):
        return text
    text = _FOOTNOTE.sub("", text)
    for header in list(_SOURCES.finditer(text, max(0, len(text) - _LONGEST_SOURCES))):
        listed = text[header.end() :]
        if any(map(str.isalnum, listed)) and set(_LETTERS.findall(listed.lower())) <= LEXICON.words("source words"):
            text = text[: header.start()]
            break
    return _TOLD_AT_END.sub("", _CITES.sub("", text))


_CITING = LEXICON.expression(r"{normal form citing}", re.IGNORECASE)

# --- Courtesies.

_WORD = lazy_pattern(r"[^\W_]+(?:'[^\W_]+)*")
_SENTENCE_START = LEXICON.expression(r"{normal form sentence start}")
_FIRST = LEXICON.expression(r"{normal form first}")
_NEAR_END = 500
_CLOSES = LEXICON.pattern("closing cues")


def _without_closings(text: str) -> str:
    base = max(0, len(text) - _NEAR_END)
    starts = [base + match.end() for match in _SENTENCE_START.finditer(text[base:])]
    for start in starts[::-1]:
        ending, rest = text[start:], text[:start].rstrip(" \t\n*_>-")
        if not _WORD.search(ending):
            continue
        if not _WORD.search(rest) or not _consists_of(ending, LEXICON.words("closing words")):
            break
        if _CLOSES.search(_simple_words(ending)):
            text = rest
    return text


def _without_openings(text: str) -> str:
    for _ in range(4):
        match = _FIRST.match(text)
        rest = text[match.end() :] if match else ""
        if not match or not _WORD.search(rest) or not _is_opening(match[1]):
            break
        text = rest
    return text


def _is_opening(part: str) -> bool:
    spoken = _simple_words(part).split()
    if part.endswith(",") and len(spoken) > 1:
        return False
    return _consists_of(part, LEXICON.words("opening words")) and any(
        word in LEXICON.words("opening cues") for word in spoken
    )


def _simple_words(part: str) -> str:
    return " ".join(word.replace("'", "") for word in _WORD.findall(part.lower()))


def _consists_of(part: str, vocabulary: frozenset[str]) -> bool:
    spoken = _simple_words(part).split()
    return bool(spoken) and all(word in vocabulary for word in spoken)


# --- Repeating a pass over a text until it changes nothing.

# What takes more layers off than any model puts on is noise.
_MOST_PASSES = 8


def settle_text(text: str, one_pass: Callable[[str], str]) -> str:
    """Return what the pass makes of a text once it changes no more; the text itself where it never settles.

    Idempotent for any pass, and as linear as the pass.
    """
    before = text
    for _ in range(_MOST_PASSES):
        after = one_pass(before)
        if after == before:
            return after
        before = after
    return text
