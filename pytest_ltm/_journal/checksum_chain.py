"""Chain: each line of a journal ends in a checksum of its text and of the checksum before it.

It shows what has changed since it was written, by accident: who means to deceive can compute it again. The last one,
the head, stands for the whole journal: published with a result, it shows that a journal is the one that was scored.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Bytes of a checksum.
SIZE = 16
_SEAL = re.compile(rb',"sum":"([0-9a-f]{%d})"\}\n\Z' % (2 * SIZE))
_BEGINNING = re.compile(rb'\{"event":"(\w+)"(?:,"exchange":(\d+))?')
_LENGTH = len(b',"sum":""}\n') + 2 * SIZE


class Chain:
    """The checksums of a journal's lines, one after the other; `head` is the last."""

    def __init__(self, head: str = "") -> None:
        self.head = head

    def seal_line(self, line: str) -> str:
        """Return the next line, a JSON object, with its checksum as the last member."""
        self.head = _line_checksum(self.head, line.encode())
        return f'{line[:-2]},"sum":"{self.head}"}}\n'

    def verify_line(self, line: bytes) -> bytes | None:
        """Return the next line without its checksum, None if it is not the one that was written here."""
        text, recorded = line[:-_LENGTH] + b"}\n", line[-_LENGTH:]
        head = _line_checksum(self.head, text)
        if recorded != b',"sum":"%s"}\n' % head.encode():
            return None
        self.head = head
        return text


def strip_checksum(line: bytes) -> bytes:
    """Return a line without its checksum, whatever that is."""
    return _SEAL.sub(b"}\n", line)


def _line_checksum(head: str, text: bytes) -> str:
    return blake2b(head.encode() + text, digest_size=SIZE).hexdigest()


# --- What has become of a line that is not the one that was written.

# Bytes of a line in which each bit is tried; that takes half a second.
LONGEST = 8_000


class Damage(Struct, frozen=True, kw_only=True):
    """One line that its checksum does not fit."""

    line: int
    start: int
    """Bytes of the file before it."""
    what: str
    flipped: tuple[int, int] | None = None
    """Where one bit, put back, makes the line whole: the byte of the file, and what that was."""


def find_damages(data: bytes) -> Iterator[Damage]:
    """Yield what is damaged in a journal, line by line; a torn last line is not."""
    head: str | None = ""
    start = number = 0
    written: dict[str, int] = {"": 0}  # the numbers of the lines by their checksums
    while end := data.find(b"\n", start) + 1:
        number += 1
        line, seal = data[start:end], _SEAL.search(data, start, end)
        chain = Chain(head or "")
        if head is not None and chain.verify_line(line) is None:
            damage = _examine_damage(data, number, start, head, written)
            yield damage
            if damage.flipped is not None:  # go on as if it were mended
                data = flip_bit_back(data, damage)
                end = data.find(b"\n", start) + 1
                chain.verify_line(data[start:end])
                head = chain.head
            else:
                head = seal[1].decode() if seal else None
        elif head is None and seal is None:
            yield Damage(line=number, start=start, what=_missing_checksum(line))
        else:  # after a line without a checksum nothing says what the next one followed
            head = chain.head if head is not None else seal[1].decode() if seal else None
        written.setdefault(head or "", number)
        start = end


def flip_bit_back(data: bytes, damage: Damage) -> bytes:
    """Return a journal with a flipped bit put back."""
    if damage.flipped is None:
        return data
    at, was = damage.flipped
    return data[:at] + bytes([was]) + data[at + 1 :]


def _examine_damage(data: bytes, number: int, start: int, head: str, written: Mapping[str, int]) -> Damage:
    end = data.find(b"\n", start) + 1
    line, seal = data[start:end], _SEAL.search(data, start, end)
    if flipped := _find_flipped_bit(data, start, end, head):
        at, was = flipped
        now = f"byte {at - start + 1:,} of the line is {_show_byte(data[at])} and was {_show_byte(was)}"
        return Damage(line=number, start=start, what=f"one bit has flipped: {now}", flipped=flipped)
    if seal is None:
        return Damage(line=number, start=start, what=_missing_checksum(line))
    followed = next(
        (known for one, known in written.items() if _line_checksum(one, strip_checksum(line)).encode() == seal[1]), None
    )
    if followed is not None:
        where = f"line {followed}" if followed else "no other"
        what = f"it was written after {where}: two processes wrote this journal, or lines were added or moved"
    else:
        what = f"{_event_name(line)} was changed after it was written, or lines before it are missing"
    return Damage(line=number, start=start, what=what)


def _find_flipped_bit(data: bytes, start: int, end: int, head: str) -> tuple[int, int] | None:
    """Return the byte, and what it was, that was another one by one bit; None if that does not explain the line."""
    if end - start > LONGEST:
        return None
    beyond = data.find(b"\n", end) + 1 or len(data)  # where the flipped bit is that of the line's end
    tried = bytearray(data[start:beyond])
    for at in range(end - start):
        was = tried[at]
        for bit in range(8):
            tried[at] = was ^ 1 << bit
            whole = tried.find(b"\n") + 1
            if (
                tried.startswith(b',"sum":"', whole - _LENGTH)
                and Chain(head).verify_line(bytes(tried[:whole])) is not None
            ):
                return start + at, tried[at]
        tried[at] = was
    return None


def _missing_checksum(line: bytes) -> str:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return "it is not a line of a journal: it was torn, overwritten or edited"
    return "it has no checksum: it was edited, or something else wrote it"


def _event_name(line: bytes) -> str:
    """Return what a person would call a line."""
    match = _BEGINNING.match(line)
    if match is None:
        return "its text"
    return f"the {match[1].decode()}" + (f" of exchange {match[2].decode()}" if match[2] else "")


def _show_byte(byte: int) -> str:
    return repr(chr(byte)) if 0x20 <= byte < 0x7F else f"0x{byte:02x}"
