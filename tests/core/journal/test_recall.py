"""The share of a question's needles that was retrieved, matched by text; unknown if it cannot be determined."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from pytest_ltm._core.journal.result import NeedleRef, QuestionResult
from pytest_ltm._core.journal.retrieval import (
    covers_all,
    evidence_found,
    recall_at,
    retrieval_metrics,
    retrieval_ranks,
)
from pytest_ltm._core.model.transcript import Exchange

NEEDLE = "My train leaves from platform 14."


def said(
    message: str,
    reply: str = "Noted.",
    number: int = 0,
    retrieved: tuple[str, ...] | None = None,
) -> Exchange:
    return Exchange(
        number=number,
        by="",
        kind="ask",
        message=message,
        reply=reply,
        start=0,
        message_tokens=1,
        reply_tokens=1,
        now=datetime(2024, 3, 4, tzinfo=timezone.utc),
        retrieved=retrieved,
    )


BEFORE = [said(NEEDLE), said("I like tea.", "Tea is nice.")]


def question(*places: int | None) -> QuestionResult:
    refs = [
        NeedleRef(number=n, text=NEEDLE, gap=1, told_gap=1, seconds_passed=0, rank=rank)
        for n, rank in enumerate(places)
    ]
    return QuestionResult(number=9, text="?", answer="", needles=tuple(refs))


@pytest.mark.parametrize(
    ("retrieved", "rank"),
    [
        (("I like tea.", NEEDLE), 2),
        (
            (
                "[3:00:00 ago] user: my train  leaves\nfrom platform 14. assistant: Noted.",
            ),
            1,
        ),
        (("I like tea.",), 0),
        (("Tea is nice.",), 0),
        (("What they like: I like tea. And so on.",), 0),
        ((), 0),
        (("My train leaves", "from platform 14."), None),
        (("D1:4", "D2:1"), None),
        (("The user takes a train at platform fourteen.",), None),
        ((f"{NEEDLE}\nNoted.",), 1),
        (("I like tea.\nTea is nice.",), 0),
    ],
)
def test_a_needle_is_found_where_a_text_holds_its_whole_message(
    retrieved: tuple[str, ...], rank: int | None
) -> None:
    assert retrieval_ranks(retrieved, (), {7: NEEDLE}, BEFORE) == (
        {} if rank is None else {7: rank}
    )


@pytest.mark.parametrize(
    ("retrieved", "known"),
    [((), {}), (("I like tea.",), {}), (("I like tea.", NEEDLE), {7: 2})],
)
def test_what_stands_before_the_agent_anyway_is_not_missed(
    retrieved: tuple[str, ...], known: dict[int, int]
) -> None:
    assert (
        retrieval_ranks(
            retrieved, ("Hello.", f"[1 minute ago] {NEEDLE}"), {7: NEEDLE}, BEFORE
        )
        == known
    )


def test_what_is_in_context_does_not_hide_what_was_missed() -> None:
    assert retrieval_ranks((), (NEEDLE,), {7: NEEDLE, 8: "I like tea."}, BEFORE) == {
        8: 0
    }


def test_recall_is_the_share_of_the_needles_among_the_first_k() -> None:
    asked = [question(1, 7), question(0)]
    assert recall_at(asked, 5) == 0.25
    assert retrieval_metrics(asked) == {
        "recall@5": 0.25,
        "recall@10": 0.5,
        "needle_rank": 4,
    }


def test_what_is_not_known_is_in_no_mean() -> None:
    assert recall_at([question(None), question(), question(3)], 5) == 1
    assert retrieval_metrics([question(None)]) == retrieval_metrics([question()]) == {}


def test_a_k_that_covers_the_whole_history_is_noticed() -> None:
    told = [replace(one, kind="say") for one in BEFORE]
    whole, part = said("?", retrieved=("a", "b")), said("?", retrieved=("a",))

    assert covers_all([*told, whole])
    assert covers_all([*told, replace(whole, alone=True), replace(whole, alone=True)])
    assert not covers_all([*told, whole, whole])
    assert not covers_all([*told, part])
    assert not covers_all([*told, said("?")])
    assert not covers_all([])


@pytest.mark.parametrize(
    ("places", "metrics", "found"),
    [
        ((1, 4), {}, True),
        ((1, 0), {"recall": 1.0}, False),
        ((None, 2), {}, True),
        ((None,), {}, None),
        ((None,), {"recall": 1.0}, True),
        ((), {"recall": 1.0, "recall_repaired": 0.5}, False),
    ],
)
def test_evidence_is_found_by_rank_or_where_none_is_known_by_recall(
    places: tuple[int | None, ...], metrics: dict[str, float], found: bool | None
) -> None:
    assert evidence_found([question(*places)], metrics) is found
