"""What is asked before the first conversation: agents, for what only another was told; the judge, for known grades."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import TypeAlias, TypeVar

import pytest

from pytest_ltm._core.engine.port import LivePort
from pytest_ltm._core.engine.recording_folder import JOURNAL
from pytest_ltm._core.internals.item_context import capture_unattributed
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.run_file import conversations_in
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.scenario import Ask, Definition, Say
from pytest_ltm._core.model.tokens import TokenCounter, token_counter
from pytest_ltm._core.session.collection import OWN_TOKENS, expected_tokens
from pytest_ltm._core.session.dataset import conversation_start, told_in
from pytest_ltm._core.session.items import LTM_ITEM, LtmItem, items_by_conversation
from pytest_ltm._core.session.planning import plan_for
from pytest_ltm._core.session.session import LtmRun
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage.clock import SimulatedClock, stopwatch_seconds
from pytest_ltm._core.storage.errors import (
    AgentError,
    BudgetSpent,
    ConversationOver,
    DiskFault,
)
from pytest_ltm._core.storage.wording import pluralize
from pytest_ltm.agents._adapt import AgentSource, capabilities_of
from pytest_ltm.agents._spec_facts import is_free
from pytest_ltm.agents.memory.backends import backends_are_shared
from pytest_ltm.figures.forecast import TokenUse
from pytest_ltm.figures.text import span_of_time
from pytest_ltm.modes.live import AgentFactory
from pytest_ltm.prechecks import probe_questions
from pytest_ltm.records import probe_record

# --- The isolation probe.

T = TypeVar("T")
# Seconds from which on it is worth knowing before the first conversation how long all
# of them may take.
NOTABLE = 60.0
# Of an example without a definition, as a guess.
_MESSAGES = 3

UNASKED = {"human": "it is a person", "replay": "it is a recording"}
CURE = (
    "Give each conversation a store of its own (take conversation_id in the constructor or in "
    "start(conversation_id)), forget everything in reset(), or begin with an empty store; see 'Agents with a store' in "
    "docs/agents.md. --ltm-no-probe measures all the same"
)


class Probe:
    """Probes the agents of a run, in whichever process comes first; what it finds out is in the run folder."""

    def __init__(self, run: LtmRun) -> None:
        self._run, self._path = run, run.folder.path / probe_record.PROBE_FILE
        self._settings, self._counter = (
            run.settings,
            token_counter(run.settings.tokenizer),
        )

    def pytest_report_header(self) -> list[str]:
        """Say why nothing is probed, if so."""
        probed = self._settings.rescored is not None and any(
            not is_free(agent.spec) for agent in self._settings.agents
        )
        return ["ltm: isolation probe: none where a run is scored again"] * probed

    def pytest_ltm_precheck(self, session: pytest.Session) -> str | None:
        """Probe each agent that was not probed yet; return why the run cannot be measured."""
        if not self._run.plays or self._settings.rescored is not None:
            return None
        items = self._items(session)
        if not items:
            return None
        from filelock import FileLock

        with FileLock(
            self._path.with_name(".probe.lock")
        ):  # the others wait for what is found out here
            decisions = probe_record.probe_decisions(self._path.parent)
            for label in (label for label in items if label not in decisions):
                probed = self._probed(label, self._run.sources[label], items[label])
                if probed is not None:
                    decisions[label] = probed
                    probe_record.append_probe_row(self._path, probed)
        leaks = (
            f"agent {decision.agent!r}: {decision.why}. {CURE}"
            for decision in decisions.values()
            if decision.verdict == "leaks"
        )
        return next(leaks, None)

    def forecast(self, session: pytest.Session) -> dict[str, TokenUse]:
        """Return what the probe of each agent would take, by label."""
        token_uses: dict[str, TokenUse] = {}
        for label, groups in self._items(session).items():
            source = self._run.sources[label]
            definitions = (
                {} if self._unfit(label, source) else self._definitions(groups)
            )
            if definitions:
                talk, secret = (
                    _Rehearsal(self._settings, source, groups[0][0]),
                    self._secret(label),
                )
                _probe_verdict(
                    talk.say, secret, probe_questions.probe_questions(definitions)
                )
                token_uses[label] = talk.use
        return {label: use for label, use in token_uses.items() if use.messages}

    def _secret(self, label: str) -> probe_questions.Secret:
        return probe_questions.Secret.secret_word(self._settings.seed.value, label)

    def _items(self, session: pytest.Session) -> dict[str, list[list[LtmItem]]]:
        """Return the items of the conversations of each agent that may have to be asked."""
        items: dict[str, list[list[LtmItem]]] = {}
        if not self._run.config.option.ltm_no_probe:
            for name, group in items_by_conversation(
                item.stash[LTM_ITEM] for item in session.items
            ).items():
                source = self._run.sources[name.agent]
                # Embedded agents know nothing of each other's conversations.
                if not (
                    source.embedded
                    and is_free(source.spec)
                    and source.kind not in UNASKED
                ):
                    items.setdefault(name.agent, []).append(group)
        return items

    def _probed(
        self, label: str, source: AgentSource, groups: Sequence[Sequence[LtmItem]]
    ) -> probe_record.Decided | None:
        """Return what the probe of an agent came to; None where the budget did not last."""
        reason = self._unfit(label, source)
        definitions = {} if reason else self._definitions(groups)
        if not definitions:
            return probe_record.Decided(
                agent=label,
                verdict="skipped",
                why=reason or "nothing here has a definition",
            )
        questions = probe_questions.probe_questions(definitions)
        talk = _ProbeConversation(
            self._run, label, source, groups[0][0], messages=2 + len(questions)
        )
        try:
            with talk.shown():
                result = _probe_verdict(talk.say, self._secret(label), questions)
            if talk.asked and result[0] != "leaks":
                self._forecast_time(
                    talk.seconds / talk.asked, source, groups, definitions
                )
            return talk.probe_outcome(*result)
        except BudgetSpent:
            return None
        except DiskFault:
            raise
        except (AgentError, ConversationOver) as error:
            return talk.probe_outcome("skipped", str(error))

    def _forecast_time(
        self,
        seconds_of_message: float,
        source: AgentSource,
        groups: Sequence[Sequence[LtmItem]],
        definitions: Mapping[str, Definition],
    ) -> None:
        """Say about how long the agent's conversations take if each reply takes as long as those of the probe did."""
        from pytest_ltm.agents._profile import profile_of

        terminal = self._run.config.pluginmanager.get_plugin("terminalreporter")
        profile = profile_of(source)
        steps = {
            name: sum(isinstance(step, (Say, Ask)) for step in definition.steps)
            for name, definition in definitions.items()
        }
        messages = 0
        for (
            group
        ) in groups:  # the opening, what its examples say, and what else is told
            messages += 1 + sum(
                steps.get(ltm_item.scenario, _MESSAGES) for ltm_item in group
            )
            if "AcceptsHistory" not in profile.capabilities:
                messages += self._count_told(group, profile.max_message_tokens)
        at_once = min(
            max(1, self._run.of_agent.get(groups[0][0].place.agent, 1)), len(groups)
        )
        seconds = messages * seconds_of_message / at_once
        if terminal is None or seconds < NOTABLE:
            return
        several = f", {at_once} conversations at once" if at_once > 1 else ""
        terminal.ensure_newline()
        agent = groups[0][0].place.agent
        terminal.write_line(
            f"ltm: {agent}: about {span_of_time(seconds)} at this speed ({seconds_of_message:.1f} s for a reply "
            f"to the probe, about {pluralize(messages, 'message')}{several})"
        )

    def _count_told(self, group: Sequence[LtmItem], largest: int) -> int:
        """Return about how many messages a conversation has beside those of its examples.

        They are a data set's history, else filler in messages of `largest` tokens.
        """
        spans, place = self._settings.spans, group[0].place
        told_conversation = told_in(self._settings, place)
        if told_conversation is not None:
            return len(told_conversation.history)
        if spans[place.span] is None:
            return 0
        filler = expected_tokens(group, spans) - 2 * OWN_TOKENS * len(group)
        return math.ceil(max(0, filler) / largest)

    def _unfit(self, label: str, source: AgentSource) -> str:
        """Return why an agent is not asked, or ""."""
        if source.kind in UNASKED:
            return UNASKED[source.kind]
        if backends_are_shared() and _separates_users(source):
            return "users share its memory, and the run itself tests whether they are separate"
        if not source.serves_many:
            return "it can serve one conversation only"
        if "Stateless" in capabilities_of(source.given):
            return "it is stateless"
        recorded = conversations_in(self._path.parent, JOURNAL).items()
        recorded_events = (
            event
            for name, path in recorded
            if name.agent == label
            for event in events.iter_readable_events(path)
        )
        has_begun = any(
            isinstance(event, (events.ReplyReceived, events.FillerSent))
            for event in recorded_events
        )
        return "its conversations had begun without it" if has_begun else ""

    def _definitions(
        self, groups: Sequence[Sequence[LtmItem]]
    ) -> dict[str, Definition]:
        """Return a definition of each scenario that has any."""
        definitions: dict[str, Definition | None] = {}
        for group in groups:
            if any(ltm_item.scenario not in definitions for ltm_item in group):
                definitions |= {
                    example.scenario: example.definition
                    for example in plan_for(group, self._settings).plan.examples
                }
        return {
            scenario: definition
            for scenario, definition in definitions.items()
            if definition is not None
        }


# Says texts in a new conversation, which has that number, and returns the replies; None
# of a stateless agent.
Telling: TypeAlias = "Callable[[str, Sequence[str]], list[str] | None]"


def _probe_verdict(
    say: Telling,
    secret: probe_questions.Secret,
    chosen: Sequence[probe_questions.ProbeQuestion],
) -> tuple[probe_record.ProbeVerdict, str]:
    """Hold the two conversations of a probe; return what they came to, and why."""
    if say("1", [secret.telling]) is None:
        return "skipped", "it is stateless"
    reply_on_secret, *replies = say(
        "2", [secret.question, *(question.text for question in chosen)]
    ) or [""]
    if secret.is_in(reply_on_secret):
        return (
            "leaks",
            f"it knows in one conversation what it was told in another ({secret.word!r})",
        )
    if probe_questions.is_known(list(zip(chosen, replies, strict=True))):
        return "leaks", "it answers questions of this plan before it was told anything"
    return "clean", ""


def _separates_users(source: AgentSource) -> bool:
    """Return whether the agents from there are told whose messages they hear."""
    from pytest_ltm.agents._profile import profile_of

    return "SeparatesUsers" in profile_of(source).capabilities


class _ProbeConversation:
    """Talks to an agent in conversations of the probe, within the budget, and writes down what is said."""

    def __init__(
        self,
        run: LtmRun,
        label: str,
        source: AgentSource,
        ltm_item: LtmItem,
        *,
        messages: int,
    ) -> None:
        self._run, self._label, self._source, self._place = (
            run,
            label,
            source,
            ltm_item.place,
        )
        self._messages = messages
        self.asked, self.seconds = 0, 0.0
        """The number of replies so far, and the seconds that they took."""
        self._tariff, self._counter = (
            run.costs.tariff_of(label),
            token_counter(run.settings.tokenizer),
        )
        self._clock = SimulatedClock(
            conversation_start(told_in(run.settings, ltm_item.place))
        )
        self._numbers = count()

    def say(self, number: str, texts: Sequence[str]) -> list[str] | None:
        """Return the replies of an agent that was told nothing else; None, and nothing is said, of a stateless one."""
        run, settings, place = self._run, self._run.settings, self._place
        folder = run.folder.path / f"probe-{self._label}-{number}"
        if self._source.at is not None:  # it leaves files there
            folder.mkdir(exist_ok=True)
        supply = AgentFactory(
            self._source, settings, folder, label=self._label, trial=place.trial
        )

        def calling(_by: str, call: Callable[[], T]) -> T:
            with capture_unattributed(run.config):
                return call()

        live = LivePort(
            supply.make,
            self._counter,
            self._clock,
            Timings(),
            calling=calling,
            tariff=self._tariff,
            account=run.costs.account(
                f"{probe_record.PROBE_FILE} {self._label}", agent=self._label
            ),
        )
        try:
            live.ready("")
            return (
                None
                if "Stateless" in live.capabilities
                else [self._one(live, folder.name, text) for text in texts]
            )
        finally:
            live.close()
            with suppress(OSError):  # it left none
                folder.rmdir()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Say of a run that somebody ends meanwhile what it was waiting for; take the progress away at the end."""
        try:
            yield
        except KeyboardInterrupt:
            where = f"in the {self._progress()}. No conversation had begun"
            raise KeyboardInterrupt(
                f"{where}. --ltm-no-probe begins without it"
            ) from None
        finally:
            self._run.progress.clear()

    def _progress(self) -> str:
        return f"isolation probe of agent {self._label!r}, at message {self.asked + 1} of {self._messages}"

    def _one(self, live: LivePort, conversation: str, text: str) -> str:
        live.ready("")
        message = _probe_message(next(self._numbers), text, self._counter, self._clock)
        self._run.progress.announce(self._progress())
        began = stopwatch_seconds()
        reply = live.reply(message)
        self.asked, self.seconds = (
            self.asked + 1,
            self.seconds + stopwatch_seconds() - began,
        )
        live.written(reply)
        row = probe_record.ProbeExchange(
            agent=self._label,
            conversation=conversation,
            message=text,
            message_tokens=message.tokens,
            reply=reply.text,
            reply_tokens=reply.tokens,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            estimated=self._tariff.estimates(reply),
        )
        probe_record.append_probe_row(
            self._run.folder.path / probe_record.PROBE_FILE, row
        )
        return reply.text

    def probe_outcome(
        self, verdict: probe_record.ProbeVerdict, why: str = ""
    ) -> probe_record.Decided:
        """Return what the probe came to, and what it cost."""
        rows = probe_record.read_probe(
            self._run.folder.path
        )  # also those of a probe that was cut off
        messages, tokens, usd, guessed = probe_record.probe_usage(
            rows, self._label, self._tariff
        )
        return probe_record.Decided(
            agent=self._label,
            verdict=verdict,
            why=why,
            messages=messages,
            tokens=tokens,
            cost_usd=usd,
            estimated=guessed,
        )


class _Rehearsal:
    """Holds the same conversations with imitations of an agent, and counts what they would take."""

    def __init__(
        self, settings: RunSettings, source: AgentSource, ltm_item: LtmItem
    ) -> None:
        from pytest_ltm.agents._profile import profile_of

        self._settings, self._profile, self._counter = (
            settings,
            profile_of(source),
            token_counter(settings.tokenizer),
        )
        self._clock = SimulatedClock(
            conversation_start(told_in(settings, ltm_item.place))
        )
        self.use = TokenUse()

    def say(self, number: str, texts: Sequence[str]) -> list[str] | None:
        """Return the replies of another imitation; None of a stateless agent."""
        if "Stateless" in self._profile.capabilities:
            return None
        from pytest_ltm.agents._profile import CostSimulator

        agent = CostSimulator(
            self._profile,
            self._counter,
            self._clock,
            assumed=self._settings.assumed_reply,
        )
        messages = (
            _probe_message(exchange, text, self._counter, self._clock)
            for exchange, text in enumerate(texts)
        )
        replies = [agent.reply(message).text for message in messages]
        self.use = sum(agent.uses.values(), self.use)
        return replies


def _probe_message(
    exchange: int, text: str, counter: TokenCounter, clock: SimulatedClock
) -> events.MessageSent:
    return events.MessageSent(
        exchange=exchange,
        by="",
        kind="ask",
        text=text,
        tokens=counter.count(text),
        position=0,
        now=clock.now,
    )
