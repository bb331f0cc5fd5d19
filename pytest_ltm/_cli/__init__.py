"""The commands of `ltm`: one parser tree. A module is imported when one of its commands is called.

`commands.yml` says what each command takes; the module of its subject has the function that carries it out: it takes
the parsed arguments and returns the exit status.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import ConfigurationError, LtmError, did_you_mean
from pytest_ltm._storage.sanitize import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


PROGRAM = "ltm"
USAGE = 2
"""The exit status of a command that cannot be understood or carried out."""


@cache
def commands() -> Mapping[str, Mapping[str, Any]]:
    """Return what `commands.yml` says, by the name of the command."""
    from pytest_ltm._storage.schema import packaged

    found: Mapping[str, Mapping[str, Any]] = packaged(__file__, "commands.yml")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Carry a command out and return its exit status; USAGE, with a sentence on stderr, where an LtmError is raised.

    Whatever it prints passes the boundary.

    SystemExit as argparse raises it: with 0 once help or versions are shown, with 2 for wrong arguments.
    """
    with redirect_stdout(Screen(sys.stdout)), redirect_stderr(Screen(sys.stderr)):
        return _carried_out(argv)


def _carried_out(argv: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if " ".join(words[:2]) in commands():
        words[:2] = [" ".join(words[:2])]
    called = words[0]
    if within := [name for name in commands() if name.startswith(f"{called} ")]:
        return _told_within(called, words[1:], within)
    if not called.startswith("-") and called not in commands():
        print(
            f"{PROGRAM}: there is no command {called!r}.{did_you_mean(called, commands())} "
            f"There are {', '.join(commands())}; --help says what they do.",
            file=sys.stderr,
        )
        return USAGE
    given = _tree(called).parse_args(words)
    try:
        module, _, function = commands()[called]["calls"].rpartition(".")
        status: int = getattr(importlib.import_module(f"pytest_ltm.{module}"), function)(given)
    except LtmError as error:
        print(f"{PROGRAM} {called}: {error}", file=sys.stderr)
        return USAGE
    return status


def _told_within(called: str, rest: Sequence[str], names: Sequence[str]) -> int:
    """Say which commands begin with this word; USAGE unless help was asked for."""
    if rest and not rest[0].startswith("-"):
        meant = did_you_mean(f"{called} {rest[0]}", names)
        print(
            f"{PROGRAM}: there is no command '{called} {rest[0]}'.{meant} There are {', '.join(names)}.",
            file=sys.stderr,
        )
        return USAGE
    asked = bool(rest) and rest[0] in {"-h", "--help"}
    for name in names:
        print(f"{PROGRAM} {name}: {commands()[name]['help']}", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else USAGE


def _tree(called: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Everything about long-term memory tests but the run itself. Start runs with pytest, "
        "as in: pytest --ltm-agent=full,window:8k --ltm-span=2k,32k",
        allow_abbrev=False,
    )
    versions = _versions() if called == "--version" else ""
    parser.add_argument(
        "--version", action="version", version=versions, help="show the versions of pytest-ltm, Python and pytest"
    )
    parsers = parser.add_subparsers(
        title="commands (each has a --help of its own)", metavar="COMMAND", required=True, prog=PROGRAM
    )
    for name, said in commands().items():
        if called not in commands():
            parsers.add_parser(name, help=said["help"])
        elif called == name:
            command = parsers.add_parser(name, usage=said.get("usage"), description=said["description"])
            _declare(command, said["arguments"])
    return parser


def _declare(parser: argparse._ActionsContainer, arguments: Mapping[str, Any]) -> None:
    for words, said in arguments.items():
        if words in {"one of", "exactly one of"}:
            _declare(parser.add_mutually_exclusive_group(required=words == "exactly one of"), said)
        elif isinstance(said, str):
            parser.add_argument(*words.split(), action="store_true", help=said)
        else:
            made = {"type": TYPES[said["type"]]} if "type" in said else {}
            parser.add_argument(*words.split(), **{"help": argparse.SUPPRESS, **said, **made})


def _versions() -> str:
    from importlib.metadata import version

    return f"pytest-ltm {version('pytest-ltm')}, Python {sys.version.split()[0]}, pytest {version('pytest')}"


# --- what arguments are made into

_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([km]?)", re.IGNORECASE)
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


def _whole(text: str) -> int:
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


_SIZE = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)x(\d{1,4}(?:\.\d{1,4})?)(in|cm|)")
_INCH = 2.54
"""In centimetres."""
_LARGEST = 100.0
"""In inches."""


def _size(text: str) -> tuple[float, float]:
    """Return the width and height in inches that an argument gives."""
    found = _SIZE.fullmatch(text)
    unit = _INCH if found and found[3] == "cm" else 1.0
    wide, high = (float(found[1]) / unit, float(found[2]) / unit) if found else (0.0, 0.0)
    if not 0 < min(wide, high) <= max(wide, high) <= _LARGEST:
        raise argparse.ArgumentTypeError(f"expected width and height such as 6x4in or 16x10cm, got {text!r}")
    return wide, high


TYPES: Mapping[str, Callable[[str], Any]] = {
    "int": int, "float": float, "Path": Path, "whole": _whole, "tokens": _tokens, "size": _size,
}  # fmt: skip


def new_run(said: str, ltm_dir: Path) -> Path:
    """Return where a new run goes: a path, or a run id below `ltm_dir`. ConfigurationError if it is taken."""
    if said in {"", ".", ".."}:
        raise ConfigurationError(f"{said!r} cannot be the name of a run")
    path = Path(said) if "/" in said or "\\" in said else ltm_dir / "runs" / said
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigurationError(f"-o: {str(path)!r} exists already, and a run is never overwritten. Name another")
    return path
