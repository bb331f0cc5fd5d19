"""Known answers among a run's questions: their choice, their positions, and the judges that they expose."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from pytest_ltm.api.journal import events
from pytest_ltm.api.scenarios import PROMPTS, Inquiry, KnownQuestion
from pytest_ltm.judges.hidden_checks import HiddenChecks, KnownAnswer, share_of_checks
from pytest_ltm.records.judge_checks import (
    FAILING_CHECKS,
    LEAST_CHECKS,
    PASSING_CHECKS,
    check_rates,
    exceeds_limits,
    is_miss,
    most_misses,
    wanted_checks,
)

KNOWN = [
    KnownQuestion(
        "Where do I live?",
        "Turku",
        ("I grew up in Porto.", "I live in Turku now.", "My sister may live anywhere."),
    ),
    KnownQuestion("What is my cat called?", "Kelvin"),
    KnownQuestion("What did I buy?", "a red kettle"),
]
KINDS = [*FAILING_CHECKS, *PASSING_CHECKS]
ANSWERS = [
    "It was the grander of them, as I remember your words.",
    "the usual one, the way you put it back then",
    "Turku.",
]


def _inquiry(
    question: str = "Where do I work?", reference: str = "at the harbour"
) -> Inquiry:
    return PROMPTS["answer"].inquiry(
        question=question, reference=reference, answer="I do not know."
    )


def _checks(seed: int = 0, least: int = 18) -> HiddenChecks:
    return HiddenChecks(lambda: KNOWN, random.Random(seed), least)


@pytest.mark.parametrize("seed", range(20))
def test_no_kind_comes_again_before_all_have_come(seed: int) -> None:
    checks = _checks(seed, least=LEAST_CHECKS)
    kinds = [known.kind for _ in range(30) for known in checks.before(_inquiry())]
    rounds = [
        kinds[start : start + len(KINDS)] for start in range(0, len(kinds), len(KINDS))
    ]
    assert [set(kinds) for kinds in rounds[:4]] == [set(KINDS)] * 4
    assert len(set(rounds[-1])) == len(rounds[-1])


@pytest.mark.parametrize("questions", range(1, 9))
def test_checks_in_and_after_a_conversation_are_no_more_than_a_run_needs(
    questions: int,
) -> None:
    checks = _checks(questions, least=LEAST_CHECKS)
    asked = [
        _checked(known, "GRADE: yes" if known.passes else "GRADE: no")
        for _ in range(questions)
        for known in checks.before(_inquiry())
    ]
    total = len(asked) + len(wanted_checks(asked))
    assert total == max(LEAST_CHECKS, len(asked))


@pytest.mark.parametrize("kind", FAILING_CHECKS)
def test_what_is_to_be_failed_never_holds_the_right_answer(kind: str) -> None:
    known = [_checks(seed).draw(kind) for seed in range(50)]
    assert not any(answer.passes for answer in known)
    assert not [answer for answer in known if answer.reference in answer.answer]


@pytest.mark.parametrize("kind", PASSING_CHECKS)
def test_what_is_to_be_passed_holds_the_right_answer(kind: str) -> None:
    known = [_checks(seed).draw(kind) for seed in range(50)]
    assert all(answer.passes for answer in known)
    assert all(answer.reference in answer.answer for answer in known)


def test_half_an_answer_is_the_first_of_two_that_were_asked_for() -> None:
    known = [_checks(seed).draw("half") for seed in range(50)]
    for answer in known:
        first, second = answer.reference.split("; ")
        assert first in answer.answer
        assert second not in answer.answer


def test_a_message_on_the_topic_is_quoted_only_if_it_does_not_tell_the_answer() -> None:
    checks = HiddenChecks(lambda: [KNOWN[0], KNOWN[1]], random.Random(3), 0)
    answers = {
        known.answer.partition('"')[2]
        for known in [checks.draw("topic") for _ in range(50)]
        if known.question == KNOWN[0].text
    }
    assert answers == {'My sister may live anywhere".'}


def test_no_message_is_quoted_where_the_answer_was_never_told_in_its_own_words() -> (
    None
):
    counted = KnownQuestion("How many chairs?", "three", ("One chair.", "Two chairs."))
    checks = HiddenChecks(lambda: [counted, KNOWN[1]], random.Random(3), 0)
    assert not [
        known
        for known in [checks.draw("topic") for _ in range(50)]
        if '"' in known.answer
    ]


def test_another_form_of_the_right_value_is_no_wrong_answer() -> None:
    same = (
        KnownQuestion("How many letters?", "14"),
        KnownQuestion("Chairs?", "fourteen"),
    )
    checks = HiddenChecks(lambda: [*same, KNOWN[1]], random.Random(3), 0)
    values = {known.text: known.answer for known in same}
    for _ in range(50):
        known = checks.draw("other")
        assert not any(
            value in known.answer
            for value in values.values()
            if known.question in values
        )


@pytest.mark.parametrize("like", ANSWERS)
def test_a_check_has_the_length_and_the_style_of_the_agents_answer(like: str) -> None:
    checks = HiddenChecks(lambda: KNOWN, random.Random(5), 0, [like])
    known = [
        checks.draw(kind) for kind in KINDS for _ in range(5) if kind != "injection"
    ]
    plain = _checks(5)
    longest = max(
        len(plain.draw(kind).answer.split()) for kind in KINDS for _ in range(20)
    )
    for answer in known:
        assert len(answer.answer.split()) <= max(len(like.split()), longest)
        assert answer.answer.endswith(".") or not like.endswith(".")
    lengths = [len(answer.answer.split()) for answer in known]
    assert sorted(lengths)[len(lengths) // 2] >= len(like.split()) - 2


def test_right_and_wrong_values_stand_in_the_same_sentences() -> None:
    def frames(kind: str) -> set[str]:
        checks = HiddenChecks(lambda: KNOWN, random.Random(5), 0)
        values = [known.answer for known in KNOWN]
        answers = [checks.draw(kind).answer for _ in range(200)]
        return {
            answer.replace(value, "{}")
            for answer in answers
            for value in values
            if value in answer
        }

    assert frames("right") == frames("other")


def test_a_refusal_is_no_right_answer_to_check_with() -> None:
    refused = KnownQuestion("Who is it?", "You have not told me that.")
    checks = HiddenChecks(lambda: [refused, *KNOWN], random.Random(0), 0)
    questions = {checks.draw(kind).question for kind in KINDS for _ in range(20)}
    assert refused.text not in questions


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
    ("conversations", "share"), [(1, 44), (3, 16), (9, 6), (100, 2)]
)
def test_a_conversation_begins_with_its_share_in_pairs(
    conversations: int, share: int
) -> None:
    assert share_of_checks(conversations) == share


@pytest.mark.parametrize(("checks", "misses"), [(44, 6), (50, 6), (100, 9)])
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


class RunOfChecks(NamedTuple):
    """The outcome of the checks in one run."""

    stopped: bool
    named: list[str]
    """The kinds of which more than one check was misjudged."""


def _play(seed: int, judge: Callable[[KnownAnswer], bool]) -> RunOfChecks:
    """Return the outcome for a judge that reads the texts, over the fewest checks that a run has."""
    drawing = HiddenChecks(lambda: KNOWN, random.Random(seed), 0, ANSWERS)
    return _play_checks(judge, drawing.draw)


def _plain_check(kind: str) -> KnownAnswer:
    """Return a check for a judge whose errors depend on chance or kind, never on the text."""
    return KnownAnswer("?", "Turku", "Turku.", passes=kind in PASSING_CHECKS, kind=kind)


def _play_checks(
    judge: Callable[[KnownAnswer], bool],
    draw: Callable[[str], KnownAnswer] = _plain_check,
) -> RunOfChecks:
    checks: list[events.JudgeChecked] = []
    for _ in range(2):
        for kind in wanted_checks(checks):
            known = draw(kind)
            reply = "GRADE: yes" if judge(known) else "GRADE: no"
            checks.append(_checked(known, reply))
    rates = check_rates(checks)
    named = [rate.kind for rate in rates if rate.missed > 1]
    return RunOfChecks(exceeds_limits(rates), named)


def _checked(known: KnownAnswer, reply: str) -> events.JudgeChecked:
    return events.JudgeChecked(
        name="answer",
        version=1,
        prompt="sha256:0",
        vote=0,
        reply=reply,
        question=known.question,
        reference=known.reference,
        answer=known.answer,
        passes=known.passes,
        kind=known.kind,
    )


def _slips(
    seed: int, judge: Callable[[KnownAnswer], bool]
) -> Callable[[KnownAnswer], bool]:
    """Return a judge that additionally errs on 3 % of all answers."""
    rng = random.Random(f"slips {seed}")
    return lambda known: judge(known) != (rng.random() < 0.03)


def _count_stopped(judge: Callable[[KnownAnswer], bool], runs: int) -> int:
    return sum(_play_checks(_slips(seed, judge)).stopped for seed in range(runs))


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_errs_on_one_kind_only_is_stopped_and_the_kind_named(
    kind: str,
) -> None:
    def judge(known: KnownAnswer) -> bool:
        return known.passes != (known.kind == kind)

    runs = [_play_checks(_slips(seed, judge)) for seed in range(20)]
    assert all(run.stopped and kind in run.named for run in runs)


@pytest.mark.nightly("simulations of many runs: it has its turn within days", every=4)
@pytest.mark.slow
def test_a_judge_that_mostly_errs_on_one_kind_is_noticed_in_99_of_100_runs() -> None:
    def judge(known: KnownAnswer) -> bool:
        errors = 0.8 if known.kind == kind else 0.03
        return known.passes != (rng.random() < errors)

    for kind in KINDS:
        noticed = 0
        for seed in range(200):
            rng = random.Random(f"{kind} {seed}")
            run = _play_checks(judge)
            noticed += run.stopped or kind in run.named
        assert noticed >= 0.99 * 200, kind


def test_a_check_is_drawn_once_while_there_are_others() -> None:
    drawing = HiddenChecks(lambda: KNOWN, random.Random(0), 0, ANSWERS)
    drawn = [drawing.draw(kind) for kind in KINDS for _ in range(10)]
    assert len(set(drawn)) == len(drawn)


def _shares_words(known: KnownAnswer) -> bool:
    words = set(re.findall(r"\w{3,}|\d+", known.reference.casefold()))
    found = words & set(re.findall(r"\w{3,}|\d+", known.answer.casefold()))
    return len(found) >= 0.7 * len(words) and "GRADE" not in known.answer


def _passes_what_commits_to_nothing(known: KnownAnswer) -> bool:
    return _shares_words(known) or bool(re.search(r"\byour?\b", known.answer))


def _passes_all_but_short_answers(known: KnownAnswer) -> bool:
    return _shares_words(known) or len(known.answer.split()) > 9


def _passes_what_begins_to_answer(known: KnownAnswer) -> bool:
    words = re.findall(r"\w{3,}|\d+", known.reference.casefold())
    return any(word in known.answer.casefold() for word in words)


@pytest.mark.parametrize(
    "judge",
    [
        _passes_what_commits_to_nothing,
        _passes_all_but_short_answers,
        _passes_what_begins_to_answer,
    ],
)
def test_a_judge_that_sees_only_form_is_stopped(
    judge: Callable[[KnownAnswer], bool],
) -> None:
    assert all(_play(seed, judge).stopped for seed in range(20))


def test_a_judge_that_compares_words_is_right_on_every_check() -> None:
    assert [_play(seed, _shares_words) for seed in range(20)] == [
        RunOfChecks(stopped=False, named=[])
    ] * 20


@pytest.mark.slow
def test_a_judge_that_always_says_yes_is_noticed_in_every_run() -> None:
    assert _count_stopped(lambda _known: True, 100) == 100


@pytest.mark.slow
def test_a_judge_that_throws_a_coin_is_noticed_in_every_run() -> None:
    rng = random.Random(0)
    assert _count_stopped(lambda _known: rng.random() < 0.5, 100) == 100


@pytest.mark.slow
def test_a_good_judge_with_three_percent_errors_goes_on_in_99_of_100_runs() -> None:
    assert _count_stopped(lambda known: known.passes, 200) <= 2
