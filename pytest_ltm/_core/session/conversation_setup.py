"""How one conversation of the run is opened: what it is made from, its folder, who answers in it, what becomes of it.

A run has one `ConversationMode`: `LiveMode` here, `RescoredConversation` where a
recorded run is scored again, `Rehearsed` in a dry run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pytest
from msgspec import Struct

from pytest_ltm._core.engine.conversation import Conversation, ConversationScript
from pytest_ltm._core.engine.factory import ConversationFactory
from pytest_ltm._core.engine.lane import Ending, Lane
from pytest_ltm._core.engine.port import Port
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.cost import Account, Tariff
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.result import (
    ConversationResult,
    ScenarioResult,
)
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model import scenario as _scenario
from pytest_ltm._core.model.handle import LtmUser
from pytest_ltm._core.model.judge_spec import JudgeSpec
from pytest_ltm._core.model.opinion import KnownQuestion
from pytest_ltm._core.model.plan import (
    Plan,
)
from pytest_ltm._core.model.spec_files import spec_text
from pytest_ltm._core.session.hook_calls import ask_first
from pytest_ltm._core.session.item_body import ItemBody
from pytest_ltm._core.session.items import ItemPlace, LtmItem
from pytest_ltm._core.session.options import option_text, path_base, read_option
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage import errors as _errors
from pytest_ltm._core.storage.disk import write_whole
from pytest_ltm._core.storage.locks import FolderLock
from pytest_ltm._core.storage.schema import json_text

if TYPE_CHECKING:
    from pytest_ltm._core.model.judge import LtmJudge

# Returns the questions of a conversation that were asked until then and have a right
# answer.
KnownQuestions: TypeAlias = "Callable[[], Iterable[KnownQuestion]]"


class JudgeLine(Protocol):
    """Where the examples of a conversation ask the judge."""

    def handle(self, example: str) -> LtmJudge:
        """Return the judge as one example sees it."""

    def result_fields(self, example: str) -> dict[str, Any]:
        """Return what a result has of the judge's replies to an example, as fields of ScenarioResult."""

    def close(self) -> None:
        """Ask nothing more."""


class UserLine(Protocol):
    """Where the examples of a conversation ask the models of their simulated users."""

    def handle(self, example: str) -> Callable[..., LtmUser]:
        """Return what makes the users of one example."""

    def result_fields(self, example: str) -> dict[str, Any]:
        """Return what a result has of the users of an example, as fields of ScenarioResult."""

    def close(self) -> None:
        """Ask nothing more."""


class RunJudge(Protocol):
    """The judge of a run, under the name that plans have for it."""

    judge: Any
    configuration: Any

    @property
    def plan_entry(self) -> str:
        """Its spec, with the versions of its prompts."""


class KnownCost(Protocol):
    """What is known of the cost of an agent, a judge or a user's model."""

    @property
    def tariff(self) -> Tariff:
        """What its tokens cost."""

    @property
    def source(self) -> str:
        """Where a price comes from, for readers."""


class KnownCosts(Protocol):
    """What tokens cost in a run, and its budget."""

    @property
    def agents(self) -> Mapping[str, KnownCost]:
        """By label."""

    @property
    def judge(self) -> KnownCost:
        """The cost of the judge."""

    def check(self) -> None:
        """Raise UsageError for a budget that cannot be kept, and for prices of unknown agents."""

    def user(self, name: str) -> Any:
        """Return what is known of a simulated user's model, by the name that records give it."""

    def account(self, conversation: str, *, agent: str) -> Account | None:
        """Return where a conversation writes what it spends; None where nothing is limited."""

    def tariff_of(self, agent: str) -> Tariff:
        """Return what the replies of an agent cost, as far as it is known."""

    def larger_budget(self) -> str:
        """Return the options of a budget with which the run can go on; "" where nothing is limited."""


class ConversationInputs(Struct, frozen=True, kw_only=True):
    """What one conversation is made from."""

    items: Sequence[LtmItem]
    settings: RunSettings
    source: Any
    """Where its agent comes from: what a feature made of the agent's spec."""
    folder: Path
    costs: KnownCosts
    """What tokens cost where nobody says it."""
    account: Account | None
    """Where its budget is kept."""
    refused: str = ""
    """Why nothing may be measured."""
    conversations: int = 1
    """How many the run has."""

    @property
    def place(self) -> ItemPlace:
        """Where its items are played."""
        return self.items[0].place

    @property
    def tariff(self) -> Tariff:
        """What the agent's tokens cost."""
        return self.costs.agents[self.place.agent].tariff

    @property
    def config(self) -> pytest.Config:
        """The pytest configuration."""
        return self.items[0].item.config


class OpenConversation(Struct, frozen=True, kw_only=True):
    """A conversation's folder, ready to be played in: what comes next, who answers, and where it is written down."""

    script: ConversationScript
    port: Port
    journal: Journal
    timings: Timings
    agent_fingerprint: str = ""
    observers: Sequence[Callable[[events.Event], object]] = ()
    gone: str = ""
    """Why nothing can be played."""
    traceback: str = ""
    """That of the agent's own code, where that is why nobody answers."""
    verdicts: Mapping[str, events.VerdictRecorded] = MappingProxyType({})
    """Those that are recorded, by example: of what depends on how busy the machine is, they count."""


class ConversationMode:
    """How the conversations of a run are held; there is one for each conversation."""

    withheld = ""
    """Why no result of items is reported, if so."""

    def __init__(self, inputs: ConversationInputs) -> None:
        self.inputs = inputs
        self._lock = FolderLock(inputs.folder)

    def plan(self, today: Plan) -> Plan:
        """Return the plan of the conversation; `today`: what its items say now."""
        return today

    def open(self, site: ConversationFactory) -> OpenConversation:
        """Return the conversation's folder, locked; what keeps it from being played is a reason, not an error."""
        try:
            self.inputs.folder.mkdir(exist_ok=True)
            self._lock.acquire()
            if self.inputs.refused:
                raise _errors.ConversationOver(self.inputs.refused)
            return self.begin(site)
        except (_errors.LtmError, OSError) as error:
            self._lock.release()
            if isinstance(error, _errors.DiskFault):
                raise
            return self.refuse(
                site,
                str(error)
                if isinstance(error, _errors.LtmError)
                else _errors.describe_error(error),
            )

    def begin(self, site: ConversationFactory) -> OpenConversation:
        """Return the conversation's folder, which is locked by now; LtmError or OSError if it cannot be played in."""
        raise NotImplementedError

    def refuse(self, site: ConversationFactory, gone: str) -> OpenConversation:
        """Return what stands for a folder that cannot be played in, with the reason."""
        raise NotImplementedError

    def close(self, opened: OpenConversation) -> None:
        """Finish the timings and let others have the folder."""
        try:
            opened.timings.close()
        finally:
            self._lock.release()

    def judge(
        self, opened: OpenConversation, known: KnownQuestions
    ) -> JudgeLine | None:
        """Return where its examples ask the judge, None where there is none."""
        raise NotImplementedError

    def users(self, opened: OpenConversation) -> UserLine:
        """Return where its examples ask the models of their simulated users."""
        raise NotImplementedError

    def end_example(
        self, body: ItemBody, lane: Lane, ending: Ending, row: ScenarioResult
    ) -> ScenarioResult:
        """An example has ended; return the row that counts."""
        return row

    def notices(self, conversation: Conversation) -> list[str]:
        """Return the notices about the conversation beyond its own."""
        return []

    def keep_result(
        self,
        conversation: Conversation,
        result: ConversationResult,
        *,
        stopped: bool,
        replaying: bool,
    ) -> None:
        """The conversation is over: keep its results.

        `stopped`: by the pytest session; `replaying`: what is recorded of it was not
        said to its end. Never both.
        """
        raise NotImplementedError


def write_plan(folder: Path, plan: Plan) -> None:
    """Write a plan, and its definitions so that they can be played."""
    data = plan.to_json()
    write_whole(folder / "plan.json", json_text(data).encode())
    definitions = Path(os.path.normpath(folder / "definitions"))
    for example, written in zip(plan.examples, data["examples"], strict=True):
        if example.definition is not None:
            path = definitions / example.scenario / f"{example.example}.def.json"
            if not Path(os.path.normpath(path)).is_relative_to(definitions):
                raise _errors.DefinitionError(
                    f"the scenario {example.scenario!r} cannot be the name of a folder"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, _scenario.format_json(written["definition"]).encode())
    if plan.span is not None and definitions.is_dir():
        # played again, they have their span by default
        write_whole(definitions / "config.yml", f"memory_span: {plan.span}\n".encode())


# --- The judge of a run: found once, before anything runs.

_JUDGE: pytest.StashKey[RunJudge | None] = pytest.StashKey()


def judge_of_run(config: pytest.Config) -> JudgeSpec:
    """Return what `--ltm-judge` says; UsageError if it names no judge. The judge is made here, once."""
    text = read_option(
        config,
        "--ltm-judge",
        lambda: spec_text(
            option_text(config, "ltm_judge"), "judge", path_base(config, "ltm_judge")
        ),
    )
    if config.option.ltm_judge is not None:
        config.option.ltm_judge = text  # a run is resumed by what its file said
    spec = read_option(config, "--ltm-judge", lambda: JudgeSpec.parse(text))
    if spec.is_none or config.option.collectonly or config.option.ltm_dry_run:
        return spec
    config.stash[_JUDGE] = read_option(
        config,
        "--ltm-judge",
        lambda: ask_first(
            config, "pytest_ltm_make_judge", config=config, spec=spec.judge
        ),
    )
    return spec


def run_judge(config: pytest.Config) -> RunJudge | None:
    """Return the run's judge, None where it has none."""
    return config.stash.get(_JUDGE, None)
