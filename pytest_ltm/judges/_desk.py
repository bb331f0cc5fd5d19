"""Desk: where the examples of one conversation ask the judge; every question is recorded, remembered and counted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_ltm._costs._bill import Tariff
from pytest_ltm._errors import BudgetSpent, JudgeError
from pytest_ltm._judge import LtmJudge, parse_grade
from pytest_ltm._score import Unscored
from pytest_ltm.agents._protocols import Reply, Usage
from pytest_ltm.judges._cache import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ltm._costs._budget import Account
    from pytest_ltm._journal import Journal, Timings
    from pytest_ltm._judge import Inquiry
    from pytest_ltm.judges._cache import JudgeCache


@dataclass(slots=True)
class JudgeSpent:
    """What one example has asked the judge."""

    calls: int = 0
    tokens: int = 0
    """Of questions and replies, as the judge's provider counts them, where it does."""
    cost_usd: float | None = None
    """What the calls cost when they were made, whenever that was; None where nobody tells."""

    def add(self, reply: Reply, cost_usd: float | None) -> None:
        """Count one reply, and what it cost."""
        self.calls += 1
        if reply.usage is not None:
            self.tokens += reply.usage.input_tokens + reply.usage.output_tokens
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd


class Desk:
    """Asks the judge for the examples of one conversation.

    A reply comes from the journal if the conversation is being replayed or from `recalled` (what another record holds
    of that very question), else from the cache if the same was asked before in the same trial, else from `call`.
    `configuration` is what the judge's replies depend on; None: nothing
    is looked up or kept. `tariff` and `account`: what its tokens cost where it does not say, and the budget.
    """

    def __init__(
        self,
        call: Callable[[Inquiry], Reply],
        *,
        configuration: Mapping[str, Any] | None,
        cache: JudgeCache | None,
        journal: Journal,
        timings: Timings,
        trial: str,
        votes: int,
        tariff: Tariff | None = None,
        account: Account | None = None,
        recalled: Callable[[str, Inquiry], Mapping[str, Any] | None] = lambda _example, _inquiry: None,
    ) -> None:
        self._call, self._configuration, self._cache, self._recalled = call, configuration, cache, recalled
        self._journal, self._timings = journal, timings
        self._trial, self._votes = trial, votes
        self._tariff, self._account = tariff or Tariff(), account
        self.spent: dict[str, JudgeSpent] = {}
        """By example."""

    def handle(self, example: str) -> LtmJudge:
        """Return the judge as one example sees it."""
        return LtmJudge(partial(self._ask, example), votes=self._votes)

    def told_of(self, example: str) -> dict[str, Any]:
        """Return what an example's result says about the judge."""
        spent = self.spent.get(example, JudgeSpent())
        return {"judge_calls": spent.calls, "judge_tokens": spent.tokens, "judge_cost_usd": spent.cost_usd}

    def close(self) -> None:
        """Let the judge go."""
        close = getattr(self._call, "close", None)
        if close is not None:
            close()

    def _ask(self, example: str, inquiry: Inquiry) -> str:
        recorded = self._journal.upcoming("judge") or self._recalled(example, inquiry)
        try:
            reply = self._asked(example, inquiry) if recorded is None else _reply(recorded)
        except JudgeError as error:
            self._write(example, inquiry, {"fault": str(error)})
            raise
        fields = _fields(reply)
        self._write(example, inquiry, fields)
        self.spent.setdefault(example, JudgeSpent()).add(reply, self._tariff.cost(fields))
        return reply.text

    def _within_budget(self) -> None:
        """Raise BudgetSpent if nothing may be spent; the conversation is over for all who hear of it later."""
        if self._account is None:
            return
        try:
            self._account.check()
        except BudgetSpent as over:
            self._journal.over = over
            raise

    def _asked(self, example: str, inquiry: Inquiry) -> Reply:
        key = "" if self._configuration is None else content_key(self._configuration, inquiry, self._trial)
        kept = self._cache.find(key) if self._cache is not None and key else None
        if kept is None:
            self._within_budget()
        began = self._timings.clock()
        reply = self._call(inquiry) if kept is None else _reply(kept)
        told = {name: value for name, value in _fields(reply).items() if name in {"usage", "cost_usd"}}
        if kept is None and self._account is not None:
            usd, tokens = self._tariff.spent(told)
            self._account.add("judge", usd=usd, tokens=tokens)
        self._timings.write(
            "judge", example=example, vote=inquiry.vote, remembered=kept is not None,
            seconds=round(self._timings.clock() - began, 6), **told,
        )  # fmt: skip
        readable = not isinstance(parse_grade(reply.text, inquiry.grades), Unscored)
        if self._cache is not None and key and kept is None and readable:  # a hiccup must not last
            about = {"prompt": f"{inquiry.prompt}/{inquiry.version}", "judge": self._configuration}
            self._cache.keep(key, {**about, **_fields(reply)})
        return reply

    def _write(self, example: str, inquiry: Inquiry, fields: Mapping[str, Any]) -> None:
        digest = hashlib.sha256(inquiry.text.encode("utf-8", "surrogatepass")).hexdigest()
        self._journal.write(
            "judge", example=example, name=inquiry.prompt, version=inquiry.version, prompt=f"sha256:{digest}",
            vote=inquiry.vote, **fields,
        )  # fmt: skip


def _fields(reply: Reply) -> dict[str, Any]:
    fields: dict[str, Any] = {"reply": reply.text}
    if reply.usage is not None:
        fields["usage"] = {name: getattr(reply.usage, name) for name in reply.usage.__slots__}
    if reply.cost_usd is not None:
        fields["cost_usd"] = reply.cost_usd
    return fields


def _reply(record: Mapping[str, Any]) -> Reply:
    """Return what a journal or the cache holds; JudgeError where it holds a fault."""
    if "fault" in record:
        raise JudgeError(str(record["fault"]))
    usage = record.get("usage")
    return Reply(str(record["reply"]), None if usage is None else Usage(**usage), record.get("cost_usd"))
