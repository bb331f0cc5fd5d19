"""What a memory did: one operation on one record, whatever door the word of it came through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import Struct

from pytest_ltm._storage.secrets import redact_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._storage.errors import LtmError


OperationKind = Literal["added", "changed", "deleted", "found"]
# Beyond these, what is reported of one exchange is left out, and the text of one record is cut.
MOST_OPERATIONS, LONGEST_RECORD = 1_000, 16_000
_LONGEST_ID = 200
_FORM = "('added', id, text), ('changed', id, text), ('found', id, text) and ('deleted', id, None)"
_ROW = 3
_SHOWN = 80


class MemoryOperation(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A record was written, changed, deleted, or found in a search."""

    what: OperationKind
    record: str = ""
    """Its id; "" where it has none."""
    text: str | None = None
    """What it says, cut where it is long; None where that is not told."""
    rank: int = 0
    """Of a record that was found its place, from 1."""
    exchange: int | None = None
    """The exchange that it belongs to, where it was told of later."""


def memory_operation(what: OperationKind, record: object, text: str | None, rank: int = 0) -> MemoryOperation:
    """Return an operation, without secrets and not too long."""
    name = "" if record is None else redact_secrets(_clean(str(record))[:_LONGEST_ID])
    said = None if text is None else redact_secrets(_clean(text[:LONGEST_RECORD]))
    return MemoryOperation(what, name, said, rank)


def check_operations(given: object, refuse: Callable[[str], LtmError]) -> tuple[MemoryOperation, ...]:
    """Return what `written()` returned; `refuse` makes the error for anything but a list of its rows."""
    if not isinstance(given, (list, tuple)):
        raise refuse(f"returned a {type(given).__name__} from written(); it returns a list of {_FORM}")
    result: list[MemoryOperation] = []
    rank = 0
    for one in given[:MOST_OPERATIONS]:
        what, key, text = one if isinstance(one, (list, tuple)) and len(one) == _ROW else (None, None, None)
        if what not in get_args(OperationKind) or not (isinstance(text, str) or (what == "deleted" and text is None)):
            raise refuse(f"returned {str(one)[:_SHOWN]!r} in the list of written(); it returns a list of {_FORM}")
        rank = rank + 1 if what == "found" else 0
        result.append(memory_operation(what, key, text, rank))
    return tuple(result)


def operation_rows(listed: object) -> list[Any]:
    """Return the rows of a JSON list of `{"what": ..., "id": ..., "text": ...}`; what is none of these as it is."""
    rows = listed if isinstance(listed, list) else [] if listed is None else [listed]
    return [tuple(map(one.get, ("what", "id", "text"))) if isinstance(one, dict) else one for one in rows]


def _clean(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
