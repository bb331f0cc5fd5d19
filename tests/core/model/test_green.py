"""Bodies in greenlets: plain code that pauses whenever it speaks."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_ltm._core.engine.lane import Ending, GreenBody, Lane
from pytest_ltm._core.model.scenario import Ask, Say
from pytest_ltm._core.model.score import Check
from pytest_ltm._core.storage.errors import ScenarioError

OUTSIDE = "the conversation can only be used in the body of the test, not in a fixture, a thread or after its end"


class Body(GreenBody):
    """Runs a function that it is given."""

    def __init__(self, run: Callable[[Body], object]) -> None:
        super().__init__()
        self.run = run

    def play(self) -> object:
        return self.run(self)

    def finish(self, lane: Lane, ending: Ending) -> None:
        raise NotImplementedError


def test_a_body_runs_up_to_each_request_and_is_handed_its_answer() -> None:
    answers: list[object] = []

    def run(body: Body) -> None:
        answers.append(body.send(Say("one")))
        answers.append(body.send(Ask("two")))

    body = Body(run)
    assert body.begin() == Say("one")
    assert body.resume("first") == Ask("two")
    assert body.resume("second") is None
    assert answers == ["first", "second"]
    assert (body.error, body.assertion) == (None, None)


def test_what_a_body_returns_is_no_request() -> None:
    assert Body(lambda _: "done").begin() is None


def test_bodies_take_turns_with_their_own_locals() -> None:
    def run(body: Body) -> None:
        mine = [body.send(Say("who?"))]
        mine.append(body.send(Say("and?")))
        heard.append(mine)

    heard: list[list[Any]] = []
    one, two = Body(run), Body(run)
    one.begin()
    two.begin()
    one.resume(1)
    two.resume(2)
    two.resume(20)
    one.resume(10)
    assert heard == [[2, 20], [1, 10]]


def test_an_error_is_raised_where_the_body_spoke() -> None:
    seen: list[str] = []

    def run(body: Body) -> None:
        try:
            body.send(Say("one"))
        except ScenarioError as error:
            seen.append(str(error))
        body.send(Say("two"))

    body = Body(run)
    body.begin()
    assert body.throw_error(ScenarioError("not so")) == Say("two")
    assert seen == ["not so"]


def test_an_error_that_nobody_catches_ends_the_body() -> None:
    body = Body(lambda body: body.send(Say("one")))
    body.begin()
    error = ScenarioError("not so")
    assert body.throw_error(error) is None
    assert body.error is error


class Outcome(BaseException):
    """Like the exception of pytest's skip(), not an Exception."""


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("x"), Outcome("skipped"), SystemExit(2)]
)
def test_whatever_a_body_raises_ends_it(error: BaseException) -> None:
    def run(body: Body) -> None:
        body.send(Say("one"))
        raise error

    body = Body(run)
    body.begin()
    assert body.resume("ok") is None
    assert body.error is error


def test_an_interruption_is_not_taken_for_the_end_of_a_body() -> None:
    def run(_: Body) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Body(run).begin()


def test_a_failed_assertion_is_a_failed_check_and_no_error() -> None:
    def run(_: Body) -> None:
        raise AssertionError("  Turku was expected\nassert 'Brno' == 'Turku'")

    body = Body(run)
    assert body.begin() is None
    assert body.error is None
    assert isinstance(body.assertion, AssertionError)
    assert body.sheet.checks == [Check("Turku was expected", ok=False)]


def test_a_failed_assertion_without_words_is_called_by_its_type() -> None:
    def run(_: Body) -> None:
        raise AssertionError

    body = Body(run)
    body.begin()
    assert body.sheet.checks == [Check("AssertionError", ok=False)]


def test_context_variables_set_before_are_seen_in_the_body() -> None:
    city = contextvars.ContextVar("city", default="Porto")
    seen: list[str] = []

    def run(body: Body) -> None:
        seen.append(city.get())
        city.set("Turku")
        body.send(Say("one"))
        seen.append(city.get())

    body = Body(run)
    city.set("Brno")
    body.begin()
    assert city.get() == "Brno"
    body.resume("ok")
    assert seen == ["Brno", "Turku"]


def test_finally_blocks_run_when_a_body_is_abandoned() -> None:
    cleaned: list[str] = []

    def run(body: Body) -> None:
        try:
            try:
                body.send(Say("one"))
            except Exception:  # noqa: BLE001 - what a body may well write
                cleaned.append("never")
            finally:
                cleaned.append("inner")
        finally:
            cleaned.append("outer")

    body = Body(run)
    body.begin()
    body.unwind_body()
    body.unwind_body()
    assert cleaned == ["inner", "outer"]
    assert body.error is None


def test_a_body_that_speaks_while_it_is_unwound_is_unwound_to_the_end() -> None:
    cleaned: list[str] = []

    def run(body: Body) -> None:
        try:
            try:
                body.send(Say("one"))
            finally:
                body.send(Say("good-bye"))
        finally:
            cleaned.append("outer")

    body = Body(run)
    body.begin()
    body.unwind_body()
    assert cleaned == ["outer"]


@pytest.mark.parametrize("error", [ZeroDivisionError(), Outcome(), AssertionError()])
def test_what_is_raised_while_a_body_is_unwound_is_lost_with_it(
    error: BaseException,
) -> None:
    def run(body: Body) -> None:
        try:
            body.send(Say("one"))
        finally:
            raise error

    body = Body(run)
    body.begin()
    body.unwind_body()
    assert body.error is None


def test_a_body_that_never_began_has_nothing_to_unwind() -> None:
    Body(lambda _: pytest.fail("it ran")).unwind_body()


def test_a_fixture_cannot_speak() -> None:
    with pytest.raises(ScenarioError) as caught:
        Body(lambda _: None).send(Say("too early"))
    assert str(caught.value) == OUTSIDE


def test_nobody_speaks_after_the_end() -> None:
    body = Body(lambda body: body.send(Say("one")))
    body.begin()
    body.resume("ok")
    with pytest.raises(ScenarioError) as caught:
        body.send(Say("too late"))
    assert str(caught.value) == OUTSIDE


def test_a_thread_cannot_speak() -> None:
    caught: list[str] = []

    def speak(body: Body) -> None:
        try:
            body.send(Say("from elsewhere"))
        except ScenarioError as error:
            caught.append(str(error))

    def run(body: Body) -> None:
        thread = threading.Thread(target=speak, args=[body])
        thread.start()
        thread.join()
        body.send(Say("from here"))

    body = Body(run)
    assert body.begin() == Say("from here")
    assert caught == [OUTSIDE]


def test_a_body_cannot_speak_for_another() -> None:
    other = Body(lambda body: body.send(Say("mine")))
    other.begin()

    body = Body(lambda _: other.send(Say("not mine")))
    assert body.begin() is None
    assert str(body.error) == OUTSIDE
    assert other.resume("ok") is None


def test_each_stretch_is_surrounded() -> None:
    log: list[str] = []

    class Surrounded(Body):
        @contextmanager
        def surrounding_context(self) -> Iterator[None]:
            log.append("in")
            yield
            log.append("out")

    def run(body: Body) -> None:
        log.append("first")
        body.send(Say("one"))
        log.append("second")

    body = Surrounded(run)
    body.begin()
    log.append("others")
    body.resume("ok")
    assert log == ["in", "first", "out", "others", "in", "second", "out"]
