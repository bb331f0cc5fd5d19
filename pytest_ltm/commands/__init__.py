"""The commands of `ltm`: a table of names, and the parser of the command that is called.

The module of a command has two functions: one runs it and returns the exit status, and its docstring is the command's
`--help` text; the other adds its arguments to a parser. A module is imported only when one of its commands is called,
so `ltm --help` is quick, and a missing extra matters only where it is needed.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import chain
from typing import NamedTuple

from pytest_ltm.api.storage import (
    ConfigurationError,
    LtmError,
    Screen,
    did_you_mean,
    nearest_name,
)

PROGRAM = "ltm"
_PLAYS = frozenset({"eval", "play", "pytest", "rescore", "run", "start", "test"})
"""Words typed by people who look for the command that starts a run."""
# The exit status of a command that is misused or cannot be carried out.
USAGE = 2


class Command(NamedTuple):
    """The location and summary of a command."""

    module: str
    """The module's import name."""
    function: str
    """Takes the parsed arguments and returns the exit status. The first word of its name is the command's verb."""
    summary: str
    """Its line in `ltm --help`."""

    @property
    def feature(self) -> str:
        """The name of the feature that it belongs to, as in `-p no:NAME`."""
        return f"ltm-feature-{self.module.split('.')[1]}"

    def load(
        self,
    ) -> tuple[
        Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None]
    ]:
        """Return the function and its argument adder (add_VERB_arguments in a module of several commands)."""
        module = importlib.import_module(self.module)
        adder_name = f"add_{self.function.partition('_')[0]}_arguments"
        return getattr(module, self.function), getattr(
            module, adder_name, None
        ) or module.add_arguments


# The first words of two-word commands: for data, and for tests of the benchmark itself.
DATA = "data"
LAB = "lab"
FAMILIES = (DATA, LAB)
_STATS = "pytest_ltm.lab.commands.dataset_stats"
_LOCOMO = "pytest_ltm.lab.commands.locomo_generate"
_PUBLISHED = "pytest_ltm.lab.commands.import_published"
_ANSWERS = "pytest_ltm.lab.commands.import_answers"
_HISTORIES = "pytest_ltm.lab.commands.longmemeval_histories"
# The commands, under the headings of `ltm --help`.
GROUPS: Mapping[str, Mapping[str, Command]] = {
    "Get started": {
        "try": Command(
            "pytest_ltm.commands.try_agent",
            "try_agent",
            "hold six short conversations: what does a bot remember?",
        ),
        "init": Command(
            "pytest_ltm.commands.init",
            "write_first_files",
            "set up an agent, a scenario, a workflow and a baseline",
        ),
        "list": Command(
            "pytest_ltm.commands.listing",
            "list_bundled",
            "list the bundled suites, scenarios or agents",
        ),
        "check-agent": Command(
            "pytest_ltm.commands.check_agent",
            "check_agent",
            "send an agent five messages and see what it can do",
        ),
        "doctor": Command(
            "pytest_ltm.commands.doctor",
            "show_diagnosis",
            "diagnose a run or the installation, and suggest a fix",
        ),
        "mcp": Command(
            "pytest_ltm.commands.mcp_server",
            "serve_tools",
            "answer a coding agent over the Model Context Protocol",
        ),
    },
    "Read results": {
        "runs": Command(
            "pytest_ltm.commands.run_history",
            "list_runs",
            "list runs: when, agents, totals, how they ended",
        ),
        "show": Command(
            "pytest_ltm.commands.show",
            "show_examples",
            "list the examples of a run, or print one as a chat",
        ),
        "compare": Command(
            "pytest_ltm.commands.compare",
            "compare_results",
            "compare runs or baselines; can fail a CI job",
        ),
        "serve": Command(
            "pytest_ltm.commands.serve",
            "serve_pages",
            "open runs in the browser, also while they happen",
        ),
    },
    "Share results": {
        "report": Command(
            "pytest_ltm.commands.sharing",
            "write_report",
            "write one HTML file about one or more runs",
        ),
        "export": Command(
            "pytest_ltm.commands.sharing",
            "export_runs",
            "write CSV, JUnit, Markdown, LaTeX, MLflow and others",
        ),
    },
    "Check": {
        "verify": Command(
            "pytest_ltm.commands.verify",
            "verify_scores",
            "check that scores follow from what a run recorded",
        ),
        "check-memory": Command(
            "pytest_ltm.commands.check_memory",
            "check_memory",
            "write the card of a memory: kept, found, stale, lost",
        ),
        "audit": Command(
            "pytest_ltm.commands.audit",
            "audit_memory",
            "find what is wrong with what a memory holds",
        ),
        "merge": Command(
            "pytest_ltm.commands.merge",
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
            "pytest_ltm.commands.longmemeval",
            "export_hypotheses",
            "write a run's answers as a file",
        ),
        "data longmemeval-score": Command(
            "pytest_ltm.commands.longmemeval",
            "score_longmemeval",
            "score a file of answers",
        ),
        "data longmemeval-retrieval": Command(
            "pytest_ltm.commands.longmemeval",
            "measure_retrieval",
            "measure what a run retrieved",
        ),
        "data dataset-stats": Command(
            _STATS, "show_dataset_stats", "describe data sets as the papers do"
        ),
        "data convert": Command(
            "pytest_ltm.commands.logs",
            "convert_data",
            "read other benchmarks, and chats as downloaded",
        ),
        "data logs-check": Command(
            "pytest_ltm.commands.logs", "check_logs", "check a file of your own logs"
        ),
        "data logs-redact": Command(
            "pytest_ltm.commands.logs",
            "redact_logs",
            "take names, addresses and keys out of logs",
        ),
        "data import-answers": Command(
            _ANSWERS, "import_answers", "score answers that others published, by rules"
        ),
        "data import-published": Command(
            _PUBLISHED, "import_published", "turn published results into a run"
        ),
        "data paraphrase": Command(
            "pytest_ltm.lab.commands.paraphrase",
            "paraphrase_suite",
            "have a model rephrase a suite",
        ),
    },
    "Test the benchmark itself": {
        "lab cheats": Command(
            "pytest_ltm.lab.commands.cheats",
            "run",
            "attack a suite with agents that do not remember",
        ),
        "lab calibrate": Command(
            "pytest_ltm.lab.commands.calibrate",
            "run",
            "compare a suite's difficulty with published texts",
        ),
        "lab leak-check": Command(
            "pytest_ltm.lab.commands.leak_check",
            "run",
            "find evidence by words, lengths and places alone",
        ),
        "lab verdict-check": Command(
            "pytest_ltm.lab.commands.verdict_check",
            "run",
            "measure the rules on hand-labelled replies",
        ),
        "lab judge-check": Command(
            "pytest_ltm.lab.commands.judge_check",
            "run",
            "measure a judge on hand-labelled answers",
        ),
        "lab agreement": Command(
            "pytest_ltm.lab.commands.agreement",
            "measure_agreement",
            "measure the rules on published verdicts",
        ),
        "lab review": Command(
            "pytest_ltm.commands.review",
            "review_run",
            "list verdicts worth a look, each with the reason",
        ),
        "lab amend": Command(
            "pytest_ltm.commands.amend", "amend_verdict", "correct one verdict by hand"
        ),
        "lab plot": Command(
            "pytest_ltm.commands.plot",
            "plot_figure",
            "draw a figure for a paper: curve, heat map, differences",
        ),
        "lab trend": Command(
            "pytest_ltm.commands.run_history",
            "draw_trend",
            "show scores over time, of runs and of baselines",
        ),
        "lab badge": Command(
            "pytest_ltm.commands.sharing",
            "draw_badge",
            "draw a badge with an agent's score",
        ),
        "lab bundle": Command(
            "pytest_ltm.commands.bundle",
            "bundle_run",
            "write a run as one file that anybody can verify",
        ),
    },
}
COMMANDS: Mapping[str, Command] = dict(
    chain.from_iterable(group.items() for group in GROUPS.values())
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; for an LtmError, USAGE with a sentence on stderr.

    All output is sanitized.

    Raises SystemExit like argparse: 0 after help or versions, 2 for wrong arguments.
    """
    with redirect_stdout(Screen(sys.stdout)), redirect_stderr(Screen(sys.stderr)):
        words = list(sys.argv[1:] if argv is None else argv)
        try:
            words = _leave_features_out(words) or ["--help"]
        except ConfigurationError as error:
            print(f"{PROGRAM}: {error}", file=sys.stderr)
            return USAGE
        # argparse knows no two-word commands, so both words are looked up as one name
        if words[0] in FAMILIES:
            words[:2] = [" ".join(words[:2])]
        name = words[0]
        command_words = words[1:]
        family, _, second = name.partition(" ")
        if family in FAMILIES and second in {"", "-h", "--help"}:
            return _show_family(family, is_wanted=bool(second))
        if name == "help":
            name = "--help"
        if name.startswith("-"):
            _overview_parser(name).parse_args([name])
        command = _find_command(name)
        if command is None:
            return _refuse_unknown(name)
        run, _ = command.load()
        arguments = _command_parser(name, command).parse_args(command_words)
        try:
            return run(arguments)
        except LtmError as error:
            print(f"{PROGRAM} {name}: {error}", file=sys.stderr)
            return USAGE


# The disabled features.
_left_out: set[str] = set()


def _leave_features_out(words: Sequence[str]) -> list[str]:
    """Disable the features that `-p no:NAME` names before the command; return the remaining words.

    Raises ConfigurationError for a name without an installed feature.
    """
    remaining = list(words)
    names = []
    while remaining and remaining[0].startswith("-p"):
        flag = remaining.pop(0)
        name = flag.removeprefix("-p") or (remaining.pop(0) if remaining else "")
        names.append(name.removeprefix("no:"))
        if not name.startswith("no:"):
            raise ConfigurationError(
                f"-p leaves a feature out: -p no:NAME, not {name!r}"
            )
    if names:
        from pytest_ltm.api.features import feature_names, leave_out_features

        installed = feature_names()
        for name in names:
            if name not in installed:
                hint = did_you_mean(name, installed)
                raise ConfigurationError(
                    f"-p no:{name}: there is no such feature.{hint} Choose from {', '.join(installed)}."
                )
        leave_out_features(names)
        _left_out.update(names)
    return remaining


def all_commands() -> Mapping[str, Command]:
    """Return all enabled commands by name, including those of installed packages."""
    return bundled_commands() | added_commands()


def bundled_commands() -> dict[str, Command]:
    """Return our own enabled commands by name."""
    return {
        name: command
        for name, command in COMMANDS.items()
        if command.feature not in _left_out
    }


def _find_command(name: str) -> Command | None:
    """Return a command, or None for an unknown name; other packages are searched only for names that are not ours."""
    return bundled_commands().get(name) or added_commands().get(name)


def added_commands() -> dict[str, Command]:
    """Return the commands added by installed packages, by name."""
    from pytest_ltm.api.features import feature_hooks

    added: dict[str, Command] = {}

    def register(name: str, command: Command) -> None:
        if name in COMMANDS or name in FAMILIES or name in added:
            raise ConfigurationError(
                f"two features have a command {name!r}. Rename one of them"
            )
        added[name] = command

    feature_hooks().pytest_ltm_commands(register=register)
    return added


def _show_family(family: str, *, is_wanted: bool) -> int:
    """Print the commands with a first word; return the exit status."""
    lines = _summary_lines(_names_beginning(family))
    print("\n".join(lines), file=sys.stdout if is_wanted else sys.stderr)
    return 0 if is_wanted else USAGE


def _refuse_unknown(name: str) -> int:
    """Suggest the intended command; return the exit status."""
    if name in _PLAYS:
        option = "--ltm-rescore=RUN" if name == "rescore" else "--ltm-agent=SPEC"
        hint = f"Runs are started by pytest: pytest {option}"
        print(f"{PROGRAM}: there is no command {name!r}. {hint}", file=sys.stderr)
        return USAGE
    family = name.partition(" ")[0]
    names = [*_names_beginning(), *added_commands(), *FAMILIES]
    if family in FAMILIES:
        names = _names_beginning(family)
    meant = _meant_command(name)
    suggestion = f" Did you mean {meant!r}?" if meant else ""
    print(
        f"{PROGRAM}: there is no command {name!r}.{suggestion} Choose from {', '.join(names)}.",
        file=sys.stderr,
    )
    return USAGE


def _meant_command(name: str) -> str:
    """Return the command whose last word is closest to the input, which may lack the first word, or ""."""
    from pytest_ltm.commands.listing import LISTS

    commands = {what: f"list {what}" for what in LISTS}
    for command in all_commands():
        commands[command.rpartition(" ")[2]] = command
    nearest = nearest_name(name.rpartition(" ")[2], commands)
    return commands[nearest] if nearest else ""


def make_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command's arguments."""
    return _command_parser(name, COMMANDS[name])


def _command_parser(name: str, command: Command) -> argparse.ArgumentParser:
    run, add_arguments = command.load()
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}", description=inspect.getdoc(run)
    )
    add_arguments(parser)
    return parser


def _names_beginning(first: str = "") -> list[str]:
    """Return the two-word commands with this first word, or the one-word commands."""
    return [name for name in bundled_commands() if name.rpartition(" ")[0] == first]


def _overview_parser(called: str) -> argparse.ArgumentParser:
    """Return the parser of a bare `ltm`, which lists all commands."""
    lines: list[str] = []
    for heading, commands in GROUPS.items():
        lines.append(f"{heading}:")
        if flat := [name for name in commands if name in _names_beginning()]:
            lines += _summary_lines(flat)
        else:
            family = next(iter(commands)).partition(" ")[0]
            in_family = _names_beginning(family)
            words = [name.partition(" ")[2] for name in commands if name in in_family]
            names = ", ".join(words)
            lines.append(
                f"  {family:14}  followed by one of these ({PROGRAM} {family} --help explains them):"
            )
            for line in textwrap.wrap(names, 61, break_on_hyphens=False):
                lines.append(f"{'':18}{line}")
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
    # versions are read from package metadata, which only this option needs
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
