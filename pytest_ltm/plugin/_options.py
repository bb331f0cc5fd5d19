"""The options and their ini twins: one table; strings only, so that they travel to xdist workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

CARRIES_INTS = pytest.version_tuple >= (8, 4)
"""From 8.4 on an ini value may be declared an int, which a native TOML number needs."""
CARRIES_UNIONS = pytest.version_tuple >= (9, 2)
"""From 9.2 on it may be declared text or a number, whichever native TOML gives."""


@dataclass(frozen=True)
class Option:
    """One `--ltm-*` option with a value, and its `ltm_*` ini twin."""

    flag: str
    metavar: str
    help: str
    default: str = ""
    is_int: bool = False
    many: bool = False
    """It may be given again and again; its ini twin is a list of lines."""

    @property
    def dest(self) -> str:
        """The name of the value, and of the ini twin."""
        return self.flag.removeprefix("--").replace("-", "_")


OPTIONS = (
    Option("--ltm-span", "SPAN[,SPAN...]", "memory spans in tokens, such as 2k,32k, or 'isolated'", "2k"),
    Option("--ltm-suite", "NAME|FILE", "built-in suite, *.ltm-suite.yml file, or 'none'", "standard"),
    Option("--ltm-data", "PATH", "the file or folder of a data set: for --ltm-suite=locomo or longmemeval"),
    Option("--ltm-locomo-conversations", "ID[,ID...]", "the conversations of LoCoMo that are played; all by default"),
    Option("--ltm-locomo-asking", "official|free", "how LoCoMo's questions are put", "official"),
    Option(
        "--ltm-locomo-telling",
        "turns|sessions|observations|summaries",
        "what one message of LoCoMo's history is",
        "turns",
    ),
    Option("--ltm-locomo-tasks", "TASK[,TASK...]", "questions, events (to be summed up), dialogue", "questions"),
    Option("--ltm-locomo-next-turns", "N", "so many turns of each conversation the task dialogue asks for", "5"),
    Option("--ltm-locomo-embeddings", "PKG.MOD:FUNCTION", "texts to vectors, for the MM-relevance of next turns"),
    Option("--ltm-locomo-after", "TOKENS", "ask so long after the evidence was told; by default after all sessions"),
    Option("--ltm-locomo-audit", "FILE", "corrections of LoCoMo's answers: scores with and without them, side by side"),
    Option(
        "--ltm-locomo-images", "DIR", "downloaded photos of LoCoMo, for agents that take images; others get captions"
    ),
    Option("--ltm-longmemeval-types", "TYPE[,TYPE...]", "question types of LongMemEval that are asked; all by default"),
    Option("--ltm-longmemeval-abilities", "NAME[,NAME...]", "abilities of LongMemEval that are tested; all by default"),
    Option("--ltm-longmemeval-ids", "ID[,ID...]", "questions of LongMemEval that are asked; all by default"),
    Option("--ltm-longmemeval-sample", "N", "so many of LongMemEval's questions, drawn by the seed"),
    Option("--ltm-longmemeval-history", "own|shared", "a history of LongMemEval for each question, or for many", "own"),
    Option("--ltm-longmemeval-share", "N", "how many questions share one history", "10"),
    Option("--ltm-longmemeval-after", "TOKENS", "ask so long after the last evidence; by default after all sessions"),
    Option("--ltm-longmemeval-judge", "rest|all", "what --ltm-judge decides: what no rule can tell, or all", "rest"),
    Option("--ltm-definitions", "DIR", "play the definition files in DIR instead of generating examples"),
    Option("--ltm-seed", "N", "where all chance comes from", "0", is_int=True),
    Option("--ltm-examples", "N", "examples of each scenario, whatever marker and suite say", "", is_int=True),
    Option("--ltm-trials", "N", "fresh conversations for each agent and span, for statistics", "1", is_int=True),
    Option("--ltm-filler", "SPEC", "what passes the time: trivia, trivia:FILE, mixed or pkg.mod:factory", "trivia"),
    Option("--ltm-tokenizer", "NAME", "encoding that measures spans: cl100k_base, o200k_base, ...", "cl100k_base"),
    Option("--ltm-scoring", "RULES", "rules of the evaluators: current, v3.5 or paper", "current"),
    Option("--ltm-judge", "SPEC", "who judges what rules cannot: openai:MODEL[@URL], pkg.mod:Class, or none", "none"),
    Option("--ltm-judge-votes", "N", "votes by which a judge's 'no' is confirmed; odd", "3", is_int=True),
    Option("--ltm-judge-cache", "on|off", "whether what a judge said before is asked again (off) or not", "on"),
    Option("--ltm-time", "MODE", "how time passes: simulated, jump, signal or sleep", "simulated"),
    Option("--ltm-reply-timeout", "SECONDS", "time limit for one reply; 0: none", "300"),
    Option("--ltm-retries", "N", "times that a message is sent again after a passing fault", "4", is_int=True),
    Option("--ltm-worker-tries", "N", "xdist workers that may die at one place of a conversation", "2", is_int=True),
    Option("--ltm-shard", "I/N", "play the I-th of N shares of the conversations: one run on several machines"),
    Option(
        "--ltm-price", "[LABEL=]IN/OUT[/CACHED]", "dollars per million tokens, of an agent or of 'judge'", many=True
    ),
    Option("--ltm-max-cost", "DOLLARS", "stop when agents and judge have cost so much; go on with --ltm-resume"),
    Option("--ltm-max-tokens", "N", "stop when agents and judge have used so many tokens, in and out: 200k, 1.5m"),
    Option("--ltm-latency", "SECONDS", "for --ltm-dry-run: how long a reply takes", "2"),
    Option("--ltm-dir", "DIR", "where run folders are written", ".ltm"),
    Option("--ltm-report", "FILE.html", "write one HTML file about the run, which opens offline"),
    Option("--ltm-summary", "FILE.md", "write a Markdown summary of the run, as for a step summary of a CI job"),
    Option("--ltm-compare", "NAME|FILE|RUN", "say what moved against a baseline, or another run with equal plans"),
    Option("--ltm-compare-plans", "WHAT", "equal: only equal plans; overlapping: the examples equal in both", "equal"),
    Option("--ltm-compare-fail", "RULE", "fail if more is lost than this: mean:5%, p:0.05, cost:10%, ...", many=True),
    Option("--ltm-fail-under", "RULE", "fail if a metric lies beyond this: 0.8, skill:R.mean:0.5, ...", many=True),
)
BY_DEST = {option.dest: option for option in OPTIONS}

AGENT_HELP = """\
agent under test: full, window:8k, echo, silent (embedded: no key, no network), pkg.mod:Class, pkg.mod:function,
a name from the ini value ltm_agents, or a spec for the hook pytest_ltm_make_agent; several with commas or by
repeating the option; NAME=SPEC gives it a label. Starts an LTM run: only LTM scenarios are run."""

RESUME_HELP = """\
go on with a run that was interrupted (its id, its folder or 'latest'), with the agents, options and paths of then;
what is recorded is not sent again"""

RESCORE_HELP = """\
score a recorded run again (its id, its folder or 'latest') with the evaluators, scoring rules and judge of today;
no agent is made or asked, and what moved is printed"""

DRY_HELP = """\
show the schedule that would be run, its tokens, time and expected cost: nobody is asked, no agent is made, nothing is
written"""

SAVE_HELP = "keep the results as the baseline ltm_baselines/NAME.json of the root folder, to be committed"


def add(parser: pytest.Parser) -> None:
    """Declare all options in one group, and their ini twins."""
    group = parser.getgroup("ltm", "long-term memory of conversational agents (pytest-ltm)")
    group.addoption(
        "--ltm-agent", action="append", default=[], metavar="SPEC[,SPEC...]", help=AGENT_HELP.replace("\n", " ")
    )
    group.addoption(
        "--ltm", action="store_true", default=False, help="start an LTM run with the agents of the ini value ltm_agents"
    )
    group.addoption("--ltm-dry-run", action="store_true", default=False, help=DRY_HELP.replace("\n", " "))
    group.addoption("--ltm-isolated", action="store_true", default=False, help="short for --ltm-span=isolated")
    group.addoption("--ltm-resume", metavar="latest|RUN", default=None, help=RESUME_HELP.replace("\n", " "))
    group.addoption("--ltm-rescore", metavar="latest|RUN", default=None, help=RESCORE_HELP.replace("\n", " "))
    group.addoption("--ltm-save", metavar="NAME", default=None, help=SAVE_HELP)
    for option in OPTIONS:
        default = f" (default {option.default})" if option.default else ""
        how: Any = {"action": "append"} if option.many else {}
        text = (option.help + default).replace("%", "%%")
        group.addoption(option.flag, dest=option.dest, metavar=option.metavar, default=None, help=text, **how)
        parser.addini(option.dest, f"ini twin of {option.flag}: {option.help}", type=_kind(option), default=None)
    parser.addini("ltm_agents", "agents by name, lines 'name = spec', for --ltm-agent=name and --ltm", type="linelist")


def _kind(option: Option) -> Any:
    if option.many:
        return "linelist"
    if CARRIES_UNIONS:
        return str | int | float
    return "int" if option.is_int and CARRIES_INTS else "string"


def starts_ltm_run(config: pytest.Config) -> bool:
    """Return whether this pytest session is an LTM run: an option on the command line says so, never an ini value."""
    return any(config.getoption(dest, None) for dest in ("ltm_agent", "ltm", "ltm_resume", "ltm_rescore"))


def given(config: pytest.Config, dest: str) -> str | None:
    """Return the option's value as text, or its ini twin's, or None where neither was given."""
    value = config.getoption(dest)
    if value is None:
        value = config.getini(dest)
    return None if value is None or value == "" else str(value)


def lines(config: pytest.Config, dest: str) -> list[str]:
    """Return what was given for an option that may be given again and again, or the lines of its ini twin."""
    value = config.getoption(dest) or config.getini(dest) or []
    return [str(one).strip() for one in value if str(one).strip()]


def text(config: pytest.Config, dest: str) -> str:
    """Return the option's value, its ini twin's or its default."""
    value = given(config, dest)
    return BY_DEST[dest].default if value is None else value
