"""`check-agent SPEC`: sends an agent a few messages, and reports what a run can use, ignores or refuses."""

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
from statistics import median
from tempfile import TemporaryDirectory

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import near_misses, protocol_members
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.calls import (
    UNBLOCK,
    Retries,
    blocked_seconds,
    close_loops,
    share_in_thread,
)
from pytest_ltm.api.model import CAPABILITIES, SPOKEN, Reply, cannot_come_back, sort_end
from pytest_ltm.api.storage import (
    START,
    AgentError,
    AgentFault,
    one_line,
    pluralize,
    redact_secrets,
    stopwatch_seconds,
)
from pytest_ltm.commands.arguments import (
    add_flags,
    add_json,
    add_option,
    add_own_agent,
    choose_spec,
)
from pytest_ltm.commands.published_texts import KNOWS_TEXTS, compare_texts
from pytest_ltm.figures.text import clip_text, format_dollars, pad_right, wrap_text
from pytest_ltm.modes.hub import Hub, OwnThread
from pytest_ltm.prechecks.probe_questions import Secret

# The exit status if something deserves a look.
FINDS = 1
# The exit status if no run could use the agent.
UNUSABLE = 2
GREETING = "Hello! I'm trying you out. Is everything all right?"
BETWEEN = "By the way, which is longer, a mile or a kilometre?"
_CLOSE = 0.75  # names less similar than this count as the agent's own methods
_BLOCKED = 0.5  # seconds of a blocked event loop that deserve a look
_RETRIES = 2  # a check should fail sooner than a run
_SHOWN = 60
_TITLE = 14
_PACKAGE = str(Path(__file__).parents[1])


@dataclass(kw_only=True)
class AgentCheckReport:
    """The findings of a few messages about an agent."""

    spec: str
    kind: str = ""
    """What the spec names, and how many conversations it can serve."""
    capabilities: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """The duration of each reply."""
    replies: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    """The account of each reply (`whole`, `cut`, `unknown` ...), with its finish reason."""
    tokens: int | None = None
    """Input and output tokens; None if the agent reports none."""
    cost_usd: float | None = None
    notes: list[str] = field(default_factory=list)
    """Checks that passed."""
    finds: list[str] = field(default_factory=list)
    """Findings that deserve a look."""
    unusable: str = ""
    """Why no run could use the agent; "" if one could."""

    @property
    def status(self) -> int:
        """The exit status."""
        if self.unusable:
            return UNUSABLE
        return FINDS if self.finds else 0


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
        if texts.knows_texts:
            report.finds.append(KNOWS_TEXTS)
    if arguments.json:
        text = json.dumps(asdict(report), indent=1)
    else:
        width = max(shutil.get_terminal_size().columns, _SHOWN)
        text = "\n".join(report_lines(report, width))
    print(redact_secrets(text))
    return report.status


def probe_agent(spec: str, *, timeout: float | None) -> AgentCheckReport:
    """Report on the agent of a spec after a few messages; errors of the agent are not raised.

    Args:
        spec: As for `--ltm-agent`.
        timeout: Seconds per reply; None for no limit.
    """
    report = AgentCheckReport(spec=spec)
    try:
        share_in_thread()  # shared objects belong to the first loop
        _Visit(find_agent(spec, base=Path.cwd()), report, timeout).run()
    except AgentFault as fault:
        report.unusable = str(fault)
    except AgentError as error:
        report.unusable = "\n".join([str(error), *_cause_lines(error)])
    finally:
        close_loops()
    return report


def _cause_lines(error: AgentError) -> list[str]:
    """Return the traceback of an agent's error, without the frames of this package, which would bury it."""
    cause = error.__cause__
    if cause is None:
        return []
    if isinstance(cause, AgentError):  # one of ours: its text is part of the error's
        return _cause_lines(cause)
    trace = traceback.TracebackException.from_exception(cause)
    frames = [frame for frame in trace.stack if not frame.filename.startswith(_PACKAGE)]
    trace.stack = traceback.StackSummary.from_list(frames)
    return "".join(trace.format(chain=False)).rstrip().splitlines()


class _Visit:
    """A visit to the agents of one source, one after another."""

    def __init__(
        self, source: AgentSource, report: AgentCheckReport, timeout: float | None
    ) -> None:
        self._source = source
        self._report = report
        self._timeout = timeout
        self._secret = Secret.secret_word(0, source.spec)

    def run(self) -> None:
        """Talk to the agent in one conversation, then in others, and in two at once."""
        source = self._source
        report = self._report
        report.kind = _describe_source(source)
        if not source.serves_many:
            report.finds.append(source.refusal)
        with self._conversation() as first:
            report.capabilities = sorted(first.capabilities & CAPABILITIES.keys())
            if not source.embedded:
                report.finds += near_misses(first.agent, CAPABILITIES).values()
                report.finds += _misspelt_methods(first.agent)
            knows = self._check_recall(first)
            if "Checkpointable" in first.capabilities:
                size = pluralize(len(first.save()), "byte")
                report.notes.append(f"save() gives {size}")
            if source.serves_many:
                # An agent that forgets within a session cannot remember in the next.
                if knows and source.owned and not cannot_come_back(first.capabilities):
                    self._check_next_session(first)
                self._check_leaks(first, knows=knows)
        if source.owned or "Stateless" in first.capabilities:
            self._check_concurrency()

    def _check_recall(self, first: AgentCaller) -> bool:
        """Tell the agent a word and ask for it; return whether it knew it.

        There is a message in between, so that an agent with only the last message does not seem to remember.
        """
        report = self._report
        messages = (GREETING, self._secret.telling, BETWEEN, self._secret.question)
        replies = [self._say(first, message) for message in messages]
        for message, reply in zip(messages, replies, strict=True):
            if not reply.strip():
                report.finds.append(
                    f"an empty reply to {message!r}, which is accepted and scored as given"
                )
                break
        knows = self._secret.is_in(replies[-1])
        answer = "yes" if knows else "no"
        report.notes.append(f"recalls a fact from three messages earlier: {answer}")
        return knows

    def _check_next_session(self, first: AgentCaller) -> None:
        """Ask another agent that has the first one's memory, as in a user's next session."""
        state: bytes | None = None
        with TemporaryDirectory() as name:
            folder = Path(name)
            with self._conversation(folder) as earlier:
                self._say(earlier, self._secret.telling)
                if "Checkpointable" in first.capabilities:
                    state = earlier.save()
            with self._conversation(folder) as after:
                if state is not None and "KeepsUsers" not in first.capabilities:
                    after.load(state)
                knows = self._secret.is_in(self._say(after, self._secret.question))
        if knows:
            self._report.notes.append("knows it in the next session, too")
        else:
            self._report.finds.append(
                "in the next session, created again with its own memory, it does not know a fact from the first: "
                "it saves, or keeps of its users, less than it knows"
            )

    def _check_leaks(self, first: AgentCaller, *, knows: bool) -> None:
        """Ask the next agent for the first one's secret; an agent that serves all conversations was reset."""
        # A stateless agent gets the whole conversation each time, and cannot leak.
        if not self._source.owned and "Stateless" in first.capabilities:
            return
        with self._conversation() as second:
            leaks = self._secret.is_in(self._say(second, self._secret.question))
        if leaks:
            self._report.finds.append(
                "in another conversation it knows a fact from the first: a run would be unmeasurable. "
                "Keep each conversation's memory apart (conversation_id), or forget everything in reset()"
            )
        elif knows:
            self._report.notes.append("does not know it in another conversation")

    def _check_concurrency(self) -> None:
        """Hold two conversations at once, like --ltm-concurrency: some agents fail only then."""
        hub = Hub()
        faults: list[str] = []

        def talk(thread: OwnThread) -> None:
            try:
                with self._conversation() as caller:
                    caller.tell_time(START)
                    for message in (GREETING, BETWEEN):
                        self._add_usage(caller.ask(message))
            except AgentError as error:
                faults.append(str(error))
            finally:
                thread.leaving = True

        for _ in range(2):
            hub.start(talk)
        while hub.count:
            hub.step()
        report = self._report
        for fault in dict.fromkeys(faults):
            report.finds.append(
                f"in two conversations at once (--ltm-concurrency): {fault}"
            )
        blocked = sum(blocked_seconds().values())
        if blocked > _BLOCKED:
            report.finds.append(
                f"its async code kept the event loop from turning for {blocked:.1f} s: {UNBLOCK}"
            )
        if not faults:
            report.notes.append("two conversations at once: both got their replies")

    def _say(self, caller: AgentCaller, message: str) -> str:
        """Send a message; record the reply's account, time and tokens."""
        report = self._report
        caller.tell_time(START)
        began = stopwatch_seconds()
        try:
            reply = caller.ask(message)
        except AgentFault as fault:
            report.accounts += [fault.account] if fault.account else []
            raise
        report.seconds.append(stopwatch_seconds() - began)
        report.replies.append(reply.text)
        account: str = sort_end(reply.finish_reason)
        end = reply.finish_reason
        find = (
            f"replies end with {end!r}: if that is as good as 'stop', give ends={end}"
        )
        if account == "unknown" and find not in report.finds:
            report.finds.append(find)
        if account != "whole":
            account = f"{account} ({end})"
        report.accounts.append(account)
        self._add_usage(reply)
        return reply.text

    def _add_usage(self, reply: Reply) -> None:
        report = self._report
        if reply.usage is not None and not reply.usage.estimated:
            report.tokens = (report.tokens or 0) + reply.usage.total
        if reply.cost_usd is not None:
            report.cost_usd = (report.cost_usd or 0.0) + reply.cost_usd

    @contextmanager
    def _conversation(self, folder: Path | None = None) -> Iterator[AgentCaller]:
        """Yield the caller of the next conversation's agent, or of the one with that folder, and close it."""
        caller = AgentCaller(
            self._source.make(folder=folder),
            timeout=self._timeout,
            name=self._source.spec,
            owned=self._source.owned,
            retries=Retries(most=_RETRIES, rng=Random()),
            reading=SPOKEN,
        )
        try:
            yield caller
        finally:
            notice = caller.close()
        if notice:
            self._report.finds.append(notice)


def _describe_source(source: AgentSource) -> str:
    """Return how many conversations an agent can serve, and its reply method."""
    if source.owned:
        kind = "a new agent for each conversation"
    elif source.serves_many:
        kind = "one agent for all conversations"
    else:
        kind = "one agent for one conversation"
    if source.calls:
        return f"{kind}, which replies by {source.calls}()"
    return kind


def _misspelt_methods(agent: object) -> Iterator[str]:
    """Yield a sentence on each of the agent's methods with a name close to that of a capability's method."""
    owners: dict[str, str] = {}
    for capability, protocol in CAPABILITIES.items():
        for name in protocol_members(protocol):
            owners[name] = capability
    missing = [name for name in owners if not hasattr(agent, name)]
    for name in dir(agent):
        is_own = not name.startswith("_") and name not in (*owners, *vars(object))
        if not is_own or not callable(getattr(agent, name, None)):
            continue
        for near_name in difflib.get_close_matches(name, missing, 1, _CLOSE):
            yield f"it has {name}(), which nothing calls. Did you mean {near_name}() of {owners[near_name]}?"


# --- Output


def report_lines(report: AgentCheckReport, width: int) -> Iterator[str]:
    """Yield the lines of a report."""
    yield f"{report.spec}: {'cannot be used' if report.unusable else report.kind}"
    rows = list(_reply_rows(report))
    if not report.unusable:
        nothing = "none: replies alone, which is enough"
        rows.append(("capabilities", ", ".join(report.capabilities) or nothing))
    rows += [("tried", note) for note in report.notes]
    for title, text in rows:
        line = pad_right(title, _TITLE) + one_line(text)
        yield from wrap_text(line, width, indent=" " * _TITLE)
    yield ""
    if report.unusable:
        yield from report.unusable.splitlines()
        return
    for sentence in report.finds:
        yield from wrap_text(f"look at: {one_line(sentence)}", width, indent="  ")
        yield ""
    yield f"first score: pytest --ltm-agent={shlex.quote(report.spec)}"


def _reply_rows(report: AgentCheckReport) -> Iterator[tuple[str, str]]:
    """Yield titled rows on the replies."""
    if report.seconds:
        typical = median(report.seconds)
        longest = max(report.seconds)
        times = f"median {_time_text(typical)}, longest {_time_text(longest)}"
        yield "replies", f"{len(report.seconds)}; {times}"
    if report.accounts:
        yield "came to be", _count_alike(report.accounts)
    if not report.replies:
        return
    yield "the last one", repr(clip_text(one_line(report.replies[-1]), _SHOWN))
    if report.tokens is None:
        yield "tokens", "not reported: messages and replies are counted, marked ~"
    elif report.cost_usd is None:
        yield "tokens", f"{report.tokens:,}"
    else:
        yield "tokens", f"{report.tokens:,}, {format_dollars(report.cost_usd)}"


def _count_alike(accounts: list[str]) -> str:
    """Return the number of replies by account: `4 whole, 1 cut (length)`."""
    counts = Counter(accounts)
    return ", ".join(f"{count} {account}" for account, count in counts.items())


def _time_text(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1000 * seconds:.1f} ms"
