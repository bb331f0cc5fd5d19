"""Checks of the answers of agents, judges and user models, behind the gate of a call.

Results have exact types of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import AsyncGeneratorType
from typing import Any, cast

from pytest_ltm.api.calls import (
    LONGEST_REPLY,
    Refusal,
    Refuse,
    check_json,
    class_members,
    exact_items,
    exact_scalar,
    exact_text,
    exact_tree,
    inherits,
    is_amount,
    is_count,
    is_scalar,
    look,
    read_attribute,
    shown,
    true_classes,
)
from pytest_ltm.api.model import (
    Call,
    MemoryOperation,
    Mishap,
    Reply,
    Usage,
    check_operations,
)
from pytest_ltm.api.storage import LtmError, redact_secrets


def check_text(value: object, refuse: Refuse) -> str:
    """Return an exact `str` that UTF-8 can encode, without secrets.

    `refuse` creates the error for anything else.
    """
    if not inherits(value, str):
        raise refuse(
            f"replied with {shown(value)}; a reply is a str or a pytest_ltm Reply{cure_reply(value)}"
        )
    text = exact_text(value)
    if len(text) > LONGEST_REPLY:
        raise refuse(
            f"replied with {len(text):,} characters; a reply has at most {LONGEST_REPLY:,}"
        )
    return redact_secrets(text)


def check_reply(value: Any, refuse: Refuse) -> Reply:
    """Return the reply with its usage and cost checked; a plain text becomes a Reply."""
    if not inherits(value, Reply):
        return Reply(check_text(text_of_reply(value), refuse))
    cost = value.cost_usd
    usage = value.usage
    if cost is not None and not is_amount(cost):
        raise refuse(f"replied with a cost of {shown(cost)}; it is a number of dollars")
    used = None if usage is None else check_usage(usage, refuse)
    try:
        text = check_text(value.text, refuse)
    except (LtmError, Refusal) as error:
        refused = error.error if isinstance(error, Refusal) else error
        refused.usage = used
        raise
    return Reply(
        text,
        used,
        None if cost is None else float(exact_scalar(cost)),  # type: ignore[arg-type]
        value.hypothetical is True,
        word_of(value.finish_reason),
        word_of(value.thoughts),
        tuple(_exact_mishaps(value.mishaps)),
        tuple(_exact_calls(value.calls, refuse)),
    )


def _exact_mishaps(value: object) -> Iterator[Mishap]:
    # Wrongly reported mishaps are no reason to refuse a reply.
    for mishap in exact_items(value) or ():
        if type(mishap) is Mishap and is_count(mishap.times) and is_count(mishap.of):
            yield Mishap(word_of(mishap.what), int(mishap.times), int(mishap.of))


def _exact_calls(value: object, refuse: Refuse) -> Iterator[Call]:
    calls = exact_items(value)
    if calls is None or not all(type(call) is Call for call in calls):
        raise refuse(f"replied with calls={shown(value)}; it is a list of Call")
    for call in calls:
        arguments = exact_scalar(call.arguments)
        try:
            if type(arguments) is not str:
                arguments = exact_tree(arguments)
            yield Call(exact_text(call.name), arguments, word_of(call.id))
        except (TypeError, RecursionError) as error:
            raise refuse(f"called a tool by {shown(call)}: {error}") from None


def word_of(value: object) -> str:
    """Return a text that accompanies a reply, for the record.

    Anything else becomes "": no reply is refused because of it.
    """
    if not inherits(value, str):
        return ""
    return redact_secrets(exact_text(value)[:LONGEST_REPLY])


def check_usage(value: Any, refuse: Refuse) -> Usage:
    """Return the usage if its counts are whole numbers."""
    if inherits(value, Usage):
        names = ("input_tokens", "output_tokens", "cached_tokens", "calls")
        counts = {name: exact_scalar(getattr(value, name)) for name in names}
        if all(map(is_count, counts.values())):
            return Usage(**counts, estimated=value.estimated is True)  # type: ignore[arg-type]
    raise refuse(f"reported {shown(value)} as usage; it is a Usage of whole numbers")


def check_texts(value: object, method: str, refuse: Refuse) -> tuple[str, ...]:
    """Return the texts that a method returned."""
    texts = exact_items(value)
    if texts is None or not all(inherits(text, str) for text in texts):
        raise refuse(f"returned {shown(value)}; {method}() returns a list of texts")
    return tuple(check_text(text, refuse) for text in texts)


def check_bytes(value: object, refuse: Refuse) -> bytes:
    """Return the state that `save()` returned."""
    if not any(inherits(value, kind) for kind in (bytes, bytearray, memoryview)):
        raise refuse(f"saved {shown(value)}; save() returns bytes")
    return bytes(memoryview(value))  # type: ignore[arg-type]


def check_written(value: object, refuse: Refuse) -> tuple[MemoryOperation, ...]:
    """Return the operations that `written()` returned."""
    rows = exact_items(value)
    if rows is None:
        return check_operations(shown(value), refuse)  # type: ignore[arg-type]
    return check_operations([_exact_row(row) for row in rows], refuse)  # type: ignore[arg-type]


def _exact_row(row: object) -> object:
    """Return a row of `written()` in which every cell is a text or None."""
    cells = exact_items(row)
    if cells is None:
        return shown(row)
    scalars = []
    for cell in cells:
        scalar = exact_scalar(cell)
        scalars.append(scalar if is_scalar(scalar) else exact_text(str(scalar)))
    return tuple(scalars)


def check_configuration(value: object, refuse: Refuse, *, where: str) -> dict[str, Any]:
    """Return what `configuration()` returned, a mapping of JSON values.

    `where`: the owner's name in errors.
    """
    if not isinstance(value, Mapping):
        raise refuse(f"configuration() returned {shown(value)}, not a mapping")
    return cast("dict[str, Any]", check_json(value, refuse, where=where))


# Keys and attributes that hold a model's text in known libraries, most reliable first.
NAMES = (
    "output_text",
    "final_output",
    "output",
    "choices",
    "messages",
    "message",
    "content",
    "text",
    "response",
    "reply",
    "answer",
    "result",
)
LEVELS = 4


def cure_reply(value: object) -> str:
    """Return a sentence that says what to return instead."""
    if value is None:
        return ". Return the text: printed output is ignored"
    if inherits(value, AsyncGeneratorType):
        return ". Return ''.join([part async for part in it])"
    if any("__next__" in class_members(kind) for kind in true_classes(value)):
        return ". Return ''.join(it)"
    if inherits(value, bytes):
        return ". Return it.decode()"
    path = look(lambda: path_to_text(value), "")
    return f". Return its {path.removeprefix('.') or 'text'}"


def path_to_text(value: Any) -> str:
    """Return the path to a text in a value, such as `['messages'][-1].content`.

    "" if no known name leads to one.
    """
    found = _find_text(value)
    return "" if found is None else found[0]


def text_of_reply(value: object) -> object:
    """Return the text of a reply object, such as a library's message; anything else unchanged.

    Plain lists of texts, bytes and iterators are not read: they may be parts of a
    reply, or not a reply at all.
    """
    if value is None or type(value) is str or inherits(value, Reply):
        return value
    items = exact_items(value)
    if items and _is_text(items[-1]):
        return value
    found = look(lambda: _find_text(value))
    return value if found is None else found[1]


def _find_text(value: Any, depth: int = LEVELS) -> tuple[str, object] | None:
    """Return the path to a text in a value, and the text; None if no known name leads to one."""
    if _is_text(value):
        return "", value
    if depth < 0:
        return None
    if (items := exact_items(value)) is not None:
        place = _place_of_reply(items)
        found = _find_text(items[place], depth - 1) if items else None
        return found and (f"[{place}]{found[0]}", found[1])
    is_mapping = isinstance(value, Mapping)
    fields = _fields(value)
    names = [name for name in NAMES if name in fields]
    if is_mapping and not names and len(value) == 1:
        names = [name for name in value if inherits(name, str)]
    for name in names:
        part = value[name] if is_mapping else read_attribute(value, name)
        found = _find_text(part, depth - 1)
        if found is not None:
            step = f"[{name!r}]" if is_mapping else f".{name}"
            return step + found[0], found[1]
    return None


def _place_of_reply(items: Sequence[object]) -> int:
    """Return the place of the smallest `index` if each item has one, as choices do; else that of the last item, -1."""
    indexes: list[int] = []
    for item in items:
        index = _fields(item).get("index")
        if type(index) is not int:
            return -1
        indexes.append(index)
    if len(indexes) < 2:
        return -1
    return indexes.index(min(indexes))


def _is_text(value: object) -> bool:
    return inherits(value, str)


def _fields(value: object) -> Mapping[str, object]:
    """Return the items of a mapping, or the attributes of an object."""
    if isinstance(value, Mapping):
        return value
    fields = read_attribute(value, "__dict__")
    return fields if type(fields) is dict else {}
