"""The commands of `python -m pytest_ltm`: one table; each command's module is imported when it is called."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._errors import LtmError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "python -m pytest_ltm"
USAGE = 2
"""The exit status of a command that cannot be understood or carried out."""


class Command(NamedTuple):
    """One command: `main(argv) -> exit status` of a module."""

    module: str
    help: str


COMMANDS = {
    "list": Command("_listing", "list the suites, scenarios or agents that come with pytest-ltm"),
    "report": Command("reporting.html._command", "write one HTML file about one or many runs"),
    "compare": Command("_compare", "compare runs or baselines: what moved, is it chance, do rules hold"),
    "doctor": Command("_doctor._command", "what a run folder holds and what can be done with it; what is installed"),
    "rescore": Command("_rescore._command", "score a recorded run again with the evaluators and judge of today"),
    "amend": Command("_amend_command", "correct one verdict of a run by hand; the automatic one is kept beside it"),
    "merge": Command("_merge._command", "join run folders that were played apart, such as shards"),
    "import-published": Command("_published._command", "turn published results into a run that reports can show"),
    "agreement": Command("_agreement", "score published results again and count how often the verdicts agree"),
    "judge-check": Command("_judge_check._command", "measure a judge on answers sorted by hand; can fail a CI job"),
    "locomo-score": Command("_dataset_commands._locomo_score", "the official F1 of a file of LoCoMo answers"),
    "longmemeval-export": Command(
        "_dataset_commands._longmemeval_export", "a run's answers as LongMemEval's hypothesis file"
    ),
    "locomo-generate": Command(
        "_dataset_commands._locomo_generate", "make new conversations with questions in LoCoMo's schema"
    ),
    "longmemeval-score": Command(
        "_dataset_commands._longmemeval_score", "verdicts by rules on a file of LongMemEval answers"
    ),
    "longmemeval-retrieval": Command(
        "_dataset_commands._longmemeval_retrieval", "the official retrieval metrics of a file of rankings"
    ),
    "longmemeval-compile": Command(
        "_dataset_commands._longmemeval_compile", "LongMemEval questions and fillers to histories of any length"
    ),
    "longmemeval-generate": Command(
        "_dataset_commands._longmemeval_generate", "new LongMemEval questions and histories, without a model"
    ),
    "benchmark": Command("_benchmarks._command", "measure what pytest-ltm itself costs"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Carry a command out; return its exit status, 2 with a sentence on stderr if there is none of this name."""
    words = sys.argv[1:] if argv is None else argv
    command, *rest = words or ["--help"]
    if command in {"-h", "--help"}:
        print(_help())
        return 0
    if command not in COMMANDS:
        print(
            f"{PROGRAM}: there is no command {command!r}.{did_you_mean(command, COMMANDS)} "
            f"There are {', '.join(COMMANDS)}; --help says what they do.",
            file=sys.stderr,
        )
        return USAGE
    module = importlib.import_module(f"pytest_ltm.{COMMANDS[command].module}")
    try:
        status: int = module.main(rest)
    except LtmError as error:
        print(f"{PROGRAM} {command}: {error}", file=sys.stderr)
        return USAGE
    return status


def _help() -> str:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} COMMAND [...]",
        description="Everything about long-term memory tests that is not a run. Runs are started with pytest, "
        "as in: pytest --ltm-agent=full,window:8k --ltm-span=2k,32k",
        add_help=False,
    )
    commands = parser.add_argument_group("commands (each has a --help of its own)")
    for name, command in COMMANDS.items():
        commands.add_argument(name, help=command.help)
    return parser.format_help().rstrip()
