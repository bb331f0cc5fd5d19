"""JudgeConnection: the judge of one conversation's examples; replies are recorded, cached and counted."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import to_builtins

from pytest_ltm.api.journal import Account, Journal, JudgeTime, Tariff, Timings, events
from pytest_ltm.api.model import Reply, Unscored, Usage
from pytest_ltm.api.scenarios import Inquiry, LtmJudge
from pytest_ltm.api.storage import (
    JudgeError,
    json_text,
    make_private,
    read_regular,
    stopwatch_seconds,
)
from pytest_ltm.judges.model_calls import BudgetedCaller, ModelUse, on_record

if TYPE_CHECKING:
    from pytest_ltm.judges.hidden_checks import HiddenChecks, KnownAnswer


FORMAT = 1
# Returns the earlier event of that kind for an example's question, None if there is
# none.
Recalled: TypeAlias = "Callable[[type[Any], str, Inquiry], Any]"


def content_key(configuration: Mapping[str, Any], inquiry: Inquiry, trial: str) -> str:
    """Return the SHA-256 of everything that a reply may depend on.

    That is the judge, the whole question, vote and trial.
    """
    content = {
        "format": FORMAT,
        "judge": configuration,
        "prompt": inquiry.prompt,
        "version": inquiry.version,
        "text": inquiry.text,
        "grades": inquiry.grades,
        "vote": inquiry.vote,
        "trial": trial,
    }
    # Only for prompts that a user wrote, so that cached replies to ours stay valid.
    if inquiry.parameters:
        content["parameters"] = dict(inquiry.parameters)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class JudgeCache:
    """A folder of small JSON files; any number of processes may read and write it at once.

    A file contains the reply with its usage and cost; the question is only in its name,
    as a hash. Files are replaced atomically; an unreadable one counts as missing. The
    folder may be deleted at any time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, key: str) -> Reply | None:
        """Return the cached reply for a key, None if there is none."""
        try:
            data = json.loads(read_regular(self._path(key)))
        except (OSError, ValueError):
            return None
        if not isinstance(data, dict) or not isinstance(data.get("reply"), str):
            return None
        usage = data.get("usage")
        return Reply(
            data["reply"],
            None if usage is None else Usage(**usage),
            data.get("cost_usd"),
        )

    def store_reply(self, key: str, reply: Reply, **about: object) -> None:
        """Cache a reply; a full disk or a read-only folder only costs the cache, not the run."""
        record = {**about, "reply": reply.text}
        if reply.usage is not None:
            record["usage"] = to_builtins(reply.usage)
        if reply.cost_usd is not None:
            record["cost_usd"] = reply.cost_usd
        path = self._path(key)
        try:
            make_private(path.parent, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w",
                encoding="utf-8",
                errors="backslashreplace",
                dir=path.parent,
                suffix=".new",
                delete=False,
            ) as file:
                file.write(json_text(record))
            Path(file.name).replace(path)
        except OSError:
            return

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


@dataclass(kw_only=True, slots=True)
class JudgeConnection:
    """Sends questions to the judge for the examples of one conversation.

    A reply comes from the journal if the conversation is being replayed, or from
    `recalled` (another record of exactly this question), else from the cache if the
    same was asked before in the same trial, else from `call`. `configuration`: the
    settings that affect the judge's replies; None: no cache. `tariff` and `account`:
    prices for replies that report no cost, and the budget. `checks`: known answers to
    ask about among the questions; `asks_anew`: also ask checks that are not on record.
    """

    call: Callable[[Inquiry], Reply] = field(kw_only=False)
    configuration: Mapping[str, Any] | None
    cache: JudgeCache | None
    journal: Journal
    timings: Timings
    trial: str
    votes: int
    tariff: Tariff | None = None
    account: Account | None = None
    recalled: Recalled = lambda _kind, _example, _inquiry: None
    checks: HiddenChecks | None = None
    asks_anew: bool = True
    spent: dict[str, ModelUse] = field(init=False, default_factory=dict)
    """By example."""
    _buy: BudgetedCaller = field(init=False)

    def __post_init__(self) -> None:
        self._buy = BudgetedCaller(
            self.call, "judge", self.journal, tariff=self.tariff, account=self.account
        )

    def handle(self, example: str) -> LtmJudge:
        """Return the judge for one example."""
        return LtmJudge(partial(self._ask, example), votes=self.votes)

    def result_fields(self, example: str) -> dict[str, Any]:
        """Return the judge's fields of an example's result."""
        return self.spent.get(example, ModelUse()).result_fields("judge")

    def close(self) -> None:
        """Close the judge."""
        self._buy.close()

    def check(self, answer: KnownAnswer) -> None:
        """Ask the judge about a known answer, unless a replayed conversation did not; faults are ignored."""
        inquiry = answer.inquiry
        recorded = self.journal.upcoming(events.JudgeChecked) or self.recalled(
            events.JudgeChecked, "", inquiry
        )
        if recorded is None and (self.journal.replaying or not self.asks_anew):
            return
        with suppress(JudgeError):
            on_record(
                events.JudgeChecked,
                inquiry,
                partial(self._asked, "", inquiry),
                journal=self.journal,
                recorded=recorded,
                error=JudgeError,
                **to_builtins(answer),
            )

    def _ask(self, example: str, inquiry: Inquiry) -> str:
        if self.checks is not None and inquiry.vote == 0:
            for answer in self.checks.before(inquiry):
                self.check(answer)
        reply = on_record(
            events.JudgeAsked,
            inquiry,
            partial(self._asked, example, inquiry),
            example=example,
            journal=self.journal,
            recorded=self.journal.upcoming(events.JudgeAsked)
            or self.recalled(events.JudgeAsked, example, inquiry),
            error=JudgeError,
        )
        self.spent.setdefault(example, ModelUse()).add(
            reply, self._buy.tariff.cost(reply)
        )
        return reply.text

    def _asked(self, example: str, inquiry: Inquiry) -> Reply:
        key = ""
        cached_reply = None
        if self.configuration is not None and self.cache is not None:
            key = content_key(self.configuration, inquiry, self.trial)
            cached_reply = self.cache.find(key)
        began = stopwatch_seconds()
        reply = self._buy(inquiry) if cached_reply is None else cached_reply
        self.timings.write(
            JudgeTime(
                example=example,
                vote=inquiry.vote,
                remembered=cached_reply is not None,
                seconds=round(stopwatch_seconds() - began, 6),
                usage=reply.usage,
                cost_usd=reply.cost_usd,
                lost=self._buy.lost if cached_reply is None else None,
            )
        )
        readable = not isinstance(inquiry.grade_in(reply.text), Unscored)
        if self.cache is not None and key and cached_reply is None and readable:
            # an unreadable reply must not last
            self.cache.store_reply(
                key,
                reply,
                prompt=f"{inquiry.prompt}/{inquiry.version}",
                judge=self.configuration,
            )
        return reply
