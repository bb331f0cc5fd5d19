"""Arguments that several commands take, each declared once, and what their texts become."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._storage.errors import ConfigurationError

if TYPE_CHECKING:
    from argparse import ArgumentParser, _ActionsContainer


LATEST = "latest"
BASELINES = "ltm_baselines"
RUN = "a run folder, a run ID or 'latest'"


def add_run(parser: ArgumentParser, *, required: bool = False, kinds: str = RUN) -> None:
    """Add RUN, by default the latest run, and where run IDs are looked up."""
    if required:
        parser.add_argument("run", metavar="RUN", help=kinds)
    else:
        parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help=f"{kinds} (default: latest)")
    add_ltm_dir(parser)


def add_runs(parser: ArgumentParser, *, kinds: str = RUN) -> None:
    """Add any number of RUNs, and where run IDs are looked up."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"{kinds} (default: latest)")
    add_ltm_dir(parser)


def add_ltm_dir(parser: ArgumentParser) -> None:
    """Add --ltm-dir."""
    text = "where run IDs are looked up (default: .ltm)"
    parser.add_argument("--ltm-dir", type=Path, default=Path(".ltm"), metavar="DIR", help=text)


def add_baselines(parser: ArgumentParser) -> None:
    """Add --baselines."""
    text = f"where baselines are (default: {BASELINES})"
    parser.add_argument("--baselines", type=Path, default=Path(BASELINES), metavar="DIR", help=text)


def add_json(parser: _ActionsContainer, text: str = "print JSON") -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help=text)


def add_output(parser: ArgumentParser, metavar: str, text: str, *, default: str = "", required: bool = False) -> None:
    """Add -o, --output: a path."""
    made, told = (Path(default), f"{text} (default: {default})") if default else (None, text)
    parser.add_argument("-o", "--output", type=Path, metavar=metavar, default=made, required=required, help=told)


def add_place(parser: ArgumentParser) -> None:
    """Add the labels that tell results of one item apart: --agent, --span, --trial."""
    parser.add_argument("--agent", default="", metavar="LABEL", help="the agent's label, if several match")
    parser.add_argument("--span", default="", metavar="LABEL", help="the memory span's label")
    parser.add_argument("--trial", default="", metavar="N", help="the trial")


def add_filters(parser: ArgumentParser, *, agents: str) -> None:
    """Add --agent and --span, which may be repeated."""
    text = "only this memory span, such as 32k (repeatable)"
    parser.add_argument("--agent", action="append", default=[], metavar="LABEL", help=f"only this agent {agents}")
    parser.add_argument("--span", action="append", default=[], metavar="LABEL", help=text)


def add_since(parser: ArgumentParser) -> None:
    """Add --since."""
    text = "nothing older than a date such as 2026-03-01, or a time ago such as 7d"
    parser.add_argument("--since", default="", metavar="WHEN", help=text)


def add_plans(parser: ArgumentParser) -> None:
    """Add --plans."""
    text = "compare results of equal plans only (default), or the examples that both have"
    parser.add_argument("--plans", choices=["equal", "overlapping"], default="equal", help=text)


def add_seeds(parser: ArgumentParser) -> None:
    """Add --seeds."""
    text = "seeds of a suite: 0 to N - 1 (default: 10)"
    parser.add_argument("--seeds", type=positive_integer, default=10, metavar="N", help=text)


def add_pytest_options(parser: ArgumentParser) -> None:
    """Add --pytest."""
    text = "options for pytest, as in --pytest='-n 2'"
    parser.add_argument("--pytest", type=shlex.split, action="extend", default=[], metavar="OPTIONS", help=text)


# --- what texts become


def positive_integer(text: str) -> int:
    """Return a whole number of at least 1."""
    if not (text.isdecimal() and int(text)):
        raise ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return int(text)


_TOKENS = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([km]?)", re.IGNORECASE)


def token_count(text: str) -> int:
    """Return a number of tokens, such as 8000, 115k or 1.5m."""
    amount = _TOKENS.fullmatch(text)
    tokens = round(float(amount[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[amount[2].lower()]) if amount else 0
    if tokens < 1:
        raise ArgumentTypeError(f"expected a number of tokens such as 8000, 115k or 1.5m, got {text!r}")
    return tokens


def new_run_folder(name: str, ltm_dir: Path) -> Path:
    """Return where a new run goes: a path, or a run ID below `ltm_dir`. ConfigurationError if it is taken."""
    if name in {"", ".", ".."}:
        raise ConfigurationError(f"{name!r} cannot be the name of a run")
    path = Path(name) if "/" in name or "\\" in name else ltm_dir / "runs" / name
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigurationError(f"-o: {str(path)!r} already exists. Runs are never overwritten: choose another name")
    return path
