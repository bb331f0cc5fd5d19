"""The fields of an answer, recognised by the form of their names on any server (docs/replies.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_ltm.api.model import name_end, sort_end, split_words, stems_of

DEEPEST_FIELD: Final = 8
# The model wrote the contents of these fields for people or for tools.
_WRITTEN_FOR_TOOLS = re.compile(r"(?:arg|param|input)\w*")
OPAQUE_FIELD: Final = re.compile(
    rf" (?:{stems_of('text')}|usage|filter|logprob|delta|output|{_WRITTEN_FOR_TOOLS.pattern})"
)
_END = re.compile(
    rf" (?:{stems_of('good')}|incomplete)\w* (?:detail|type)\w*\Z| \w+ (?:reason|cause)\Z"
)
# The requested effort of thinking is not a thought.
_THOUGHT = re.compile(r" (?:think|thought|reason)\w*(?: (?!eff)\w+)?\Z")
# Tools that a server runs itself, such as `server_tool_use`, need no answer.
_CALL = re.compile(rf"(?: custom)? {stems_of('tool')} (?:call|use)s?")
_PLAIN_NAME = re.compile(r"[\w. -]+")
_TEXT_FIELD = re.compile(rf" (?:{stems_of('text')}|summary)\w*\Z|{_THOUGHT.pattern}")
_BAD_ENDS = ("kept back", "broken off", "cut", "asked for a tool")


def fold_names(value: Any, depth: int = 0) -> Any:
    """Return JSON with names in one spelling: `finish_reason` for `finishReason` and `Finish-Reason`.

    Arguments that a model wrote for a tool stay unchanged. Of two names that become
    equal, the first with a value counts.
    """
    if isinstance(value, list) and depth <= DEEPEST_FIELD:
        # a list of numbers, such as a vector, is long and has no names
        has_names = bool(value) and isinstance(value[0], (dict, list))
        if has_names:
            return [fold_names(part, depth + 1) for part in value]
        return value
    if not isinstance(value, dict) or depth > DEEPEST_FIELD:
        return value
    folded: dict[str, Any] = {}
    for name, inner in value.items():
        key = "_".join(split_words(name).split()) or name
        if key not in folded or (inner and not folded[key]):
            is_for_tools = _WRITTEN_FOR_TOOLS.fullmatch(key)
            folded[key] = inner if is_for_tools else fold_names(inner, depth + 1)
    return folded


def find_end(*holders: Any) -> str:
    """Return the finish reason in an answer; "null" if its field is empty, "" without such a field.

    The first one counts, unless another one says that the reply is incomplete.
    `holders`: the parts of the answer, the nearest to the text first.
    """
    values: list[Any] = []
    for holder in holders:
        values += _ends_in(holder, 0)
    names = []
    for value in values:
        if isinstance(value, (str, dict)) and value not in ("", {}):
            names.append(name_end(value))
    plain = [name for name in names if _PLAIN_NAME.fullmatch(name)]
    for account in _BAD_ENDS:
        for name in plain:
            if sort_end(name) == account:
                return name
    if names:
        return names[0]
    return name_end(values[0]) if values else ""


def _ends_in(holder: Any, depth: int) -> Iterator[Any]:
    if isinstance(holder, list) and depth <= DEEPEST_FIELD:
        for part in holder[:1]:
            yield from _ends_in(part, depth + 1)
    if not isinstance(holder, dict) or depth > DEEPEST_FIELD:
        return
    for name, value in holder.items():
        words = split_words(str(name))
        if _END.search(words):
            yield value
        elif not OPAQUE_FIELD.search(words):
            yield from _ends_in(value, depth + 1)


def find_thoughts(message: Mapping[str, Any]) -> str:
    """Return the thoughts in a separate field of a message; "" if there are none."""
    for name, value in message.items():
        words = split_words(str(name))
        if _THOUGHT.search(words) and not _END.search(words):
            text = _text_in(value, 0)
            if text.strip():
                return text
    return ""


def is_thought(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a content is a thought, by its type or a field that is true."""
    kind = part.get("type")
    if isinstance(kind, str) and _THOUGHT.search(split_words(kind)):
        return True
    for name, value in part.items():
        if value is True and _THOUGHT.search(split_words(str(name))):
            return True
    return False


def split_parts(content: Any) -> tuple[Any, str]:
    """Return the text and the thoughts of a content in parts; any other content unchanged.

    A part is a thought if its type, or a field that is true, says so.
    """
    if not isinstance(content, list):
        return content, ""
    texts = []
    thoughts = []
    for part in content:
        if not isinstance(part, dict):
            continue
        if is_thought(part):
            thoughts.append(find_thoughts({"thought": part}))
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])
    return "".join(texts) if texts else None, "".join(thoughts)


def _text_in(value: Any, depth: int) -> str:
    """Return the text in a field, alone or in parts."""
    if isinstance(value, str):
        return value
    if depth > DEEPEST_FIELD:
        return ""
    if isinstance(value, list):
        return "".join(_text_in(part, depth + 1) for part in value)
    if not isinstance(value, dict):
        return ""
    for name, inner in value.items():
        if not _TEXT_FIELD.search(split_words(str(name))):
            continue
        if text := _text_in(inner, depth + 1):
            return text
    return ""


def find_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls in a separate field of a message."""
    calls: list[dict[str, Any]] = []
    for name, value in message.items():
        if _CALL.fullmatch(split_words(str(name))):
            parts = value if isinstance(value, list) else [value]
            calls += [part for part in parts if isinstance(part, dict) and part]
    return calls


def calls_tool(part: Mapping[str, Any]) -> bool:
    """Return whether a part of an answer is a tool call, by its type."""
    kind = part.get("type")
    return isinstance(kind, str) and _CALL.fullmatch(split_words(kind)) is not None
