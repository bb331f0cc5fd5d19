"""LiveMode: a conversation with an agent, new or resumed in its folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import near_misses
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.calls import Failed, Retries, own_time
from pytest_ltm.api.engine import (
    Checkpoints,
    Conversation,
    ConversationFactory,
    ConversationScript,
    LivePort,
)
from pytest_ltm.api.internals import users_traceback
from pytest_ltm.api.journal import (
    CHECKPOINTS,
    JOURNAL,
    RESULTS,
    TIMINGS,
    AgentFacts,
    ConversationResult,
    Header,
    Journal,
    Timings,
    write_results,
)
from pytest_ltm.api.model import (
    NAMED_WHERE_NEEDED,
    SEES_CLOCK,
    Agent,
    Capabilities,
    Compacts,
    token_counter,
)
from pytest_ltm.api.scenarios import Plan, agent_fingerprint, definition_rng
from pytest_ltm.api.session import (
    ConversationInputs,
    ConversationMode,
    KnownQuestions,
    OpenConversation,
    RunSettings,
    write_plan,
)
from pytest_ltm.api.storage import errors as _errors
from pytest_ltm.api.storage import is_secret_name, redact_secrets, redacted_data
from pytest_ltm.modes.asked_models import fatal_exceptions, judge_for, users_for
from pytest_ltm.modes.traces_option import RECEIVER
from pytest_ltm.records import recording as _recording
from pytest_ltm.records.recorded_results import recorded_result

if TYPE_CHECKING:
    from pytest_ltm.judges.connection import JudgeConnection
    from pytest_ltm.users.user_connection import UserConnection


class AgentFactory:
    """Creates the agents of one conversation and their callers; `retried` is called for each retried attempt."""

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
        self._source = source
        self._settings = settings
        self._folder = folder
        self._label = label
        self._limit = None if source.unlimited else settings.reply_timeout
        """The time limit for a reply, and for creating an agent."""
        self._rng = definition_rng(settings.seed.value, trial, "retries", label)
        self._retried = retried
        self.record = self._describe(None, (), 0)
        """The record of the agent created last, or of what is known before one is created."""

    def make(self) -> AgentCaller:
        """Create the next agent; AgentError if that fails."""
        return self._spoken_to(
            self._source.make(
                fatal=fatal_exceptions(), folder=self._folder, timeout=self._limit
            )
        )

    def _spoken_to(self, agent: Agent) -> AgentCaller:
        source = self._source
        settings = self._settings
        retries = None
        if settings.retries:
            retries = Retries(most=settings.retries, rng=self._rng)
        speaker = AgentCaller(
            agent,
            timeout=self._limit,
            fatal=fatal_exceptions(),
            name=self._label,
            owned=source.owned,
            retries=retries,
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
        self, configuration: Any, capabilities: Iterable[str], max_tokens: int
    ) -> _recording.AgentRecord:
        """Return the record of an agent; `configuration`: JSON values without cycles."""
        spec = self._source.spec
        shown_configuration = None
        if configuration is not None:
            shown_configuration = redacted_data(configuration, is_secret_name)
        facts = AgentFacts(
            spec=redact_secrets(spec),
            configuration=shown_configuration,
            capabilities=tuple(capabilities),
            max_message_tokens=max_tokens,
        )
        return _recording.AgentRecord(
            fingerprint=agent_fingerprint(spec, configuration), facts=facts
        )

    def differences(self, recordings: Iterable[_recording.Recording]) -> list[str]:
        """Return a sentence for each difference between the recorded agents and a sample.

        AgentError if the sample cannot be created.
        """
        self._spoken_to(
            self._source.sample(
                fatal=fatal_exceptions(), folder=self._folder, timeout=self._limit
            )
        ).close()
        differences: dict[str, None] = {}
        for recording in recordings:
            sentences = _recording.agent_differences(recording, self.record)
            differences |= dict.fromkeys(sentences)
        return list(differences)


class LiveMode(ConversationMode):
    """A conversation with an agent, new or resumed in its folder."""

    def __init__(self, inputs: ConversationInputs) -> None:
        super().__init__(inputs)
        self._untouched = False
        place = inputs.place
        self._supply = AgentFactory(
            inputs.source,
            inputs.settings,
            inputs.folder,
            label=place.agent,
            trial=place.trial,
            retried=lambda failed: self._live.note_retry(
                failed.attempt, failed.wait, failed.error
            ),
        )

    def begin(self, factory: ConversationFactory) -> OpenConversation:
        """Begin the conversation if nothing is recorded, else resume it."""
        script = factory.agenda()
        recording = _recording.read_recording(self.inputs.folder / JOURNAL)
        if recording is None or not (recording.complete or recording.heard):
            return self._begin(factory, script)
        return self._resume(factory, script, recording)

    def refuse(self, factory: ConversationFactory, obstacle: str) -> OpenConversation:
        """Write nothing: the folder is in use, or cannot be read."""
        self._untouched = True
        timings = Timings()
        port = self._answering(self._supply.make, factory, timings)
        return OpenConversation(
            script=factory.agenda(),
            port=port,
            journal=Journal(),
            timings=timings,
            obstacle=obstacle,
            agent_fingerprint=self._supply.record.fingerprint,
        )

    def _begin(
        self, factory: ConversationFactory, script: ConversationScript
    ) -> OpenConversation:
        folder = self.inputs.folder
        supply = self._supply
        plan = factory.plan
        obstacle = ""
        traceback = ""
        _recording.cut_back(folder, None)
        write_plan(folder, plan)
        timings = Timings.resuming(folder / TIMINGS)
        live = self._answering(
            supply.make, factory, timings, checkpoints=checkpoints_of(folder)
        )
        if plan.sessions and not self.inputs.source.serves_many:
            refusal = self.inputs.source.refusal
            obstacle = f"sessions are asked for (--ltm-sessions), and there is one agent only: {refusal}"
        else:
            try:
                live.restore()
            except _errors.ConversationOver as over:
                obstacle = str(over)
                traceback = users_traceback(over)
        journal = Journal.resuming(folder / JOURNAL)
        record = supply.record
        journal.write(
            Header(
                plan=plan.to_json(),
                plan_fingerprint=plan.fingerprint,
                agent_fingerprint=record.fingerprint,
                now=factory.clock.now,
                agent=_needed_facts(record.facts, plan),
            )
        )
        return OpenConversation(
            script=script,
            port=live,
            journal=journal,
            timings=timings,
            agent_fingerprint=record.fingerprint,
            obstacle=obstacle,
            traceback=traceback,
        )

    def _resume(
        self,
        factory: ConversationFactory,
        script: ConversationScript,
        recording: _recording.Recording,
    ) -> OpenConversation:
        folder = self.inputs.folder
        checkpoints = checkpoints_of(self.inputs.folder)
        problems = _recording.recording_differences(recording, factory.plan)
        stuck = _recording.cannot_go_on(recording, checkpoints)
        if problems:
            raise _errors.ConversationOver(
                f"the recorded conversation cannot be resumed: {' '.join(problems)}"
            )
        _recording.cut_back(folder, recording)
        journal = Journal.resuming(folder / JOURNAL)
        journal.write(recording.header)
        if factory.clock.real and recording.header.now is not None:
            factory.clock.jump_to_recorded(recording.header.now)

        def make() -> AgentCaller:
            # No agent can be restored: the record is replayed to its end, and no
            # further.
            if stuck:
                raise _errors.ConversationOver(stuck)
            speaker = self._supply.make()
            if texts := _recording.agent_differences(recording, self._supply.record):
                speaker.close()
                raise _errors.ConversationOver(
                    f"the agent is not the recorded one. {' '.join(texts)}"
                )
            return speaker

        if recording.complete:
            timings = Timings()
        else:
            timings = Timings.resuming(folder / TIMINGS)
        recorded_agent = _recording.recorded_agent(recording)
        live = self._answering(
            make, factory, timings, known=recorded_agent, checkpoints=checkpoints
        )
        return OpenConversation(
            script=script,
            port=factory.recorded_port(journal, live),
            journal=journal,
            timings=timings,
            agent_fingerprint=recording.header.agent_fingerprint,
            verdicts=recording.verdicts,
        )

    def _answering(
        self,
        make: Callable[[], AgentCaller],
        factory: ConversationFactory,
        timings: Timings,
        **options: Any,
    ) -> LivePort:
        inputs = self.inputs
        receiver = inputs.config.stash.get(RECEIVER, None)
        # Stored for the supply, which was created earlier and records retries in this
        # port's timings.
        self._live = factory.live_port(
            make,
            timings,
            tariff=inputs.tariff,
            account=inputs.account,
            watch=own_time,
            traced=None if receiver is None else receiver.begin_conversation(),
            **options,
        )
        return self._live

    def judge(
        self, opened: OpenConversation, questions: KnownQuestions
    ) -> JudgeConnection | None:
        """Return the connection to the run's judge; None if it has none."""
        return judge_for(self.inputs, opened, questions)

    def users(self, opened: OpenConversation) -> UserConnection:
        """Return the connection to users' models; if an agent is replayed, so are they."""
        source = self.inputs.source
        if source.kind != "replay":
            return users_for(self.inputs, opened)
        from pytest_ltm.agents.replay import RecordedUsers

        recalled = RecordedUsers(
            source.spec.removeprefix("replay:"),
            self.inputs.folder,
            self.inputs.settings.ltm_dir,
        )
        return users_for(self.inputs, opened, recalled=recalled)

    def notices(self, conversation: Conversation) -> list[str]:
        """Return a notice for each required capability that the agent has only in part."""
        required = _required_capabilities(conversation.plan)
        if conversation.ended_because or required <= conversation.channel.capabilities:
            return []
        return [*near_misses(self._live.agent, required).values()]

    def keep_result(
        self,
        conversation: Conversation,
        result: ConversationResult,
        *,
        stopped: bool,
        replaying: bool,
    ) -> None:
        """Write the results, and delete the checkpoints if the conversation cannot be resumed."""
        recorded = None
        if self._untouched or replaying:
            recorded = recorded_result(self.inputs.folder)
        if recorded is not None:
            # Recorded results are not repeated, only completed.
            scored = {row.id: row for row in recorded.scenarios if row.scored}
            rows = tuple(scored.get(row.id, row) for row in result.scenarios)
            notices = (*recorded.notices, *result.notices)
            result = replace(
                recorded,
                scenarios=rows,
                notices=notices,
                ended=result.ended,
                gone=result.gone,
            )
        write_results(self.inputs.folder / RESULTS, result)
        if (
            not stopped
            and conversation.ended_because is None
            and not conversation.channel.record.faults_in_a_row
        ):
            shutil.rmtree(self.inputs.folder / CHECKPOINTS, ignore_errors=True)


def _required_capabilities(plan: Plan) -> set[str]:
    return set().union(*(example.requires for example in plan.examples))


def _needed_facts(facts: AgentFacts, plan: Plan) -> AgentFacts:
    """Return the header's data about the agent in the conversation of a plan."""
    needed = _required_capabilities(plan)
    if plan.compact:
        needed.add(Compacts.__name__)
    unneeded = set(NAMED_WHERE_NEEDED) - needed
    capabilities = [name for name in facts.capabilities if name not in unneeded]
    return structs.replace(facts, capabilities=tuple(capabilities))


def checkpoints_of(folder: Path) -> Checkpoints:
    """Return the checkpoints in a conversation's folder."""
    return Checkpoints(folder / CHECKPOINTS)


def read_resumable(folder: Path) -> tuple[_recording.Recording | None, str]:
    """Return the readable part of a conversation's journal, and why no agent could resume it, or ""."""
    recording = None
    stuck = ""
    try:
        recording = _recording.read_recording(folder / JOURNAL)
        if recording is not None:
            stuck = _recording.cannot_go_on(recording, checkpoints_of(folder))
    except _errors.LtmError as error:
        stuck = str(error)
    return recording, stuck
