"""GreenBody: a body that is plain code, run in a greenlet that switches back at each request."""

from __future__ import annotations

import contextvars
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from greenlet import GreenletExit, getcurrent, greenlet

from pytest_ltm._errors import ScenarioError, text_of
from pytest_ltm._handle import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._lane import Ending, Lane
    from pytest_ltm._scenario import Request

UNWINDING: tuple[type[BaseException], ...] = (KeyboardInterrupt, GeneratorExit)
"""What must never be taken for the end of one scenario."""


class GreenBody:
    """Runs `play` up to its next request, and on when it is resumed.

    Subclasses say what `play` does, what surrounds each stretch of it, and what `finish` reports.
    """

    fatal = UNWINDING
    assertion_types: tuple[type[BaseException], ...] = (AssertionError,)

    def __init__(self) -> None:
        self.sheet = Sheet()
        self.error: BaseException | None = None
        self.assertion: BaseException | None = None
        """The failed assertion that ended it, if one did: also a failed check on the sheet."""
        self._green: greenlet | None = None
        self._hub: greenlet | None = None

    def play(self) -> object:
        """Run the body."""
        raise NotImplementedError

    def around(self) -> AbstractContextManager[object]:
        """Return what surrounds each stretch of the body."""
        return nullcontext()

    def finish(self, lane: Lane, ending: Ending) -> None:
        """It is over: report it."""
        raise NotImplementedError

    def send(self, request: Request) -> Any:
        """Hand a request to the conversation and return its answer; only from within the body."""
        __tracebackhide__ = True
        if self._hub is None or getcurrent() is not self._green:
            raise ScenarioError(
                "the conversation can only be used in the body of the test, not in a fixture, a thread or after its end"
            )
        return self._hub.switch(request)

    def begin(self) -> Request | None:
        """Run up to the first request; None: it has ended."""
        green = self._green = greenlet(lambda _: self.play())
        # A new greenlet starts with an empty context; the body must see what its fixtures set.
        green.gr_context = contextvars.copy_context()
        return self._run(green.switch, None)

    def resume(self, value: object) -> Request | None:
        """Hand back the answer and run up to the next request; None: it has ended."""
        return self._run(self._living.switch, value)

    def throw(self, error: Exception) -> Request | None:
        """Raise the error where the body waits; None: it has ended."""
        return self._run(self._living.throw, error)

    def abandon(self) -> None:
        """Unwind the body, so that its `finally` blocks run; what they raise is lost with it."""
        if self._green is None or self._green.dead:
            return
        self._hub = None  # it may not speak any more
        try:
            with self.around():
                self._green.throw(GreenletExit)
        except self.fatal:
            raise
        except BaseException:  # noqa: BLE001, S110 - said above
            pass

    @property
    def _living(self) -> greenlet:
        return cast("greenlet", self._green)

    def _run(self, switch: Callable[..., object], value: object) -> Request | None:
        self._hub = getcurrent()
        try:
            with self.around():
                request = switch(value)
        except self.fatal:
            raise
        except BaseException as error:  # noqa: BLE001 - skip() and fail() are no Exceptions; all end the body
            self._ended_by(error)
            return None
        return None if self._living.dead else cast("Request", request)

    def _ended_by(self, error: BaseException) -> None:
        if isinstance(error, self.assertion_types):
            self.assertion = error
            self.sheet.fail(_first_line(error))
        else:
            self.error = error


def _first_line(error: BaseException) -> str:
    text = text_of(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
