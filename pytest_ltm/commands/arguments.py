"""Arguments shared by several commands, and the parsing of their values."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ActionsContainer
from pathlib import Path
from typing import Any

from pytest_ltm.agents.project import Project
from pytest_ltm.agents.project_choice import choose_candidate
from pytest_ltm.api.scenarios import parse_token_limit
from pytest_ltm.api.storage import ConfigurationError

LATEST = "latest"
BASELINES = "ltm_baselines"
RUN = "a run folder, a run ID or 'latest'"


def add_option(
    parser: _ActionsContainer,
    flag: str,
    metavar: str,
    text: str,
    default: Any = "",
    **more: Any,
) -> None:
    """Add an option with the type of its default (repeatable for a list); `more` is passed to argparse."""
    if isinstance(default, list):
        more["action"] = "append"
    elif default is not None:
        more.setdefault("type", type(default))
    parser.add_argument(flag, metavar=metavar, default=default, help=text, **more)


def add_own_agent(parser: ArgumentParser) -> None:
    """Add SPEC, which defaults to the project's only bot."""
    parser.add_argument(
        "spec",
        nargs="?",
        metavar="SPEC",
        help="an agent, as for --ltm-agent (default: the bot of your project)",
    )


def choose_spec(arguments: Namespace, command: str) -> str:
    """Return SPEC, or that of the project's only bot, reporting the choice.

    `command`: its name in messages, with `SPEC` as a placeholder. ConfigurationError without a bot.
    """
    if arguments.spec is not None:
        return str(arguments.spec)
    found = choose_candidate(Project.read(Path.cwd()), command)
    stream = sys.stderr if arguments.json else sys.stdout
    print(f"found {found.what}: {found.spec}", file=stream)
    return found.spec


def add_flags(parser: _ActionsContainer, **texts: str) -> None:
    """Add a flag for each name, with its `--help` text."""
    for name, text in texts.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", action="store_true", help=text
        )


def add_run(
    parser: ArgumentParser, *, required: bool = False, kinds: str = RUN
) -> None:
    """Add RUN, which defaults to the latest run, and the folder for run IDs."""
    if required:
        parser.add_argument("run", metavar="RUN", help=kinds)
    else:
        text = f"{kinds} (default: latest)"
        parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help=text)
    add_ltm_dir(parser)


def add_runs(parser: ArgumentParser, *, kinds: str = RUN) -> None:
    """Add any number of RUNs, and the folder for run IDs."""
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help=f"{kinds} (default: latest)"
    )
    add_ltm_dir(parser)


def add_ltm_dir(parser: ArgumentParser) -> None:
    """Add --ltm-dir."""
    add_option(
        parser,
        "--ltm-dir",
        "DIR",
        "where run IDs are looked up (default: .ltm)",
        Path(".ltm"),
    )


def add_baselines(parser: ArgumentParser) -> None:
    """Add --baselines."""
    add_option(
        parser,
        "--baselines",
        "DIR",
        f"where baselines are (default: {BASELINES})",
        Path(BASELINES),
    )


def add_json(parser: _ActionsContainer, text: str = "print JSON") -> None:
    """Add --json."""
    add_flags(parser, json=text)


def add_output(
    parser: ArgumentParser,
    metavar: str,
    text: str,
    *,
    default: str = "",
    required: bool = False,
) -> None:
    """Add -o, --output: a path."""
    if default:
        default_path = Path(default)
        help_text = f"{text} (default: {default})"
    else:
        default_path = None
        help_text = text
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar=metavar,
        default=default_path,
        required=required,
        help=help_text,
    )


def add_place(parser: ArgumentParser) -> None:
    """Add the labels that identify one of several results of an item: --agent, --span, --trial."""
    add_option(parser, "--agent", "LABEL", "the agent's label, if several match")
    add_option(parser, "--span", "LABEL", "the memory span's label")
    add_option(parser, "--trial", "N", "the trial")


def add_filters(parser: ArgumentParser, *, agents: str) -> None:
    """Add --agent and --span, which may be repeated."""
    add_option(parser, "--agent", "LABEL", f"only this agent {agents}", [])
    add_option(
        parser, "--span", "LABEL", "only this memory span, such as 32k (repeatable)", []
    )


def add_since(parser: ArgumentParser) -> None:
    """Add --since."""
    add_option(
        parser,
        "--since",
        "WHEN",
        "nothing older than a date such as 2026-03-01, or a time ago such as 7d",
    )


def add_plans(parser: ArgumentParser) -> None:
    """Add --plans."""
    text = (
        "compare results of equal plans only (default), or the examples that both have"
    )
    parser.add_argument(
        "--plans", choices=["equal", "overlapping"], default="equal", help=text
    )


def add_seeds(parser: ArgumentParser) -> None:
    """Add --seeds."""
    add_option(
        parser,
        "--seeds",
        "N",
        "seeds of a suite: 0 to N - 1 (default: 10)",
        10,
        type=positive_integer,
    )


def add_pytest_options(parser: ArgumentParser) -> None:
    """Add --pytest."""
    text = "options for pytest, as in --pytest='-n 2'"
    parser.add_argument(
        "--pytest",
        type=shlex.split,
        action="extend",
        default=[],
        metavar="OPTIONS",
        help=text,
    )


# --- Parsing of values


def positive_integer(text: str) -> int:
    """Parse an integer of at least 1."""
    if not (text.isdecimal() and int(text)):
        raise ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return int(text)


def token_count(text: str) -> int:
    """Parse a number of tokens, such as 8000, 115k or 1.5m."""
    try:
        tokens = parse_token_limit(text)
    except ConfigurationError as error:
        raise ArgumentTypeError(str(error)) from None
    if not tokens:
        raise ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return tokens


def new_run_folder(name: str, ltm_dir: Path) -> Path:
    """Return the folder of a new run: a path, or a run ID below `ltm_dir`. ConfigurationError if it exists."""
    if name in {"", ".", ".."}:
        raise ConfigurationError(f"{name!r} cannot be the name of a run")
    path = Path(name) if "/" in name or "\\" in name else ltm_dir / "runs" / name
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigurationError(
            f"-o: {str(path)!r} already exists. Runs are never overwritten: choose another name"
        )
    return path
