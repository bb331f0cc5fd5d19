"""Calls of judges and of simulated users' models: with time limit, budget and record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

from msgspec import Struct

from pytest_ltm.agents.answers import check_reply
from pytest_ltm.agents.unbuilt import ENCODING
from pytest_ltm.api.calls import (
    Failed,
    ForeignCaller,
    Retries,
    inherits,
    own_thread,
    unlimited,
)
from pytest_ltm.api.journal import Account, Journal, PricedReply, Side, Tariff, events
from pytest_ltm.api.model import Reply, Usage, token_counter
from pytest_ltm.api.scenarios import JudgeRequest
from pytest_ltm.api.storage import BudgetSpent, Unmeasured

if TYPE_CHECKING:
    from pytest_ltm.judges.chat import JudgeModelClient

Q_contra = TypeVar("Q_contra", bound="JudgeRequest", contravariant=True)
A = TypeVar("A", "events.JudgeAsked", "events.JudgeChecked", "events.UserModelAsked")


class QuestionAsker(Protocol[Q_contra]):
    """Returns the reply to a question; raises Unmeasured if there is none."""

    def __call__(self, question: Q_contra, /) -> Reply:
        """Return the reply; Unmeasured if there is none."""


class QuestionModel(Protocol[Q_contra]):
    """A judge, or the model of a simulated user; it may be `async`."""

    def assess(self, question: Q_contra, /) -> Any:
        """Return the whole reply, a text or a Reply."""


class ModelCaller:
    """Calls a model, which may be `async`; close it at the end.

    `who` and `error`: the name in faults, and their type. `timeout`, `fatal`, `retries`
    and `retried` are those of a `ForeignCaller`.
    """

    def __init__(
        self,
        model: QuestionModel[Any],
        *,
        who: str,
        error: Callable[[str], Unmeasured],
        timeout: float | None,
        fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
        retries: Retries | None = None,
        retried: Callable[[Failed], object] = lambda _: None,
    ) -> None:
        # a client's connections belong to the event loop of their thread
        self._model = (
            model.own_client()
            if own_thread() is not None and _is_own_client(model)
            else model
        )
        self._door = ForeignCaller(
            who,
            error=error,
            callee=self._model,
            timeout=timeout,
            fatal=(*fatal, GeneratorExit),
            retries=retries,
            retried=retried,
            count=token_counter(ENCODING).count,
            failing="failed",
        )

    @property
    def lost(self) -> Usage | None:
        """The usage of the last call's failed attempts."""
        return self._door.lost

    def __call__(self, question: JudgeRequest) -> Reply:
        """Return the reply without secrets; raises `error` if there is none."""
        try:
            with unlimited():
                return self._door.persist(
                    partial(self._assess, question), sent=question.text
                )
        except Unmeasured as error:
            error.usage = self.lost
            raise

    def _assess(self, question: JudgeRequest) -> Reply:
        with taking_turns(self._model):
            reply: Reply = self._door.call_method(
                self._model, "assess", question, admit=check_reply
            )
        return reply

    def close(self) -> None:
        """Close the connections of our own chat client, and the tasks of an `async` model."""
        # A user's model may serve other conversations, too.
        if _is_own_client(self._model):
            self._door.call("failed", self._model.close)
        self._door.close()


def _is_own_client(model: object) -> TypeGuard[JudgeModelClient]:
    from pytest_ltm.judges.chat import JudgeModelClient

    return inherits(model, JudgeModelClient)


# --- within the budget


class BudgetedCaller:
    """Calls a model within the budget, and charges the usage.

    `side`: the name of the ledger entry; `tariff` and `account`: prices for replies
    that report no cost, and the budget. `refused`: why nothing may be spent, or "".
    """

    def __init__(
        self,
        call: QuestionAsker[Any],
        side: Side,
        journal: Journal,
        *,
        tariff: Tariff | None = None,
        account: Account | None = None,
        refused: str = "",
    ) -> None:
        self._call = call
        self._side = side
        self._journal = journal
        self._account = account
        self._refused = refused
        self.tariff = tariff or Tariff()
        """Prices for replies that report no cost."""
        self.lost: Usage | None = None
        """The usage of the last call's failed attempts."""

    def __call__(self, question: JudgeRequest) -> Reply:
        """Return a new reply; BudgetSpent, from now on for all callers, if nothing may be spent."""
        self.lost = None
        if self._account is None:
            try:
                return self._call(question)
            finally:
                self._lose(getattr(self._call, "lost", None))
        try:
            self._account.check(self._refused)
        except BudgetSpent as over:
            self._journal.over = over
            raise
        try:
            reply = self._call(question)
        except Unmeasured as error:
            self._lose(error.usage)
            self._account.release()
            raise
        except BaseException:  # Ctrl-C: the request is already on its way
            self._account.charge_reserved()
            raise
        self._lose(getattr(self._call, "lost", None))
        if reply.usage is None and reply.cost_usd is None and not self.tariff.free:
            count = token_counter(ENCODING).count
            usage = Usage(
                input_tokens=count(question.text),
                output_tokens=count(reply.text),
                estimated=True,
            )
            reply = replace(reply, usage=usage)
        usd, tokens = self.tariff.charged_amounts(reply)
        self._account.add(self._side, usd=usd, tokens=tokens)
        return reply

    def close(self) -> None:
        """Close the model."""
        close = getattr(self._call, "close", None)
        if close is not None:
            close()

    def _lose(self, usage: Usage | None) -> None:
        """Charge the usage of failed attempts."""
        self.lost = usage
        if usage is not None and self._account is not None:
            self._account.charge_wasted(
                usd=self.tariff.dollars_for(usage), tokens=usage.total
            )


class ModelUse(Struct):
    """The usage of one example."""

    calls: int = 0
    estimated: bool = False
    """Whether some of it was not reported."""
    tokens: int = 0
    """Of questions and replies, as counted by the provider if possible."""
    cost_usd: float | None = None
    """The cost of the calls when they were made, possibly in an earlier run; None if not reported."""

    def add(self, reply: PricedReply, cost_usd: float | None) -> None:
        """Count one reply, and its cost."""
        self.calls += 1
        if reply.usage is not None:
            self.tokens += reply.usage.total
            self.estimated |= reply.usage.estimated
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd

    def result_fields(self, side: str) -> dict[str, Any]:
        """Return its fields of an example's result."""
        fields = {
            f"{side}_calls": self.calls,
            f"{side}_tokens": self.tokens,
            f"{side}_cost_usd": self.cost_usd,
        }
        if self.estimated:
            return {**fields, f"{side}_estimated": True}
        return fields


# --- on the record


def on_record(
    kind: Callable[..., A],
    question: JudgeRequest,
    ask: Callable[[], Reply],
    /,
    *,
    journal: Journal,
    recorded: A | None,
    error: Callable[[str], Unmeasured],
    **more: Any,
) -> Reply:
    """Return the recorded reply, else that of `ask`; either is recorded as an event of that kind.

    A fault is recorded, too, and raised as `error`. `more`: other fields of the event.
    """
    make_event = partial(
        kind,
        name=question.prompt,
        version=question.version,
        prompt=question.digest,
        vote=question.vote,
        **more,
    )
    try:
        if recorded is None:
            reply = ask()
        elif recorded.reply is None:
            # a recorded failure fails here, too, at the same cost
            failure = error(str(recorded.fault))
            failure.usage = recorded.usage
            raise failure
        else:
            reply = Reply(recorded.reply, recorded.usage, recorded.cost_usd)
    except Unmeasured as fault:
        journal.write(make_event(fault=str(fault), usage=fault.usage))
        raise
    journal.write(
        make_event(reply=reply.text, usage=reply.usage, cost_usd=reply.cost_usd)
    )
    return reply


@contextmanager
def taking_turns(shared: object) -> Iterator[None]:
    """Use an object shared by several conversations, one at a time unless it has `thread_safe = True`."""
    thread = own_thread()
    if thread is None or getattr(shared, "thread_safe", False) is True:
        yield
        return
    thread.wait_for_turn(id(shared))
    try:
        yield
    finally:
        thread.leave(id(shared))
