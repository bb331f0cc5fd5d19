"""The commands of `ltm`: a table of names, and a parser for the one that is called.

The module of a command has two functions: one carries it out and returns the exit
status, and its docstring is what `--help` says about the command; the other adds its
arguments to a parser. A module is imported when one of its commands is called, so `ltm
--help` is quick, and an extra that is not installed is missed only where it is needed.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from pytest_ltm._core.storage.errors import LtmError, did_you_mean
from pytest_ltm._core.storage.sanitize import Screen

PROGRAM = "ltm"
_PLAYS = frozenset({"eval", "play", "pytest", "run", "start", "test"})
"""What people type who look for the command that starts a run."""
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

    def load(
        self,
    ) -> tuple[
        Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None]
    ]:
        """Return the function, and the one that adds its arguments: add_VERB_arguments in a module of several."""
        module = importlib.import_module(f"pytest_ltm.{self.module}")
        own = f"add_{self.function.partition('_')[0]}_arguments"
        return getattr(module, self.function), getattr(
            module, own, None
        ) or module.add_arguments


# The first word of the commands that make and convert data.
DATA = "data"
_STATS = "lab.commands.dataset_stats"
_LOCOMO = "lab.commands.locomo_generate"
_PUBLISHED = "lab.commands.import_published"
_ANSWERS = "lab.commands.import_answers"
_HISTORIES = "lab.commands.longmemeval_histories"
# The commands under the headings of `ltm --help`.
GROUPS: Mapping[str, Mapping[str, Command]] = {
    "Get started": {
        "try": Command(
            "commands.try_agent",
            "try_agent",
            "hold six short conversations: what does a bot remember?",
        ),
        "init": Command(
            "commands.init",
            "write_first_files",
            "set up an agent, a scenario, a workflow and a baseline",
        ),
        "list": Command(
            "commands.listing",
            "list_bundled",
            "list the bundled suites, scenarios or agents",
        ),
        "check-agent": Command(
            "commands.check_agent",
            "check_agent",
            "send an agent five messages and see what it can do",
        ),
        "doctor": Command(
            "commands.doctor",
            "show_diagnosis",
            "diagnose a run or the installation, and suggest a fix",
        ),
        "mcp": Command(
            "commands.mcp_server",
            "serve_tools",
            "answer a coding agent over the Model Context Protocol",
        ),
    },
    "Read results": {
        "runs": Command(
            "commands.run_history",
            "list_runs",
            "list runs: when, agents, totals, how they ended",
        ),
        "show": Command(
            "commands.examples",
            "show_examples",
            "list the examples of a run, or print one as a chat",
        ),
        "compare": Command(
            "commands.compare",
            "compare_results",
            "compare runs or baselines; can fail a CI job",
        ),
        "trend": Command(
            "commands.run_history",
            "draw_trend",
            "show scores over time, of runs and of baselines",
        ),
        "serve": Command(
            "commands.serve",
            "serve_pages",
            "open runs in the browser, also while they happen",
        ),
    },
    "Share results": {
        "report": Command(
            "commands.sharing",
            "write_report",
            "write one HTML file about one or more runs",
        ),
        "export": Command(
            "commands.sharing",
            "export_runs",
            "write CSV, JUnit, Markdown, LaTeX, MLflow and others",
        ),
        "plot": Command(
            "commands.plot",
            "plot_figure",
            "draw a figure for a paper: curve, heat map, differences",
        ),
        "badge": Command(
            "commands.sharing", "draw_badge", "draw a badge with an agent's score"
        ),
    },
    "Check scores": {
        "verify": Command(
            "commands.verify",
            "verify_scores",
            "check that scores follow from what a run recorded",
        ),
        "bundle": Command(
            "commands.bundle",
            "bundle_run",
            "write a run as one file that anybody can verify",
        ),
        "import-answers": Command(
            _ANSWERS, "import_answers", "score answers that others published, by rules"
        ),
    },
    "Rework runs": {
        "rescore": Command(
            "commands.pytest_runs",
            "rescore_run",
            "score a recorded run again, without its agents",
        ),
        "review": Command(
            "commands.review",
            "review_run",
            "list verdicts worth a look, each with the reason",
        ),
        "amend": Command(
            "commands.examples", "amend_verdict", "correct one verdict by hand"
        ),
        "merge": Command(
            "commands.merge",
            "merge_runs",
            "join runs that were played apart, such as shards",
        ),
    },
    "Data sets": {
        "data locomo-generate": Command(
            _LOCOMO, "generate_locomo", "write new conversations with questions"
        ),
        "data locomo-check": Command(
            _LOCOMO, "check_locomo", "check conversations that people have edited"
        ),
        "data longmemeval-generate": Command(
            _HISTORIES, "generate_longmemeval", "write new questions and histories"
        ),
        "data longmemeval-compile": Command(
            _HISTORIES, "compile_histories", "put questions into longer histories"
        ),
        "data longmemeval-export": Command(
            "commands.longmemeval",
            "export_hypotheses",
            "write a run's answers as a file",
        ),
        "data longmemeval-score": Command(
            "commands.longmemeval", "score_longmemeval", "score a file of answers"
        ),
        "data longmemeval-retrieval": Command(
            "commands.longmemeval", "measure_retrieval", "measure what a run retrieved"
        ),
        "data dataset-stats": Command(
            _STATS, "show_dataset_stats", "describe data sets as the papers do"
        ),
        "data convert": Command(
            "commands.logs",
            "convert_data",
            "read other benchmarks, and chats as downloaded",
        ),
        "data logs-check": Command(
            "commands.logs", "check_logs", "check a file of your own logs"
        ),
        "data logs-redact": Command(
            "commands.logs", "redact_logs", "take names, addresses and keys out of logs"
        ),
        "data import-published": Command(
            _PUBLISHED, "import_published", "turn published results into a run"
        ),
        "data paraphrase": Command(
            "lab.commands.paraphrase",
            "paraphrase_suite",
            "have a model rephrase a suite",
        ),
    },
    "Test the benchmark itself": {
        "cheats": Command(
            "lab.commands.cheats",
            "run",
            "attack a suite with agents that do not remember",
        ),
        "calibrate": Command(
            "lab.commands.calibrate",
            "run",
            "compare a suite's difficulty with published texts",
        ),
        "leak-check": Command(
            "lab.commands.leak_check",
            "run",
            "find evidence by words, lengths and places alone",
        ),
        "verdict-check": Command(
            "lab.commands.verdict_check",
            "run",
            "measure the rules on hand-labelled replies",
        ),
        "judge-check": Command(
            "lab.commands.judge_check",
            "run",
            "measure a judge on hand-labelled answers",
        ),
        "agreement": Command(
            "lab.commands.agreement",
            "measure_agreement",
            "measure the rules on published verdicts",
        ),
    },
}
COMMANDS: Mapping[str, Command] = {
    name: command for group in GROUPS.values() for name, command in group.items()
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; USAGE, with a sentence on stderr, where an LtmError is raised.

    Whatever it prints is made harmless first.

    SystemExit as argparse raises it: with 0 once help or versions are shown, with 2 for
    wrong arguments.
    """
    with redirect_stdout(Screen(sys.stdout)), redirect_stderr(Screen(sys.stderr)):
        words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
        # argparse knows no commands of two words: the two are looked up as one name
        if words[0] == DATA:
            words[:2] = [" ".join(words[:2])]
        name, rest = words[0], words[1:]
        if name not in COMMANDS:
            # Show help or versions, or name the command that was meant; return the exit
            # status.
            if name in {DATA, f"{DATA} -h", f"{DATA} --help"}:
                asked = name != DATA
                print(
                    "\n".join(_summary_lines(_names_beginning(DATA))),
                    file=sys.stdout if asked else sys.stderr,
                )
                return 0 if asked else USAGE
            if name in _PLAYS:
                hint = "Runs are started by pytest: pytest --ltm-agent=SPEC"
                print(
                    f"{PROGRAM}: there is no command {name!r}. {hint}", file=sys.stderr
                )
                return USAGE
            if name == "help":
                name = "--help"
            if name.startswith("-"):
                _overview_parser(name).parse_args([name])
            known = (
                _names_beginning(DATA)
                if name.startswith(f"{DATA} ")
                else [*_names_beginning(), DATA]
            )
            # somebody who knows the command may have left out its first word
            meant = did_you_mean(name, COMMANDS) or did_you_mean(
                f"{DATA} {name}", COMMANDS
            )
            print(
                f"{PROGRAM}: there is no command {name!r}.{meant} There are {', '.join(known)}.",
                file=sys.stderr,
            )
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
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}", description=inspect.getdoc(run)
    )
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
            lines.append(
                f"  {DATA:14}  followed by one of these ({PROGRAM} {DATA} --help explains them):"
            )
            lines += [
                f"{'':18}{line}"
                for line in textwrap.wrap(names, 61, break_on_hyphens=False)
            ]
        lines.append("")
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage="%(prog)s COMMAND [ARGUMENTS]",
        description="Everything for long-term memory tests except the run, which pytest starts:\n"
        "  pytest --ltm-agent=full,window:8k --ltm-span=2k,32k",
        epilog="\n".join(
            [*lines, f"{PROGRAM} COMMAND --help explains a command and its arguments."]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    # looking versions up reads the metadata of installed packages, which only this
    # option needs
    versions = ""
    if called == "--version":
        from importlib.metadata import version

        versions = f"pytest-ltm {version('pytest-ltm')}, Python {sys.version.split()[0]}, pytest {version('pytest')}"
    parser.add_argument(
        "--version",
        action="version",
        version=versions,
        help="show pytest-ltm, Python and pytest",
    )
    return parser


def _summary_lines(names: Sequence[str]) -> list[str]:
    width = max(14, *map(len, names))
    return [f"  {name:{width}}  {COMMANDS[name].summary}" for name in names]
