"""Codec: the lines of a file as frozen structs, and back; what a field may hold is said by its annotation.

A line is a JSON object: "event", which names its kind, then the fields of the struct in their order. A field that has a
default is left out where it has it; times are ISO 8601.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar, Union

import msgspec

from pytest_ltm._storage.disk import open_regular
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.schema import bounded, escape_json_text, parse_record, show_value
from pytest_ltm._storage.secrets import dump_json_redacted, may_have_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]


# Nothing in a line refers back to it, so the garbage collector need not look at the many that a conversation makes.
class JournalRecord(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False, tag_field="event",
    tag=str.lower,
):  # fmt: skip
    """A kind of line; "event" is its name in lower case unless it has another `tag`."""


T = TypeVar("T")
L = TypeVar("L", bound=JournalRecord)


def encode_record(line: JournalRecord, *, clean: bool = False) -> str:
    """Return the JSON text of a line, without secrets; `clean`: it cannot contain any."""
    try:
        text = _encode(line).decode()
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold, is an escape in JSON
        text = _compact_json(msgspec.to_builtins(line))
    if not clean and may_have_secrets(text):
        text = dump_json_redacted(msgspec.to_builtins(line), _compact_json)
    return escape_json_text(text) + "\n"


class RecordCodec(Generic[L]):
    """The kinds of lines that one sort of file has.

    Args:
        kinds: What a line may be.
        what: What a line is called in errors: `event of journal format 2`.
    """

    def __init__(self, kinds: tuple[type[L], ...], what: str) -> None:
        self.kinds = {str(kind.__struct_config__.tag): kind for kind in kinds}
        self._what = what
        self._decode: Callable[[bytes | str], L] = msgspec.json.Decoder(Union[kinds]).decode  # noqa: UP007 - made of what is given

    def decode(self, line: bytes | str, where: str) -> L:
        """Return what a line says; LtmError that begins with `where` if it is none of these."""
        try:
            return self._decode(line)
        except (ValueError, RecursionError):
            return self._examined(line, where)

    def _examined(self, line: bytes | str, where: str) -> L:
        """Do the same slowly: for a line with half a surrogate pair, and to say what is wrong with any other."""
        try:
            record = parse_record(line)
        except (ValueError, RecursionError) as error:
            raise LtmError(f"{where}: not a JSON event: {error}") from error
        name = record.get("event") if isinstance(record, dict) else None
        if not isinstance(name, str):
            raise LtmError(f"{where}: not a JSON event: it does not say which")
        kind = self.kinds.get(name)
        if kind is None:
            raise self._later(where, f"an event {show_value(name)}")
        unknown = record.keys() - {"event", *kind.__struct_fields__}
        if unknown:
            raise self._later(where, f"a field {show_value(min(unknown))} in {name!r}")
        with suppress(ValueError, RecursionError):
            return msgspec.convert(record, kind)
        try:
            return msgspec.convert(bounded(record), kind)  # what agents reported before there were limits
        except (ValueError, RecursionError) as error:
            raise LtmError(f"{where}: a damaged {name!r} event: {error}") from error

    def _later(self, where: str, what: str) -> LtmError:
        return LtmError(
            f"{where}: {what} is not part of {self._what}: a later version of pytest-ltm wrote it, or the file was "
            "edited"
        )


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file by their numbers; a torn last one is dropped. LtmError if it cannot be read."""
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield number, line
    except OSError as error:
        raise LtmError(f"{path}: cannot be read: {error.strerror}") from error


def iter_readable(path: Path, decode: Callable[[bytes, str], T]) -> Iterator[T]:
    """Yield what can be decoded of a file, if there is one; lines that cannot be are left out."""
    if path.is_file():
        for _, line in whole_lines(path):
            with suppress(LtmError):
                yield decode(line, "")


_encode = msgspec.json.Encoder().encode
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _compact_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _LONE_SURROGATE.sub(lambda result: f"\\u{ord(result.group()):04x}", text)
