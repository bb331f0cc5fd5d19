"""ConversationMode: sets up a conversation of the run (its folder, script and port), and keeps its results.

A run has one `ConversationMode`: `LiveMode` for a live run, `RescoredConversation`
where a recorded run is scored again, `Rehearsed` in a dry run.
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
from pytest_ltm._core.journal.result import ConversationResult, ScenarioResult
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model import scenario as _scenario
from pytest_ltm._core.model.handle import LtmUser
from pytest_ltm._core.model.judge_spec import JudgeSpec
from pytest_ltm._core.model.opinion import KnownQuestion
from pytest_ltm._core.model.plan import Plan
from pytest_ltm._core.model.spec_files import spec_text
from pytest_ltm._core.session.hook_calls import ask_first
from pytest_ltm._core.session.item_body import ItemBody
from pytest_ltm._core.session.items import ItemPlace, LtmItem
from pytest_ltm._core.session.options import (
    only_shows,
    option_text,
    path_base,
    read_option,
)
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage import errors as _errors
from pytest_ltm._core.storage.disk import write_whole
from pytest_ltm._core.storage.locks import FolderLock
from pytest_ltm._core.storage.schema import json_text

if TYPE_CHECKING:
    from pytest_ltm._core.model.judge import LtmJudge

# Returns the conversation's questions so far that have a right answer.
KnownQuestions: TypeAlias = "Callable[[], Iterable[KnownQuestion]]"


class JudgeLine(Protocol):
    """The connection of a conversation's examples to the judge."""

    def handle(self, example: str) -> LtmJudge:
        """Return the judge as one example sees it."""

    def result_fields(self, example: str) -> dict[str, Any]:
        """Return the fields of ScenarioResult about the judge's replies to an example."""

    def close(self) -> None:
        """Close the connection."""


class UserLine(Protocol):
    """The connection of a conversation's examples to the models of their simulated users."""

    def handle(self, example: str) -> Callable[..., LtmUser]:
        """Return the factory of the users of one example."""

    def result_fields(self, example: str) -> dict[str, Any]:
        """Return the fields of ScenarioResult about the users of an example."""

    def close(self) -> None:
        """Close the connection."""


class RunJudge(Protocol):
    """The judge of a run, with its name in plans."""

    judge: Any
    configuration: Any

    @property
    def plan_entry(self) -> str:
        """Its spec, with the versions of its prompts."""


class KnownCost(Protocol):
    """The known cost of an agent, a judge or a simulated user's model."""

    @property
    def tariff(self) -> Tariff:
        """The prices of its tokens."""

    @property
    def source(self) -> str:
        """The source of the price, for readers."""


class KnownCosts(Protocol):
    """The token prices and the budget of a run."""

    @property
    def agents(self) -> Mapping[str, KnownCost]:
        """The costs of the agents, by label."""

    @property
    def judge(self) -> KnownCost:
        """The cost of the judge."""

    def check(self) -> None:
        """Raise UsageError for a budget that cannot be enforced, or for prices of unknown agents."""

    def user(self, name: str) -> Any:
        """Return the cost of a simulated user's model, by its name in records."""

    def account(self, conversation: str, *, agent: str) -> Account | None:
        """Return the account that a conversation charges; None if nothing is limited."""

    def tariff_of(self, agent: str) -> Tariff:
        """Return the known prices of an agent's replies."""

    def larger_budget(self) -> str:
        """Return the budget options that allow the run to continue; "" if nothing is limited."""


class ConversationInputs(Struct, frozen=True, kw_only=True):
    """The inputs of one conversation."""

    items: Sequence[LtmItem]
    settings: RunSettings
    source: Any
    """The source of its agent, made by a feature from the agent's spec."""
    folder: Path
    costs: KnownCosts
    """Token prices, used where no cost is reported."""
    account: Account | None
    """Its budget."""
    refused: str = ""
    """Why nothing may be measured; "" if it may."""
    conversations: int = 1
    """The number of conversations of the run."""

    @property
    def place(self) -> ItemPlace:
        """The place where its items are played."""
        return self.items[0].place

    @property
    def tariff(self) -> Tariff:
        """The prices of the agent's tokens."""
        return self.costs.agents[self.place.agent].tariff

    @property
    def config(self) -> pytest.Config:
        """The pytest configuration."""
        return self.items[0].item.config


class OpenConversation(Struct, frozen=True, kw_only=True):
    """A conversation's folder, ready for playing: its script, port, journal and timings."""

    script: ConversationScript
    port: Port
    journal: Journal
    timings: Timings
    agent_fingerprint: str = ""
    observers: Sequence[Callable[[events.Event], object]] = ()
    obstacle: str = ""
    """Why nothing can be played; "" if it can."""
    traceback: str = ""
    """The traceback of the agent's own code, if that is why nothing can be played."""
    verdicts: Mapping[str, events.VerdictRecorded] = MappingProxyType({})
    """The recorded verdicts by example; they decide where a verdict depends on the speed of the machine."""


class ConversationMode:
    """How a run holds its conversations; each conversation has one."""

    withheld = ""
    """Why no item result is reported; "" if they are reported."""

    def __init__(self, inputs: ConversationInputs) -> None:
        self.inputs = inputs
        self._lock = FolderLock(inputs.folder)

    def plan(self, today: Plan) -> Plan:
        """Return the plan of the conversation; `today`: the plan of its current items."""
        return today

    def open(self, factory: ConversationFactory) -> OpenConversation:
        """Lock and open the conversation's folder; an obstacle to playing becomes a reason, not an error."""
        try:
            self.inputs.folder.mkdir(exist_ok=True)
            self._lock.acquire()
            if self.inputs.refused:
                raise _errors.ConversationOver(self.inputs.refused)
            return self.begin(factory)
        except (_errors.LtmError, OSError) as error:
            self._lock.release()
            if isinstance(error, _errors.DiskFault):
                raise
            is_ours = isinstance(error, _errors.LtmError)
            obstacle = str(error) if is_ours else _errors.describe_error(error)
            return self.refuse(factory, obstacle)

    def begin(self, factory: ConversationFactory) -> OpenConversation:
        """Open the conversation's folder, which is already locked; LtmError or OSError if it cannot be played in."""
        raise NotImplementedError

    def refuse(self, factory: ConversationFactory, obstacle: str) -> OpenConversation:
        """Return a substitute for a folder that cannot be played in, with the reason."""
        raise NotImplementedError

    def close(self, opened: OpenConversation) -> None:
        """Close the timings and release the folder."""
        try:
            opened.timings.close()
        finally:
            self._lock.release()

    def judge(
        self, opened: OpenConversation, questions: KnownQuestions
    ) -> JudgeLine | None:
        """Return the connection to the judge; None if there is none."""
        raise NotImplementedError

    def users(self, opened: OpenConversation) -> UserLine:
        """Return the connection to the models of simulated users."""
        raise NotImplementedError

    def end_example(
        self, body: ItemBody, lane: Lane, ending: Ending, row: ScenarioResult
    ) -> ScenarioResult:
        """Return the row that counts, once an example has ended."""
        return row

    def notices(self, conversation: Conversation) -> list[str]:
        """Return the notices that this mode adds to the conversation's own."""
        return []

    def keep_result(
        self,
        conversation: Conversation,
        result: ConversationResult,
        *,
        stopped: bool,
        replaying: bool,
    ) -> None:
        """Keep the results of a conversation that is over.

        `stopped`: the pytest session stopped it; `replaying`: the record was not
        replayed to its end. Never both.
        """
        raise NotImplementedError


def write_plan(folder: Path, plan: Plan) -> None:
    """Write a plan, and its definitions in a form that can be played."""
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
        # They have their span by default when they are played again.
        write_whole(definitions / "config.yml", f"memory_span: {plan.span}\n".encode())


# --- The judge of a run, determined once before anything runs.

_JUDGE: pytest.StashKey[RunJudge | None] = pytest.StashKey()


def judge_of_run(config: pytest.Config) -> JudgeSpec:
    """Parse `--ltm-judge` and create the judge, once; UsageError if it does not name a judge."""
    text = read_option(
        config,
        "--ltm-judge",
        lambda: spec_text(
            option_text(config, "ltm_judge"), "judge", path_base(config, "ltm_judge")
        ),
    )
    if config.option.ltm_judge is not None:
        config.option.ltm_judge = text  # a run is resumed with the content of its file
    spec = read_option(config, "--ltm-judge", lambda: JudgeSpec.parse(text))
    if spec.is_none or only_shows(config) or config.option.ltm_dry_run:
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
    """Return the run's judge; None if it has none."""
    return config.stash.get(_JUDGE, None)
