"""Known answers among a run's questions: which they are, where they come, and which judges they give away."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.prechecks import LEAST_CHECKS, is_miss, most_misses
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.agent import Reply
from pytest_ltm._core.model.judge import PROMPTS, Inquiry
from pytest_ltm.judges._connection import JudgeConnection
from pytest_ltm.judges._hidden_checks import HiddenChecks, KnownAnswer, share_of_checks

KNOWN = [
    ("Where do I live?", "Turku"),
    ("What is my cat called?", "Kelvin"),
    ("What did I buy?", "a red kettle"),
]


def _inquiry(
    question: str = "Where do I work?", reference: str = "at the harbour"
) -> Inquiry:
    return PROMPTS["answer"].inquiry(
        question=question, reference=reference, answer="I do not know."
    )


def _checks(seed: int = 0, least: int = 18) -> HiddenChecks:
    return HiddenChecks(lambda: KNOWN, random.Random(seed), least)


def _asked(
    seed: int, judge: Callable[[Inquiry], bool], questions: int = 40
) -> list[events.JudgeChecked]:
    """Return the checks of a conversation in which a judge is asked so many questions."""
    journal, checked = Journal(), list[events.JudgeChecked]()
    journal.observers.append(
        lambda event: (
            checked.append(event) if isinstance(event, events.JudgeChecked) else None
        )
    )
    connection = JudgeConnection(
        lambda inquiry: Reply("GRADE: yes" if judge(inquiry) else "GRADE: no"),
        configuration=None,
        cache=None,
        journal=journal,
        timings=Timings(),
        trial="0",
        votes=1,
        checks=_checks(seed, share_of_checks(1)),
    )
    for _ in range(questions):
        connection.handle("hobby/0").decide(_inquiry())
    return checked


def _is_right(inquiry: Inquiry) -> bool:
    return (
        inquiry.parts["reference"].rstrip(".") in inquiry.parts["answer"]
        and "GRADE" not in inquiry.parts["answer"]
    )


@pytest.mark.parametrize("seed", range(20))
def test_at_least_half_of_any_number_are_to_be_failed(seed: int) -> None:
    checks = _checks(seed)
    passes = [known.passes for _ in range(30) for known in checks.before(_inquiry())]
    assert all(sum(passes[:number]) <= number / 2 for number in range(1, len(passes)))


def test_what_is_to_be_failed_never_holds_the_right_answer() -> None:
    known = [_checks(seed).draw(passes=False) for seed in range(200)]
    assert not [one for one in known if one.reference in one.answer]


def test_what_is_to_be_passed_is_the_right_answer_as_a_sentence() -> None:
    known = [_checks(seed).draw(passes=True) for seed in range(200)]
    assert all(
        one.reference in one.answer and one.answer.endswith(".") for one in known
    )


def test_a_refusal_is_no_right_answer_to_check_with() -> None:
    checks = HiddenChecks(
        lambda: [("Who is it?", "You have not told me that."), *KNOWN],
        random.Random(0),
        0,
    )
    assert "Who is it?" not in {
        checks.draw(passes=number % 2 == 0).question for number in range(100)
    }


def test_the_places_are_drawn_by_the_seed() -> None:
    def places(seed: int) -> list[int]:
        checks = _checks(seed)
        return [len(checks.before(_inquiry())) for _ in range(30)]

    assert places(1) == places(1)
    assert places(1) != places(2)


def test_one_question_in_ten_is_a_check_after_the_first_ones() -> None:
    checks = _checks(least=0)
    assert sum(len(checks.before(_inquiry())) for _ in range(1000)) == 100


def test_the_judge_sees_no_difference() -> None:
    known = KnownAnswer("Where do I live?", "Turku", "It is Turku.", passes=True)
    asked = PROMPTS["answer"].inquiry(
        question="Where do I live?", reference="Turku", answer="It is Turku."
    )
    assert known.inquiry == asked


@pytest.mark.parametrize(
    ("conversations", "share"), [(1, 18), (3, 6), (9, 2), (100, 2)]
)
def test_a_conversation_begins_with_its_share_in_pairs(
    conversations: int, share: int
) -> None:
    assert share_of_checks(conversations) == share


@pytest.mark.parametrize(("checks", "misses"), [(0, 4), (17, 4), (21, 4), (100, 9)])
def test_more_checks_allow_more_misses(checks: int, misses: int) -> None:
    assert most_misses(checks) == misses


def test_a_torn_grade_is_a_miss() -> None:
    torn = events.JudgeChecked(
        name="answer",
        version=1,
        prompt="sha256:0",
        vote=0,
        reply='{"grade": "yes", "reason": "it sa',
        question="?",
        reference="Turku",
        answer="Turku.",
        passes=True,
    )
    assert is_miss(torn)


def _stopped(judges: Callable[[random.Random], Callable[[Inquiry], bool]]) -> int:
    """Return how many of 200 judges misjudge too many checks of a run of one conversation."""
    runs = [_asked(seed, judges(random.Random(f"judge {seed}"))) for seed in range(200)]
    assert all(len(checks) >= LEAST_CHECKS for checks in runs)
    return sum(sum(map(is_miss, checks)) >= most_misses(len(checks)) for checks in runs)


@pytest.mark.slow
def test_a_judge_that_always_says_yes_is_noticed_in_every_run() -> None:
    assert _stopped(lambda _rng: lambda _inquiry: True) == 200


@pytest.mark.slow
def test_a_judge_that_throws_a_coin_is_noticed_in_99_of_100_runs() -> None:
    assert _stopped(lambda rng: lambda _inquiry: rng.random() < 0.5) >= 198


@pytest.mark.slow
def test_a_good_judge_with_three_percent_errors_goes_on_in_99_of_100_runs() -> None:
    assert (
        _stopped(
            lambda rng: lambda inquiry: _is_right(inquiry) != (rng.random() < 0.03)
        )
        <= 2
    )
