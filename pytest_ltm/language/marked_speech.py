"""The speech in a marked-up reply: all but thoughts, tool calls and everything after the end of the turn."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.structured import is_yaml_answer, without_yaml_thoughts
from pytest_ltm.language.talk import is_note, is_talk


def strip_marked(text: str, tags: Sequence[str]) -> str:
    """Return a text after one pass of removing what its marks hide; `tags`: as in `speech`."""
    own = frozenset(map(_fold_tag_name, tags))
    for part in (
        _final_channel,
        partial(_without_blocks, own=own),
        _without_details,
        _without_sections,
        _without_calls,
        _without_next_turn,
    ):
        kept = part(text)
        text = kept if kept == text else kept.strip()
    return text


RE = LEXICON.expressions("speech")

# --- Marks: anything bracketed that may open, close or end something.

_PAIRED = {"<": ">", "<!": ">", "[": "]", "{": "}", "&lt;": "&gt;", "\u2039": "\u203a"}
_SHORT_TAG = 3
_Role = Literal["opens", "closes", "alone"]
_Kind = Literal["hidden", "token", "channel", "plain", "unknown"]


class Mark(Struct, frozen=True):
    """A mark of a format: its position, its kind, and its role in a pair."""

    start: int
    end: int
    name: str
    kind: _Kind
    role: _Role
    angled: bool
    """Whether it is surely a mark: square and curly brackets count only in pairs."""


def _fold_tag_name(name: str) -> str:
    return name.strip("<>[]{}/ ").lower().replace("\u2581", "_").replace("-", "_")


def _classify_mark(match: re.Match[str], own: Collection[str]) -> Mark:
    name = _fold_tag_name(match["name"])
    before = bool(match["before"])
    after = bool(match["after"])
    pipe = before or after
    angled = match["open"] not in ("[", "{")
    if match["slash"]:
        role: _Role = "closes"
    elif match["alone"]:
        role = "alone"
    else:
        role = "opens"
    if RE.closing.search(name) and (pipe or name.startswith("end_")):
        role = "closes"
    elif before != after:
        role = "opens" if before else "closes"
    core = RE.edge.sub("", name.rpartition(":")[2])
    is_turn = (angled or name == "inst") and RE.turn_tag.fullmatch(name)
    if is_turn or (pipe and (angled or before == after)):
        kind: _Kind = "token"
    else:
        kind = "unknown"
    if core == "channel":
        kind = "plain" if before == after else _kind_of_channel(match, role)
    elif name in own or name == "unused95":
        kind = "hidden"
    # markup is checked before thoughts: `<summary>` is HTML, though some agents think
    # in such a tag
    elif not pipe and _is_markup(core):
        kind = "token" if name == "s" else "plain"
    elif RE.thought.search(core) or RE.tool.search(core):
        kind = "hidden"
    return Mark(*match.span(), core, kind, role, angled)


def _is_markup(name: str) -> bool:
    if len(name) <= _SHORT_TAG and not RE.turn_tag.fullmatch(name):
        return True
    return name in LEXICON.words("markup") or RE.frame.fullmatch(name) is not None


def _kind_of_channel(match: re.Match[str], role: _Role) -> _Kind:
    """Return the kind of an asymmetric mark: the word after `<|channel>` says whether thoughts follow."""
    if role == "closes":
        return "hidden"
    named = RE.named.match(match.string, match.end())
    thinks = named is not None and (
        RE.thought.search(named[1]) or RE.tool.search(named[1])
    )
    return "hidden" if thinks else "plain"


# --- Blocks between marks, and tokens.


def _without_blocks(text: str, *, own: Collection[str]) -> str:
    """Return a text without hidden blocks, and without everything from the end of the turn on."""
    marks: list[Mark] = []
    for match in RE.mark.finditer(text):
        first, last = match.span()
        # a tag between backticks is mentioned, not used
        is_code = text[first - 1 : first] == text[last : last + 1] == "`"
        if not is_code and _PAIRED.get(match["open"], match["close"]) == match["close"]:
            marks.append(_classify_mark(match, own))
    closed = {mark.name for mark in marks if mark.role == "closes"}
    marks = [
        mark
        for mark in marks
        if mark.angled or mark.kind == "token" or mark.name in closed
    ]
    spans = _hidden_spans(text, [mark for mark in marks if mark.kind == "hidden"])
    # unknown tags count as thoughts only if there are no known ones
    if not spans:
        spans = _preface_spans(text, [mark for mark in marks if mark.kind == "unknown"])
    tokens = [(mark.start, mark.end, True) for mark in marks if mark.kind == "token"]
    kept = list[str]()
    at = 0
    spoken = False
    for start, end, is_token in sorted(
        [(start, end, False) for start, end in spans] + tokens
    ):
        if start < at:
            continue
        kept.append(text[at:start])
        spoken = spoken or bool(kept[-1].strip())
        # the first token after any speech ends the turn; an earlier one only opens it
        if is_token and spoken:
            return "".join(kept)
        header = RE.header.match(text, end) if is_token else None
        at = header.end() if header else end
    return "".join([*kept, text[at:]])


def _hidden_spans(text: str, marks: Iterable[Mark]) -> list[tuple[int, int]]:
    """Return the outermost spans of hidden blocks.

    An unclosed block lasts until the end; a block that is only closed begins with the
    reply.
    """
    spans: list[tuple[int, int]] = []
    depth = start = closed = 0
    for mark in marks:
        if mark.role == "alone":
            if not depth:
                spans.append((mark.start, mark.end))
        elif mark.role == "opens":
            if not depth:
                start = mark.start
                closed = 0
            depth += 1
        elif depth:
            depth -= 1
            closed = mark.end
            if not depth:
                spans.append((start, mark.end))
        else:
            first = (
                spans[0][0]
                if spans and spans[-1][1] > 0 and not text[: spans[0][0]].strip()
                else 0
            )
            spans = [(first, mark.end)]
    if depth and closed:
        spans.append((start, closed))
    elif depth and RE.line_start.search(text[max(0, start - 40) : start]):
        spans.append((start, len(text)))
    return spans


_FEWEST_WORDS = 5


def _preface_spans(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the span of an opening block in unknown tags that is followed by an answer: text or a frame."""
    closing = next((mark for mark in marks if mark.role == "closes"), None)
    if closing is None:
        return []
    opening = next(
        (mark for mark in marks if mark.role == "opens" and mark.name == closing.name),
        None,
    )
    start = opening.start if opening and opening.start < closing.start else 0
    rest = text[closing.end :].strip()
    if (
        text[:start].strip()
        or not rest
        or (rest.endswith("?") and is_talk(rest))
        or len(text[start : closing.start].split()) < _FEWEST_WORDS
    ):
        return []
    follows = RE.mark.match(rest)
    strange = follows is not None and _classify_mark(follows, ()).kind == "unknown"
    return [] if strange else [(start, closing.end)]


# --- Channels.


def _final_channel(text: str) -> str:
    """Return the answer channel's content if a reply has channels."""
    opened = list(RE.channel.finditer(text))
    if not opened:
        bare = RE.bare_channels.match(text)
        return text[bare.end() :] if bare else text
    finals = [match for match in opened if RE.reply.search(match[1])]
    if not finals:
        return text[: opened[0].start()]
    stop = RE.channel_end.search(text, finals[-1].end())
    return text[finals[-1].end() : stop.start() if stop else len(text)]


# --- Blocks that a page folds away, and comments.


def _without_details(text: str) -> str:
    text = RE.comment.sub("", text) if "<!--" in text and "-->" in text else text
    parts = list[str]()
    at = 0
    for match in RE.details.finditer(text):
        if "</details>" in text:
            end = text.lower().find("</details>", match.end())
        else:
            end = -1
        rest = text[end + len("</details>") :] if end >= 0 else ""
        if match.start() < at or end < 0:
            break
        before = "".join([*parts, text[at : match.start()]])
        folded = match[0]
        if (
            RE.thought.search(folded)
            or RE.tool.search(folded)
            or (not before.strip() and rest.strip())
        ):
            parts.append(text[at : match.start()])
            at = end + len("</details>")
        if len(parts) > 20:
            break
    return "".join([*parts, text[at:]])


# --- Sections under labels.


def _without_preface(text: str) -> str:
    """Return a text without leading thoughts in a cloud, a quotation or brackets, or ended by a closing line."""
    for pattern in (RE.cloud, RE.quoted_thought):
        if match := pattern.match(text):
            text = text[match.end() :]
    thinks = RE.thinks_aloud.match(text)
    ends = list(RE.done.finditer(text, thinks.end())) if thinks else []
    if ends:
        return text[ends[-1].end() :]
    match = RE.aside.match(text)
    if match is None:
        return text
    opening = match[0].strip()
    closing = opening[::-1].replace("(", ")").replace("[", "]")
    end = text.find(closing + "\n", match.end())
    rest = text[end + len(closing) :] if end >= 0 else ""
    # a few words in brackets are speech: "(sorry)"; a paragraph before the answer is a
    # thought
    is_thought = len(text[match.end() : end].split()) >= _FEWEST_WORDS
    return rest if rest.strip() and is_thought else text


def _without_sections(text: str) -> str:
    """Return a text without sections labelled as thoughts, calls or questions."""
    text = _without_preface(text)
    labels = [match for match in RE.label.finditer(text) if _is_short(match["label"])]
    if not labels:
        return text
    if is_yaml_answer(text):
        return without_yaml_thoughts(text)
    answers = [
        match
        for match in labels
        if RE.answer.search(match["label"]) and text[match.end() :].strip()
    ]
    if _leads_up(text, labels):
        return text[labels[1].end() :]
    finals = [match for match in labels if RE.final.fullmatch(match["label"])]
    ends = finals or answers
    if ends and RE.thinks_aloud.match(text):
        return text[ends[0].end() :].strip() or text
    first = labels[0]["label"].lower()
    # a repeated label belongs to a list of questions that the agent asks
    alone = sum(match["label"].lower() == first for match in labels) == 1
    leads_up = answers == labels[1:] and len(answers) == 1
    hides = (
        RE.thought.search(first)
        or RE.looked_at.match(first)
        or (leads_up and _is_prose(text[labels[0].end() : answers[0].start()]))
        or (RE.step.match(first) and answers[-1:] == labels[-1:])
        or (alone and (RE.tool.search(first) or RE.asks.fullmatch(first)))
    )
    leads = hides and not text[: labels[0].start()].strip()
    if leads and (following := [match for match in answers if match is not labels[0]]):
        return text[following[-1 if RE.step.match(first) else 0].end() :]
    return _without_last_thought(text, labels)


def _without_last_thought(text: str, labels: Sequence[re.Match[str]]) -> str:
    """Return a text without its last section if that is labelled as thoughts and follows speech.

    If an answer's label follows, everything before it is dropped; a later paragraph
    that concludes ("Therefore, ...") is kept.
    """
    answers = [match for match in labels if RE.final.fullmatch(match["label"])]
    for match in labels:
        is_marked = match["colon"] or match["mark"].strip("(")
        before = text[: match.start()].strip()
        is_said = before and not is_note(before)
        if is_said and is_marked and RE.pure.fullmatch(match["label"]):
            if answers and answers[-1].start() > match.start():
                return text[answers[-1].end() :]
            conclusion = RE.concludes.search(text, match.end())
            said_after = text[conclusion.start() :] if conclusion else ""
            return text[: match.start()] + said_after
    return text


def _leads_up(text: str, labels: Sequence[re.Match[str]]) -> bool:
    """Return whether the first of two sections is only a lead-up to the second, whatever their labels.

    It is prose, does not address the user, and has named the content of the shorter
    last section.
    """
    if len(labels) != 2 or text[: labels[0].start()].strip():
        return False
    # longer labels are speech: "It was not this: …"
    if any(len(match["label"].split()) > _LONGEST_NAME for match in labels):
        return False
    first = text[labels[0].end() : labels[1].start()]
    last = text[labels[1].end() :].strip()
    if not last or len(last) >= len(first.strip()) or RE.addressed.search(first):
        return False
    named = RE.named_in.findall(last)
    if not named:
        # in a script without capitals, pairs of letters show what is repeated
        pairs = {
            last[at : at + 2] for at in range(len(last) - 1) if ord(last[at]) > 0x2FFF
        }
        named = [pair for pair in pairs if pair in first] if pairs else []
        return 2 * len(named) > len(pairs)
    return _is_prose(first) and all(name in first for name in named)


_MOST_WORDS = 6
_LONGEST_NAME = 2


def _is_prose(section: str) -> bool:
    """Return whether a section is a complete sentence, not a list of mostly capitalised names."""
    words = section.split()
    if len(words) < _FEWEST_WORDS or section.rstrip()[-1] not in ".!?":
        return False
    capitalised = sum(word.strip("(\"'").istitle() for word in words)
    return 2 * capitalised <= len(words)


def _is_short(label: str) -> bool:
    return len(label.split()) <= _MOST_WORDS


# --- Printed calls and their results.

_DECODER = json.JSONDecoder(strict=False)


def _without_calls(text: str) -> str:
    """Return a text without printed tool calls, and lines that say that one is running."""
    if RE.call_alone.match(text):
        return ""
    if call := RE.labelled_call.search(text):
        before = text[: call.start()]
        label = RE.label.match(before)
        return "" if label and RE.pure.fullmatch(label["label"]) else before
    text = RE.call_line.sub("", RE.call_fence.sub("", text))
    status = RE.status.match(text)
    rest = text[status.end() :] if status else ""
    if rest.strip() and not is_talk(rest):
        text = rest
    parts = list[str]()
    at = 0
    # bounded: decoding from each bracket of a text would take quadratic time
    for match in list(RE.json_call.finditer(text))[:12]:
        start = match.start("json")
        if match.start() < at:
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if _is_call(value):
            parts.append(text[at : match.start()])
            at = end
    if parts:
        return RE.empty_fence.sub("", "".join([*parts, text[at:]]))
    return text


def _is_call(value: Any) -> bool:
    """Return whether a JSON value is only a call: a function's name with its arguments."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_call, value))
    if not isinstance(value, dict):
        return False
    holders = [name for name in value if RE.called.search(name)]
    inner = [value[name] for name in holders if isinstance(value[name], (dict, list))]
    if inner and all(map(_is_call, inner)):
        return len(value) == len(inner) or _is_plain(value)
    arguments = [name for name in value if RE.argument.search(name)]
    return bool(holders and arguments) and _is_plain(value)


def _is_plain(fields: dict[str, Any]) -> bool:
    """Return whether an object has only a call's name, arguments and a program's notes."""
    return all(
        RE.called.search(name) or RE.argument.search(name) or RE.noted.fullmatch(name)
        for name in fields
    )


# --- Other speakers.


def _without_next_turn(text: str) -> str:
    """Return a text up to the first line that begins with a role's label, if speech precedes it.

    A label introduced by a colon is quoted, and so is one in a fence or in quotation
    marks.
    """
    if RE.role_alone.match(text):
        return ""
    text = _without_dialogue(text)
    for match in RE.next_turn.finditer(text):
        before = text[: match.start()]
        if RE.introduced.search(before):
            return text
        is_quoted = before.count("```") % 2 or before.count('"') % 2
        if before.strip() and not is_quoted:
            return before
    return text


def _without_dialogue(text: str) -> str:
    """Return a text up to a dialogue between two others, whatever their labels, if plain speech precedes it."""
    dialogue = RE.dialogue.search(text)
    if dialogue is None:
        return text
    before = text[: dialogue.start()]
    is_plain = before.strip() and not RE.label_ahead.search(before)
    if is_plain and not is_talk(before) and not RE.introduced.search(before):
        return before
    return text
