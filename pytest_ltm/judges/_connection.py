"""JudgeConnection: how the examples of one conversation ask the judge; all is recorded, remembered and counted."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from pytest_ltm._engine.agent import Reply, Usage
from pytest_ltm._engine.cost import Tariff
from pytest_ltm._engine.score import Unscored
from pytest_ltm._engine.tokens import counter
from pytest_ltm._record import events
from pytest_ltm._record.timings import JudgeTime, Timings
from pytest_ltm._storage.clock import stopwatch
from pytest_ltm._storage.errors import AgentFault, BudgetSpent, JudgeError, told
from pytest_ltm._storage.secrets import redacted
from pytest_ltm.agents._openai import ENCODING
from pytest_ltm.agents._speaker import OutOfTime, OwnLoop, outside_any_loop
from pytest_ltm.judges._ask import LtmJudge, parse_grade
from pytest_ltm.judges._chat import OpenAIJudge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ltm._engine.cost import Account
    from pytest_ltm._record.journal import Journal
    from pytest_ltm.agents._retry import Failed, Retries
    from pytest_ltm.judges._inquiry import Inquiry, Judge


FORMAT = 1


def content_key(configuration: Mapping[str, Any], inquiry: Inquiry, trial: str) -> str:
    """Return the SHA-256 of all that a reply may depend on: who is asked, the whole question, vote and trial."""
    content = {
        "format": FORMAT, "judge": configuration, "prompt": inquiry.prompt, "version": inquiry.version,
        "text": inquiry.text, "grades": inquiry.grades, "vote": inquiry.vote, "trial": trial,
    }  # fmt: skip
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class JudgeCache:
    """A folder of small JSON files; any number of processes may read and write it at once.

    A file holds the reply with its usage and cost, never the question: that is only in its name, as a hash. Files
    are replaced whole; one that cannot be read counts as not there. The folder may be deleted at any time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, key: str) -> Reply | None:
        """Return the reply that was remembered under a key, None if none was."""
        try:
            found = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict) or not isinstance(found.get("reply"), str):
            return None
        usage = found.get("usage")
        return Reply(found["reply"], None if usage is None else Usage(**usage), found.get("cost_usd"))

    def keep(self, key: str, reply: Reply, **about: object) -> None:
        """Remember a reply; a full disk or a folder that cannot be written costs the memory, not the run."""
        told = {"reply": reply.text, "usage": to_builtins(reply.usage), "cost_usd": reply.cost_usd}
        record = {**about, **{name: value for name, value in told.items() if value is not None}}
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", errors="backslashreplace", dir=path.parent, suffix=".new", delete=False
            ) as file:
                file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
            Path(file.name).replace(path)
        except OSError:
            return

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


@dataclass(slots=True)
class JudgeSpent:
    """What one example has asked the judge."""

    calls: int = 0
    estimated: bool = False
    """Some of it was not reported."""
    tokens: int = 0
    """Of questions and replies, as the judge's provider counts them, where it does."""
    cost_usd: float | None = None
    """What the calls cost when they were made, whenever that was; None where it is not reported."""

    def add(self, reply: Reply, cost_usd: float | None) -> None:
        """Count one reply, and what it cost."""
        self.calls += 1
        if reply.usage is not None:
            self.tokens += reply.usage.total
            self.estimated |= reply.usage.estimated
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd


class JudgeConnection:
    """Asks the judge for the examples of one conversation.

    A reply comes from the journal if the conversation is being replayed or from `recalled` (what another record holds
    of that very question), else from the cache if the same was asked before in the same trial, else from `call`.
    `configuration` is what the judge's replies depend on; None: nothing is looked up or kept. `tariff` and `account`:
    what its tokens cost where it does not say, and the budget.
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
        recalled: Callable[[str, Inquiry], events.Judge | None] = lambda _example, _inquiry: None,
    ) -> None:
        self._call, self._configuration, self._cache, self._recalled = call, configuration, cache, recalled
        self._journal, self._timings = journal, timings
        self._trial, self._votes = trial, votes
        self._tariff, self._account = tariff or Tariff(), account
        self.spent: dict[str, JudgeSpent] = {}
        """By example."""
        self._lost: Usage | None = None

    def handle(self, example: str) -> LtmJudge:
        """Return the judge as one example sees it."""
        return LtmJudge(partial(self._ask, example), votes=self._votes)

    def told_of(self, example: str) -> dict[str, Any]:
        """Return what an example's result says about the judge."""
        spent = self.spent.get(example, JudgeSpent())
        told = {"judge_calls": spent.calls, "judge_tokens": spent.tokens, "judge_cost_usd": spent.cost_usd}
        return {**told, "judge_estimated": True} if spent.estimated else told

    def close(self) -> None:
        """Let the judge go."""
        close = getattr(self._call, "close", None)
        if close is not None:
            close()

    def _ask(self, example: str, inquiry: Inquiry) -> str:
        recorded = self._journal.upcoming(events.Judge) or self._recalled(example, inquiry)
        about = partial(
            events.Judge, example=example, name=inquiry.prompt, version=inquiry.version, prompt=inquiry.digest,
            vote=inquiry.vote,
        )  # fmt: skip
        try:
            reply = self._asked(example, inquiry) if recorded is None else _recorded(recorded)
        except JudgeError as error:
            self._journal.write(about(fault=str(error), usage=error.usage))
            raise
        self._journal.write(about(reply=reply.text, usage=reply.usage, cost_usd=reply.cost_usd))
        self.spent.setdefault(example, JudgeSpent()).add(reply, self._tariff.cost(reply))
        return reply.text

    def _asked(self, example: str, inquiry: Inquiry) -> Reply:
        key = "" if self._configuration is None else content_key(self._configuration, inquiry, self._trial)
        cache = self._cache if key else None
        kept = cache.find(key) if cache is not None else None
        began = stopwatch()
        self._lost = None
        reply = self._bought(inquiry) if kept is None else kept
        self._timings.write(
            JudgeTime(
                example=example, vote=inquiry.vote, remembered=kept is not None, seconds=round(stopwatch() - began, 6),
                usage=reply.usage, cost_usd=reply.cost_usd, lost=self._lost,
            )
        )  # fmt: skip
        readable = not isinstance(parse_grade(reply.text, inquiry.grades), Unscored)
        if cache is not None and kept is None and readable:  # a hiccup must not last
            cache.keep(key, reply, prompt=f"{inquiry.prompt}/{inquiry.version}", judge=self._configuration)
        return reply

    def _bought(self, inquiry: Inquiry) -> Reply:
        """Return what the judge says now; BudgetSpent, from now on for all, if nothing may be spent."""
        if self._account is None:
            return self._call(inquiry)
        try:
            self._account.check()
        except BudgetSpent as over:
            self._journal.over = over
            raise
        try:
            reply = self._call(inquiry)
        except JudgeError as error:
            self._lose(error.usage)
            self._account.release()
            raise
        except BaseException:  # Ctrl-C: what was sent is on its way
            self._account.vanish()
            raise
        self._lose(getattr(self._call, "lost", None))
        if reply.usage is None and reply.cost_usd is None and not self._tariff.free:
            count = counter(ENCODING).count
            said = Usage(input_tokens=count(inquiry.text), output_tokens=count(reply.text), estimated=True)
            reply = replace(reply, usage=said)
        usd, tokens = self._tariff.spent(reply)
        self._account.add("judge", usd=usd, tokens=tokens)
        return reply

    def _lose(self, usage: Usage | None) -> None:
        """Charge what came to nothing."""
        self._lost = usage
        if usage is not None and self._account is not None:
            self._account.lose(usd=self._tariff.of(usage), tokens=usage.total)


def _recorded(judged: events.Judge) -> Reply:
    """Return what a journal holds; JudgeError where that is a fault."""
    if judged.reply is None:
        error = JudgeError(str(judged.fault))
        error.usage = judged.usage
        raise error
    return Reply(judged.reply, judged.usage, judged.cost_usd)


# --- one call of a judge: with a time limit, and with one kind of error for all that may go wrong

LONGEST_REPLY = 200_000
"""The characters that a judge's reply may have."""


def _judged(text: object) -> str:
    """Return what a judge said, without secrets; JudgeError for anything but a reply."""
    if not isinstance(text, str):
        raise JudgeError(f"the judge replied with a {type(text).__name__}; a reply is a str or a pytest_ltm Reply")
    if len(text) > LONGEST_REPLY:
        raise JudgeError(f"the judge replied with {len(text):,} characters; at most {LONGEST_REPLY:,} are accepted")
    return redacted(text.encode("utf-8", "backslashreplace").decode("utf-8"))


class JudgeCall:
    """Calls a judge, which may be `async`; close it at the end.

    `timeout` is in seconds for each call (None: no limit). `fatal` exceptions pass through. `retries`: how passing
    faults are tried again (None: never); `retried` is told of each attempt that is followed by another.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        timeout: float | None,
        fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
        retries: Retries | None = None,
        retried: Callable[[Failed], object] = lambda _: None,
    ) -> None:
        self._judge, self._timeout, self._retries, self._retried = judge, timeout, retries, retried
        self._fatal: tuple[type[BaseException], ...] = (*fatal, GeneratorExit)
        self._loop = OwnLoop()
        self.lost: Usage | None = None
        """What attempts of the last call used that came to nothing."""

    def __call__(self, inquiry: Inquiry) -> Reply:
        """Return the judge's reply, secrets taken out; JudgeError if there is none."""
        self.lost = None
        try:
            return self._reply(inquiry)
        except JudgeError as error:
            error.usage = self.lost
            raise

    def _asked(self, inquiry: Inquiry) -> Any:
        try:
            return self._loop.call(self._timeout, self._judge.assess, inquiry)
        except AgentFault as fault:
            if fault.usage is not None:
                self.lost = fault.usage + self.lost
            raise
        except OutOfTime:
            self.lost = Usage(input_tokens=counter(ENCODING).count(inquiry.text), estimated=True) + self.lost
            raise

    def _reply(self, inquiry: Inquiry) -> Reply:
        failures: list[Failed] = []
        ask = partial(self._asked, inquiry)

        def failed(failure: Failed) -> None:
            failures.append(failure)
            self._retried(failure)

        try:
            with outside_any_loop():
                if self._retries is None:
                    given = ask()
                else:
                    given = self._retries.run(ask, anew=True, failed=failed, ready=lambda: None)
        except OutOfTime as error:
            if self._timeout is None:  # a limit of the caller
                raise
            raise JudgeError(f"the judge did not return within {self._timeout:g} s") from error
        except self._fatal:
            raise
        except Exception as error:
            tried = self._retries.history(failures, error) if self._retries is not None else ""
            raise JudgeError(redacted(f"the judge failed: {told(error)}{tried}")) from error
        reply = given if isinstance(given, Reply) else Reply(given)
        try:
            return Reply(_judged(reply.text), reply.usage, reply.cost_usd)
        except JudgeError:
            if reply.usage is not None:
                self.lost = reply.usage + self.lost
            raise

    def close(self) -> None:
        """Close the connections of our own judge of a chat model, and the loop of an `async` one."""
        if isinstance(self._judge, OpenAIJudge):  # a judge of the user's may serve other conversations, too
            self._judge.close()
        with outside_any_loop():
            self._loop.close()
