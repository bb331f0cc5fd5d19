"""One call of a judge: with a time limit, and with one kind of error for all that may go wrong."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import JudgeError, told
from pytest_ltm._secrets import redacted
from pytest_ltm.agents._deadline import OutOfTime, call_within
from pytest_ltm.agents._loop import OwnLoop, outside_any_loop
from pytest_ltm.agents._protocols import Reply
from pytest_ltm.judges._openai import OpenAIJudge

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._judge import Inquiry, Judge
    from pytest_ltm.agents._retry import Failed, Retries

LONGEST_REPLY = 200_000
"""The characters that a judge's reply may have."""


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

    def __call__(self, inquiry: Inquiry) -> Reply:
        """Return the judge's reply, secrets taken out; JudgeError if there is none."""
        try:
            with outside_any_loop():
                given = self._persistently(inquiry)
        except OutOfTime as error:
            if self._timeout is None:  # the limit of somebody further out
                raise
            raise JudgeError(f"the judge did not come back within {self._timeout:g} s") from error
        except self._fatal:
            raise
        except Exception as error:
            tried = self._retries.history(self._failures, error) if self._retries is not None else ""
            raise JudgeError(redacted(f"the judge failed: {told(error)}{tried}")) from error
        return self._checked(given)

    def close(self) -> None:
        """Close the connections of our own judge of a chat model, and the loop of an `async` one."""
        if isinstance(self._judge, OpenAIJudge):  # a judge of the user's may serve other conversations, too
            self._judge.close()
        with outside_any_loop():
            self._loop.close()

    def _persistently(self, inquiry: Inquiry) -> Any:
        self._failures: list[Failed] = []
        if self._retries is None:
            return self._limited(inquiry)
        return self._retries.run(lambda: self._limited(inquiry), anew=True, failed=self._failed, ready=lambda: None)

    def _failed(self, failure: Failed) -> None:
        self._failures.append(failure)
        self._retried(failure)

    def _limited(self, inquiry: Inquiry) -> Any:
        value: Any = call_within(self._timeout, lambda: self._judge.assess(inquiry))
        return self._loop.run(value, timeout=self._timeout) if inspect.isawaitable(value) else value

    @staticmethod
    def _checked(given: object) -> Reply:
        if isinstance(given, str):
            return Reply(_text(given))
        if isinstance(given, Reply) and isinstance(given.text, str):
            return Reply(_text(given.text), given.usage, given.cost_usd)
        raise JudgeError(f"the judge replied with a {type(given).__name__}; a reply is a str or a pytest_ltm Reply")


def _text(given: str) -> str:
    if len(given) > LONGEST_REPLY:
        raise JudgeError(f"the judge replied with {len(given):,} characters; {LONGEST_REPLY:,} are more than enough")
    return redacted(given.encode("utf-8", "backslashreplace").decode("utf-8"))
