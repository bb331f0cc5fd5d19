"""The commands of `ltm`: a table of names, and a parser for the one that is called.

The module of a command has two functions: one carries it out and returns the exit status, and its docstring is what
`--help` says about the command; the other adds its arguments to a parser. A module is imported when one of its commands
is called, so `ltm --help` is quick, and an extra that is not installed is missed only where it is needed.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._storage.errors import LtmError, did_you_mean
from pytest_ltm._storage.sanitize import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


PROGRAM = "ltm"
# The exit status of a command that cannot be understood or carried out.
USAGE = 2


class Command(NamedTuple):
    """Where a command is, and what it is for."""

    module: str
    """Below the package."""
    function: str
    """Takes the parsed arguments and returns the exit status. The first word of its name is the command's verb."""
    summary: str
    """Its line in `ltm --help`."""

    def load(self) -> tuple[Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None]]:
        """Return the function, and the one that adds its arguments: add_VERB_arguments in a module of several."""
        module = importlib.import_module(f"pytest_ltm.{self.module}")
        own = f"add_{self.function.partition('_')[0]}_arguments"
        return getattr(module, self.function), getattr(module, own, None) or module.add_arguments


# The first word of the commands that make and convert data.
DATA = "data"
# The commands under the headings of `ltm --help`. JSON, because `ltm --help` should not wait for a YAML reader.
GROUPS: Mapping[str, Mapping[str, Command]] = {
    heading: {name: Command(*where) for name, where in group.items()}
    for heading, group in json.loads(Path(__file__).with_name("commands.json").read_bytes()).items()
}
COMMANDS: Mapping[str, Command] = {name: command for group in GROUPS.values() for name, command in group.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; USAGE, with a sentence on stderr, where an LtmError is raised.

    Whatever it prints is made harmless first.

    SystemExit as argparse raises it: with 0 once help or versions are shown, with 2 for wrong arguments.
    """
    with redirect_stdout(Screen(sys.stdout)), redirect_stderr(Screen(sys.stderr)):
        words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
        # argparse knows no commands of two words: the two are looked up as one name
        if words[0] == DATA:
            words[:2] = [" ".join(words[:2])]
        name, rest = words[0], words[1:]
        if name not in COMMANDS:
            # Show help or versions, or name the command that was meant; return the exit status.
            if name in {DATA, f"{DATA} -h", f"{DATA} --help"}:
                asked = name != DATA
                print("\n".join(_summary_lines(_names_beginning(DATA))), file=sys.stdout if asked else sys.stderr)
                return 0 if asked else USAGE
            if name.startswith("-"):
                _overview_parser(name).parse_args([name])
            known = _names_beginning(DATA) if name.startswith(f"{DATA} ") else [*_names_beginning(), DATA]
            # somebody who knows the command may have left out its first word
            meant = did_you_mean(name, COMMANDS) or did_you_mean(f"{DATA} {name}", COMMANDS)
            print(f"{PROGRAM}: there is no command {name!r}.{meant} There are {', '.join(known)}.", file=sys.stderr)
            return USAGE
        run, _ = COMMANDS[name].load()
        given = make_parser(name).parse_args(rest)
        try:
            return run(given)
        except LtmError as error:
            print(f"{PROGRAM} {name}: {error}", file=sys.stderr)
            return USAGE


def make_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command's arguments."""
    run, add_arguments = COMMANDS[name].load()
    parser = argparse.ArgumentParser(prog=f"{PROGRAM} {name}", description=inspect.getdoc(run))
    add_arguments(parser)
    return parser


def _names_beginning(first: str = "") -> list[str]:
    """Return the commands of two words that begin with this one; those of one word without it."""
    return [name for name in COMMANDS if name.rpartition(" ")[0] == first]


def _overview_parser(called: str) -> argparse.ArgumentParser:
    """Return the parser of `ltm` alone, which shows all commands."""
    lines: list[str] = []
    for heading, commands in GROUPS.items():
        lines.append(f"{heading}:")
        if flat := [name for name in commands if name in _names_beginning()]:
            lines += _summary_lines(flat)
        else:
            names = ", ".join(name.partition(" ")[2] for name in commands)
            lines.append(f"  {DATA:14}  followed by one of these ({PROGRAM} {DATA} --help explains them):")
            lines += [f"{'':18}{line}" for line in textwrap.wrap(names, 61, break_on_hyphens=False)]
        lines.append("")
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage="%(prog)s COMMAND [ARGUMENTS]",
        description="Everything for long-term memory tests except the run, which pytest starts:\n"
        "  pytest --ltm-agent=full,window:8k --ltm-span=2k,32k",
        epilog="\n".join([*lines, f"{PROGRAM} COMMAND --help explains a command and its arguments."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    # looking versions up reads the metadata of installed packages, which only this option needs
    versions = ""
    if called == "--version":
        from importlib.metadata import version

        versions = f"pytest-ltm {version('pytest-ltm')}, Python {sys.version.split()[0]}, pytest {version('pytest')}"
    parser.add_argument("--version", action="version", version=versions, help="show pytest-ltm, Python and pytest")
    return parser


def _summary_lines(names: Sequence[str]) -> list[str]:
    width = max(14, *map(len, names))
    return [f"  {name:{width}}  {COMMANDS[name].summary}" for name in names]
