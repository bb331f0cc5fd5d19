"""Strict verdicts without a model: passes, failures, and answers left to a judge."""

from __future__ import annotations

from datetime import date

import pytest
from benchmark_data import LOCOMO, lines_of

from pytest_ltm.api.scenarios import PROMPTS
from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.judges.by_rules import RulesJudge
from pytest_ltm.language.dates import DateRange, dated_stretches


def days(first: str, last: str = "") -> DateRange:
    return DateRange(date.fromisoformat(first), date.fromisoformat(last or first))


@pytest.mark.parametrize(
    ("expected", "reply", "verdict"),
    [
        ("some months after 2019", "2019", "unscored"),
        ("a couple of years before 2020", "In 2020.", "unscored"),
        ("a few years before 2023", "A few years before 2023.", "yes"),
        ("2021", "In 2021", "yes"),
    ],
)
def test_a_time_told_by_another_one_is_not_that_one(
    expected: str, reply: str, verdict: str
) -> None:
    ruling = strict_verdict(
        category=2,
        question="When did her uncle retire?",
        answer=expected,
        prediction=reply,
    )

    assert ruling.verdict == verdict


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("It's harbour pilot. You never told me any further details.", "unscored"),
        ("I don't know the brother's, but the sister is a harbour pilot.", "unscored"),
        ("A harbour pilot, because no ferry was available.", "yes"),
        ("She is a harbour pilot, no doubt about it.", "yes"),
        ("It's not data steward but harbour pilot.", "unscored"),
        ("It's none other than harbour pilot.", "yes"),
        (
            "The brother and the sister are cook and harbour pilot, respectively.",
            "unscored",
        ),
        ("I don't know whether she is a harbour pilot.", "no"),
        ("You never told me her job.", "no"),
        ("There is no information about her job.", "no"),
    ],
)
def test_a_refusal_of_something_else_is_no_refusal(reply: str, verdict: str) -> None:
    ruling = strict_verdict(
        category=4,
        question="What is the job of Nora's sister?",
        answer="harbour pilot",
        prediction=reply,
    )

    assert ruling.verdict == verdict


def test_a_time_that_is_only_asked_about_is_no_answer() -> None:
    question = "When did she move?"
    reply = "Was it 2 June 2021 or 5 May 2022? It was 5 May 2022."
    for gold, verdict in (("5 May 2022", "yes"), ("2 June 2021", "no")):
        ruling = strict_verdict(
            category=2, question=question, answer=gold, prediction=reply
        )
        assert ruling.verdict == verdict


@pytest.mark.parametrize(
    ("text", "stretch"),
    [
        ("7 May 2023", days("2023-05-07")),
        ("May 7th, 2023", days("2023-05-07")),
        ("on 2023-05-07", days("2023-05-07")),
        ("in June, 2023", days("2023-06-01", "2023-06-30")),
        ("2022", days("2022-01-01", "2022-12-31")),
        ("the summer of 2022", days("2022-06-01", "2022-08-31")),
        ("winter 2022", days("2022-12-01", "2023-02-28")),
        ("early June 2023", days("2023-06-01", "2023-06-10")),
        ("The week before 9 June 2023", days("2023-06-02", "2023-06-08")),
        ("the weekend before 17 July 2023", days("2023-07-15", "2023-07-16")),
        ("The Friday before 14 August 2023", days("2023-08-11")),
        ("Saturday after 27 January, 2023", days("2023-01-28")),
        ("The week of 23 August 2023", days("2023-08-21", "2023-08-27")),
        ("first week of May 2023", days("2023-05-01", "2023-05-07")),
        ("last week of July 2023", days("2023-07-25", "2023-07-31")),
        ("between October 19 and 24, 2023", days("2023-10-19", "2023-10-24")),
        ("19-24 October 2023", days("2023-10-19", "2023-10-24")),
        ("between 26 March and 20 April 2023", days("2023-03-26", "2023-04-20")),
        ("14/08/2022", days("2022-08-14")),
        ("08/14/2022", days("2022-08-14")),
        ("14.08.2022", days("2022-08-14")),
        ("2022/08/14", days("2022-08-14")),
        ("the week prior to 9 June 2023", days("2023-06-02", "2023-06-08")),
        ("late summer of 2022", days("2022-06-01", "2022-08-31")),
    ],
)
def test_times_in_words_are_stretches_of_days(text: str, stretch: DateRange) -> None:
    assert dated_stretches(text) == [stretch]


@pytest.mark.parametrize(
    "text",
    [
        "last week",
        "31 June 2023",
        "two weeks before 11 August 2023",
        "a few years before 2023",
        "13 August",
        "the week before 1 January 0001",
        "the week after 31 December 9999",
        "late April to mid May 2023",
    ],
)
def test_times_that_cannot_be_told_exactly_are_left_out(text: str) -> None:
    assert dated_stretches(text) == []


ASKED = "When did Olga first row there?"


@pytest.mark.parametrize(
    ("category", "gold", "said", "expected"),
    [
        (2, "The week before 9 June 2023", "On 4 June 2023.", "yes"),
        (2, "The week before 9 June 2023", "9 June 2023", "no"),
        (2, "June 2023", "In the summer of 2023", "unscored"),
        (2, "June 2023", "July 2023", "no"),
        (2, 2022, "It was in 2022.", "yes"),
        (2, "June 2023", "June 2023, or maybe July 2023", "no"),
        (2, "June 2023", "last month", "no"),
        (2, "June 2023", "June 2022", "no"),
        (2, "June 2023", "2023", "unscored"),
        (2, "June 2023", "05/06/2023", "unscored"),
        (2, "June 2023", "Not in June 2023, but in September 2023", "no"),
        (2, "14 June 2023", "14 June", "unscored"),
        (
            2,
            "14 June 2023",
            "She told him on 16 June 2023 that it was two days before, so on 14 June 2023.",
            "yes",
        ),
        (2, "4 years", "four years", "yes"),
        (2, "4 years", "5 years", "no"),
        (4, "a wooden boat", "She has a wooden boat.", "yes"),
        (4, "a wooden boat", "Something to row in", "unscored"),
        (4, "Lake Bled", "Lake Como", "no"),
        (4, "Ana Novak", "Piet Jansen", "no"),
        (4, "a wooden boat", "", "no"),
        (4, "a wooden boat", "I don't know.", "no"),
        (1, "rowing, chess and judo", "Judo, chess, rowing.", "yes"),
        (1, "rowing, chess and judo", "Judo and chess.", "unscored"),
        (3, "Yes; she loves water", "Yes", "yes"),
        (3, "Yes; she loves water", "No, she fears water", "no"),
        (
            3,
            "Yes; she loves water",
            "Yes, because it is cheap and near her flat",
            "unscored",
        ),
        (3, "Likely no", "Likely yes", "no"),
        (5, None, "That was never mentioned.", "yes"),
        (5, None, "A boat.", "no"),
    ],
)
def test_verdicts(category: int, gold: object, said: str, expected: str) -> None:
    assert (
        strict_verdict(
            category=category, question=ASKED, answer=gold, prediction=said
        ).verdict
        == expected
    )


@pytest.mark.parametrize(
    ("said", "grade"),
    [("4 June 2023", "yes"), ("June 2022", "no"), ("in 3 weeks", "unknown")],
)
def test_the_judge_without_a_model_gives_the_strict_verdict(
    said: str, grade: str
) -> None:
    parts = {
        "question": ASKED,
        "reference": "June 2023",
        "answer": said,
        "category": "2",
    }

    assert (
        RulesJudge()
        .assess(PROMPTS["locomo-answer"].inquiry(**parts))
        .endswith(f"GRADE: {grade}")
    )


@pytest.mark.slow
@pytest.mark.published
def test_hardly_a_wrong_or_vague_published_answer_passes_and_what_passes_is_right() -> (
    None
):
    judged = lines_of(LOCOMO / "judged_and_f1_dev.jsonl.gz")
    passed = [
        row
        for row in judged
        if strict_verdict(
            **{k: row[k] for k in ("category", "question", "answer", "prediction")}
        ).verdict
        == "yes"
    ]
    by = {
        source: [row for row in passed if row["source"] == source]
        for source in ("ap_v1", "ap_v2")
    }
    others = [row for row in passed if row["source"] not in by]

    assert len(by["ap_v1"]) <= 758 * 0.01
    assert len(by["ap_v2"]) <= 785 * 0.01
    assert len(others) >= 3020 * 0.45
    assert sum(sum(row["judge"]) >= 2 for row in others) >= len(others) * 0.99


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("rowing, chess", "Chess."),
        ("Tallinn and Lisbon", "Lisbon"),
        ("14 June 2023", "In June 2023."),
    ],
)
def test_a_part_of_what_is_expected_may_do_for_judges_of_this_data_set(
    gold: str, said: str
) -> None:
    ruling = strict_verdict(category=1, question=ASKED, answer=gold, prediction=said)
    assert ruling.verdict == "unscored"


def test_a_time_counted_from_another_is_open_if_a_day_or_two_off_but_not_the_other_one() -> (
    None
):
    gold = "The Sunday before 25 May 2023"
    for said, verdict in (
        ("On 21 May 2023.", "yes"),
        ("On 20 May 2023.", "unscored"),
        ("On 17 May 2023.", "no"),
        ("On 25 May 2023.", "no"),
    ):
        ruling = strict_verdict(
            category=2, question=ASKED, answer=gold, prediction=said
        )
        assert ruling.verdict == verdict


@pytest.mark.parametrize(
    ("category", "gold", "said", "verdict"),
    [
        (4, "a red kite", "A blue drum.", "unscored"),
        (4, "Lake Bled", "Lake Como.", "no"),
        (3, "Lake Bled", "Lake Como.", "no"),
        (3, "Likely no", "No, there is no evidence of that.", "unscored"),
        (3, "Likely no", "I don't know.", "no"),
    ],
)
def test_what_may_be_meant_alike_is_open(
    category: int, gold: str, said: str, verdict: str
) -> None:
    ruling = strict_verdict(
        category=category,
        question="What might Olga do next?",
        answer=gold,
        prediction=said,
    )
    assert ruling.verdict == verdict


@pytest.mark.parametrize(
    ("question", "gold", "said"),
    [
        # dated by the day on which it was told
        (
            "When did Olga move?",
            "The week before 6 July 2023",
            "Last week, 6 July 2023.",
        ),
        (
            "When did Olga move?",
            "Friday before 7 July 2023",
            "Last Friday (7 July 2023)",
        ),
        # without a name of its own, or one of several
        ("What did Olga do?", "tried out a kayak", "She went on the river."),
        ("What could Olga be?", "Nurse or a similar job", "A physiotherapist."),
        ("Is Olga shy?", "Somewhat, among strangers", "She would not be called that."),
        # an answer next to a refusal
        (
            "How old is Olga?",
            "30 or less",
            "In her 20s, but her exact age is not known.",
        ),
        ("Has Olga a car?", "Presumably not", "No. There is no mention of a car."),
        (
            "How does Olga feel?",
            "excited",
            "She is thrilled, and can't wait to see it.",
        ),
        (
            "How did the dogs react?",
            "Confused",
            "They were confused and did not like it.",
        ),
        # two values that may both be true
        ("How does Olga travel?", "by bike", "By bike or on foot."),
    ],
)
def test_what_judges_may_take_as_right_is_open(
    question: str, gold: str, said: str
) -> None:
    ruling = strict_verdict(category=4, question=question, answer=gold, prediction=said)
    assert ruling.verdict in ("unscored", "yes")


@pytest.mark.parametrize(
    ("question", "gold", "said"),
    [
        (
            "When did Olga move?",
            "The week before 6 July 2023",
            "Last year, 6 July 2022.",
        ),
        ("Where did Olga go?", "Lake Bled", "To the Dolomites."),
        ("How old is Olga?", "30 or less", "Her exact age is not known."),
        ("How does Olga travel?", "by bike", "Either by bike or on foot."),
    ],
)
def test_what_no_judge_takes_as_right_is_wrong(
    question: str, gold: str, said: str
) -> None:
    ruling = strict_verdict(category=4, question=question, answer=gold, prediction=said)
    assert ruling.verdict == "no"
