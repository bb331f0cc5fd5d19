"""The two conversations of a probe: with an agent, or rehearsed with an imitation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import TypeAlias, TypeVar

from pytest_ltm.agents.profile import CostSimulator, profile_of
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.engine import LivePort
from pytest_ltm.api.internals import UnattributedOutput
from pytest_ltm.api.journal import Timings, events
from pytest_ltm.api.model import TokenCounter, token_counter
from pytest_ltm.api.scenarios import Ask, Definition, Say
from pytest_ltm.api.session import (
    LtmItem,
    LtmRun,
    RunSettings,
    conversation_start,
    told_in,
)
from pytest_ltm.api.storage import (
    AgentError,
    BudgetSpent,
    ConversationOver,
    DiskFault,
    SimulatedClock,
    pluralize,
    stopwatch_seconds,
)
from pytest_ltm.figures.forecast import TokenUse
from pytest_ltm.figures.text import span_of_time
from pytest_ltm.modes.live import AgentFactory
from pytest_ltm.prechecks import probe_questions
from pytest_ltm.records import probe_record
from pytest_ltm.reports.expected_length import OWN_TOKENS, expected_tokens

T = TypeVar("T")
# The duration of all conversations, in seconds, from which a forecast is worth
# printing.
NOTABLE = 60.0
# The assumed number of messages of an example without a definition.
_MESSAGES = 3
# Sends texts in a new conversation with this number, and returns the replies; None for
# a stateless agent.
Telling: TypeAlias = "Callable[[str, Sequence[str]], list[str] | None]"


def hold_probe(
    run: LtmRun,
    source: AgentSource,
    groups: Sequence[Sequence[LtmItem]],
    definitions: Mapping[str, Definition],
) -> probe_record.Decided | None:
    """Probe an agent and return the outcome; None if the budget was spent before its end.

    `groups`: the items of its conversations. DiskFault if nothing can be written.
    """
    label = groups[0][0].place.agent
    questions = probe_questions.probe_questions(definitions)
    talk = ProbeConversation(
        run, label, source, groups[0][0], messages=2 + len(questions)
    )
    try:
        with talk.shown():
            result = probe_verdict(talk.say, _secret(run.settings, label), questions)
        if talk.reply_count and result[0] != "leaks":
            seconds = talk.seconds / talk.reply_count
            _forecast_time(run, seconds, source, groups, definitions)
        return talk.probe_outcome(*result)
    except BudgetSpent:
        return None
    except DiskFault:
        raise
    except (AgentError, ConversationOver) as error:
        return talk.probe_outcome("skipped", str(error))


def rehearse_probe(
    settings: RunSettings,
    source: AgentSource,
    ltm_item: LtmItem,
    definitions: Mapping[str, Definition],
) -> TokenUse:
    """Return the usage of an agent's probe."""
    talk = ProbeRehearsal(settings, source, ltm_item)
    secret = _secret(settings, ltm_item.place.agent)
    probe_verdict(talk.say, secret, probe_questions.probe_questions(definitions))
    return talk.use


def _secret(settings: RunSettings, label: str) -> probe_questions.Secret:
    return probe_questions.Secret.secret_word(settings.seed.value, label)


def _forecast_time(
    run: LtmRun,
    seconds_of_message: float,
    source: AgentSource,
    groups: Sequence[Sequence[LtmItem]],
    definitions: Mapping[str, Definition],
) -> None:
    """Print the approximate duration of the agent's conversations, assuming the probe's seconds per reply."""
    terminal = run.config.pluginmanager.get_plugin("terminalreporter")
    profile = profile_of(source)
    counts = {}
    for name, definition in definitions.items():
        counts[name] = sum(isinstance(step, (Say, Ask)) for step in definition.steps)
    messages = 0
    # The opening, the messages of its examples, and everything else that is told.
    for group in groups:
        messages += 1 + sum(counts.get(item.scenario, _MESSAGES) for item in group)
        if "AcceptsHistory" not in profile.capabilities:
            messages += _count_told(run.settings, group, profile.max_message_tokens)
    at_once = min(max(1, run.of_agent.get(groups[0][0].place.agent, 1)), len(groups))
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


def _count_told(settings: RunSettings, group: Sequence[LtmItem], largest: int) -> int:
    """Return the approximate number of a conversation's messages in addition to its examples' own.

    They are a data set's history, else filler in messages of `largest` tokens.
    """
    spans = settings.spans
    place = group[0].place
    told_conversation = told_in(settings, place)
    if told_conversation is not None:
        return len(told_conversation.history)
    if spans[place.span] is None:
        return 0
    filler = expected_tokens(group, spans) - 2 * OWN_TOKENS * len(group)
    return math.ceil(max(0, filler) / largest)


def probe_verdict(
    say: Telling,
    secret: probe_questions.Secret,
    chosen: Sequence[probe_questions.ProbeQuestion],
) -> tuple[probe_record.ProbeVerdict, str]:
    """Hold the two conversations of a probe; return the outcome and the reason."""
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


class ProbeConversation:
    """Holds an agent's probe conversations, within the budget, and records the exchanges."""

    def __init__(
        self,
        run: LtmRun,
        label: str,
        source: AgentSource,
        ltm_item: LtmItem,
        *,
        messages: int,
    ) -> None:
        self._run = run
        self._label = label
        self._source = source
        self._place = ltm_item.place
        self._messages = messages
        self.reply_count, self.seconds = 0, 0.0
        """The number of replies so far, and their total seconds."""
        self._tariff = run.costs.tariff_of(label)
        self._counter = token_counter(run.settings.tokenizer)
        self._clock = SimulatedClock(
            conversation_start(told_in(run.settings, ltm_item.place))
        )
        self._numbers = count()

    def say(self, number: str, texts: Sequence[str]) -> list[str] | None:
        """Return the replies of a new agent; None, without sending anything, for a stateless one."""
        run = self._run
        settings = self._run.settings
        place = self._place
        folder = run.folder.path / f"probe-{self._label}-{number}"
        if self._source.produce_in is not None:  # it leaves files there
            folder.mkdir(exist_ok=True)
        supply = AgentFactory(
            self._source, settings, folder, label=self._label, trial=place.trial
        )

        output = UnattributedOutput(run.config)

        def calling(_by: str, call: Callable[[], T]) -> T:
            with output.active():
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
            if "Stateless" in live.capabilities:
                return None
            return [self._exchange(live, folder.name, text) for text in texts]
        finally:
            live.close()
            output.close()
            with suppress(OSError):  # it left none
                folder.rmdir()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Report the probe in progress if the run is interrupted; clear the progress at the end."""
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
        return f"isolation probe of agent {self._label!r}, at message {self.reply_count + 1} of {self._messages}"

    def _exchange(self, live: LivePort, conversation: str, text: str) -> str:
        live.ready("")
        message = _probe_message(next(self._numbers), text, self._counter, self._clock)
        self._run.progress.announce(self._progress())
        began = stopwatch_seconds()
        reply = live.reply(message)
        self.reply_count += 1
        self.seconds += stopwatch_seconds() - began
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
        """Return the outcome of the probe, with its cost."""
        # Including those of a probe that was interrupted.
        rows = probe_record.read_probe(self._run.folder.path)
        usage = probe_record.probe_usage(rows, self._label, self._tariff)
        return probe_record.Decided(
            agent=self._label,
            verdict=verdict,
            why=why,
            messages=usage.calls,
            tokens=usage.tokens,
            cost_usd=usage.usd,
            estimated=usage.guessed,
        )


class ProbeRehearsal:
    """Holds the same conversations with imitations of an agent, and counts their usage."""

    def __init__(
        self, settings: RunSettings, source: AgentSource, ltm_item: LtmItem
    ) -> None:
        self._settings = settings
        self._profile = profile_of(source)
        self._counter = token_counter(settings.tokenizer)
        self._clock = SimulatedClock(
            conversation_start(told_in(settings, ltm_item.place))
        )
        self.use = TokenUse()

    def say(self, number: str, texts: Sequence[str]) -> list[str] | None:
        """Return the replies of a new imitation; None for a stateless agent."""
        if "Stateless" in self._profile.capabilities:
            return None
        agent = CostSimulator(
            self._profile,
            self._counter,
            self._clock,
            assumed=self._settings.assumed_reply,
        )
        replies = []
        for exchange, text in enumerate(texts):
            message = _probe_message(exchange, text, self._counter, self._clock)
            replies.append(agent.reply(message).text)
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
