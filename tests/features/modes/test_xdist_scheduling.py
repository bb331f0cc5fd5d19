"""The scheduler given to xdist, with workers that only record their instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_ltm.modes.xdist.scheduling import ConversationScheduling, work_units


class Gateway:
    def __init__(self, name: str) -> None:
        self.id = name


class Worker:
    """Stands in for the controller's side of a worker."""

    def __init__(self, name: str) -> None:
        self.gateway = Gateway(name)
        self.units: list[str] = []
        self.indices: list[int] = []
        self.shutting_down = False

    def shutdown(self) -> None:
        self.shutting_down = True


class Theatre:
    """A scheduler with its workers and its effects."""

    def __init__(
        self, *names: str, lost: bool = True, most: int = 1, **expected: int
    ) -> None:
        self.workers = [Worker(name) for name in names]
        self.differences: list[str] = []
        self.dead: list[str] = []
        self.again = lost
        self.barred: set[tuple[str, str]] = set()
        """Pairs of worker and unit that may not play."""
        self.expected, self.most = expected, most
        self.scheduling = ConversationScheduling(len(names), self)

    def unit_of(self, nodeid: str) -> str:
        return nodeid.partition("/")[0]

    def send(self, worker: Any, unit: Any, indices: list[int]) -> None:
        worker.units.append(unit.name)
        worker.indices = indices

    def lost(self, worker: Any, unit: Any) -> bool:
        self.dead.append(f"{worker.gateway.id} in {unit.name}")
        return self.again

    def differ(self, worker: str, text: str) -> None:
        self.differences.append(f"{worker}: {text}")

    def may_play(self, worker: Any, unit: Any) -> bool:
        return (worker.gateway.id, unit.name) not in self.barred

    def beside(self, playing: Sequence[Any], _unit: Any) -> bool:
        return len(playing) < self.most

    def begin(self, *collection: str, **others: list[str]) -> list[Worker]:
        for worker in self.workers:
            self.scheduling.add_node(worker)
        for worker in self.workers:
            self.scheduling.add_node_collection(
                worker, others.get(worker.gateway.id, list(collection))
            )
            if self.scheduling.collection_is_completed:
                self.scheduling.schedule()
        return self.workers

    def over(self, worker: Worker) -> None:
        self.scheduling.over(worker, worker.units[-1])


def test_the_longest_conversation_is_first_and_equal_ones_keep_their_order() -> None:
    made = work_units(
        ["b/1", "a/1", "c/1", "a/2"], lambda nodeid: nodeid[0], {"a": 5, "b": 5, "c": 9}
    )

    assert [(unit.name, unit.items) for unit in made] == [
        ("c", ("c/1",)),
        ("b", ("b/1",)),
        ("a", ("a/1", "a/2")),
    ]


def test_a_conversation_is_handed_out_whole_with_the_workers_own_indices() -> None:
    theatre = Theatre("w0", "w1", a=1, b=2)
    first, second = theatre.begin("a/1", "b/1", "a/2", w1=["b/1", "a/2", "a/1"])

    assert (first.units, first.indices) == (["b"], [1])
    assert (second.units, second.indices) == (["a"], [2, 1])


def test_nothing_is_handed_out_ahead_of_time() -> None:
    theatre = Theatre("w0", "w1", a=9, b=8, c=1)
    first, second = theatre.begin("a/1", "b/1", "c/1")

    assert (first.units, second.units) == (["a"], ["b"])
    theatre.over(second)
    assert (first.units, second.units) == (["a"], ["b", "c"])


def test_who_has_nothing_left_to_do_is_let_go() -> None:
    theatre = Theatre("w0", "w1", "w2", a=2, b=1)
    workers = theatre.begin("a/1", "b/1")

    assert [worker.shutting_down for worker in workers] == [False, False, True]
    theatre.over(workers[1])
    assert [worker.shutting_down for worker in workers] == [False, True, True]
    assert not theatre.scheduling.tests_finished
    theatre.over(workers[0])
    assert theatre.scheduling.tests_finished


def test_nothing_is_scheduled_before_all_have_collected() -> None:
    theatre = Theatre("w0", "w1", a=1)
    theatre.scheduling.add_node(theatre.workers[0])
    theatre.scheduling.add_node_collection(theatre.workers[0], ["a/1"])

    assert not theatre.scheduling.collection_is_completed
    assert not theatre.scheduling.tests_finished


def test_an_empty_collection_is_finished_at_once() -> None:
    theatre = Theatre("w0")
    theatre.begin()

    assert theatre.scheduling.tests_finished


def test_the_conversation_of_a_worker_that_died_is_the_next_that_anybody_plays() -> (
    None
):
    theatre = Theatre("w0", "w1", a=9, b=8, c=7)
    first, second = theatre.begin("a/1", "a/2", "b/1", "c/1")

    assert theatre.scheduling.remove_node(first) is None  # type: ignore[func-returns-value]  # xdist would blame an item
    theatre.over(second)

    assert theatre.dead == ["w0 in a"]
    assert second.units == ["b", "a"]


def test_what_was_begun_on_one_machine_waits_for_a_worker_there() -> None:
    theatre = Theatre("here", "far", a=9, b=8, c=7)
    here, far = theatre.begin("a/1", "b/1", "c/1")
    theatre.barred = {("far", "a")}
    theatre.scheduling.remove_node(here)
    theatre.over(far)
    theatre.over(far)

    assert far.units == ["b", "c"]
    assert far.shutting_down
    assert theatre.scheduling.has_pending
    anew = Worker("anew")
    theatre.scheduling.add_node(anew)
    theatre.scheduling.add_node_collection(anew, ["a/1", "b/1", "c/1"])
    theatre.scheduling.schedule()
    assert anew.units == ["a"]


def test_workers_with_room_for_several_get_equally_many() -> None:
    theatre = Theatre("w0", "w1", most=2, a=9, b=8, c=7, d=6, e=5, f=4)
    first, second = theatre.begin(*(f"{name}/1" for name in "abcdef"))

    assert (first.units, second.units) == (["a", "c"], ["b", "d"])
    theatre.scheduling.over(second, "b")
    assert second.units == ["b", "d", "e"]
    theatre.scheduling.remove_node(second)
    assert theatre.dead == ["w1 in d", "w1 in e"]
    theatre.scheduling.over(first, "a")
    theatre.scheduling.over(first, "c")
    assert first.units == ["a", "c", "d", "e"]
    theatre.scheduling.over(first, "e")
    theatre.scheduling.over(first, "f")
    assert theatre.scheduling.has_pending
    theatre.scheduling.over(first, "d")
    assert first.shutting_down
    assert theatre.scheduling.tests_finished


def test_what_no_worker_may_play_keeps_nobody_waiting() -> None:
    theatre = Theatre("far1", "far2", a=2, b=1)
    theatre.barred = {("far1", "a"), ("far2", "a")}
    first, second = theatre.begin("a/1", "b/1")

    assert (first.units, second.shutting_down) == (["b"], True)
    theatre.over(first)
    assert theatre.scheduling.tests_finished
    assert [unit.name for unit in theatre.scheduling.unplayed] == ["a"]


def test_a_replacement_that_comes_late_is_given_what_is_left() -> None:
    theatre = Theatre("w0", a=1)
    (first,) = theatre.begin("a/1")
    theatre.scheduling.remove_node(first)
    late = Worker("w1")
    theatre.scheduling.add_node(late)
    theatre.scheduling.add_node_collection(late, ["a/1"])
    theatre.scheduling.schedule()

    assert late.units == ["a"]


def test_a_conversation_that_is_given_up_is_not_played_again() -> None:
    theatre = Theatre("w0", "w1", lost=False, a=2, b=1)
    first, second = theatre.begin("a/1", "b/1")
    theatre.scheduling.remove_node(first)
    theatre.over(second)

    assert second.units == ["b"]
    assert theatre.scheduling.tests_finished


def test_workers_that_collect_other_scenarios_play_nothing_and_it_is_said_which() -> (
    None
):
    theatre = Theatre("w0", "w1", a=1)
    workers = theatre.begin("a/1", "a/2", w1=["a/1", "a/3"])

    assert [worker.units for worker in workers] == [[], []]
    assert theatre.scheduling.tests_finished
    (text,) = theatre.differences
    assert "it lacks: a/2" in text
    assert "only it has: a/3" in text


def test_the_end_of_one_item_is_not_the_end_of_its_conversation() -> None:
    theatre = Theatre("w0", a=2, b=1)
    (worker,) = theatre.begin("a/1", "b/1")

    theatre.scheduling.mark_test_complete(worker, 0)
    theatre.scheduling.over(worker, "b")  # not the unit that it plays

    assert worker.units == ["a"]
    assert theatre.scheduling.has_pending


def test_items_are_never_taken_back() -> None:
    theatre = Theatre("w0", a=1)
    with pytest.raises(NotImplementedError):
        theatre.scheduling.remove_pending_tests_from_node(theatre.workers[0], [0])
