"""How one conversation of the run is opened: what it is made from, its folder, who answers in it, what becomes of it.

A run has one `ConversationMode`: `LiveMode` here, `RescoredConversation` where a
recorded run is scored again, `Rehearsed` in a dry run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from msgspec import Struct

from pytest_ltm._core.calls.hub import own_time
from pytest_ltm._core.calls.retry import Failed, Retries
from pytest_ltm._core.engine import recording_folder as _recording
from pytest_ltm._core.engine.conversation import Conversation, ConversationScript
from pytest_ltm._core.engine.factory import ConversationFactory
from pytest_ltm._core.engine.lane import Ending, Lane
from pytest_ltm._core.engine.port import Checkpoints, LivePort, Port
from pytest_ltm._core.engine.recorded_verdicts import recorded_result
from pytest_ltm._core.internals.setup import users_traceback
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.cost import SCRIPTED, Account, Tariff
from pytest_ltm._core.journal.events import AgentFacts, Header, Journal
from pytest_ltm._core.journal.result import (
    ConversationResult,
    ScenarioResult,
    write_results,
)
from pytest_ltm._core.journal.timings import JudgeRetry, Timings, UserRetry
from pytest_ltm._core.model import scenario as _scenario
from pytest_ltm._core.model.agent import SEES_CLOCK, Agent, Capabilities
from pytest_ltm._core.model.plan import (
    Plan,
    agent_fingerprint,
    definition_rng,
    user_seed,
)
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.session.costs import RunCosts
from pytest_ltm._core.session.item_body import ItemBody
from pytest_ltm._core.session.items import ItemPlace, LtmItem
from pytest_ltm._core.session.options import option_text, option_value, read_option
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.session.state import TRACES
from pytest_ltm._core.storage import errors as _errors
from pytest_ltm._core.storage.disk import write_whole
from pytest_ltm._core.storage.locks import FolderLock
from pytest_ltm._core.storage.schema import json_text
from pytest_ltm._core.storage.secrets import (
    is_secret_name,
    redact_secrets,
    redacted_data,
)
from pytest_ltm.agents._adapt import AgentSource
from pytest_ltm.agents._caller import AgentCaller
from pytest_ltm.agents._capabilities import near_misses
from pytest_ltm.judges._judge_registry import NamedJudge
from pytest_ltm.judges._model_calls import ModelCaller
from pytest_ltm.users._user_connection import UserConnection

if TYPE_CHECKING:
    from pytest_ltm.judges._connection import JudgeConnection
    from pytest_ltm.judges._hidden_checks import HiddenChecks

# Returns questions of a conversation that were asked until then, each with a right
# answer.
KnownAnswers: TypeAlias = "Callable[[], Iterable[tuple[str, str]]]"


class ConversationInputs(Struct, frozen=True, kw_only=True):
    """What one conversation is made from."""

    items: Sequence[LtmItem]
    settings: RunSettings
    source: AgentSource
    folder: Path
    costs: RunCosts
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


class ConversationMode:
    """How the conversations of a run are held; there is one for each conversation."""

    withheld = ""
    """Why nothing that items come to is reported, if so."""

    def __init__(self, given: ConversationInputs) -> None:
        self.given = given
        self._lock = FolderLock(given.folder)

    def plan(self, today: Plan) -> Plan:
        """Return the plan of the conversation; `today`: what its items say now."""
        return today

    def open(self, site: ConversationFactory) -> OpenConversation:
        """Return the conversation's folder, locked; what keeps it from being played is a reason, not an error."""
        try:
            self.given.folder.mkdir(exist_ok=True)
            self._lock.acquire()
            if self.given.refused:
                raise _errors.ConversationOver(self.given.refused)
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
        self, opened: OpenConversation, known: KnownAnswers
    ) -> JudgeConnection | None:
        """Return where its examples ask the judge, None where there is none."""
        return judge_for(self.given, opened, known)

    def users(self, opened: OpenConversation) -> UserConnection:
        """Return where its examples ask the models of their simulated users."""
        return users_for(self.given, opened)

    def end_example(
        self, body: ItemBody, lane: Lane, ending: Ending, row: ScenarioResult
    ) -> ScenarioResult:
        """An example has ended; return the row that counts."""
        return row

    def notices(self, talk: Conversation) -> list[str]:
        """Return the notices about the conversation beyond its own."""
        return []

    def keep_result(
        self,
        talk: Conversation,
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


class AgentFactory:
    """Makes the agents of one conversation, and what talks to them; `retried` is told of each attempt but the last."""

    def __init__(
        self,
        source: AgentSource,
        settings: RunSettings,
        folder: Path,
        *,
        label: str,
        trial: int,
        retried: Callable[[Failed], object] = lambda _: None,
    ) -> None:
        self._source, self._settings, self._folder, self._label = (
            source,
            settings,
            folder,
            label,
        )
        self._limit = None if source.unlimited else settings.reply_timeout
        """For a reply, and for making an agent."""
        self._rng = definition_rng(settings.seed.value, trial, "retries", label)
        self._retried = retried
        self.record = self._describe(None, (), 0)
        """What the agent that was made last says of itself, or what can be said before one is made."""

    def make(self) -> AgentCaller:
        """Make the next agent; AgentError if it cannot be made."""
        return self._spoken_to(
            self._source.make(
                fatal=fatal_exceptions(), folder=self._folder, timeout=self._limit
            )
        )

    def _spoken_to(self, agent: Agent) -> AgentCaller:
        source, settings = self._source, self._settings
        speaker = AgentCaller(
            agent,
            timeout=self._limit,
            fatal=fatal_exceptions(),
            name=self._label,
            owned=source.owned,
            retries=Retries(most=settings.retries, rng=self._rng)
            if settings.retries
            else None,
            retried=self._retried,
            count=token_counter(settings.tokenizer).count,
            reading=settings.reading,
        )
        if source.sees_clock:
            speaker.capabilities = Capabilities({*speaker.capabilities, SEES_CLOCK})
        configuration = source.configuration(
            agent, fatal=fatal_exceptions(), timeout=self._limit
        )
        self.record = self._describe(
            configuration, sorted(speaker.capabilities), speaker.max_message_tokens
        )
        return speaker

    def _describe(
        self, configuration: Any, capabilities: Iterable[str], most: int
    ) -> _recording.AgentRecord:
        """Return what a record says of an agent; `configuration`: JSON values only, which end somewhere."""
        spec, shown = (
            self._source.spec,
            None
            if configuration is None
            else redacted_data(configuration, is_secret_name),
        )
        facts = AgentFacts(
            spec=redact_secrets(spec),
            configuration=shown,
            capabilities=tuple(capabilities),
            max_message_tokens=most,
        )
        return _recording.AgentRecord(
            fingerprint=agent_fingerprint(spec, configuration), facts=facts
        )

    def differences(self, recordings: Iterable[_recording.Recording]) -> list[str]:
        """Return a sentence for each difference between the recorded agents and one that is made to be looked at.

        AgentError if it cannot be made.
        """
        self._spoken_to(
            self._source.sample(
                fatal=fatal_exceptions(), folder=self._folder, timeout=self._limit
            )
        ).close()
        differences = (
            _recording.agent_differences(each, self.record) for each in recordings
        )
        return list(dict.fromkeys(chain.from_iterable(differences)))


class LiveMode(ConversationMode):
    """A conversation with an agent, new or resumed in its folder."""

    def __init__(self, given: ConversationInputs) -> None:
        super().__init__(given)
        self._untouched, place = False, given.place
        self._supply = AgentFactory(
            given.source,
            given.settings,
            given.folder,
            label=place.agent,
            trial=place.trial,
            retried=lambda failed: self._live.note_retry(
                failed.attempt, failed.wait, failed.error
            ),
        )

    def begin(self, site: ConversationFactory) -> OpenConversation:
        """Begin the conversation if nothing is recorded, else resume it."""
        script = site.agenda()
        recording = _recording.read_recording(self.given.folder / _recording.JOURNAL)
        if recording is None or not (recording.complete or recording.heard):
            return self._begin(site, script)
        return self._resume(site, script, recording)

    def refuse(self, site: ConversationFactory, gone: str) -> OpenConversation:
        """Write nothing: the folder is another's, or cannot be read."""
        self._untouched, timings = True, Timings()
        port = self._answering(self._supply.make, site, timings)
        return OpenConversation(
            script=site.agenda(),
            port=port,
            journal=Journal(),
            timings=timings,
            gone=gone,
            agent_fingerprint=self._supply.record.fingerprint,
        )

    def _begin(
        self, site: ConversationFactory, script: ConversationScript
    ) -> OpenConversation:
        folder, supply, plan, gone, raised = (
            self.given.folder,
            self._supply,
            site.plan,
            "",
            "",
        )
        _recording.cut_back(folder, None)
        write_plan(folder, plan)
        timings = Timings.resuming(folder / _recording.TIMINGS)
        live = self._answering(
            supply.make, site, timings, checkpoints=checkpoints_of(folder)
        )
        if plan.sessions and not self.given.source.serves_many:
            gone = f"sessions are asked for (--ltm-sessions), and there is one agent only: {self.given.source.refusal}"
        else:
            try:
                live.restore()
            except _errors.ConversationOver as over:
                gone, raised = str(over), users_traceback(over)
        journal, made = Journal.resuming(folder / _recording.JOURNAL), supply.record
        journal.write(
            Header(
                plan=plan.to_json(),
                plan_fingerprint=plan.fingerprint,
                agent_fingerprint=made.fingerprint,
                now=site.clock.now,
                agent=made.facts,
            )
        )
        return OpenConversation(
            script=script,
            port=live,
            journal=journal,
            timings=timings,
            agent_fingerprint=made.fingerprint,
            gone=gone,
            traceback=raised,
        )

    def _resume(
        self,
        site: ConversationFactory,
        script: ConversationScript,
        recording: _recording.Recording,
    ) -> OpenConversation:
        folder, checkpoints = self.given.folder, checkpoints_of(self.given.folder)
        problems = _recording.recording_differences(recording, site.plan)
        stuck = _recording.cannot_go_on(recording, checkpoints)
        if problems:
            raise _errors.ConversationOver(
                f"the recorded conversation cannot be resumed: {' '.join(problems)}"
            )
        _recording.cut_back(folder, recording)
        journal = Journal.resuming(folder / _recording.JOURNAL)
        journal.write(recording.header)
        if site.clock.real and recording.header.now is not None:
            site.clock.jump_to_recorded(recording.header.now)

        def make() -> AgentCaller:
            if stuck:  # no agent can be restored: the record is played to its end, and no further
                raise _errors.ConversationOver(stuck)
            speaker = self._supply.make()
            if texts := _recording.agent_differences(recording, self._supply.record):
                speaker.close()
                raise _errors.ConversationOver(
                    f"the agent is not the recorded one. {' '.join(texts)}"
                )
            return speaker

        timings = (
            Timings()
            if recording.complete
            else Timings.resuming(folder / _recording.TIMINGS)
        )
        known = _recording.recorded_agent(recording)
        live = self._answering(
            make, site, timings, known=known, checkpoints=checkpoints
        )
        return OpenConversation(
            script=script,
            port=site.recorded_port(journal, live),
            journal=journal,
            timings=timings,
            agent_fingerprint=recording.header.agent_fingerprint,
        )

    def _answering(
        self,
        make: Callable[[], AgentCaller],
        site: ConversationFactory,
        timings: Timings,
        **options: Any,
    ) -> LivePort:
        given = self.given
        # Kept for what the factory, which was made before it, tells of attempts: they
        # are noted in its timings.
        self._live = site.live_port(
            make,
            timings,
            tariff=given.tariff,
            account=given.account,
            watch=own_time,
            traces=given.config.stash.get(TRACES, None),
            **options,
        )
        return self._live

    def users(self, opened: OpenConversation) -> UserConnection:
        """Return the connection to users' models; where an agent is replayed, so are they."""
        source = self.given.source
        if source.kind != "replay":
            return super().users(opened)
        from pytest_ltm.agents._replay import RecordedUsers

        recalled = RecordedUsers(
            source.spec.removeprefix("replay:"),
            self.given.folder,
            self.given.settings.ltm_dir,
        )
        return users_for(self.given, opened, recalled=recalled)

    def notices(self, talk: Conversation) -> list[str]:
        """Return which required capabilities the agent has only in part."""
        wanted = {
            capability
            for example in talk.plan.examples
            for capability in example.requires
        }
        if talk.gone or wanted <= talk.channel.capabilities:
            return []
        return [*near_misses(self._live.agent, wanted).values()]

    def keep_result(
        self,
        talk: Conversation,
        result: ConversationResult,
        *,
        stopped: bool,
        replaying: bool,
    ) -> None:
        """Write the results, and delete the checkpoints where the conversation cannot be resumed."""
        there = (
            recorded_result(self.given.folder) if self._untouched or replaying else None
        )
        if there is not None:  # what is recorded is not repeated: it gets what it lacks
            scored = {row.id: row for row in there.scenarios if row.scored}
            rows = tuple(scored.get(row.id, row) for row in result.scenarios)
            notices = (*there.notices, *result.notices)
            result = replace(
                there,
                scenarios=rows,
                notices=notices,
                ended=result.ended,
                gone=result.gone,
            )
        write_results(self.given.folder / _recording.RESULTS, result)
        if (
            not stopped
            and talk.gone is None
            and not talk.channel.record.faults_in_a_row
        ):
            shutil.rmtree(
                self.given.folder / _recording.CHECKPOINTS, ignore_errors=True
            )


def checkpoints_of(folder: Path) -> Checkpoints:
    """Return the checkpoints in a conversation's folder."""
    return Checkpoints(folder / _recording.CHECKPOINTS)


def read_resumable(folder: Path) -> tuple[_recording.Recording | None, str]:
    """Return what can be read of a conversation's journal, and why no agent could resume it, or ""."""
    recording = None
    try:
        recording = _recording.read_recording(folder / _recording.JOURNAL)
        stuck = (
            ""
            if recording is None
            else _recording.cannot_go_on(recording, checkpoints_of(folder))
        )
    except _errors.LtmError as error:
        stuck = str(error)
    return recording, stuck


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
    if (
        plan.span is not None and definitions.is_dir()
    ):  # played again, they have their span by default
        write_whole(definitions / "config.yml", f"memory_span: {plan.span}\n".encode())


def hidden_checks(
    given: ConversationInputs, known: KnownAnswers
) -> HiddenChecks | None:
    """Return the known answers that the judge is asked about in this conversation, None where it is not to be."""
    if option_value(given.config, "ltm_judge_canaries") == "off":
        return None
    from pytest_ltm.judges._hidden_checks import HiddenChecks, share_of_checks

    rng = definition_rng(
        given.settings.seed.value,
        given.place.trial,
        "judge checks",
        given.place.conversation.folder,
    )
    return HiddenChecks(known, rng, share_of_checks(given.conversations))


def judge_for(
    given: ConversationInputs,
    opened: OpenConversation,
    known: KnownAnswers,
    **options: Any,
) -> JudgeConnection | None:
    """Return the connection to the run's judge, None where the run has none; `options`: what else it takes."""
    judge = run_judge(given.config)
    if judge is None:
        return None
    return connection_of(
        judge,
        given.settings,
        opened.journal,
        opened.timings,
        of=given.place.agent,
        trial=given.place.trial,
        tariff=given.costs.judge.tariff,
        account=given.account,
        checks=hidden_checks(given, known),
        **options,
    )


def users_for(
    given: ConversationInputs, opened: OpenConversation, **options: Any
) -> UserConnection:
    """Return the connection to the models of simulated users; `options`: what else it takes."""
    from pytest_ltm.judges._model_calls import BudgetedCaller
    from pytest_ltm.users._user_connection import (
        USER_MODEL_NAME,
        UserConnection,
        find_user_model,
    )

    settings, place, timings = given.settings, given.place, opened.timings

    def opening(model: Any, name: str) -> BudgetedCaller:
        rng = definition_rng(
            settings.seed.value, place.trial, "user retries", place.agent
        )
        result, known = (
            find_user_model(model, base=given.config.rootpath),
            given.costs.user(name),
        )
        call = call_of(
            result,
            settings,
            timings,
            rng=rng,
            note=UserRetry,
            who=USER_MODEL_NAME,
            error=_errors.UserError,
        )
        account = (
            None if name == SCRIPTED else given.account
        )  # a list of messages spends nothing
        return BudgetedCaller(
            call,
            "user",
            opened.journal,
            tariff=known.tariff,
            account=account,
            refused=known.refused,
        )

    return UserConnection(
        **{
            "open": opening,
            "journal": opened.journal,
            "timings": timings,
            "seed_of": lambda example: user_seed(
                settings.seed.value, place.trial, example
            ),
            "tariff_of": lambda name: given.costs.user(name).tariff,
            **options,
        }
    )


def connection_of(
    judge: NamedJudge,
    settings: RunSettings,
    journal: Journal,
    timings: Timings,
    *,
    of: str,
    trial: int = 0,
    **options: Any,
) -> JudgeConnection:
    """Return a connection to a judge; `of`: who asks, for the chance of waits between attempts."""
    from pytest_ltm.judges._connection import JudgeCache, JudgeConnection
    from pytest_ltm.judges._judge_registry import JUDGE_NAME

    rng = definition_rng(settings.seed.value, trial, "judge retries", of)
    call = call_of(
        judge.judge,
        settings,
        timings,
        rng=rng,
        note=JudgeRetry,
        who=JUDGE_NAME,
        error=_errors.JudgeError,
    )
    cache = (
        JudgeCache(settings.ltm_dir / "judge-cache") if settings.judge_cache else None
    )
    return JudgeConnection(
        call,
        configuration=judge.configuration,
        cache=cache,
        journal=journal,
        timings=timings,
        trial=str(trial),
        **{"votes": settings.judge_votes, **options},
    )


def fatal_exceptions() -> tuple[type[BaseException], ...]:
    """Return what ends the pytest session when it is raised in a call."""
    # A worker that leaves the session breaks xdist, which waits for it: there
    # `pytest.exit` is a fault like any other.
    in_worker = "PYTEST_XDIST_WORKER" in os.environ
    return (
        (KeyboardInterrupt,)
        if in_worker
        else (KeyboardInterrupt, pytest.exit.Exception)
    )


def call_of(
    asked: Any,
    settings: RunSettings,
    timings: Timings,
    *,
    rng: Random,
    note: type[JudgeRetry],
    **named: Any,
) -> ModelCaller:
    """Return how a model beside the agent is called in this run; each attempt but the last is noted in the timings.

    `rng`: the chance of waits between attempts. `named`: what its faults are called,
    and what they are.
    """
    from pytest_ltm.judges._model_calls import ModelCaller

    def retried(failed: Failed) -> None:
        error = redact_secrets(_errors.describe_error(failed.error))
        timings.write(
            note(attempt=failed.attempt, wait=round(failed.wait, 3), error=error)
        )

    return ModelCaller(
        asked,
        timeout=settings.reply_timeout,
        fatal=fatal_exceptions(),
        retried=retried,
        retries=Retries(most=settings.retries, rng=rng) if settings.retries else None,
        **named,
    )


# --- The judge of a run: found once, before anything runs.

NO_JUDGE = "none"
_JUDGE: pytest.StashKey[NamedJudge | None] = pytest.StashKey()


def judge_of_run(config: pytest.Config) -> str:
    """Return what `--ltm-judge` says; UsageError if it names no judge. The judge is made here, once."""
    spec = option_text(config, "ltm_judge")
    if spec == NO_JUDGE or config.option.collectonly or config.option.ltm_dry_run:
        return spec
    from pytest_ltm.judges._judge_registry import find_judge

    config.stash[_JUDGE] = read_option(
        config, "--ltm-judge", lambda: find_judge(spec, base=config.rootpath)
    )
    return spec


def run_judge(config: pytest.Config) -> NamedJudge | None:
    """Return the run's judge, None where it has none."""
    return config.stash.get(_JUDGE, None)
