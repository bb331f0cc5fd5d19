"""`check-agent SPEC`: a few messages to an agent, and what of it a run can use, will not see, or would refuse."""

from __future__ import annotations

import difflib
import json
import shlex
import shutil
import traceback
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from statistics import mean, median
from tempfile import TemporaryDirectory

from msgspec import Struct

from pytest_ltm._core.calls.event_loop import (
    blocked_seconds,
    close_loops,
    share_in_thread,
)
from pytest_ltm._core.calls.foreign import UNBLOCK
from pytest_ltm._core.calls.hub import Hub, OwnThread
from pytest_ltm._core.calls.retry import Retries
from pytest_ltm._core.model.account import sort_end
from pytest_ltm._core.model.agent import CAPABILITIES, Reply
from pytest_ltm._core.model.schedule import cannot_come_back
from pytest_ltm._core.model.transcript import SPOKEN
from pytest_ltm._core.storage.clock import START, stopwatch_seconds
from pytest_ltm._core.storage.errors import AgentError, AgentFault
from pytest_ltm._core.storage.secrets import redact_secrets
from pytest_ltm._core.storage.wording import one_line, pluralize
from pytest_ltm.agents._adapt import AgentSource
from pytest_ltm.agents._caller import AgentCaller
from pytest_ltm.agents._capabilities import near_misses, protocol_members
from pytest_ltm.agents._registry import find_agent
from pytest_ltm.commands.arguments import (
    add_flags,
    add_json,
    add_option,
    add_own_agent,
    choose_spec,
)
from pytest_ltm.commands.pytest_runs import play_run
from pytest_ltm.figures.statistics.comparison import sign_flips
from pytest_ltm.figures.statistics.pairs import SignUnit
from pytest_ltm.figures.statistics.totals import scores_by_scenario
from pytest_ltm.figures.text import clip_text, format_dollars, pad_right, wrap_text
from pytest_ltm.prechecks.probe_questions import Secret

ALPHA, LEAST_LEAD = 0.01, 0.1
"""How unlikely, and how large as a share of full marks, a lead on published texts is that is worth a look."""
_SUITE = (
    "--ltm-suite=standard",
    "--ltm-span=2k",
    "--ltm-examples=1",
    "--ltm-compare=",
    "--ltm-judge=none",
)


class TextsComparison(Struct, frozen=True):
    """The scores of one agent on the published texts, and on texts that were made just now."""

    published: dict[str, float]
    """Scenario -> score with seed 0."""
    fresh: tuple[dict[str, float], ...]
    """The same with each fresh seed."""

    @property
    def sentence(self) -> str:
        """The shares of full marks."""
        known, *others = (
            f"{mean(one.values()) if one else 0.0:.2f}"
            for one in (self.published, *self.fresh)
        )
        return f"standard at 2k: {known} of full marks on the texts of seed 0, {' and '.join(others)} on new ones"

    @property
    def knows_texts(self) -> bool:
        """Whether the agent does better on published texts than chance allows, and than with either fresh seed."""
        shared = sorted(set(self.published).intersection(*self.fresh))
        leads = [
            self.published[name] - mean(one[name] for one in self.fresh)
            for name in shared
        ]
        if not leads or mean(leads) < LEAST_LEAD:
            return False
        chance = sign_flips(
            [SignUnit(lead / len(leads), 1 / len(leads)) for lead in leads], Random(0)
        )
        return chance.p_gain <= ALPHA and all(
            mean(self.published[name] - one[name] for name in shared) >= LEAST_LEAD
            for one in self.fresh
        )


def compare_texts(spec: str) -> TextsComparison:
    """Play a small suite with seed 0 and with two fresh ones; LtmError if pytest plays nothing."""
    with TemporaryDirectory(prefix="ltm-texts-") as name:
        folders = [
            (seed, Path(name) / str(number))
            for number, seed in enumerate(("0", "fresh", "fresh"))
        ]
        runs = [
            play_run([spec], [*_SUITE, f"--ltm-seed={seed}"], folder)
            for seed, folder in folders
        ]
    scores = [scores_by_scenario(run.result.scenarios) for run in runs]
    published, *fresh = (
        {name: mean(marks) for name, marks in score.items()} for score in scores
    )
    return TextsComparison(published, tuple(fresh))


# The exit status where something is worth a look.
FINDS = 1
# The exit status where no run could use the agent.
UNUSABLE = 2
GREETING = "Hello! I'm trying you out. Is everything all right?"
BETWEEN = "By the way, which is longer, a mile or a kilometre?"
KNOWS_TEXTS = (
    "it does better on the published texts of seed 0 than on new ones: it may have learned them. "
    "Measure it with --ltm-seed=env:NAME, a seed that only your CI knows"
)
_CLOSE = 0.75  # names less alike than this are taken for methods of the agent's own
_BLOCKED = 0.5  # seconds in which the event loop does not turn that are worth a look
_RETRIES = 2  # a check should fail soon where a run would be patient
_SHOWN, _TITLE = 60, 14
_OURS = str(Path(__file__).parents[1])


@dataclass(kw_only=True)
class AgentCheckReport:
    """What a few messages told about an agent."""

    spec: str
    kind: str = ""
    """What the spec names, and how many conversations it can serve."""
    capabilities: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of each reply."""
    replies: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    """How each reply came to be: `whole`, `cut`, or `unknown`, with the name of its end."""
    tokens: int | None = None
    """Input and output; None where the agent reports none."""
    cost_usd: float | None = None
    notes: list[str] = field(default_factory=list)
    """What was tried, and went as it should."""
    finds: list[str] = field(default_factory=list)
    """What is worth a look."""
    unusable: str = ""
    """Why no run could use it; "" if one could."""

    @property
    def status(self) -> int:
        """The exit status."""
        return UNUSABLE if self.unusable else FINDS if self.finds else 0


def add_arguments(parser: ArgumentParser) -> None:
    """Add the agent's spec and its time limit."""
    add_own_agent(parser)
    add_flags(
        parser,
        texts="also play a small suite three times: does the agent know the published texts of seed 0?",
    )
    add_option(
        parser,
        "--timeout",
        "SECONDS",
        "time limit for one reply; 0: none (default: 60)",
        60.0,
    )
    add_json(parser)


def check_agent(arguments: Namespace) -> int:
    """Send an agent a few messages, one of them in another conversation, and report what it can do.

    The report names its capabilities, methods whose names nearly match what a run would
    call, whether it keeps conversations apart, and how long a reply takes. Exit status
    1 if something deserves a look, 2 if no run could use the agent.
    """
    spec = choose_spec(arguments, "ltm check-agent SPEC")
    report = probe_agent(spec, timeout=arguments.timeout or None)
    if arguments.texts and not report.unusable:
        texts = compare_texts(spec)
        report.notes.append(texts.sentence)
        report.finds += [KNOWS_TEXTS] * texts.knows_texts
    lines = report_lines(report, max(shutil.get_terminal_size().columns, _SHOWN))
    print(
        redact_secrets(
            json.dumps(asdict(report), indent=1) if arguments.json else "\n".join(lines)
        )
    )
    return report.status


def probe_agent(spec: str, *, timeout: float | None) -> AgentCheckReport:
    """Return what a few messages tell about the agent of a spec; nothing that goes wrong in it is raised.

    Args:
        spec: As for `--ltm-agent`.
        timeout: Seconds for each reply; None: no limit.
    """
    report = AgentCheckReport(spec=spec)
    try:
        share_in_thread()  # as in a run that plays conversations at once, what is shared belongs to the first loop
        _Visit(find_agent(spec, base=Path.cwd()), report, timeout).check()
    except AgentFault as fault:
        report.unusable = str(fault)
    except AgentError as error:
        lines = [str(error)]
        if error.__cause__ is not None:
            trace = traceback.TracebackException.from_exception(error.__cause__)
            # The frames of this package would bury the line of the agent's that is at
            # fault.
            foreign = [one for one in trace.stack if not one.filename.startswith(_OURS)]
            trace.stack = traceback.StackSummary.from_list(foreign)
            lines += "".join(trace.format(chain=False)).rstrip().splitlines()
        report.unusable = "\n".join(lines)
    finally:
        close_loops()
    return report


class _Visit:
    """The agents of one source, one after another."""

    def __init__(
        self, source: AgentSource, found: AgentCheckReport, timeout: float | None
    ) -> None:
        self._source, self._found, self._timeout = source, found, timeout
        self._secret = Secret.secret_word(0, source.spec)

    def check(self) -> None:
        result, source = self._found, self._source
        result.kind = (
            "a new agent for each conversation"
            if source.owned
            else "one agent for all conversations"
            if source.serves_many
            else "one agent for one conversation"
        )
        result.kind += f", which replies by {source.calls}()" * bool(source.calls)
        if not source.serves_many:
            result.finds.append(source.refusal)
        with self._talking() as first:
            result.capabilities = sorted(first.capabilities & CAPABILITIES.keys())
            if not source.embedded:
                result.finds += [
                    *near_misses(first.agent, CAPABILITIES).values(),
                    *_misspelt_methods(first.agent),
                ]
            # a message in between: an agent that keeps just the last one must not seem
            # to remember
            asked = (GREETING, self._secret.telling, BETWEEN, self._secret.question)
            knew = self._secret.is_in(
                [self._say(first, message) for message in asked][-1]
            )
            empty = [
                message
                for message, reply in zip(asked, result.replies, strict=False)
                if not reply.strip()
            ]
            for message in empty[:1]:
                result.finds.append(
                    f"an empty reply to {message!r}, which is accepted and scored as given"
                )
            result.notes.append(
                f"recalls a fact from three messages earlier: {'yes' if knew else 'no'}"
            )
            if "Checkpointable" in first.capabilities:
                state = first.save()
                result.notes.append(f"save() gives {pluralize(len(state), 'byte')}")
            if source.serves_many:
                # an agent that does not remember within a session cannot do so in the
                # next
                if knew and source.owned and not cannot_come_back(first.capabilities):
                    self._come_back(first)
                self._look_for_leaks(first, knew=knew)
        if source.owned or "Stateless" in first.capabilities:
            self._talk_at_once()

    def _come_back(self, first: AgentCaller) -> None:
        """Ask another agent that has the first one's memory, as in the user's next session."""
        with TemporaryDirectory() as name:
            with self._talking(Path(name)) as before:
                self._say(before, self._secret.telling)
                state = (
                    before.save() if "Checkpointable" in first.capabilities else None
                )
            with self._talking(Path(name)) as again:
                if state is not None and "KeepsUsers" not in first.capabilities:
                    again.load(state)
                knows = self._secret.is_in(self._say(again, self._secret.question))
        if knows:
            self._found.notes.append("knows it in the next session, too")
        else:
            self._found.finds.append(
                "in the next session, created again with its own memory, it does not know a fact from the first: "
                "it saves, or keeps of its users, less than it knows"
            )

    def _look_for_leaks(self, first: AgentCaller, *, knew: bool) -> None:
        """Ask the next agent for what only the first was told; where one serves all, it has been reset."""
        # it is given the whole conversation each time and has nothing to leak
        if not self._source.owned and "Stateless" in first.capabilities:
            return
        with self._talking() as second:
            if self._secret.is_in(self._say(second, self._secret.question)):
                self._found.finds.append(
                    "in another conversation it knows a fact from the first: a run would be unmeasurable. "
                    "Keep each conversation's memory apart (conversation_id), or forget everything in reset()"
                )
            elif knew:
                self._found.notes.append("does not know it in another conversation")

    def _talk_at_once(self) -> None:
        """Hold two conversations at once, as --ltm-concurrency does: some agents fail only then."""
        hub, faults = Hub(), dict[str, None]()

        def talk(own: OwnThread) -> None:
            try:
                with self._talking() as speaker:
                    speaker.tell_time(START)
                    for message in (GREETING, BETWEEN):
                        self._charge(speaker.ask(message))
            except AgentError as error:
                faults[str(error)] = None
            finally:
                own.leaving = True

        for _ in range(2):
            hub.start(talk)
        while hub.count:
            hub.step()
        self._found.finds += [
            f"in two conversations at once (--ltm-concurrency): {fault}"
            for fault in faults
        ]
        if (blocked := sum(blocked_seconds().values())) > _BLOCKED:
            self._found.finds.append(
                f"its async code kept the event loop from turning for {blocked:.1f} s: {UNBLOCK}"
            )
        if not faults:
            self._found.notes.append(
                "two conversations at once: both got their replies"
            )

    def _say(self, speaker: AgentCaller, message: str) -> str:
        speaker.tell_time(START)
        began = stopwatch_seconds()
        reply = speaker.ask(message)
        self._found.seconds.append(stopwatch_seconds() - began)
        self._found.replies.append(reply.text)
        account = sort_end(reply.finish_reason)
        named = "" if account == "whole" else f" ({reply.finish_reason})"
        self._found.accounts.append(f"{account}{named}")
        self._charge(reply)
        return reply.text

    def _charge(self, reply: Reply) -> None:
        if reply.usage is not None and not reply.usage.estimated:
            self._found.tokens = (self._found.tokens or 0) + reply.usage.total
        if reply.cost_usd is not None:
            self._found.cost_usd = (self._found.cost_usd or 0.0) + reply.cost_usd

    @contextmanager
    def _talking(self, folder: Path | None = None) -> Iterator[AgentCaller]:
        """Yield who talks to the agent of the next conversation, or of the one with that folder, and let it go."""
        speaker = AgentCaller(
            self._source.make(folder=folder),
            timeout=self._timeout,
            name=self._source.spec,
            owned=self._source.owned,
            retries=Retries(most=_RETRIES, rng=Random()),
            reading=SPOKEN,
        )
        try:
            yield speaker
        finally:
            notice = speaker.close()
        self._found.finds += [notice] if notice else []


def _misspelt_methods(agent: object) -> Iterator[str]:
    """Yield a sentence on each of the agent's methods whose name is nearly that of a method of a capability."""
    owners = {
        name: power
        for power, kind in CAPABILITIES.items()
        for name in protocol_members(kind)
    }
    for name in dir(agent):
        if (
            name.startswith("_")
            or name in owners
            or name in vars(object)
            or not callable(getattr(agent, name, None))
        ):
            continue
        for meant in difflib.get_close_matches(
            name, [owner for owner in owners if not hasattr(agent, owner)], 1, _CLOSE
        ):
            yield f"it has {name}(), which nothing calls. Did you mean {meant}() of {owners[meant]}?"


# --- what is printed


def report_lines(report: AgentCheckReport, width: int) -> Iterator[str]:
    """Yield the lines of a report."""
    yield f"{report.spec}: {'cannot be used' if report.unusable else report.kind}"
    rows: list[tuple[str, str]] = []
    if report.seconds:
        took = f"median {_time_text(median(report.seconds))}, longest {_time_text(max(report.seconds))}"
        cost = "" if report.cost_usd is None else f", {format_dollars(report.cost_usd)}"
        unreported = "not reported: messages and replies are counted, marked ~"
        rows = [
            ("replies", f"{len(report.seconds)}; {took}"),
            ("came to be", _count_alike(report.accounts)),
            ("the last one", repr(clip_text(one_line(report.replies[-1]), _SHOWN))),
            (
                "tokens",
                unreported if report.tokens is None else f"{report.tokens:,}{cost}",
            ),
        ]
    if not report.unusable:
        rows.append(
            (
                "capabilities",
                ", ".join(report.capabilities)
                or "none: replies alone, which is enough",
            )
        )
    for title, text in [*rows, *(("tried", note) for note in report.notes)]:
        yield from wrap_text(
            pad_right(title, _TITLE) + one_line(text), width, indent=" " * _TITLE
        )
    if report.unusable:
        yield from ("", *report.unusable.splitlines())
        return
    for noted in report.finds:
        yield from ("", *wrap_text(f"look at: {one_line(noted)}", width, indent="  "))
    yield from ("", f"first score: pytest --ltm-agent={shlex.quote(report.spec)}")


def _count_alike(accounts: list[str]) -> str:
    """Return how many replies have each account: `4 whole, 1 cut (length)`."""
    counts = Counter(accounts)
    return ", ".join(f"{count} {account}" for account, count in counts.items())


def _time_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"
