"""What `longmemeval-generate` and `longmemeval-compile` share: lengths, tokenizer, output."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._tokens import counter
from pytest_ltm.datasets.longmemeval.compile._history import Length
from pytest_ltm.datasets.longmemeval.compile._write import write
from pytest_ltm.datasets.longmemeval.generate._talk import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([km]?)", re.IGNORECASE)
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


def add_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add what both commands accept."""
    length = parser.add_mutually_exclusive_group(required=required)
    length.add_argument("--sessions", type=whole, metavar="N", help="each history has N sessions")
    length.add_argument(
        "--tokens", type=_tokens, metavar="T", help="each history has at most T tokens, such as 115k or 1.5m"
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same file (default: 0)")
    parser.add_argument("--tokenizer", default="cl100k_base", metavar="NAME", help="what counts (default: cl100k_base)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")


def length_of(given: argparse.Namespace) -> Length:
    """Return how long histories are to be."""
    return Length(sessions=given.sessions, tokens=given.tokens)


def counter_of(given: argparse.Namespace) -> Callable[[str], int]:
    """Return what counts tokens."""
    return counted(counter(given.tokenizer))


def save(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write the records, say what was written, return the exit status."""
    number, size = write(path, records)
    sys.stdout.write(f"{path}: {number} question{'s' * (number != 1)}, {size / 1e6:,.1f} MB\n")
    return 0


def whole(text: str) -> int:
    """Return the number of at least 1 that an argument gives."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return int(text)


def _tokens(text: str) -> int:
    found = _AMOUNT.fullmatch(text)
    tokens = round(float(found[1]) * _SCALE[found[2].lower()]) if found else 0
    if tokens < 1:
        raise argparse.ArgumentTypeError(f"expected a number of tokens such as 8000, 115k or 1.5m, got {text!r}")
    return tokens
