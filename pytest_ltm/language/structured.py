"""Structured replies: the field of a JSON, YAML or XML object that answers (docs/replies.md)."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from operator import itemgetter
from typing import Any, TypeAlias

from pytest_ltm.api.model import split_words
from pytest_ltm.language.json_values import json_values
from pytest_ltm.language.lexicon import LEXICON

Fields: TypeAlias = dict[str, Any]

RE = LEXICON.expressions("structured")
_MOST_LEVELS = 4


def read_answer(text: str, *, within: bool = True) -> str:
    """Return the content of an object's answering field; the text itself if none or several may answer.

    Fields of thoughts are always left out. `within`: objects in prose are read, too.
    Linear time.
    """
    # the remainder of a YAML block without its thoughts
    if RE.block_alone.match(text):
        return textwrap.dedent(text.partition("\n")[2]).strip()
    fence = RE.fence.match(text)
    body = (fence[1] if fence else text).strip()
    fields = _read_fields(body)
    if not fields:
        text = RE.cdata.sub(r"\1", text)
        return _read_objects_within(text) if within else text
    answer = _find_answer(fields, 0)
    # an object with only a structured answer is kept with its field names
    if len(fields) == 1 and not isinstance(answer, str):
        return text
    if answer is not None:
        return _write_value(answer)
    spoken = _without_thoughts(fields)
    if len(spoken) in {0, len(fields)}:
        return text
    return _write_value(spoken)


def _read_objects_within(text: str) -> str:
    """Return a text with each object that names its answer replaced by that answer; the prose stays."""
    parts: list[str] = []
    read = 0
    for start, end, fields in sorted(_find_objects(text), key=itemgetter(0)):
        answer = _find_answer(fields, 0) if _names_answer(fields, 0) else None
        if start >= read and answer is not None:
            parts += [text[read:start], _end_sentence(_write_value(answer), text[end:])]
            read = end
    return "".join([*parts, text[read:]])


def _end_sentence(answer: str, rest: str) -> str:
    """Return an answer as a full sentence, unless the clause continues after its object."""
    behind = rest.lstrip(" \t")[:1]
    if not behind or behind.isalnum() or behind in _CLOSERS or answer[-1:] in _STOPS:
        return answer
    return f"{answer}."


_STOPS = ".!?:;,"
_CLOSERS = _STOPS + ")]}'\"*_`"


_Object: TypeAlias = tuple[int, int, Fields]


def _find_objects(text: str) -> Iterator[_Object]:
    """Yield the objects in a text: in a fence, in braces after a line end or a colon, or as its last lines."""
    for match in RE.fence_within.finditer(text):
        yield match.start(), match.end(), _read_fields(match[1].strip())
    # bounded: decoding from each brace of a text would take quadratic time
    for match in islice(RE.brace.finditer(text), _MOST_OBJECTS):
        start = match.end() - 1
        with suppress(ValueError, RecursionError):
            value, end = _DECODER.raw_decode(text, start)
            if isinstance(value, dict):
                yield start, end, value
    before, blank_line, last = text.rpartition("\n\n")
    if blank_line:
        yield len(before) + len(blank_line), len(text), _read_yaml(last, 0)


_MOST_OBJECTS = 12
_DECODER = json.JSONDecoder(strict=False)


def _names_answer(fields: Fields, level: int) -> bool:
    """Return whether an object, or a nested one, has a field named for an answer."""
    if _named_answers(fields):
        return True
    inner = [value for value in fields.values() if isinstance(value, dict)]
    return level <= _MOST_LEVELS and any(
        _names_answer(value, level + 1) for value in inner
    )


def is_yaml_answer(text: str) -> bool:
    """Return whether a text is a YAML object that names its answer and has more than that and thoughts."""
    fields = _read_yaml(text.strip(), 0)
    answers = _named_answers(fields)
    if not answers:
        return bool(fields) and _find_answer(fields, 0) is not None
    return len(_without_thoughts(fields)) > len(answers)


def without_yaml_thoughts(text: str) -> str:
    """Return a YAML object without its fields of thoughts."""
    kept = [
        "\n".join(lines)
        for lines in _split_blocks(text.strip())
        if not RE.thought.search(_spell(lines[0].partition(":")[0]))
    ]
    return "\n".join(kept)


# --- The answering field.


def _find_answer(fields: Fields, level: int) -> Any:
    """Return the answering value; None if there is none, or if two may answer."""
    fields = {name: value for name, value in fields.items() if _says_anything(value)}
    answers = _named_answers(fields)
    others = [
        name
        for name, value in fields.items()
        if name not in answers and not _is_aside(name, value)
    ]
    if answers:
        # a named answer competes only with fields that may be one, or that hold several
        # things
        others = [name for name in others if _competes(name, fields[name])]
    else:
        answers = [name for name in others if RE.holder.fullmatch(_spell(name))]
        others = [name for name in others if name not in answers]
        inner = fields[others[0]] if len(others) == 1 else None
        # a message next to an object with a named answer reports success
        if isinstance(inner, dict) and (not answers or _named_answers(inner)):
            return _find_answer(inner, level + 1)
    candidates = [fields[name] for name in (*answers, *others)]
    if not answers or any(isinstance(value, dict | list) for value in candidates[1:]):
        return None
    if len(candidates) != 1:
        if _named_answers(fields):
            return _join_candidates(candidates)
        return None
    value = fields[answers[0]]
    if not isinstance(value, dict) or level > _MOST_LEVELS:
        return value
    inner = _find_answer(value, level + 1)
    return _without_thoughts(value) if inner is None else inner


def _join_candidates(values: list[Any]) -> str:
    """Join several answers with "or", as an undecided speaker would."""
    return " or ".join(
        dict.fromkeys(_write_value(value).rstrip(". ") for value in values)
    )


def _named_answers(fields: Fields) -> list[str]:
    return [name for name in fields if RE.answer.fullmatch(_spell(name))]


def _spell(name: str) -> str:
    return split_words(name).strip()


def _is_aside(name: str, value: Any) -> bool:
    """Return whether a field is about the answer: thoughts, sources, a flag, or follow-up questions."""
    if isinstance(value, bool) or RE.aside.search(_spell(name)) is not None:
        return True
    return isinstance(value, list) and all(map(_asks, value))


def _asks(value: Any) -> bool:
    return isinstance(value, str) and value.rstrip().endswith(("?", "\uff1f"))


def _competes(name: str, value: Any) -> bool:
    if isinstance(value, dict | list):
        return True
    return RE.rival.search(_spell(name)) is not None


def _says_anything(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


def _without_thoughts(fields: Fields) -> Fields:
    return {
        name: value
        for name, value in fields.items()
        if not RE.thought.search(_spell(name))
    }


def _write_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and len(value) == 1:
        return _write_value(value[0])
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


# --- Parsing: a text that is an object as a whole, else {}.


def _read_fields(text: str) -> Fields:
    if text.startswith(("{", "[")):
        return _read_json(text)
    if text.startswith("<"):
        return _read_xml(RE.prolog.sub("", text), 0)
    return _read_yaml(text, 0)


def _read_json(text: str) -> Fields:
    if not text.endswith(("}", "]")):
        return {}
    try:
        values = [json.loads(text, strict=False)]
    except (ValueError, RecursionError):
        values = list(json_values(text))
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    is_object = len(values) == 1 and isinstance(values[0], dict)
    return values[0] if is_object else {}


def _read_xml(text: str, level: int) -> Fields:
    fields: Fields = {}
    at = 0
    while at < len(text):
        element = RE.element.match(text, at)
        if element is None or element[1] in fields or level > _MOST_LEVELS:
            return {}
        content = element[2].strip()
        inner = _read_xml(content, level + 1) if content.startswith("<") else {}
        fields[element[1]] = inner or _read_characters(content)
        at = element.end()
    return fields


def _read_characters(content: str) -> str:
    literal = RE.cdata.sub(r"\1", content)
    return (literal if literal != content else html.unescape(content)).strip()


def _read_yaml(text: str, level: int) -> Fields:
    """Parse lower-case keys, as programs write them, with the indented lines below each.

    A single line is not an object: `answer: Riga` is a label.
    """
    fields: Fields = {}
    if level > _MOST_LEVELS or (not level and "\n" not in text):
        return fields
    for key, first, below in _split_keys(text):
        if not key or key in fields:
            return {}
        fields[key] = _read_yaml_value(first.strip(), below, level)
    return fields


def _split_keys(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each key, the rest of its line, and the lines below; an empty key if a line belongs to none."""
    for lines in _split_blocks(text):
        match = RE.key.match(lines[0])
        belongs = match and all(map(RE.below.match, lines[1:]))
        if match is None or not belongs:
            yield "", "", ""
            return
        yield match[1], match[2] or "", "\n".join(lines[1:])


def _split_blocks(text: str) -> list[list[str]]:
    """Group the lines of a text, lines without a key under the key above."""
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if not blocks or RE.key.match(line):
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def _read_yaml_value(first: str, below: str, level: int) -> Any:
    body = textwrap.dedent(below).strip()
    if RE.block.fullmatch(first):
        return body
    if first:
        quoted = RE.quoted.fullmatch(first)
        return f"{quoted[2] if quoted else first}\n{body}".strip()
    items = [RE.item.match(line) for line in body.splitlines()]
    if items and all(items):
        return [item[1] for item in items if item]
    return _read_yaml(body, level + 1) or body
