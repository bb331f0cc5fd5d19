"""What of a reply is speech: all that its format does not mark as a thought, a tool call or the end of the turn."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.normal_form import settle_text
from pytest_ltm._language.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

# Which reading of replies this is; plans and the names of rules hold it.
READING = "reading/1"


def speech(reply: str, *, tags: Sequence[str] = ()) -> str:
    """Return what an agent said in a reply; "" where it only thought or called tools.

    What is not marked stays as it came, to the last space and line end. `tags`: names of further tags whose contents
    are thoughts. Idempotent, in linear time.
    """
    own = frozenset(map(_fold_tag_name, tags))
    return settle_text(reply, partial(_strip_hidden, own=own))


def _strip_hidden(text: str, *, own: Collection[str]) -> str:
    if not _MAY_BE_MARKED.search(text):
        return text
    for part in (
        _final_channel,
        partial(_without_blocks, own=own),
        _without_details,
        _without_sections,
        _without_calls,
    ):
        kept = part(text)
        text = kept if kept == text else kept.strip()
    return text


# What has none of these has no mark: most answers.
_MAY_BE_MARKED = lazy_pattern(
    "[<\\[{\n:\u25c1\u3008\u300a\u3010\u27e8\uff1c\u273f]|&lt;|\\A\\s*(?:analysis|commentary)"
)

# --- Marks: anything in brackets that may open, close or end something.

_MARK = LEXICON.expression(r"{speech mark}")
_PAIRED = {"<": ">", "<!": ">", "[": "]", "{": "}", "&lt;": "&gt;"}
_THOUGHT = LEXICON.expression(r"{speech thought}", re.IGNORECASE)
_TOOL = LEXICON.expression(r"{speech tool}", re.IGNORECASE)
_FRAME = LEXICON.expression(r"(?:final_?|my_?|short_?)?{speech frame}(?:_text)?", re.IGNORECASE)
_ENDS = lazy_pattern(r"end|close|stop|unused95|done")
_EDGE = lazy_pattern(r"^(?:antml|seed|ant)[:_]?|(?:begin|start|end)(?:_of)?_|_(?:begin|start|end)$")
_TURN_TAG = lazy_pattern(r"(?:end|start)_of_turn|eos|bos|s|pad|eot|sys|inst")
_Role = Literal["opens", "closes", "alone"]
_Kind = Literal["hidden", "token", "channel", "plain", "unknown"]


class Mark(Struct, frozen=True):
    """A mark of a format: where it stands, its kind, and its part in a pair."""

    start: int
    end: int
    name: str
    kind: _Kind
    role: _Role
    angled: bool
    """Whether it can only be a mark: square and curly brackets count as marks in pairs alone."""


def _fold_tag_name(name: str) -> str:
    return name.strip("<>[]{}/ ").lower().replace("\u2581", "_").replace("-", "_")


def _iter_marks(text: str, own: Collection[str]) -> Iterator[Mark]:
    for match in _MARK.finditer(text):
        start, end = match.span()
        if (
            _PAIRED.get(match["open"], match["close"]) != match["close"]
            or text[start - 1 : start] == text[end : end + 1] == "`"
        ):
            continue
        yield _classify_mark(match, own)


def _classify_mark(match: re.Match[str], own: Collection[str]) -> Mark:
    name = _fold_tag_name(match["name"])
    pipe, angled = bool(match["before"] or match["after"]), match["open"] not in ("[", "{")
    role: _Role = "closes" if match["slash"] else "alone" if match["alone"] else "opens"
    if _ENDS.search(name) and (pipe or name == "unused95"):
        role = "closes"
    elif pipe and bool(match["before"]) != bool(match["after"]):
        role = "opens" if match["before"] else "closes"
    core = _EDGE.sub("", name.rpartition(":")[2])
    return Mark(*match.span(), core, _mark_kind(name, core, own, pipe=pipe, angled=angled), role, angled)


def _mark_kind(name: str, core: str, own: Collection[str], *, pipe: bool, angled: bool) -> _Kind:
    if core == "channel":
        return "channel"
    if name in own or name == "unused95":
        return "hidden"
    if not pipe and (core in LEXICON.words("markup") or _FRAME.fullmatch(core)):
        return "token" if name == "s" else "plain"
    if _THOUGHT.search(core) or _TOOL.search(core):
        return "hidden"
    return "token" if (pipe and angled) or _TURN_TAG.fullmatch(name) else "unknown"


# --- Blocks between marks, and tokens.


def _without_blocks(text: str, *, own: Collection[str]) -> str:
    """Return a text without hidden blocks, and without the end of the turn and what follows it."""
    marks = list(_iter_marks(text, own))
    if not marks:
        return text
    closed = {mark.name for mark in marks if mark.role == "closes"}
    marks = [mark for mark in marks if mark.angled or mark.kind == "token" or mark.name in closed]
    spans = _hidden_spans(text, [mark for mark in marks if mark.kind == "hidden"])
    if not spans:
        spans = _preface_spans(text, [mark for mark in marks if mark.kind == "unknown"])
    return _without_tokens(text, spans, [mark for mark in marks if mark.kind == "token"])


def _hidden_spans(text: str, marks: Iterable[Mark]) -> list[tuple[int, int]]:
    """Return the outermost spans of hidden blocks.

    What is never closed lasts to the end; what a mark only closes began with the reply.
    """
    spans: list[tuple[int, int]] = []
    depth = start = closed = 0
    for mark in marks:
        if mark.role == "alone":
            if not depth:
                spans.append((mark.start, mark.end))
        elif mark.role == "opens":
            if not depth:
                start, closed = mark.start, 0
            depth += 1
        elif depth:
            depth, closed = depth - 1, mark.end
            if not depth:
                spans.append((start, mark.end))
        else:
            first = spans[0][0] if spans and spans[-1][1] > 0 and not text[: spans[0][0]].strip() else 0
            spans = [(first, mark.end)]
    if depth and closed:
        spans.append((start, closed))
    elif depth and _LINE_START.search(text[max(0, start - 40) : start]):
        spans.append((start, len(text)))
    return spans


_LINE_START = lazy_pattern(r"(?:\A|[\n.!?>\]})\"])[\s*_]*\Z")
_FEWEST_WORDS = 5


def _preface_spans(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the block in tags of any name that a reply begins with, where plain text or a frame follows it."""
    closing = next((mark for mark in marks if mark.role == "closes"), None)
    if closing is None:
        return []
    opening = next((mark for mark in marks if mark.role == "opens" and mark.name == closing.name), None)
    start = opening.start if opening and opening.start < closing.start else 0
    rest = text[closing.end :].strip()
    if text[:start].strip() or not rest or len(text[start : closing.start].split()) < _FEWEST_WORDS:
        return []
    follows = _MARK.match(rest)
    if follows and _classify_mark(follows, ()).kind == "unknown":
        return []
    return [(start, closing.end)]


def _without_tokens(text: str, spans: Sequence[tuple[int, int]], tokens: Iterable[Mark]) -> str:
    """Return a text without spans and tokens; the first token after anything spoken ends the turn."""
    kept, at = list[str](), 0
    blocks = [(start, end, False) for start, end in spans] + [(mark.start, mark.end, True) for mark in tokens]
    spoken = False
    for start, end, is_token in sorted(blocks):
        if start < at:
            continue
        kept.append(text[at:start])
        spoken = spoken or bool(kept[-1].strip())
        if is_token and spoken:
            return "".join(kept)
        header = _HEADER.match(text, end) if is_token else None
        at = header.end() if header else end
    return "".join([*kept, text[at:]])


_HEADER = lazy_pattern(r"[ \t]*(?:assistant|model|ai|bot)\b[ \t]*(?:<\|end_header_id\|>)?[ \t]*\n*", re.IGNORECASE)


# --- Channels.

_CHANNEL = lazy_pattern(r"<\|channel\|>\s*(\w*)[^<\n]{0,80}(?:<\|message\|>)?")
_CHANNEL_END = lazy_pattern(r"<\|(?:end|return|call|start|channel)\|>")
_BARE_CHANNELS = LEXICON.expression(r"{speech bare channels}", re.DOTALL)


def _final_channel(text: str) -> str:
    """Return what was said on the channel for answers, where a reply has channels."""
    opened = list(_CHANNEL.finditer(text))
    if not opened:
        bare = _BARE_CHANNELS.match(text)
        return text[bare.end() :] if bare else text
    finals = [match for match in opened if match[1].lower() in ("final", "answer", "response", "reply")]
    if not finals:
        return re.sub(r"<\|start\|>\w*|<\|end\|>", "", text[: opened[0].start()])
    stop = _CHANNEL_END.search(text, finals[-1].end())
    return text[finals[-1].end() : stop.start() if stop else len(text)]


# --- Blocks that a page folds away, and comments.

_DETAILS = lazy_pattern(r"<details\b[^<>\n]{0,200}>(?:\s{0,20}<summary>[^<>\n]{0,80}</summary>)?", re.IGNORECASE)
_COMMENT = lazy_pattern(r"<!--(?:[^-]|-(?!->)){0,100000}-->")


def _without_details(text: str) -> str:
    text = _COMMENT.sub("", text) if "<!--" in text and "-->" in text else text
    parts, at = list[str](), 0
    for match in _DETAILS.finditer(text):
        end = text.lower().find("</details>", match.end()) if "</details>" in text else -1
        rest = text[end + len("</details>") :] if end >= 0 else ""
        if match.start() < at or end < 0:
            break
        before = "".join([*parts, text[at : match.start()]])
        folded = match[0]
        if _THOUGHT.search(folded) or _TOOL.search(folded) or (not before.strip() and rest.strip()):
            parts.append(text[at : match.start()])
            at = end + len("</details>")
        if len(parts) > _MOST_FOLDED:
            break
    return "".join([*parts, text[at:]])


_MOST_FOLDED = 20

# --- Sections under labels.

_LABEL = LEXICON.expression(r"{speech label}", re.MULTILINE)
_ANSWERS = LEXICON.expression(r"{speech answers}", re.IGNORECASE)
_THINKS = LEXICON.expression(r"{speech thinks}", re.IGNORECASE)
_CALLS = LEXICON.expression(r"{speech calls}", re.IGNORECASE)
_PURE = LEXICON.expression(r"(?:my |the )?{speech pure}(?: process| steps?| trace)?", re.IGNORECASE)
_DONE = LEXICON.expression(r"{speech done}", re.IGNORECASE | re.MULTILINE)
_ASIDE = LEXICON.expression(r"\A\s*(?:\(|\*{1,2}\(?|_\(?|\[)(?={speech aside}\b)", re.IGNORECASE)
_CLOUD = lazy_pattern(r"\A\s*\U0001f4ad[^\n]*(?:\n(?!\s*\n)[^\n]*)*\n\s*\n(?=\s*\S)")
_QUOTED_THOUGHT = LEXICON.expression(r"{speech quoted thought}", re.IGNORECASE)


def _without_sections(text: str) -> str:
    """Return a text without sections that a label calls thoughts, calls or questions."""
    for pattern in (_CLOUD, _QUOTED_THOUGHT):
        if match := pattern.match(text):
            text = text[match.end() :]
    if ends := list(_DONE.finditer(text)):
        return text[ends[-1].end() :]
    text = _without_aside(text)
    labels = list(_LABEL.finditer(text))
    if not labels:
        return text
    answers = [match for match in labels if _ANSWERS.fullmatch(match["label"]) and text[match.end() :].strip()]
    first = labels[0]
    leads = not text[: first.start()].strip() and _hides_label(first["label"], labels)
    if leads and (following := [match for match in answers if match.start() > first.start()]):
        return text[following[0].end() :]
    for match in labels:
        alone = match["colon"] or match["mark"].strip("(")
        if match.start() and alone and _PURE.fullmatch(match["label"]) and text[: match.start()].strip():
            return text[: match.start()]
    return text


def _hides_label(label: str, labels: Iterable[re.Match[str]]) -> bool:
    """Return whether a label begins what is not said; a question stands in a list of several where it is repeated."""
    alone = sum(match["label"].lower() == label.lower() for match in labels) == 1
    return bool(_THINKS.fullmatch(label) or (alone and _CALLS.fullmatch(label)))


def _without_aside(text: str) -> str:
    """Return a text without the bracketed paragraph of thought that it begins with."""
    match = _ASIDE.match(text)
    if not match:
        return text
    opening = match[0].strip()
    closing = opening[::-1].replace("(", ")").replace("[", "]")
    end = text.find(closing + "\n", match.end())
    is_aside = end >= 0 and len(text[match.end() : end].split()) >= _FEWEST_WORDS
    return text[end + len(closing) :] if is_aside and text[end + len(closing) :].strip() else text


# --- Printed calls and their results.

_CALL_FENCE = LEXICON.expression(r"{speech call fence}", re.MULTILINE | re.IGNORECASE)
_EMPTY_FENCE = lazy_pattern(r"^```[\w-]{0,20}[ \t]*\n\s*```[ \t]*$", re.MULTILINE)
_CALL_LINE = LEXICON.expression(r"{speech call line}", re.MULTILINE | re.IGNORECASE)
_STATUS = LEXICON.expression(r"{speech status}", re.IGNORECASE)
_JSON_CALL = LEXICON.expression(r"^[ \t]*(?:\[\s{0,8})?\{\s{0,8}\"{speech json call}\"\s{0,4}:", re.MULTILINE)
_NAMES = frozenset(("name", "tool", "tool_name", "function", "action", "recipient_name"))
_ARGUMENTS = frozenset(("arguments", "parameters", "args", "input", "action_input", "kwargs", "tool_input"))
_REST = frozenset(("id", "type", "call_id", "index", "status", "result", "output", "response"))
_DECODER = json.JSONDecoder(strict=False)
_MOST_CALLS = 12


def _without_calls(text: str) -> str:
    """Return a text without printed calls of tools, and lines that say that one is running."""
    text = _CALL_LINE.sub("", _CALL_FENCE.sub("", text))
    status = _STATUS.match(text)
    if status and text[status.end() :].strip():
        text = text[status.end() :]
    parts, at = list[str](), 0
    for match in list(_JSON_CALL.finditer(text))[:_MOST_CALLS]:
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        if start < at:
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if _is_call(value):
            parts.append(text[at:start])
            at = end
    return _EMPTY_FENCE.sub("", "".join([*parts, text[at:]])) if parts else text


def _is_call(value: Any) -> bool:
    """Return whether a JSON value is a call: it names a function with its arguments, and holds nothing else."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_call, value))
    if not isinstance(value, dict):
        return False
    if len(value) == 1 and (
        inner := next((value[key] for key in ("tool_calls", "tool_call", "function_call") if key in value), None)
    ):
        return _is_call(inner)
    if isinstance(value.get("function"), dict):
        return _is_call(value["function"]) and value.keys() <= _REST | {"function"}
    return bool(value.keys() & _NAMES and value.keys() & _ARGUMENTS) and value.keys() <= _NAMES | _ARGUMENTS | _REST
