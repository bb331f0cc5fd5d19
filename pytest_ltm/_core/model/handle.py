"""Ltm, the handle behind the `ltm` fixture, through which a body talks; and Sheet, on which it is scored."""

from __future__ import annotations

import inspect
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property, wraps
from itertools import chain
from pathlib import Path
from textwrap import shorten
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, TypeVar

from pytest_ltm._core.features import current_hooks
from pytest_ltm._core.model.file_checks import check_file
from pytest_ltm._core.model.opinion import KnownQuestion, Opinion
from pytest_ltm._core.model.scenario import (
    Ask,
    Compact,
    Definition,
    NewSession,
    Request,
    Say,
    Step,
    Wait,
    Watch,
    Watcher,
)
from pytest_ltm._core.model.score import (
    Check,
    Replies,
    Score,
    Scoring,
    Unscored,
    undecided_if_open,
    with_bounds,
)
from pytest_ltm._core.model.tools import (
    WORKSPACE,
    AnsweredCall,
    Call,
    CallRule,
    Tool,
    Tools,
    make_tool,
)
from pytest_ltm._core.model.transcript import Exchange, needle_gap
from pytest_ltm._core.storage.clock import duration
from pytest_ltm._core.storage.errors import (
    ConfigurationError,
    ScenarioError,
    did_you_mean,
)

if TYPE_CHECKING:
    from pytest_ltm._core.model.judge import Judge
    from pytest_ltm._core.storage.workspace import Workspace

# Names in other libraries for the methods of a scenario.
METHOD_ALIASES = {
    "answer": "ask",
    "chat": "ask",
    "expect": "check",
    "fail": "check",
    "grade": "score",
    "message": "say",
    "prompt": "ask",
    "query": "ask",
    "question": "ask",
    "rate": "score",
    "reply": "ask",
    "rng": "random",
    "send": "say",
    "skip": "wait",
    "sleep": "wait",
    "tell": "say",
    "time": "now",
    "verify": "check",
}
# The default number of messages of a simulated user.
USER_TURNS = 8
LABELLED = '"names the city", "Turku" in answer'
P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class Sheet:
    """A body's findings about its agent so far."""

    checks: list[Check] = field(default_factory=list)
    said: Score | Unscored | None = None
    """The verdict of `ltm.score`, which replaces the checks."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Figures in addition to the score, by name."""
    assertion: Check | None = None
    """The failed assertion that ended the body, also included in the checks."""
    tools: dict[str, Tool] = field(default_factory=dict)
    """The tools that the scenario offers, by name."""
    workspace: Workspace | None = None
    """The folder that the agent may use."""

    def verdict(
        self, watched: Sequence[Score | Unscored], *, threshold: float
    ) -> Score | Unscored:
        """Return the verdict; a watcher's verdict counts as one check.

        Any Unscored part makes the whole Unscored, unless it is undecided: that counts
        as an open check.
        """
        scores = []
        for verdict in (*watched, self.said):
            if verdict is None:
                continue
            bounded = with_bounds(verdict)
            if isinstance(bounded, Unscored):
                return bounded
            scores.append(bounded)
        return undecided_if_open(self._score(scores, threshold))

    def _score(self, scores: Sequence[Score], threshold: float) -> Score:
        if self.said is not None:
            # An assertion that fails after the verdict is an additional check.
            if self.assertion is None:
                return scores[-1]
            return score_checks([self.assertion], scores[-1:], threshold)
        if len(scores) == 1 and not self.checks:
            return scores[0]
        if not self.checks and not scores:
            return Score(1.0, "no assertion failed")
        return score_checks(self.checks, scores, threshold)

    def offered_tools(self) -> Tools | None:
        """Return the tools for the next message; None if there are none."""
        if self.workspace is not None:
            self.workspace.look()
        offered = tuple(self.tools.values())
        if offered:
            return Tools(offered, files=self.workspace)
        return None

    def note_failed_assertion(self, label: str) -> None:
        """Record the failed assertion that ended the body as a failed check, which `ltm.score` does not undo."""
        self.assertion = Check(label, ok=False)
        self.checks.append(self.assertion)


def _refuse_arguments(label: object, ok: object) -> None:
    """Raise ScenarioError if the arguments of a check have the wrong order or type."""
    __tracebackhide__ = True
    if not isinstance(label, str):
        raise ScenarioError(
            f"ltm.check({label!r}, ...): the label comes first, as in ltm.check({LABELLED})"
        )
    if not isinstance(ok, (bool, Opinion, re.Match, NoneType)):
        cure = LABELLED if isinstance(ok, str) else f"{label!r}, bool(...)"
        raise ScenarioError(
            f"ltm.check({label!r}, {shorten(repr(ok), 60)}): a check needs True or False, not {type(ok).__name__}. "
            f"Write a comparison, as in ltm.check({cure})"
        )


def score_checks(
    checks: Sequence[Check], scores: Sequence[Score], threshold: float
) -> Score:
    """Return the mean of checks and scores; for each score, a check records whether it reaches the threshold."""
    parts = list(checks)
    for score in scores:
        is_open = score.value < threshold <= score.upper
        parts.append(Check(score.reason, score.value >= threshold, is_open))
    failed = [f"{part.state}: {part.label}" for part in parts if not part.ok]
    reason = "; ".join(failed) or f"all {len(parts)} checks passed"
    value = sum(check.ok for check in checks) + sum(score.value for score in scores)
    upper = sum(check.ok or check.open for check in checks) + sum(
        score.upper for score in scores
    )
    return Score(
        value / len(parts),
        reason,
        tuple(parts),
        left_open=(upper - value) / len(parts) or None,
    )


def _refuse_misuse(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method of `ltm` to explain its signature if the arguments do not fit."""
    signature = inspect.signature(method)
    _, *parameters = signature.parameters.values()
    names = []
    for parameter in parameters:
        if parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            is_needed = parameter.default is parameter.empty
            names.append(parameter.name if is_needed else f"{parameter.name}=…")
    usage = f"ltm.{method.__name__}({', '.join(names)})"

    @wraps(method)
    def checked_method(*arguments: P.args, **keywords: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return method(*arguments, **keywords)
        except TypeError:
            refuse(*arguments, **keywords)
            raise

    def refuse(*arguments: object, **keywords: object) -> None:
        __tracebackhide__ = True
        try:
            signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ScenarioError(
                f"ltm.{method.__name__}: {error}. It is called as {usage}"
            ) from None

    return checked_method


class LtmUser(Protocol):
    """A simulated user in one scenario: a model with a goal, which talks to the agent as `ltm.say` does.

    Created by `ltm.user`. Its model sees the scenario's messages so far, and the
    agent's replies.
    """

    goal: str
    """The user's goal."""
    facts: tuple[str, ...]
    """Facts that it must mention, in these words."""
    turns: int
    """The maximum number of its messages."""
    done: bool
    """Whether its model has declared that it is finished."""

    @property
    def said(self) -> tuple[str, ...]:
        """Its messages so far, to which a question's `about` may refer."""

    def telling(self, fact: str) -> str:
        """Return the first of its messages that mentions a fact, for `ltm.ask(..., about=user.telling(fact))`.

        Args:
            fact: Consecutive words of the message, in any case.

        Raises:
            ScenarioError: If none of its messages mentions the fact.
        """

    def say(self) -> str | None:
        """Let the model write one message, send it, and return the agent's reply.

        Returns:
            The reply; None if nothing was sent, because the user is finished or has no turn left.

        Raises:
            UserError: If the model fails, or does not write a usable message; the
                example is left unscored.
        """

    def talk(self, turns: int | None = None) -> list[Exchange]:
        """Let the user and the agent talk until the user is finished.

        Args:
            turns: The maximum number of messages; by default as many as the user has
                left.

        Returns:
            The exchanges.

        Raises:
            UserError: As for `say`.
        """


class Ltm:
    """The conversation as one scenario sees it: the `ltm` fixture.

    `say`, `ask`, `wait`, `watch` and `play` may let other scenarios and filler speak
    before they return; `check`, `metric` and `score` never do. The plugin creates one
    for each example; in tests, `pytest_ltm.testing` does.

    Args:
        send: Performs one request and returns the reply to it, if it has one.
        now: Returns the conversation's time, aware.
        example: The number or name of this example.
        span: The memory span in tokens; None in an isolated conversation.
        rng: Creates the example's own random generator on first use.
        definition: The example's data, if its marker has `generate`.
        scoring: The rules that evaluators follow.
        judge: The judge of the run, if it has one.
        heard: Returns this scenario's exchanges so far.
        users: Creates a simulated user, from the arguments of `user` and the functions by which it talks.
        offers: Whether it may offer tools: the scenario's marker requires TakesTools.
        compacts: Whether it may make the agent compact: the marker requires Compacts.
    """

    def __init__(
        self,
        send: Callable[[Request], Any],
        *,
        now: Callable[[], datetime],
        example: int | str,
        span: int | None,
        rng: Callable[[], random.Random],
        definition: Definition | None = None,
        scoring: Scoring = "current",
        judge: Judge | None = None,
        heard: Callable[[], Sequence[Exchange]] = tuple,
        users: Callable[..., LtmUser] | None = None,
        offers: bool = True,
        compacts: bool = True,
    ) -> None:
        self._offers = offers
        self._compacts = compacts
        self._heard = heard
        self._users = users
        self._answered: list[tuple[Ask, str]] = []
        """The questions asked for credit, with their answers."""
        self._send = send
        self._now = now
        self._definition = definition
        self.example = example
        """The number of the example, from 0 (or a file's stem for definitions from a folder)."""
        self.span = span
        """The memory span in tokens; None in an isolated conversation."""
        self._rng = rng
        self.scoring = scoring
        """The rules that evaluators follow: "current", "v3.5" or "paper"."""
        self.judge = judge
        """The judge for evaluators, or None."""
        self.sheet = Sheet()

    def __repr__(self) -> str:
        """Return the same text in every run: explanations of failed assertions contain it."""
        return f"<ltm, example {self.example}>"

    if not TYPE_CHECKING:
        # With a visible `__getattr__`, a type checker would accept every misspelt name.

        def __getattr__(self, name: str) -> NoReturn:
            """Suggest the intended name for a misspelt or foreign one."""
            public = sorted(
                attribute
                for attribute in {*dir(type(self)), *vars(self)}
                if not attribute.startswith("_")
            )
            if name in METHOD_ALIASES:
                hint = f" Did you mean {METHOD_ALIASES[name]!r}?"
            else:
                hint = did_you_mean(name, public)
            raise AttributeError(
                f"ltm has no {name!r}.{hint} It has {', '.join(public)}."
            )

    @property
    def definition(self) -> Definition:
        """The generated data of this example.

        Raises:
            ScenarioError: If the scenario's marker has no `generate`.
        """
        if self._definition is None:
            raise ScenarioError(
                "this scenario has no definition. "
                "Give it one: @pytest.mark.ltm(generate=f), f(rng, parameters) -> Definition"
            )
        return self._definition

    @cached_property
    def random(self) -> random.Random:
        """The example's own random generator: the same seed gives the same example."""
        return self._rng()

    @property
    def now(self) -> datetime:
        """The conversation's time, aware."""
        return self._now()

    @property
    def retrieved(self) -> Sequence[str] | None:
        """The texts or ids retrieved for the agent's last reply to this scenario, best first.

        None unless the agent is a ShowsRetrieval.
        """
        exchanges = self._heard()
        return exchanges[-1].retrieved if exchanges else None

    @property
    def raw_reply(self) -> str:
        """The agent's last unprocessed reply to this scenario, including non-speech; "" before the first."""
        exchanges = self._heard()
        return exchanges[-1].raw_reply if exchanges else ""

    @_refuse_misuse
    def say(
        self,
        text: str,
        *,
        user: str = "",
        tells: Mapping[str, str | None] | None = None,
    ) -> str:
        """Tell the agent something and return its reply, which earns no credit.

        Args:
            text: The message; it must not be empty.
            user: The id of the sender, if several people use one agent; passed to its
                `reply(message, user=...)`.
            tells: The values that it tells, by subject, as `{"favourite colour":
                "ochre"}`: a later value replaces an earlier one, None withdraws it. The
                agent never sees it; it is used to measure what a memory wrote, found
                and served.

        Returns:
            The agent's reply.

        Raises:
            ScenarioError: If the text is empty, or the body has ended.
            Unmeasured: If there is a user and the agent does not separate users: the
                example is Unscored.
        """
        __tracebackhide__ = True
        reply: str = self._send(Say(text, user=user, tells=tells or {}))
        return reply

    @_refuse_misuse
    def ask(
        self,
        text: str,
        about: Iterable[str] = (),
        *,
        answer: str | None = None,
        user: str = "",
        tells: Mapping[str, Sequence[str]] | None = None,
        calls: Iterable[Call] = (),
    ) -> str:
        """Ask a question for credit and return the answer.

        Args:
            text: The question.
            about: The texts of the `say`s that it depends on (one text, or several); by
                default all earlier ones. The distance to them is the gap that reports
                show.
            answer: A reply that earns full marks, "" if any does. Only the control
                `oracle` sees it.
            user: The id of the sender, as for `say`.
            tells: The values among which the reply chooses, by subject; otherwise as
                for `say`.
            calls: The tool calls that earn full marks. Only the control `oracle` sees
                them.

        Returns:
            The agent's answer.

        Raises:
            ScenarioError: If nothing was said before, or `about` names a text that this
                scenario never said.
            Unmeasured: If there is a user and the agent does not separate users: the
                example is Unscored.
        """
        __tracebackhide__ = True
        depends = (about,) if isinstance(about, str) else tuple(about)
        return self._credited(
            Ask(
                text,
                depends,
                answer=answer,
                user=user,
                tells=tells or {},
                calls=tuple(calls),
            )
        )

    @_refuse_misuse
    def user(
        self,
        goal: str,
        *,
        model: str | Sequence[str] | Callable[[str], object] | object,
        facts: Iterable[str] = (),
        turns: int = USER_TURNS,
    ) -> LtmUser:
        """Create a simulated user, which talks to the agent in this scenario's name: each message is a `say`.

        Args:
            goal: The user's goal, seen only by its model.
            model: The writer of its messages: `openai:MODEL[@URL]`, a dotted path to a
                function from the prompt to the reply, such a function, or a list of
                messages, which needs no model.
            facts: Facts that its messages must have mentioned, word for word, before it
                is finished.
            turns: The maximum number of its messages.

        Returns:
            The user, before its first message.

        Raises:
            ScenarioError: If goal, facts, turns or model cannot be used.
        """
        if self._users is None:
            raise ScenarioError("there are no simulated users here")
        return self._users(
            goal,
            model=model,
            send=self.say,
            heard=self._heard,
            facts=facts,
            turns=turns,
        )

    @_refuse_misuse
    def tool(
        self,
        name: str,
        schema: Mapping[str, Any],
        *,
        returns: object = "done",
        description: str = "",
    ) -> None:
        """Offer a mocked tool with all further messages of this scenario.

        Args:
            name: The tool's name: letters, digits and underscores.
            schema: A JSON Schema of its arguments, or the type of each, as in
                `{"day": "string", "people": "integer"}`.
            returns: The result of a call: a text, a JSON value, or a function of the
                arguments that returns one.
            description: A description for the agent.

        Raises:
            ScenarioError: If name or schema cannot be used, or the name is taken. The
                next message raises Unmeasured, and is not sent, if the agent is not a
                TakesTools.
        """
        if not self._offers:
            raise ScenarioError(
                "a scenario that offers tools says so: @pytest.mark.ltm(requires=['TakesTools']). "
                "A run can then tell which agents take no part before anything is sent"
            )
        if name in self.sheet.tools:
            raise ScenarioError(f"there is a tool {name!r} already")
        self.sheet.tools[name] = make_tool(
            name, schema, returns=returns, description=description
        )

    @property
    def workspace(self) -> Path:
        """A temporary folder of this example, initially empty, which the agent may use from the next message on.

        The agent is offered the tool `workspace` with six commands on text files (view,
        create, str_replace, insert, delete, rename), and given the folder's path if it
        runs on this machine.

        Raises:
            ScenarioError: If the scenario's marker does not require TakesTools.
        """
        if self.sheet.workspace is None:
            from pytest_ltm._core.storage.workspace import COMMAND_SCHEMA, Workspace

            workspace = Workspace()
            self.tool(
                WORKSPACE,
                COMMAND_SCHEMA,
                returns=workspace.carry_out,
                description="A folder of text files: your workspace. Paths are relative to it.",
            )
            self.sheet.workspace = workspace
        return self.sheet.workspace.path

    @property
    def files(self) -> Mapping[str, str]:
        """The current text files of the workspace by their paths, without other kinds of files."""
        if self.sheet.workspace is None:
            return {}
        return self.sheet.workspace.folder.texts()

    @_refuse_misuse
    def check_file(
        self,
        path: str,
        /,
        *contains: str | Callable[[str], object],
        without: Iterable[str] = (),
    ) -> bool:
        """Record one check that a file of the workspace exists and contains these texts.

        Args:
            path: The file, relative to the workspace.
            *contains: Texts, ignoring case and white space; or a function that accepts
                the file's text.
            without: Texts that must not be in it.

        Returns:
            Whether the check passes.
        """
        finding = check_file(self.files, path, contains, tuple(without))
        if not finding.ok:
            finding = replace(finding, label=f"{finding.label}{self._told_before()}")
        self.sheet.checks.append(finding)
        return finding.ok

    @property
    def calls(self) -> Sequence[AnsweredCall]:
        """The tool calls in this scenario so far, in order, including refused ones."""
        calls = (exchange.calls for exchange in self._heard())
        return tuple(chain.from_iterable(calls))

    @_refuse_misuse
    def check_call(self, name: str, /, **arguments: object) -> bool:
        """Record one check that a tool was called with these arguments in reply to the last message.

        Args:
            name: The tool.
            **arguments: The arguments that matter, compared by meaning: "10:00" equals
                "10 am". A function returns whether it accepts a value.

        Returns:
            Whether the check passes.
        """
        return self._note_calls("called", name, arguments)

    @_refuse_misuse
    def check_called_once(self, name: str, /, **arguments: object) -> bool:
        """Record one check that a tool was called with these arguments exactly once in this scenario so far.

        Args:
            name: The tool.
            **arguments: As for `check_call`; calls with other arguments do not count.
        """
        return self._note_calls("once", name, arguments)

    @_refuse_misuse
    def check_not_called(self, name: str = "", /, **arguments: object) -> bool:
        """Record one check that a tool was not called with these arguments in reply to the last message.

        Args:
            name: The tool; "": any tool at all.
            **arguments: As for `check_call`; calls with other arguments are allowed.
        """
        return self._note_calls("not called", name, arguments)

    @_refuse_misuse
    def check_call_order(self, *names: str) -> bool:
        """Record one check that these tools were first called in this order, in this scenario so far.

        Args:
            *names: The tools; calls of others in between are allowed.
        """
        return self._note_finding("order", [Call(name) for name in names], self.calls)

    @_refuse_misuse
    def check_only_calls(
        self, *calls: Call, besides: Iterable[str] = (), ordered: bool = False
    ) -> bool:
        """Record one check that the last message led to exactly these calls, each once.

        Args:
            *calls: The calls with all their arguments; none: no tool was called.
            besides: Tools whose calls are ignored.
            ordered: Whether the calls must come in this order.
        """
        passed_over = set(besides)
        calls_made = [call for call in self._last_calls if call.name not in passed_over]
        return self._note_finding("sequence" if ordered else "only", calls, calls_made)

    @_refuse_misuse
    def wait(
        self,
        *unsaid: NoReturn,
        span: float = 0.0,
        tokens: int = 0,
        time: str | float | timedelta = 0,
    ) -> None:
        """Let the conversation continue until all conditions are met.

        Args:
            unsaid: Not allowed: every number must be named.
            span: A share of the memory span, 0 to 1, counted from the scenario's own
                start.
            tokens: Tokens of the conversation, counted from now.
            time: Time of the conversation, counted from now: seconds, a timedelta, or a
                text such as "3h" or "1h 30m".

        Raises:
            ScenarioError: If a condition is negative, exceeds the memory span, or is
                not named.
        """
        __tracebackhide__ = True
        if unsaid:
            raise ScenarioError(
                f"ltm.wait({unsaid[0]!r}) does not say what it counts. Write ltm.wait(tokens=...), "
                "ltm.wait(span=0.5) for half of the memory span, or ltm.wait(time='3h')"
            )
        self._send(Wait(span=span, tokens=tokens, time=duration(time)))

    @_refuse_misuse
    def watch(
        self,
        watcher: Watcher,
        replies: int | None = None,
        *,
        answers: Mapping[int, str] | Callable[[datetime], str] | None = None,
    ) -> None:
        """Watch the following exchanges of all speakers; the watcher's verdict counts as one check.

        Args:
            watcher: Called as `watcher(since)` after every exchange until it returns a
                verdict; None means "not yet". `since` begins with this scenario's last
                exchange.
            replies: The number of replies after which it must have a verdict, including
                the one to this scenario's last message; by default it watches until the
                end of the conversation. Without a verdict the example is Unscored.
            answers: The texts that later replies must contain for full marks, by
                number: 1 is the reply to this scenario's last message, given by
                `ask(answer=)`. Or a function that returns the text for a reply at a
                time, "" for none. Only the control `oracle` sees them.

        Raises:
            ScenarioError: If this scenario has not said anything yet, `replies` is less
                than 1, or `watcher` is not a function.
        """
        __tracebackhide__ = True
        if not callable(watcher):
            raise ScenarioError(
                f"ltm.watch({watcher!r}): a watcher is a function that takes the exchanges since"
            )
        self._send(Watch(watcher, replies, answers))

    @_refuse_misuse
    def new_session(self) -> None:
        """Begin a new session of the user: earlier messages are remembered only by the agent's own memory.

        The agent is closed and created again, for all scenarios of the conversation. A
        KeepsUsers agent has its memory under the same user; a Checkpointable agent loads
        its saved state.

        Raises:
            Unmeasured: If the agent is neither, nor Stateless: the example is Unscored.
        """
        __tracebackhide__ = True
        self._send(NewSession())

    @_refuse_misuse
    def compact(self) -> str:
        """Make the agent replace its context by a shorter one, for all scenarios of the conversation.

        Returns:
            The summary that it continues from, "" if it shows none.

        Raises:
            ScenarioError: If the scenario's marker does not require Compacts.
            Unmeasured: If the agent does not compact: the example is Unscored.
        """
        __tracebackhide__ = True
        if not self._compacts:
            raise ScenarioError(
                "a scenario that has the agent compact says so: @pytest.mark.ltm(requires=['Compacts'])"
            )
        summary: str = self._send(Compact())
        return summary

    @_refuse_misuse
    def check(
        self,
        label: str,
        ok: bool | Opinion | re.Match[str] | None,
        *,
        acted: bool = False,
    ) -> bool:
        """Record one part of the score; the score is the share of checks that pass.

        Args:
            label: What should be true, as the report shows it.
            ok: Whether it is: True or False, the result of `re.search` (None is false),
                or an `Opinion`, which adds the judge's reason.
            acted: Whether it concerns the agent's actions rather than its words:
                reports count such checks separately.

        Returns:
            Whether the check passes.

        Raises:
            ScenarioError: If the label is not a text, or `ok` has another type: a
                non-empty answer would always be true.
        """
        __tracebackhide__ = True
        _refuse_arguments(label, ok)
        judge_reason = ok.reason if isinstance(ok, Opinion) and not ok else ""
        self.sheet.checks.append(
            Check(
                f"{label} (the judge: {judge_reason})" if judge_reason else label,
                bool(ok),
                acted=acted,
            )
        )
        return bool(ok)

    @_refuse_misuse
    def metric(self, name: str, value: float) -> None:
        """Record a figure in addition to the score: shown and averaged, but without credit.

        Args:
            name: An identifier, such as "f1".
            value: A finite number; a second one of the same name replaces the first.

        Raises:
            ScenarioError: If the name is not an identifier, or the value is not finite.
        """
        # Numpy's numbers, too, which JSON does not support.
        figure = float(value)
        if not name.isidentifier() or not math.isfinite(figure):
            raise ScenarioError(
                f"ltm.metric({name!r}, {value!r}): give a name such as 'f1', and a finite number"
            )
        self.sheet.metrics[name] = figure

    @_refuse_misuse
    def score(self, value: float | Score | Unscored, reason: str = "") -> None:
        """Set the score, or pass an evaluator's verdict; it replaces the checks.

        Args:
            value: The share of full marks from 0 to 1, or a verdict.
            reason: One sentence for the report; ignored if `value` is a verdict.

        Raises:
            ScenarioError: If the example has been scored before, or the value is not
                between 0 and 1.
        """
        if self.sheet.said is not None:
            raise ScenarioError(
                f"scored twice: {self.sheet.said!r}, then {value!r}. Use check() for parts of a score"
            )
        if isinstance(value, (Score, Unscored)):
            self.sheet.said = self._decide(value)
            return
        try:
            self.sheet.said = Score(float(value), reason)
        except (TypeError, ValueError):
            raise ScenarioError(
                f"ltm.score({value!r}): a score is a number from 0 to 1"
            ) from None

    @_refuse_misuse
    def play(
        self, script: Definition | Iterable[Step], *, answers: Iterable[str] = ()
    ) -> list[str]:
        """Perform the steps in order and return the replies to the questions.

        Args:
            script: A definition, or its steps.
            answers: For each question a reply that earns full marks, as in `ask`; by
                default the definition's `replies`.

        Returns:
            One reply for each `Ask`, in order.

        Raises:
            ScenarioError: If a step is not a Say, Ask or Wait, or its method raises it.
        """
        __tracebackhide__ = True
        replies = []
        # Beyond the given answers, each question keeps its own, if it has one.
        full_marks = iter(
            answers or (script.replies if isinstance(script, Definition) else ())
        )
        steps = list(script.steps if isinstance(script, Definition) else script)
        for step in steps:
            if not isinstance(step, (Say, Ask, Wait)):
                raise ScenarioError(f"play() performs Say, Ask and Wait, not {step!r}")
            if isinstance(step, Ask):
                replies.append(
                    self._credited(replace(step, answer=next(full_marks, step.answer)))
                )
            else:
                self._send(step)
        return Replies(replies, (step.text for step in steps if isinstance(step, Say)))

    @property
    def known_questions(self) -> Iterator[KnownQuestion]:
        """The questions asked so far whose correct answers are known."""
        messages = tuple(
            exchange.message for exchange in self._heard() if exchange.kind == "say"
        )
        return (
            KnownQuestion(request.text, request.answer, messages)
            for request, _ in self._answered
            if request.answer
        )

    @property
    def _last_calls(self) -> Sequence[AnsweredCall]:
        exchanges = self._heard()
        return exchanges[-1].calls if exchanges else ()

    def _note_calls(
        self, rule: CallRule, name: str, arguments: Mapping[str, object]
    ) -> bool:
        calls = self.calls if rule == "once" else self._last_calls
        return self._note_finding(rule, [Call(name, arguments)], calls)

    def _note_finding(
        self, rule: CallRule, expected: Sequence[Call], calls: Sequence[AnsweredCall]
    ) -> bool:
        hook = current_hooks().pytest_ltm_check_calls
        finding: Check | None = hook(rule=rule, wanted=expected, calls=calls)
        if finding is None:
            raise ConfigurationError(
                "nothing here compares calls: the feature 'acting' is disabled. Enable it"
            )
        if not finding.ok:
            finding = replace(finding, label=f"{finding.label}{self._told_before()}")
        self.sheet.checks.append(finding)
        return finding.ok

    def _told_before(self) -> str:
        """Return how long before the last message its needle was told, and the needle's text."""
        *earlier, newest = self._heard()
        needles = self._answered[-1][0].about if self._answered else ()
        for exchange in reversed(earlier):
            if exchange.message in needles or (not needles and exchange.kind == "say"):
                tokens = needle_gap(exchange, newest)
                return (
                    f"; told {tokens:,} tokens before: {shorten(exchange.message, 120)}"
                )
        return ""

    def _credited(self, request: Ask) -> str:
        reply: str = self._send(request)
        self._answered.append((request, reply))
        return reply

    def _decide(self, verdict: Score | Unscored) -> Score | Unscored:
        """Return the judge's verdict on the only answer, if the rules left it open and a reference is known."""
        score = with_bounds(verdict)
        is_open = isinstance(score, Score) and isinstance(
            undecided_if_open(score), Unscored
        )
        # Only for a single answer: with several, it is unknown which one the rules left
        # open.
        if not (
            is_open
            and self.judge
            and self.scoring == "current"
            and len(self._answered) == 1
        ):
            return verdict
        [(question, answer)] = self._answered
        if not question.answer:
            return verdict
        from pytest_ltm._core.model.judge import PROMPTS, ask_judge

        prompt = PROMPTS["answer"]
        rule = f"{verdict.rule}+judge/{PROMPTS['answer'].id}"
        decision = ask_judge(
            self.judge,
            prompt,
            question=question.text,
            answer=answer,
            reference=question.answer,
        )
        if isinstance(decision, Unscored):
            return replace(decision, rule=rule, evidence=verdict.evidence)
        return Score(
            float(decision.grade != prompt.fail),
            str(decision),
            rule=rule,
            evidence=verdict.evidence,
        )
