"""Traces: planted secrets and control characters in the files that a case leaves."""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import json
import re
import urllib.parse
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SECRET = "9f+Quince/Marmalade=47&Teapot"  # noqa: S105 - planted
PLANTED = {"LTM_FAULTS_TOKEN": SECRET}
"""Variables of every run of the matrix that must not appear in its output."""
AGENTS_OWN = re.compile(r".*\.(?:py|pyc|yml|def\.json)|heard\.jsonl|notes\.txt")
"""Files written by the case itself or by its agents."""
_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]"
)
_PACKED = re.compile(rb"[A-Za-z0-9+/]{64,}={0,2}")
_DEEPEST = 3


class Traces(NamedTuple):
    """Findings: the file, with the text around it."""

    secrets: tuple[str, ...] = ()
    escapes: tuple[str, ...] = ()


def traces(folder: Path) -> Traces:
    """Return the findings in all files of a case, with packed contents unpacked."""
    secrets, escapes = [], []
    for path in sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    ):
        if AGENTS_OWN.fullmatch(path.name):
            continue
        name, data = str(path.relative_to(folder)), path.read_bytes()
        found = next(filter(None, (_secret_in(layer) for layer in _layers(data))), None)
        if found:
            secrets.append(f"{name}: {found}")
        control = _CONTROLS.search(data.decode("utf-8", "replace"))
        if control and not data.startswith(b"\x1f\x8b"):
            escapes.append(
                f"{name}: {control.string[max(0, control.start() - 20) : control.end() + 20]!r}"
            )
    return Traces(tuple(secrets), tuple(escapes))


def _secret_in(data: bytes) -> str | None:
    return next((name for name, form in FORMS.items() if form in data), None)


def _forms() -> Iterator[tuple[str, bytes]]:
    raw = SECRET.encode()
    yield "plain", raw
    yield "hex", raw.hex().encode()
    yield "HEX", raw.hex().upper().encode()
    yield "URL", urllib.parse.quote(SECRET, safe="").encode()
    yield "JSON", json.dumps(SECRET)[1:-1].replace("/", "\\/").encode()
    for offset in range(3):
        # at each offset, these base64 characters depend on the secret alone, whatever
        # precedes it
        whole = base64.b64encode(b"x" * offset + raw)
        yield f"base64 at {offset}", whole[4 if offset else 0 : len(whole) - 4]


FORMS = dict(_forms())
"""The secret in every encoding that is searched for."""


def _layers(data: bytes, depth: int = 0) -> Iterator[bytes]:
    """Yield the data, and the contents packed in it."""
    yield data
    if depth == _DEEPEST:
        return
    text = data.decode("utf-8", "replace")
    plain = html.unescape(text)
    if plain != text:
        yield plain.encode("utf-8", "replace")
    if data.startswith(b"\x1f\x8b"):
        with suppress(OSError, EOFError, zlib.error):
            yield from _layers(gzip.decompress(data), depth + 1)
    for packed in _PACKED.finditer(data):
        with suppress(binascii.Error):
            raw = base64.b64decode(packed[0] + b"=" * (-len(packed[0]) % 4))
            yield raw
            for unpack in (
                gzip.decompress,
                zlib.decompress,
                lambda one: zlib.decompress(one, -15),
            ):
                with suppress(OSError, EOFError, zlib.error):
                    yield from _layers(unpack(raw), depth + 1)
