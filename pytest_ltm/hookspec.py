"""Every hook that pytest-ltm calls, and when.

A feature is a module with functions of these names. A package names it as an entry
point of the group `pytest_ltm`; a project defines the functions in its conftest.py,
with `@pytest.hookimpl(optionalhook=True)`, because otherwise pytest refuses to start
if this plugin is absent or disabled. The features of pytest-ltm are added in the same
way: see any `plugin.py` in it.

Hooks with an argument `register` are called before conftest files are read, so they are
for packages and for modules given with `-p`; all others may be in a conftest. If a hook
that only observes raises, the report names it, and the run continues.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pluggy

if TYPE_CHECKING:
    import pytest

    from pytest_ltm._core.agent_kinds import AgentKind
    from pytest_ltm._core.journal.events import Event
    from pytest_ltm._core.journal.memory_ledger import MemoryLedger, MemoryResult
    from pytest_ltm._core.journal.result import (
        ConversationName,
        QuestionResult,
        RunResult,
        ScenarioResult,
    )
    from pytest_ltm._core.journal.section import Section
    from pytest_ltm._core.model.dataset import Dataset, Definitions
    from pytest_ltm._core.model.filler import Filler
    from pytest_ltm._core.model.own_suite import OwnSuite
    from pytest_ltm._core.model.score import Check, Score, Unscored
    from pytest_ltm._core.model.suite import Suite
    from pytest_ltm._core.model.tokens import TokenCounter
    from pytest_ltm._core.model.tools import AnsweredCall, Call, CallRule
    from pytest_ltm._core.model.transcript import Count, Exchange, Transcript
    from pytest_ltm._core.session.conversation_run import PlayedConversation
    from pytest_ltm._core.session.conversation_setup import (
        ConversationInputs,
        ConversationMode,
        KnownCosts,
        RunJudge,
    )
    from pytest_ltm._core.session.options import Option
    from pytest_ltm._core.session.run_parts import ProgressDisplay
    from pytest_ltm._core.session.session import LtmRun
    from pytest_ltm._core.session.settings import AgentChoice, RunSettings

hookspec = pluggy.HookspecMarker("pytest")


@hookspec(historic=True)
def pytest_ltm_options(register: Callable[[Option], None]) -> None:
    """Register options: each becomes `--ltm-NAME` and its ini twin `ltm_NAME`.

    Called once, when pytest reads its options, and only if something of pytest-ltm is
    requested: import nothing heavy, and name a parser by `lazy("package.module:name")`.

    Example:
        def pytest_ltm_options(register):
            register(Option("--ltm-mood", "WORD", "how the user talks", "calm"))
    """


@hookspec(historic=True)
def pytest_ltm_datasets(register: Callable[[Dataset], None]) -> None:
    """Register data sets for `--ltm-suite`: call `register` with each `pytest_ltm.datasets.Dataset`.

    Called when pytest loads plugins, in every session: import nothing heavy. Options
    must be known before conftest files are read, so this is for plugins, not for a
    conftest.
    """


@hookspec(historic=True)
def pytest_ltm_suites(register: Callable[[OwnSuite], None]) -> None:
    """Register suites whose tests are not conversations: `--ltm-suite=NAME` then starts these in place of a run.

    Called when pytest loads plugins: import nothing heavy. The function that a suite
    names is called with pytest's configuration, and registers the plugins that collect
    the tests.

    Example:
        def pytest_ltm_suites(register):
            begin = lazy("mypackage.drills:begin_drills")
            register(OwnSuite("drills", "what a backup brings back", begin))
    """


def pytest_ltm_agents(register: Callable[[AgentKind], None]) -> None:
    """Register kinds of agents: the names allowed before the `:` of a spec of `--ltm-agent`.

    Called once in every process of an LTM run, and by `ltm`, which sees installed
    packages only, not a conftest.

    Example:
        def pytest_ltm_agents(register):
            make = lazy("mypackage.parrot:make_parrot")
            register(AgentKind("parrot", make, "Repeats the last N messages.", "3"))
    """


def pytest_ltm_providers(register: Callable[[str, Callable[[], Any]], None]) -> None:
    """Register providers of chat models: call `register` with the kind of their specs and a factory of the provider.

    A provider is derived from `pytest_ltm.providers.Provider`; agents, judges,
    simulated users, readers and writers of data then accept `KIND:MODEL`. Called once
    in every process of an LTM run, and by `ltm`, which sees installed packages only.

    Example:
        def pytest_ltm_providers(register):
            register("parrot", lazy("mypackage.parrot:ParrotModels"))
    """


def pytest_ltm_figures(register: Callable[..., None]) -> None:
    """Register figures of an agent at a memory span, for every table, page and `summary.json`.

    `register` takes a `pytest_ltm.api.Figure`.

    Called once in a process that reports. Figures from a conftest appear only in the
    reports of that project's runs; `ltm` sees installed packages.

    Example:
        def pytest_ltm_figures(register):
            register(Figure("silences", "count", count_silences, "silences", definition="Empty replies."))
    """


def pytest_ltm_exporters(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Register formats of `ltm export --to NAME`: call `register` with the name and a function that returns the files.

    The function is called with the results and the path of `-o`, and returns the targets
    of `pytest_ltm.reports.exports`.

    Example:
        def pytest_ltm_exporters(register):
            register("tsv", lazy("mypackage.tsv:outputs"))
    """


def pytest_ltm_commands(register: Callable[..., None]) -> None:
    """Register commands of `ltm`: call `register` with a name and a `pytest_ltm.api.Command`.

    Called by `ltm` for an unknown name, and by `ltm list commands`; it sees installed
    packages only, except those disabled by `ltm -p no:ltm-feature-NAME`. The module has
    the function, whose docstring is its help, and `add_arguments(parser)`.

    Example:
        def pytest_ltm_commands(register):
            register("weather", Command("mypackage.weather", "show_weather", "tell the weather"))
    """


@hookspec(firstresult=True)
def pytest_ltm_rule_again(run: Any) -> tuple[int, list[tuple[str, str]]] | None:
    """Return how many verdicts of an imported run rules confirm, with folder and sentence of those that differ.

    Called by `ltm verify` with the loaded run folder; None: it is not yours.
    """


@hookspec(firstresult=True)
def pytest_ltm_make_agent(config: pytest.Config, spec: str) -> object | None:
    """Return the agent for a spec of `--ltm-agent`, or None if it is not yours.

    Called once for each spec in every process, before anything runs. The first result
    that is not None counts.

    Args:
        config: The session's configuration.
        spec: The spec without its label.

    Returns:
        Anything a dotted path may name: a class or a factory without arguments (called once for each conversation),
        an instance with `reply(message) -> str`, or a function `str -> str`; also async.
    """


def pytest_ltm_time_jumped(
    config: pytest.Config, spec: str, agent: object, before: datetime, now: datetime
) -> None:
    """Called after the conversation's time has jumped, before the next message, with `--ltm-time=signal` only.

    For agents that keep time outside this process: set their clocks here.

    Args:
        config: The session's configuration.
        spec: The spec of the conversation's agent.
        agent: The agent.
        before: The time before the jump, aware.
        now: The time after it, aware.
    """


@hookspec(firstresult=True)
def pytest_ltm_make_filler(
    config: pytest.Config,
    spec: str,
    rng: random.Random,
    counter: TokenCounter,
    language: str,
) -> Filler | None:
    """Return the filler for a spec of `--ltm-filler`, or None if it is not yours.

    Called once for each conversation.

    Args:
        config: The session's configuration.
        spec: The spec as given.
        rng: The conversation's own generator, the only source of random numbers.
        counter: Counts tokens as the plan does.
        language: The language of the agent's conversation, as in `--ltm-language`.
    """


def pytest_ltm_exchange(
    config: pytest.Config, conversation: str, exchange: Exchange
) -> None:
    """Called after an exchange is written to the journal: any message and its reply, including told filler.

    For exporters and monitors. Under pytest-xdist it is called in the worker that plays
    the conversation; a resumed run does not call it for recorded exchanges.

    Args:
        config: The session's configuration.
        conversation: Its name in node ids, such as `full-2k-0`.
        exchange: The message and the reply.
    """


def pytest_ltm_verdict(
    config: pytest.Config, nodeid: str, verdict: Score | Unscored
) -> None:
    """Called when an example has a verdict, before pytest reports the item; under pytest-xdist in the worker.

    Not called for examples that ended in an error, were skipped or were not reached.

    Args:
        config: The session's configuration.
        nodeid: The item's node id.
        verdict: A Score, or Unscored with its reason.
    """


def pytest_ltm_start(config: pytest.Config) -> None:
    """Called before an LTM run is created in this process: nothing of an agent has been imported yet.

    For preparations such as environment variables. Undo them with
    `config.add_cleanup`; a wrapper surrounds the creation of the run.
    """


def pytest_ltm_begin(run: LtmRun) -> None:
    """Called when an LTM run begins in this process: read your options, and register your plugins.

    Called in every process of the run, before anything is collected. Raise
    `pytest.UsageError` for an invalid value, which ends the run.

    Example:
        def pytest_ltm_begin(run):
            run.config.pluginmanager.register(Timekeeper(run), "timekeeper")
    """


@hookspec(firstresult=True)
def pytest_ltm_conversation_mode(
    run: LtmRun,
) -> Callable[[ConversationInputs], ConversationMode] | None:
    """Return a function that composes each conversation (script, port and observers), or None to leave that to others.

    The first result that is not None counts; without one an agent is asked. The function
    is called with the inputs of a conversation.
    """


def pytest_ltm_observe(
    conversation: PlayedConversation,
) -> Callable[[Event], object] | None:
    """Return an observer, which is called with each event of a conversation after it is written; None: no observer.

    Called in the process that plays the conversation, after it was opened. The observer
    does not get recorded events of a resumed run.

    Example:
        def pytest_ltm_observe(conversation):
            return lambda event: print(conversation.inputs.place.conversation, event)
    """


def pytest_ltm_follow(name: ConversationName, state: Literal["begins", "over"]) -> None:
    """Called when a conversation is about to begin, and when it is over: its items are reported and it is written."""


@hookspec(firstresult=True)
def pytest_ltm_precheck(session: pytest.Session) -> str | None:
    """Return why nothing in this run may be measured, or None; called once per process, before the first conversation.

    The first reason counts, and later hooks are not called: put the cheapest check
    first (`tryfirst`).
    """


def pytest_ltm_report_sections(
    result: RunResult, status: int
) -> Section | Sequence[Section] | None:
    """Return a feature's addition to the reports of a finished run; None: nothing.

    Called once, in pytest-xdist's controller, before `summary.json` is written. Every
    report shows a section with a title; `ltm report` and `ltm export` read it from there.

    Args:
        result: The results of the run.
        status: pytest's exit status so far.

    Example:
        def pytest_ltm_report_sections(result):
            loud = sum(row.reason.endswith("!") for row in result.scenarios)
            return Section(title="Loud reasons", sentences=(f"{loud} end in '!'.",))
    """


@hookspec(firstresult=True)
def pytest_ltm_exit_status(result: RunResult, status: int) -> int | None:
    """Return the exit status of a session with results, or None to leave that to others.

    Called once, after all sections were created. If it stays 0 or 1 and nothing could be
    measured, it becomes 75.

    Args:
        result: The results of the run.
        status: The status so far.

    Example:
        def pytest_ltm_exit_status(result, status):
            return 1 if result.notices else None
    """


@hookspec(firstresult=True)
def pytest_ltm_make_judge(config: pytest.Config, spec: str) -> RunJudge | None:
    """Return the judge for a spec of `--ltm-judge`, or None if it is not yours; called once, before anything runs."""


@hookspec(firstresult=True)
def pytest_ltm_speech(reply: str, tags: Sequence[str]) -> str | None:
    """Return the speech in a raw reply, without thoughts, printed tool calls and end tokens; None: it is not yours.

    Scenarios, judges and histories read the speech. Called for each reply, even when a
    run is read again, so equal replies must give equal speech.

    Args:
        reply: The unprocessed reply.
        tags: Names of further tags around thoughts, as given by the run.
    """


@hookspec(firstresult=True)
def pytest_ltm_translate(text: str, language: str) -> str | None:
    """Return the translation of a whole message of ours, or None if the language is not yours."""


@hookspec(firstresult=True)
def pytest_ltm_read_definitions(folder: Path) -> Definitions | None:
    """Return the definitions in a folder of `--ltm-definitions`, or None if it is not yours."""


@hookspec(firstresult=True)
def pytest_ltm_read_suite(
    path: Path, scenarios: Collection[str] | None
) -> Suite | None:
    """Return the suite in a file of `--ltm-suite`, or None if it is not yours; `scenarios`: the built-in ones."""


@hookspec(firstresult=True)
def pytest_ltm_choose_agents(
    config: pytest.Config, ltm_dir: Path
) -> tuple[AgentChoice, ...] | None:
    """Return the agents of a run, as named by its options."""


@hookspec(firstresult=True)
def pytest_ltm_agent_sources(
    config: pytest.Config, settings: RunSettings, acts: bool, rehearses: bool
) -> tuple[Mapping[str, Any], RunSettings] | None:
    """Return the sources of the agents by label, and the settings with the specs to be named in results.

    Args:
        config: The session's configuration.
        settings: The options of the run.
        acts: Whether anything is played or rehearsed; otherwise there are no sources.
        rehearses: Whether this is a dry run, in which no agent is asked.
    """


@hookspec(firstresult=True)
def pytest_ltm_reply_count(spec: str, ltm_dir: Path) -> Count | None:
    """Return how an agent's replies count towards spans, if its spec decides that; otherwise None."""


@hookspec(firstresult=True)
def pytest_ltm_costs(run: LtmRun) -> KnownCosts | None:
    """Return the token prices and the budget of a run; called once, while the run is created."""


@hookspec(firstresult=True)
def pytest_ltm_progress(config: pytest.Config) -> ProgressDisplay | None:
    """Return the display of the conversations' progress."""


def pytest_ltm_properties(result: ScenarioResult) -> list[tuple[str, object]] | None:
    """Return additional user properties for an example's item, shown in JUnit files and by pytest-html."""


@hookspec(firstresult=True)
def pytest_ltm_measure_memory_use(
    facts_told: Mapping[int, Mapping[str, str | None]],
    questions: Sequence[QuestionResult],
    ledger: MemoryLedger,
    exchanges: Collection[int],
    right_answers: Mapping[int, str],
    unchosen: Mapping[str, Collection[str]],
    is_lost: bool,
) -> MemoryResult | None:
    """Return how an agent's memory handled the facts of one example; called once the example has ended.

    Only for an agent that reports operations of its memory, which are in `ledger`.

    Args:
        facts_told: The told values by exchange and subject; None: withdrawn.
        questions: The questions of the example, with the needles of each.
        ledger: All operations of the conversation so far.
        exchanges: The numbers of the example's own exchanges.
        right_answers: An answer that earns full marks, by the number of its question.
        unchosen: By subject, the offered values that were not chosen.
        is_lost: The example has less than full marks.
    """


@hookspec(firstresult=True)
def pytest_ltm_failure_text(
    result: ScenarioResult, transcript: Transcript, again: str
) -> str | None:
    """Return the text that pytest shows for a failed example; `again`: the command that repeats its conversation."""


@hookspec(firstresult=True)
def pytest_ltm_check_calls(
    rule: CallRule, wanted: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Check | None:
    """Return whether an agent's tool calls meet a scenario's expectation, or None if that is not yours.

    Args:
        rule: "called": one of them is the wanted call. "once": exactly one is. "not
            called": none is; a wanted call without a name is any. "order": the wanted
            names were first called in this order. "only": all of them are the wanted
            calls, each once; "sequence": in this order, too.
        wanted: The expected calls; a value may be a function.
        calls: The calls in order, including refused ones.
    """
