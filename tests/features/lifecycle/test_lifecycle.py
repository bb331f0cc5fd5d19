"""The suite `lifecycle`: each planted fault fails its test, and no correct store fails any."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from life_stores import FAULTS, LEAKS, RIGHT, Empty, RightStore

from pytest_ltm.agents.memory.pace import Pace
from pytest_ltm.lifecycle.bench import Bench
from pytest_ltm.lifecycle.lifecycle_session import run_test
from pytest_ltm.lifecycle.store_suite import TESTS, LifeTest
from pytest_ltm.lifecycle.subject import Subject

PLANTED = {**LEAKS, **FAULTS}
BY_NAME = {test.name: test for test in TESTS}


def seen(test: LifeTest, make: Any, seed: int = 0) -> Bench:
    """Return the bench of a finished test."""
    bench = Bench(Subject(make, Pace()), random.Random(f"{seed}/{test.name}"))
    try:
        run_test(test, bench)
    finally:
        bench.subject.close()
    return bench


def test_there_are_forty_planted_faults_and_twelve_leaks_among_them() -> None:
    assert len(PLANTED) >= 40
    assert len(LEAKS) >= 12


@pytest.mark.parametrize("store", PLANTED, ids=lambda store: store.__name__)
def test_a_planted_fault_is_named_by_its_test_with_evidence(store: Any) -> None:
    failures = seen(BY_NAME[PLANTED[store]], store).row.failures
    assert failures
    assert all(len(cell.evidence) > 20 for cell in failures)


@pytest.mark.parametrize("store", LEAKS, ids=lambda store: store.__name__)
def test_a_leak_is_named_with_who_was_served_and_whose_it_was(store: Any) -> None:
    bench = seen(BY_NAME[LEAKS[store]], store)
    text = " ".join(bench.row.lines())
    assert "-" in text
    assert "ann-" in text or "bo-" in text


@pytest.mark.slow
@pytest.mark.parametrize("store", RIGHT, ids=lambda store: store.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_a_right_store_is_never_blamed(store: Any, seed: int) -> None:
    for test in TESTS:
        bench = seen(test, store, seed)
        assert list(bench.row.lines()) == []


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_an_empty_store_fails_every_test_that_it_supports(test: LifeTest) -> None:
    """A test of absence has a control, so that a store that finds nothing passes no test."""
    row = seen(test, Empty).row
    assert row.failures


class Broken(RightStore):
    """No search ever succeeds."""

    def search(self, query: str, **named: Any) -> list[Any]:
        raise RuntimeError(f"no index for {query!r}, {named}")


class Leaving(RightStore):
    """Ends the program."""

    def add(self, *values: Any, **keywords: Any) -> Any:
        raise SystemExit(f"no room for {values}, {keywords}")


def test_a_store_that_ends_the_program_fails_and_ends_nothing() -> None:
    [failure] = seen(BY_NAME["found"], Leaving).row.failures
    assert "add() raised SystemExit: no room for" in failure.evidence


class OneThread(RightStore):
    """Refuses other threads than the one that made it."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def add(self, *values: Any, **keywords: Any) -> Any:
        if threading.get_ident() != self._thread:
            raise RuntimeError("made in another thread")
        return super().add(*values, **keywords)


@pytest.mark.parametrize("name", ["race", "writers"])
def test_a_store_that_always_raises_fails_where_threads_are_tested(name: str) -> None:
    assert seen(BY_NAME[name], Broken).row.failures


@pytest.mark.parametrize("name", ["race", "writers"])
def test_a_store_of_one_thread_does_not_support_a_race(name: str) -> None:
    bench = Bench(Subject(OneThread, Pace()), random.Random(1))
    with closing(bench.subject):
        assert "another thread may not write" in run_test(BY_NAME[name], bench)
    assert bench.row.failures == []


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_each_test_has_a_control_or_a_look_that_finds(test: LifeTest) -> None:
    row = seen(test, RightStore).row
    assert [cell for cell in row.cells if cell.state == "ok"]


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_each_test_says_in_a_sentence_what_it_proves_and_what_it_leaves_open(
    test: LifeTest,
) -> None:
    assert test.proves.endswith(".")
    assert test.proves.count("\n") == 0
    assert test.not_proven


def test_what_a_fact_costs_is_noted_as_far_as_the_store_tells(tmp_path: Path) -> None:
    class Costly(RightStore):
        size = None  # type: ignore[assignment]
        path = tmp_path / "notes.txt"

        def keep(self, *values: Any) -> int:
            key = super().keep(*values)
            self.path.write_text("x" * 64 * key)
            return key

        def usage(self) -> dict[str, int]:
            return {
                "input_tokens": 90 * self.next,
                "output_tokens": 10 * self.next,
                "calls": self.next,
            }

    Costly.path.write_text("")
    row = seen(BY_NAME["growth"], Costly).row
    notes = {cell.look: cell.evidence for cell in row.cells if cell.state == "note"}
    assert notes == {"bytes a fact": "64", "tokens a fact": "100 in 1.0 calls"}
