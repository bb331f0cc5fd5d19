"""Rule-based verdicts on LongMemEval answers: each rule, then the agreement with published judges."""

from __future__ import annotations

import pytest
from benchmark_data import LONGMEMEVAL, lines_of

from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis


def verdict(
    answer: object,
    said: str,
    question: str = "Where do I go?",
    kind: str = "multi-session",
    name: str = "q1",
) -> str:
    ruling = rule_on_hypothesis(
        question_id=name,
        question_type=kind,
        question=question,
        answer=answer,
        hypothesis=said,
    )
    assert ruling.reason
    return ruling.verdict


@pytest.mark.parametrize(
    ("answer", "said", "expected"),
    [
        (3, "You bought three of them.", "yes"),
        (3, "You bought 4 of them.", "no"),
        (3, "It was 3 or 4.", "no"),
        (3, "At least 3.", "unscored"),
        (3, "Perhaps 3.", "unscored"),
        ("$2,500", "In all that is **$2500**.", "yes"),
        ("$2,500", "In all that is **$3500**.", "no"),
        ("1 hour and 30 minutes", "An hour and a half.", "yes"),
        ("6:45 AM", "You rise at 6:45 a.m.", "yes"),
        ("June 3rd", "That was on 2023/06/03.", "yes"),
        ("two weeks", "For fourteen days.", "yes"),
        (4, "I do not know that.", "no"),
        ("a canoe trip", "You went on a canoe trip with Bo.", "yes"),
        # the trip may be called by other words
        ("a canoe trip", "You went to the opera.", "unscored"),
        ("a canoe trip", "It may have been a trip, I cannot tell which.", "unscored"),
        ("Yes", "Yes, you did.", "yes"),
        ("Yes", "No, you did not.", "no"),
    ],
)
def test_what_an_answer_comes_to(answer: object, said: str, expected: str) -> None:
    assert verdict(answer, said) == expected


@pytest.mark.parametrize("is_locomo", [False, True])
@pytest.mark.parametrize(
    ("question", "gold", "reply", "expected"),
    [
        ("How much did it cost?", "12.50 €", "It cost 12,50 €.", "yes"),
        ("How much did it cost?", "12.50 €", "It cost 13,50 €.", "no"),
        ("How much did it cost?", "1250.75 EUR", "It cost 1.250,75 EUR.", "yes"),
        ("How much flour do I need?", "0.75 cup", "You need 3/4 cup.", "yes"),
        ("How much flour do I need?", "0.75 cup", "You need 1/4 cup.", "no"),
        ("How much flour do I need?", "0.5 cup", "You need ½ cup of flour.", "yes"),
        ("When did I move?", "6 May 2024", "You moved on 2024-05-06T07:08:09Z.", "yes"),
        ("When did I move?", "6 May 2024", "You moved on 2024-05-07T07:08:09Z.", "no"),
        ("How far did I run?", "10 km", "You ran 10k.", "yes"),
        ("How far did I run?", "10 km", "You ran 11k.", "no"),
        ("How much do I earn?", "$10,000", "You earn 10k.", "yes"),
        (
            "How fast did I run it?",
            "31:05",
            "You ran it in thirty-one minutes and five seconds.",
            "yes",
        ),
        (
            "How fast did I run it?",
            "31:05",
            "You ran it in thirty-one minutes and six seconds.",
            "no",
        ),
        (
            "What was my time?",
            "35 minutes and 40 seconds (or 35:40)",
            "Thirty-five minutes and forty seconds.",
            "yes",
        ),
        ("How many times did I go?", "3 times", "You went 3x.", "yes"),
        ("How many plants do I have?", "21", "You have twenty-one plants.", "yes"),
        ("When does it open?", "7 o'clock", "It opens at seven.", "yes"),
        ("When does it open?", "7 o'clock", "It opens at 8.", "no"),
    ],
)
def test_a_value_in_a_sentence_may_have_another_form(
    question: str, gold: str, reply: str, expected: str, *, is_locomo: bool
) -> None:
    if is_locomo:
        ruling = strict_verdict(
            category=4, question=question, answer=gold, prediction=reply
        )
        assert ruling.verdict == expected
    else:
        assert verdict(gold, reply, question) == expected


def test_where_a_file_has_no_answer_none_is_right() -> None:
    assert verdict(None, "NOT_FOUND") == "yes"
    assert verdict(None, "To the harbour.") == "no"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("It sold 400 copies.", "yes"),
        ("It was 400 kg (400 was another time).", "unscored"),
        ("It sold 400 MB, a few others and 400.", "unscored"),
    ],
)
def test_a_number_of_things_is_no_amount_with_a_unit(said: str, expected: str) -> None:
    assert verdict("400", said, "How many copies did it sell?") == expected


def test_only_the_conclusion_of_a_long_answer_counts() -> None:
    steps = (
        "First I look at what was said on each day of that month, and there is a lot. "
        * 10
    )

    assert verdict(7, f"{steps}Some say 5. Therefore, the answer is 7 visits.") == "yes"
    assert verdict(7, f"{steps}Some say 7. Therefore, the answer is 5 visits.") == "no"


def test_the_suffix_of_the_id_decides_on_abstention_before_the_type_does() -> None:
    refusal = "You never mentioned that."

    assert (
        verdict(
            "not enough information",
            refusal,
            kind="single-session-preference",
            name="q1_abs",
        )
        == "yes"
    )
    assert (
        verdict(
            "not enough information",
            "In Turku.",
            kind="temporal-reasoning",
            name="q1_abs",
        )
        == "no"
    )
    assert verdict("Turku", refusal, kind="temporal-reasoning") == "no"


def test_a_temporal_answer_may_be_one_day_off_and_no_other_may() -> None:
    question = "How many days passed between the two fairs?"

    assert verdict("7 days", "8 days passed.", question, "temporal-reasoning") == "yes"
    assert verdict("7 days", "9 days passed.", question, "temporal-reasoning") == "no"
    assert verdict("7 days", "8 days passed.", question, "multi-session") == "no"


def test_one_week_or_month_off_is_left_to_a_judge() -> None:
    asked = "How many weeks ago did I plant the fig tree?"

    for answer, expected in [
        ("Five weeks ago.", "unscored"),
        ("Four weeks ago.", "yes"),
        ("Seven weeks ago.", "no"),
    ]:
        ruling = rule_on_hypothesis(
            question_id="q",
            question_type="temporal-reasoning",
            question=asked,
            answer="4 weeks",
            hypothesis=answer,
        )
        assert ruling.verdict == expected


def test_of_two_things_the_right_one_must_be_named_alone() -> None:
    question = "Which did I buy first, the red kettle or the blue lamp?"

    assert verdict("the red kettle", "You bought the kettle first.", question) == "yes"
    assert verdict("the red kettle", "That was the lamp.", question) == "no"
    assert (
        verdict("the red kettle", "You bought a kettle and a lamp.", question)
        == "unscored"
    )


def test_a_preference_needs_a_judge() -> None:
    assert (
        verdict(
            "Would like quiet places.",
            "Try a quiet place.",
            kind="single-session-preference",
        )
        == "unscored"
    )


@pytest.mark.slow
@pytest.mark.published
def test_the_rules_agree_with_published_judges_where_they_decide() -> None:
    decided: dict[str, list[bool]] = {}
    for row in lines_of(LONGMEMEVAL / "judged_dev.jsonl.gz"):
        if not row["official_prompt"]:
            continue
        said = verdict(
            row["answer"],
            row["hypothesis"],
            row["question"],
            row["question_type"],
            row["question_id"],
        )
        kind = "abstention" if row["abstention"] else row["question_type"]
        decided.setdefault(kind, [])
        if said != "unscored":
            decided[kind].append((said == "yes") == row["label"])
    right = [agrees for kind in decided.values() for agrees in kind]

    assert len(right) > 1_450
    assert sum(right) / len(right) >= 0.97
    assert not decided["single-session-preference"]


@pytest.mark.slow
@pytest.mark.published
def test_every_expected_answer_is_accepted_bare_and_in_a_sentence() -> None:
    accepted = 0
    for one in lines_of(LONGMEMEVAL / "questions_500.jsonl"):
        if one["question_type"] == "single-session-preference":
            continue
        for said in (
            str(one["answer"]),
            f"If I remember well, it is this: {one['answer']}",
        ):
            given = verdict(
                one["answer"],
                said,
                one["question"],
                one["question_type"],
                one["question_id"],
            )
            assert given == "yes", (one["question"], said)
            accepted += 1
    assert accepted == 2 * 470


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize(
    "refusal",
    [
        "I do not know.",
        "You did not mention this.",
        "There is no information about it.",
    ],
)
def test_a_refusal_is_right_exactly_where_nothing_can_be_known(refusal: str) -> None:
    for one in lines_of(LONGMEMEVAL / "questions_500.jsonl"):
        given = verdict(
            one["answer"],
            refusal,
            one["question"],
            one["question_type"],
            one["question_id"],
        )
        assert (given == "yes") == one["question_id"].endswith("_abs"), one["question"]


@pytest.mark.parametrize(
    ("answer", "said", "expected"),
    [
        ("Basenji", "It is not a Basenji.", "no"),
        ("Basenji", "Not a Whippet but a Basenji.", "yes"),
        ("Rotterdam", "He moved from Rotterdam to Utrecht.", "no"),
        ("Rotterdam", "He moved from Utrecht to Rotterdam.", "yes"),
        ("Rotterdam", "He is thinking of moving to Rotterdam.", "unscored"),
        ("Ottilie", "You sold the bike to your neighbour Ottilie.", "yes"),
        ("Basenji", "You sold the Basenji, and now you have a Whippet.", "no"),
        ("Ghent and Lille", "Ghent, Lille and Metz.", "no"),
        ("Ghent and Lille", "You went to Ghent.", "no"),
        ("6 years older", "He is 6 years younger.", "unscored"),
        (12, "You had 9, and now you have 12.", "yes"),
        (12, "You had 12, and now you have 9.", "no"),
        (12, "You have 9 or 12.", "no"),
        ("Oolong", "<think>Oolong is for a friend.</think>You drink Sencha", "no"),
        ("Oolong", "Te gusta el sencha verde, creo.", "unscored"),
    ],
)
def test_what_is_denied_over_intended_or_one_of_more_is_no_hit(
    answer: object, said: str, expected: str
) -> None:
    assert verdict(answer, said) == expected


def test_an_order_is_compared_item_by_item() -> None:
    answer, question = (
        "First the tax return, then the recital",
        "In which order did these happen?",
    )

    assert verdict(answer, "1. Tax return\n2. Recital", question) == "yes"
    assert verdict(answer, "The recital, then the tax return.", question) == "no"
    assert (
        verdict(answer, "You sent the tax return after the recital.", question)
        == "unscored"
    )


def test_a_question_that_cannot_be_answered_wants_no_guess() -> None:
    def said(answer: str) -> str:
        reason = "You mentioned a parrot but not a canary."
        return verdict(
            reason, answer, "What is my canary called?", "knowledge-update", "q_abs"
        )

    assert said("You told me of a parrot, but of no canary.") == "yes"
    assert said("You don't have a canary; your parrot is called Rio.") == "yes"
    assert said("I don't know for sure, but I think it is Rio.") == "unscored"
    assert said("Your canary is called Rio.") == "no"


@pytest.mark.parametrize(
    ("gold", "reply", "verdict"),
    [
        ("United States", "You moved to Boston, USA.", "yes"),
        ("United States", "You moved to the U.S. in May.", "yes"),
        ("the UK", "You moved to the United Kingdom.", "yes"),
        ("United States", "You moved to Canada, not to the USA.", "no"),
        ("Canada", "You moved to the USA.", "no"),
    ],
)
def test_a_country_may_have_another_of_its_names_in_a_sentence(
    gold: str, reply: str, verdict: str
) -> None:
    ruling = rule_on_hypothesis(
        question_id="q",
        question_type="multi-session",
        question="To which country did I move?",
        answer=gold,
        hypothesis=reply,
    )
    assert ruling.verdict == verdict


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("Which was the second city?", "Oslo", "1. Oslo\n2. Bergen\n3. Tromso"),
        ("What was the 2nd stop?", "Oslo", "Here they are:\n1. Oslo\n2. Bergen"),
        ("What was the 7th job?", "Roofer", "7. Miller\n8. Roofer"),
        ("Which cities did I visit?", "Oslo, Bergen", "You visited Oslo."),
        ("Which cities did I visit?", "Oslo and Bergen", "Oslo and Rome."),
        ("Whom did I meet?", "Ann, Bob and Cleo", "You met Ann and Bob."),
    ],
)
def test_another_place_of_a_list_and_a_part_of_one_do_not_pass(
    question: str, answer: str, said: str
) -> None:
    assert verdict(answer, said, question) != "yes"


def test_an_or_in_an_answer_of_several_sentences_offers_no_choice() -> None:
    answer = (
        "I have sown or bought three plants. The sizes of the pots are: "
        "Dill (no size), 1/2 litre basil, and 1/4 litre mint."
    )
    question = "How many plants have I sown or bought?"
    some = (
        "you have sown or bought **2 plants**:\n\n"
        "1. Basil (1/2 litre, sown in May).\n2. Dill (bought)."
    )
    assert verdict(answer, some, question) != "yes"
    everything = (
        "Three plants, in pots of the sizes: dill no size, basil 1/2, mint 1/4."
    )
    assert verdict(answer, everything, question) == "yes"
