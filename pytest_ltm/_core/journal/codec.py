"""Codec: converts frozen structs to lines of a file and back, and chains a journal's lines by checksums.

A line is a JSON object: "event", which names its kind, then the fields of the struct in
order. Fields with their default value are left out; times are ISO 8601. Annotations
define the valid values of a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Generic, TypeVar, Union

import msgspec
from msgspec import Struct

from pytest_ltm._core.storage.disk import open_regular
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import (
    bounded,
    escape_json_text,
    parse_record,
    show_value,
)
from pytest_ltm._core.storage.secrets import dump_json_redacted, may_have_secrets

NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]


# A line contains no reference cycles, so the garbage collector can ignore the many that
# a conversation creates.
class JournalRecord(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
    tag_field="event",
    tag=str.lower,
):
    """A kind of line; "event" is its name in lower case unless it has another `tag`."""


T = TypeVar("T")
L = TypeVar("L", bound=JournalRecord)


def encode_record(line: JournalRecord, *, clean: bool = False) -> str:
    """Return the JSON text of a line, without secrets; `clean`: it cannot contain any."""
    try:
        text = _encode(line).decode()
    except UnicodeEncodeError:
        # A lone surrogate is not valid in UTF-8, but can be escaped in JSON.
        text = _compact_json(msgspec.to_builtins(line))
    if not clean and may_have_secrets(text):
        text = dump_json_redacted(msgspec.to_builtins(line), _compact_json)
    return escape_json_text(text) + "\n"


class RecordCodec(Generic[L]):
    """Encodes and decodes the kinds of lines in one type of file.

    Args:
        kinds: The kinds of lines.
        what: The noun for a line in errors: `event of journal format 2`.
    """

    def __init__(self, kinds: tuple[type[L], ...], what: str) -> None:
        self.kinds = {str(kind.__struct_config__.tag): kind for kind in kinds}
        self._what = what
        self._decode: Callable[[bytes | str], L] = msgspec.json.Decoder(
            Union[kinds]  # noqa: UP007 - made of what is given
        ).decode

    def decode(self, line: bytes | str, where: str) -> L:
        """Decode a line; LtmError that begins with `where` if it is not one of these kinds."""
        try:
            return self._decode(line)
        except (ValueError, RecursionError):
            return self._examined(line, where)

    def _examined(self, line: bytes | str, where: str) -> L:
        """Decode slowly: for a line with half a surrogate pair, and to find the error in any other."""
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
            # Values that agents reported before limits existed.
            return msgspec.convert(bounded(record), kind)
        except (ValueError, RecursionError) as error:
            raise LtmError(f"{where}: a damaged {name!r} event: {error}") from error

    def _later(self, where: str, what: str) -> LtmError:
        return LtmError(
            f"{where}: {what} is not part of {self._what}: a later version of pytest-ltm wrote it, or the file was "
            "edited"
        )


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines of a file with their numbers; a torn last one is dropped. LtmError if unreadable."""
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield number, line
    except OSError as error:
        raise LtmError(f"{path}: cannot be read: {error.strerror}") from error


def iter_readable(path: Path, decode: Callable[[bytes, str], T]) -> Iterator[T]:
    """Yield the decodable lines of a file, if it exists, and skip unreadable ones."""
    if path.is_file():
        for _, line in whole_lines(path):
            with suppress(LtmError):
                yield decode(line, "")


_encode = msgspec.json.Encoder().encode
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _compact_json(value: object) -> str:
    # json's own escapes would turn every letter beyond ASCII into six; only characters
    # that no file can contain are escaped.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _LONE_SURROGATE.sub(lambda result: f"\\u{ord(result.group()):04x}", text)


# --- Chain: each line of a journal ends in a checksum of its text and of the previous
# checksum.

# It detects accidental changes only: a forger can compute the checksums again. The last
# one, the head, identifies the whole journal: published with a result, it shows that a
# journal is the one that was scored.

# Bytes of a checksum.
CHECKSUM_BYTES = 16
_SEAL = re.compile(rb',"sum":"([0-9a-f]{%d})"\}\n\Z' % (2 * CHECKSUM_BYTES))
_BEGINNING = re.compile(rb'\{"event":"(\w+)"(?:,"exchange":(\d+))?')
_LENGTH = len(b',"sum":""}\n') + 2 * CHECKSUM_BYTES


class Chain:
    """The checksums of a journal's lines, each built on the previous one; `head` is the last."""

    def __init__(self, head: str = "") -> None:
        self.head = head

    def seal_line(self, line: str) -> str:
        """Return the next line, a JSON object, with its checksum as the last member."""
        self.head = _line_checksum(self.head, line.encode())
        return f'{line[:-2]},"sum":"{self.head}"}}\n'

    def verify_line(self, line: bytes) -> bytes | None:
        """Return the next line without its checksum; None if the line was changed."""
        text = line[:-_LENGTH] + b"}\n"
        recorded = line[-_LENGTH:]
        head = _line_checksum(self.head, text)
        if recorded != b',"sum":"%s"}\n' % head.encode():
            return None
        self.head = head
        return text


def strip_checksum(line: bytes) -> bytes:
    """Return a line without its checksum, valid or not."""
    return _SEAL.sub(b"}\n", line)


def _line_checksum(head: str, text: bytes) -> str:
    return blake2b(head.encode() + text, digest_size=CHECKSUM_BYTES).hexdigest()


# --- Diagnosis of a changed line.

# The longest line, in bytes, in which every bit is tried; that takes half a second.
LONGEST = 8_000


class Damage(Struct, frozen=True, kw_only=True):
    """A line whose checksum does not match."""

    line: int
    start: int
    """The offset of its first byte in the file."""
    what: str
    flipped: tuple[int, int] | None = None
    """The bit flip that explains the damage: the offset of the byte in the file, and its original value."""


def find_damages(data: bytes) -> Iterator[Damage]:
    """Yield the damages in a journal, by line; a torn last line is not one."""
    head: str | None = ""
    start = number = 0
    written: dict[str, int] = {"": 0}  # the numbers of the lines by their checksums
    while end := data.find(b"\n", start) + 1:
        number += 1
        line = data[start:end]
        seal = _SEAL.search(data, start, end)
        chain = Chain(head or "")
        if head is not None and chain.verify_line(line) is None:
            damage = _examine_damage(data, number, start, head, written)
            yield damage
            if damage.flipped is not None:  # continue as if it were repaired
                data = flip_bit_back(data, damage)
                end = data.find(b"\n", start) + 1
                chain.verify_line(data[start:end])
                head = chain.head
            else:
                head = seal[1].decode() if seal else None
        elif head is None and seal is None:
            yield Damage(line=number, start=start, what=_missing_checksum(line))
        # After a line without a checksum, the predecessor of the next line is unknown.
        else:
            head = (
                chain.head if head is not None else seal[1].decode() if seal else None
            )
        written.setdefault(head or "", number)
        start = end


def flip_bit_back(data: bytes, damage: Damage) -> bytes:
    """Return a journal with a flipped bit restored."""
    if damage.flipped is None:
        return data
    position, was = damage.flipped
    return data[:position] + bytes([was]) + data[position + 1 :]


def _examine_damage(
    data: bytes, number: int, start: int, head: str, written: Mapping[str, int]
) -> Damage:
    end = data.find(b"\n", start) + 1
    line = data[start:end]
    seal = _SEAL.search(data, start, end)
    if flipped := _find_flipped_bit(data, start, end, head):
        position, was = flipped
        change = f"byte {position - start + 1:,} of the line is {_show_byte(data[position])} and was {_show_byte(was)}"
        return Damage(
            line=number,
            start=start,
            what=f"one bit has flipped: {change}",
            flipped=flipped,
        )
    if seal is None:
        return Damage(line=number, start=start, what=_missing_checksum(line))
    followed = None
    for text, line_number in written.items():
        if _line_checksum(text, strip_checksum(line)).encode() == seal[1]:
            followed = line_number
            break
    if followed is not None:
        where = f"line {followed}" if followed else "no other"
        what = f"it was written after {where}: two processes wrote this journal, or lines were added or moved"
    else:
        event = _BEGINNING.match(line)
        name = f"the {event[1].decode()}" if event else "its text"
        of = f" of exchange {event[2].decode()}" if event and event[2] else ""
        what = f"{name}{of} was changed after it was written, or lines before it are missing"
    return Damage(line=number, start=start, what=what)


def _find_flipped_bit(
    data: bytes, start: int, end: int, head: str
) -> tuple[int, int] | None:
    """Find the single bit flip that explains the line: the byte's offset and original value; None if there is none."""
    # Each bit costs a checksum of the whole line, so the work is quadratic in its
    # length.
    if end - start > LONGEST:
        return None
    # The flipped bit may be in the line's end.
    beyond = data.find(b"\n", end) + 1 or len(data)
    tried = bytearray(data[start:beyond])
    for position in range(end - start):
        was = tried[position]
        for bit in range(8):
            tried[position] = was ^ 1 << bit
            line_end = tried.find(b"\n") + 1
            if (
                tried.startswith(b',"sum":"', line_end - _LENGTH)
                and Chain(head).verify_line(bytes(tried[:line_end])) is not None
            ):
                return start + position, tried[position]
        tried[position] = was
    return None


def _missing_checksum(line: bytes) -> str:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return "it is not a line of a journal: it was torn, overwritten or edited"
    return "it has no checksum: it was edited, or something else wrote it"


def _show_byte(byte: int) -> str:
    if 0x20 <= byte < 0x7F:
        return repr(chr(byte))
    return f"0x{byte:02x}"
