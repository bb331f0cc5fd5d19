"""Every hook that pytest-ltm calls: what can be added to it, and when.

A feature is a module with functions of these names. A package names it as an entry
point of the group `pytest_ltm`; a project writes the functions into its conftest.py,
with `@pytest.hookimpl(optionalhook=True)`, because pytest refuses to start otherwise
where this plugin is absent or switched off. What comes with pytest-ltm is added in the
same way: see any `plugin.py` in it.

Hooks that are told `register` are called before conftest files are read, so they are
for packages and for modules given with `-p`; all others may stand in a conftest. A hook
that only looks on and raises is named in the report, and the run goes on.
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
    from pytest_ltm._core.session.run_parts import ShownProgress
    from pytest_ltm._core.session.session import LtmRun
    from pytest_ltm._core.session.settings import AgentChoice, RunSettings

hookspec = pluggy.HookspecMarker("pytest")


@hookspec(historic=True)
def pytest_ltm_options(register: Callable[[Option], None]) -> None:
    """Register options: each becomes `--ltm-NAME` and its ini twin `ltm_NAME`.

    Called once, when pytest reads its options, and only where something of pytest-ltm
    is asked for: import nothing heavy, and name a parser by `lazy("package.module:name")`.

    Example:
        def pytest_ltm_options(register):
            register(Option("--ltm-mood", "WORD", "how the user talks", "calm"))
    """


@hookspec(historic=True)
def pytest_ltm_datasets(register: Callable[[Dataset], None]) -> None:
    """Register data sets: call `register` with each `pytest_ltm.datasets.Dataset`, whose name `--ltm-suite` then takes.

    Called when pytest loads plugins, in every session: import nothing heavy. Options
    must be known before conftest files are read, so this is for plugins, not for a
    conftest.
    """


@hookspec(historic=True)
def pytest_ltm_suites(register: Callable[[OwnSuite], None]) -> None:
    """Register suites whose tests are not conversations: `--ltm-suite=NAME` then starts these in place of a run.

    Called when pytest loads plugins: import nothing heavy. The function that a suite
    names is called with pytest's configuration, and registers what collects the tests.

    Example:
        def pytest_ltm_suites(register):
            begin = lazy("mypackage.drills:begin_drills")
            register(OwnSuite("drills", "what a backup brings back", begin))
    """


def pytest_ltm_agents(register: Callable[[AgentKind], None]) -> None:
    """Register kinds of agents: what may stand before the `:` of a spec of `--ltm-agent`.

    Called once in every process of an LTM run, and by `ltm`, which knows installed
    packages only, not a conftest.

    Example:
        def pytest_ltm_agents(register):
            make = lazy("mypackage.parrot:make_parrot")
            register(AgentKind("parrot", make, "Repeats the last N messages.", "3"))
    """


def pytest_ltm_providers(register: Callable[[str, Callable[[], Any]], None]) -> None:
    """Register providers of chat models: call `register` with the kind of their specs and what makes the provider.

    What is made is derived from `pytest_ltm.providers.Provider`; agents, judges,
    simulated users, readers and writers of data then know `KIND:MODEL`. Called once in
    every process of an LTM run, and by `ltm`, which knows installed packages only.

    Example:
        def pytest_ltm_providers(register):
            register("parrot", lazy("mypackage.parrot:ParrotModels"))
    """


def pytest_ltm_figures(register: Callable[..., None]) -> None:
    """Register figures of an agent at a memory span: every table, page and `summary.json` has them.

    `register` takes a `pytest_ltm.api.Figure`.

    Called once in a process that reports. From a conftest, only the reports of that
    project's runs have them; `ltm` knows installed packages.

    Example:
        def pytest_ltm_figures(register):
            register(Figure("silences", "count", count_silences, "silences", definition="Empty replies."))
    """


def pytest_ltm_exporters(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Register formats of `ltm export --to NAME`: call `register` with the name and what returns the files to write.

    That is called with the results and the place of `-o`, and returns the targets of
    `pytest_ltm.reports.exports`.

    Example:
        def pytest_ltm_exporters(register):
            register("tsv", lazy("mypackage.tsv:outputs"))
    """


def pytest_ltm_commands(register: Callable[..., None]) -> None:
    """Register commands of `ltm`: call `register` with a name and a `pytest_ltm.api.Command`.

    Called by `ltm` for a name that it does not know, and by `ltm list commands`; it
    knows installed packages only, but those that `ltm -p no:ltm-feature-NAME` leaves
    out. The module has the function, whose docstring is its help, and
    `add_arguments(parser)`.

    Example:
        def pytest_ltm_commands(register):
            register("weather", Command("mypackage.weather", "show_weather", "tell the weather"))
    """


@hookspec(firstresult=True)
def pytest_ltm_rule_again(run: Any) -> tuple[int, list[tuple[str, str]]] | None:
    """Return how many verdicts of an imported run rules reach again, with folder and sentence of those that differ.

    Called by `ltm verify` with what it loaded of a run folder; None: it is not yours.
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
    """The conversation's time has jumped; called before the next message is sent, with `--ltm-time=signal` only.

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
        rng: The conversation's own generator, the only source of chance.
        counter: Counts tokens as the plan does.
        language: What the agent is talked to in, as `--ltm-language` names it.
    """


def pytest_ltm_exchange(
    config: pytest.Config, conversation: str, exchange: Exchange
) -> None:
    """An exchange has been written to the journal: any message and its reply, also filler that was only told.

    For exporters and monitors. Called under pytest-xdist in the worker that plays the
    conversation; a resumed run does not call it for recorded exchanges.

    Args:
        config: The session's configuration.
        conversation: Its name in node ids, such as `full-2k-0`.
        exchange: The message and the reply.
    """


def pytest_ltm_verdict(
    config: pytest.Config, nodeid: str, verdict: Score | Unscored
) -> None:
    """An example has a verdict; called before pytest reports the item, under pytest-xdist in the worker.

    Examples that ended in an error, were skipped or were not reached have none.

    Args:
        config: The session's configuration.
        nodeid: The item's node id.
        verdict: A Score, or Unscored with its reason.
    """


def pytest_ltm_start(config: pytest.Config) -> None:
    """An LTM run is about to be made in this process: nothing of an agent has been imported yet.

    For what must be there by then, as variables of the environment. What begins here
    ends with `config.add_cleanup`; a wrapper surrounds the making of the run.
    """


def pytest_ltm_begin(run: LtmRun) -> None:
    """An LTM run begins in this process: read your options, and register what plays a part in it.

    Called in every process of the run, before anything is collected. A value that
    cannot be used is a `pytest.UsageError`, which ends the run here.

    Example:
        def pytest_ltm_begin(run):
            run.config.pluginmanager.register(Timekeeper(run), "timekeeper")
    """


@hookspec(firstresult=True)
def pytest_ltm_conversation_mode(
    run: LtmRun,
) -> Callable[[ConversationInputs], ConversationMode] | None:
    """Return what composes each conversation (script, port and observers), or None to leave that to others.

    The first result that is not None counts; without one an agent is asked. It is
    called with what a conversation is made from.
    """


def pytest_ltm_observe(
    conversation: PlayedConversation,
) -> Callable[[Event], object] | None:
    """Return what is told of each event of a conversation, once it is written; None: nothing.

    Called in the process that plays it, after it was opened. Recorded events of a
    resumed run are not told again.

    Example:
        def pytest_ltm_observe(conversation):
            return lambda event: print(conversation.inputs.place.conversation, event)
    """


def pytest_ltm_follow(name: ConversationName, state: Literal["begins", "over"]) -> None:
    """A conversation is about to begin, or is over: all its items are reported, and it is written."""


@hookspec(firstresult=True)
def pytest_ltm_precheck(session: pytest.Session) -> str | None:
    """Return why nothing in this run may be measured, or None; called once in a process, before the first conversation.

    The first reason counts, and those after it are not asked for: check what costs
    least first (`tryfirst`).
    """


def pytest_ltm_report_sections(
    result: RunResult, status: int
) -> Section | Sequence[Section] | None:
    """Return what a feature adds to the reports of a run that is over; None: nothing.

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

    Called once, after all sections were made. Where it stays 0 or 1 and nothing could
    be measured, it becomes 75.

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
    """Return what of a raw reply is speech: no thoughts, no printed tool calls, no end tokens; None: you cannot tell.

    It is what scenarios, judges and histories read. Called for each reply, also where a
    run is read again, so equal replies must give equal speech.

    Args:
        reply: The reply as it came.
        tags: Names of further tags whose contents are thoughts, as the run names them.
    """


@hookspec(firstresult=True)
def pytest_ltm_translate(text: str, language: str) -> str | None:
    """Return how a language says a whole message of ours, or None if it is not yours."""


@hookspec(firstresult=True)
def pytest_ltm_read_definitions(folder: Path) -> Definitions | None:
    """Return what a folder of `--ltm-definitions` holds, or None if it is not yours."""


@hookspec(firstresult=True)
def pytest_ltm_read_suite(
    path: Path, scenarios: Collection[str] | None
) -> Suite | None:
    """Return the suite in a file of `--ltm-suite`, or None if it is not yours; `scenarios`: the built-in ones."""


@hookspec(firstresult=True)
def pytest_ltm_choose_agents(
    config: pytest.Config, ltm_dir: Path
) -> tuple[AgentChoice, ...] | None:
    """Return the agents of a run, as its options name them."""


@hookspec(firstresult=True)
def pytest_ltm_agent_sources(
    config: pytest.Config, settings: RunSettings, acts: bool, rehearses: bool
) -> tuple[Mapping[str, Any], RunSettings] | None:
    """Return where the agents of each label come from, and the settings with the specs that results will name.

    Args:
        config: The session's configuration.
        settings: The options of the run.
        acts: Whether anything is played or rehearsed; else there are no sources.
        rehearses: Whether no agent will be asked.
    """


@hookspec(firstresult=True)
def pytest_ltm_reply_count(spec: str, ltm_dir: Path) -> Count | None:
    """Return how the replies of an agent count towards spans, where its spec decides it; None elsewhere."""


@hookspec(firstresult=True)
def pytest_ltm_costs(run: LtmRun) -> KnownCosts | None:
    """Return what tokens cost in a run, and its budget; called once, while the run is made."""


@hookspec(firstresult=True)
def pytest_ltm_progress(config: pytest.Config) -> ShownProgress | None:
    """Return what shows how far the conversations are."""


def pytest_ltm_properties(result: ScenarioResult) -> list[tuple[str, object]] | None:
    """Return more user properties for the item of an example: what JUnit files and pytest-html show of it."""


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
    """Return what an agent's memory did with what one example told it; called once the example has ended.

    Only for an agent that reports operations of its memory, which `ledger` has.

    Args:
        facts_told: By exchange and subject the values that were told; None: withdrawn.
        questions: The questions of the example, with the needles of each.
        ledger: All operations of the conversation until then.
        exchanges: The numbers of the example's own exchanges.
        right_answers: An answer that earns full marks, by the number of its question.
        unchosen: By subject the values that were offered beside the one that was told.
        is_lost: The example has less than full marks.
    """


@hookspec(firstresult=True)
def pytest_ltm_failure_text(
    result: ScenarioResult, transcript: Transcript, again: str
) -> str | None:
    """Return what pytest shows of an example that failed; `again`: the command that has its conversation again."""


@hookspec(firstresult=True)
def pytest_ltm_check_calls(
    rule: CallRule, wanted: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Check | None:
    """Return whether an agent's calls of tools are what a scenario wants, or None if you cannot tell.

    Args:
        rule: "called": one of them is the wanted call. "once": exactly one is. "not
            called": none is; a wanted call without a name is any. "order": the wanted
            names were first called in this order. "only": all of them are the wanted
            calls, each once; "sequence": in this order, too.
        wanted: What the scenario wants; a value may be a function.
        calls: The calls in order, refused ones included.
    """
