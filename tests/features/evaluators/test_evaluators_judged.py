"""A judge is asked about exactly those replies that the rules cannot decide."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from test_evaluators_recall import EXCUSES, JOKES, QUOTE, joke
from test_evaluators_restaurant import ANSWERS, GOULASH, MENU, TAGINE, TROUT, WAITER

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import Inquiry, LtmJudge
from pytest_ltm.api.storage import JudgeError
from pytest_ltm.evaluators import (
    PlaysGuest,
    QuoteAtReply,
    RecallsFacts,
    RecallsSteps,
    SaysAtEachTrigger,
)
from pytest_ltm.testing import FakeJudge


@dataclass
class Waiting:
    """A judge with a prepared grade per prompt, which records its calls."""

    grades: dict[str, str]
    asked: list[Inquiry] = field(default_factory=list)

    def assess(self, inquiry: Inquiry, /) -> str:
        self.asked.append(inquiry)
        return f"GRADE: {self.grades.get(inquiry.prompt, inquiry.fail)}"

    @property
    def names(self) -> list[str]:
        return [inquiry.prompt for inquiry in self.asked]


def value(verdict: object) -> float:
    assert isinstance(verdict, Score)
    return verdict.value


@pytest.mark.parametrize(
    ("n", "paraphrase"),
    [
        (
            0,
            "The watchman of the beacon resigned, for seabirds had no respect for him.",
        ),
        (
            1,
            "Late loans from the reading room organised themselves into a trade association.",
        ),
        (
            3,
            "An instrument of your neighbour's fled, and he hides it behind his house.",
        ),
    ],
)
def test_a_paraphrase_that_shares_no_word_is_a_case_for_a_judge(
    n: int, paraphrase: str
) -> None:
    judge = Waiting({"jokes": "yes"})
    assert value(joke(n)([paraphrase])) == 0
    verdict = joke(n, judge=judge)([paraphrase])
    assert value(verdict) == 1
    assert verdict.rule == "jokes/2+judge/jokes/2"
    [asked] = judge.asked
    assert paraphrase in asked.text
    assert all(one in asked.text for one in JOKES)


ECHO = "Please tell me the joke that you were told 2 hours and 5 minutes ago."


def test_what_the_judge_thinks_is_the_reason() -> None:
    judge = FakeJudge({"jokes": "It is about\x1b[2J a beacon.\n**GRADE: yes**"})
    verdict = joke(0, judge=judge)(["The one about the beacon and its birds."])
    assert isinstance(verdict, Score)
    assert verdict.reason == "the judge says yes: It is about [2J a beacon."


@pytest.mark.parametrize("answer", [*EXCUSES, "I can't recall it.", "Sorry, no.", ECHO])
def test_excuses_need_no_judge(answer: str) -> None:
    judge = Waiting({"jokes": "yes"})
    assert value(joke(0, judge=judge)([answer])) == 0
    assert judge.asked == []


def test_an_evening_that_rules_can_follow_asks_about_the_first_reply_only() -> None:
    judge = Waiting({"restaurant-drink": "yes"})
    verdict = PlaysGuest(MENU, WAITER, judge)(ANSWERS)
    assert value(verdict) == 1
    assert judge.names == ["restaurant-drink"]
    assert verdict.rule == "restaurant/2+judge/restaurant-drink/1"


HARD = (
    "The sour thing with bubbles from page two would be lovely to begin with.",
    "Number three from the list, if you would be so kind.",
    "In that case number four.",
    "Hmm, these are chickpeas. Fetch the other plate, with the deer.",
    "It had bubbles, it was sour and it was from page two.",
)


def test_each_reply_that_rules_cannot_read_is_judged_by_itself() -> None:
    judge = Waiting(
        {
            "restaurant-drink": "yes",
            "restaurant-dish": "3",
            "restaurant-mix-up": "yes",
            "restaurant-recall": "yes",
        }
    )
    without = PlaysGuest(MENU, WAITER)(HARD)
    assert value(without) == 0
    verdict = PlaysGuest(MENU, WAITER, judge)(HARD)
    assert value(verdict) == 1
    assert judge.names == [
        "restaurant-drink",
        "restaurant-dish",
        "restaurant-dish",
        "restaurant-mix-up",
        "restaurant-recall",
    ]
    for asked, reply in zip(judge.asked, HARD, strict=True):
        assert asked.parts["answer"] == reply
        assert not any(
            other in asked.text
            for other in HARD
            if other not in (reply, asked.parts.get("order"))
        )
    assert judge.asked[-1].parts["order"] == HARD[0]
    # the trout is gone, so the third left is the goulash
    assert judge.asked[3].parts["ordered"] == MENU.dishes[3]


def test_a_dish_by_judgement_is_the_one_that_is_brought_later() -> None:
    guest = PlaysGuest(MENU, WAITER, Waiting({"restaurant-dish": "3"}))
    stage = guest.stage(1, HARD[1], [guest.stage(0, ANSWERS[0], [])])
    assert (stage.ok, stage.items) == (True, (TROUT,))
    numbered = guest.judge.asked[-1].parts["dishes"].splitlines()  # type: ignore[union-attr]
    assert numbered[2] == f"3. {TROUT}"


def test_what_is_gone_or_ordered_already_is_not_offered_again() -> None:
    judge = Waiting({"restaurant-drink": "yes"})
    guest = PlaysGuest(MENU, WAITER, judge)
    first = guest.stage(0, ANSWERS[0], [])
    second = guest.stage(1, "I'll have the tagine.", [first])
    third = guest.stage(2, "The same again would be fine.", [first, second])
    assert third.ok is False
    dishes = judge.asked[-1].parts["dishes"]
    assert TAGINE not in dishes
    assert TROUT not in dishes
    assert GOULASH in dishes
    assert judge.asked[-1].grades == ("1", "2", "3", "4", "none")


@pytest.mark.parametrize(
    "reply",
    ["", "As an AI language model I cannot drink.", "Ann: A beer.\nWaiter: Certainly!"],
)
def test_who_says_nothing_or_plays_no_guest_needs_no_judge(reply: str) -> None:
    judge = Waiting({"restaurant-drink": "yes", "restaurant-dish": "1"})
    assert PlaysGuest(MENU, WAITER, judge).stage(0, reply, []).ok is False
    assert judge.asked == []


def test_a_judge_that_fails_at_a_stage_leaves_the_evening_unscored_as_its_fault() -> (
    None
):
    def ask(inquiry: Inquiry) -> str:
        if inquiry.prompt == "restaurant-drink":
            return "GRADE: yes"
        raise JudgeError("the judge failed: gone")

    verdict = PlaysGuest(MENU, WAITER, LtmJudge(ask))(HARD)
    assert isinstance(verdict, Unscored)
    assert (verdict.reason, verdict.cause, verdict.evidence) == (
        "the judge failed: gone",
        "judge",
        HARD[1],
    )
    assert (
        verdict.rule == "restaurant/2+judge/restaurant-drink/1+judge/restaurant-dish/1"
    )


def test_without_a_judge_no_stage_remembers_more_than_before() -> None:
    stage = PlaysGuest(MENU, WAITER).stage(0, ANSWERS[0], [])
    assert (stage.said, stage.judged, stage.unscored) == ("", "", None)


def test_a_quote_with_a_slip_is_a_case_for_a_judge_and_one_without_or_none_at_all_is_not() -> (
    None
):
    words = QUOTE.rstrip(".").split()
    slip = " ".join([*words[:-1], "well", words[-1]])
    for reply, expected, asked in (
        (slip, 1.0, 1),
        (QUOTE, 1.0, 0),
        ("Nothing of the kind.", 0.0, 0),
    ):
        judge = Waiting({"prospective-memory": "yes"})
        verdict = QuoteAtReply(QUOTE, 2, judge=judge).verdict(["Fine.", reply])
        assert value(verdict) == expected, reply
        assert len(judge.asked) == asked
    assert value(QuoteAtReply(QUOTE, 2).verdict(["Fine.", slip])) == 0


def test_published_rules_ask_no_judge_about_a_quote() -> None:
    judge = Waiting({"prospective-memory": "yes"})
    for scoring in ("v3.5", "paper"):
        words = QUOTE.split()
        reply = " ".join([words[0], "well", *words[1:]])
        verdict = QuoteAtReply(QUOTE, 2, scoring, judge=judge).verdict(["Fine.", reply])
        assert value(verdict) == 0
    assert judge.asked == []


def test_a_judge_that_cannot_tell_about_a_quote_leaves_it_unscored() -> None:
    words = QUOTE.split()
    reply = " ".join([words[0], "well", *words[1:]])
    verdict = QuoteAtReply(QUOTE, 2, judge=FakeJudge(otherwise="Hm.")).verdict(
        ["Fine.", reply]
    )
    assert isinstance(verdict, Unscored)
    assert verdict.rule == "prospective-memory/1+judge/prospective-memory/1"


FACTS = (
    "The weavers are paid in salt.",
    "The bridge is closed on market days.",
    "Nobody there eats plums.",
)
QUESTIONS = (
    "What are the weavers paid in?",
    "When is the bridge closed?",
    "What does nobody there eat?",
)


def test_a_fact_in_other_words_is_a_case_for_a_judge_and_one_in_its_words_or_an_excuse_is_not() -> (
    None
):
    judge = Waiting({"answer": "yes"})
    answers = ["Salt.", "Whenever stalls are put up.", "What does nobody eat there?"]
    assert value(RecallsFacts(FACTS, QUESTIONS)(answers)) == pytest.approx(1 / 3)
    verdict = RecallsFacts(FACTS, QUESTIONS, judge=judge)(answers)
    assert value(verdict) == pytest.approx(2 / 3)
    [asked] = judge.asked
    found = [asked.parts[name] for name in ("question", "reference", "answer")]
    assert found == [QUESTIONS[1], FACTS[1], answers[1]]
    assert verdict.rule == "delayed-recall/1+judge/answer/1"


def test_a_step_in_other_words_is_a_case_for_a_judge_and_a_number_never() -> None:
    judge = Waiting({"answer": "yes"})
    expected = ("Pull the silk cord twice.", "4")
    questions = ("What comes first?", "What is the number of the step with the bell?")
    answers = ["You draw at the string made of fine thread.", "It is step 5."]
    verdict = RecallsSteps(expected, questions, judge=judge)(answers)
    assert value(verdict) == 0.5
    assert [asked.parts["reference"] for asked in judge.asked] == [expected[0]]


@pytest.mark.slow
def test_a_sentence_with_a_slip_at_one_activation_is_a_case_for_a_judge() -> None:
    sentence = "The kettle is on, mind the steam"
    answers = [
        sentence,
        "The kettle stands on the stove, so mind all the steam.",
        "Pardon?",
    ]
    assert value(SaysAtEachTrigger(sentence)(answers)) == pytest.approx(1 / 3)
    judge = Waiting({"trigger-response": "yes"})
    verdict = SaysAtEachTrigger(sentence, judge=judge)(answers)
    assert value(verdict) == pytest.approx(2 / 3)
    assert [asked.parts["answer"] for asked in judge.asked] == [answers[1]]
    assert verdict.rule == "trigger-response/2+judge/trigger-response/1"


def test_a_part_that_nobody_can_judge_leaves_the_whole_unscored() -> None:
    verdict = RecallsFacts(FACTS, QUESTIONS, judge=FakeJudge(otherwise="Hm."))(
        ["Salt.", "On Sundays.", "Plums."]
    )
    assert isinstance(verdict, Unscored)
    assert (verdict.rule, verdict.evidence) == (
        "delayed-recall/1+judge/answer/1",
        "On Sundays.",
    )


@pytest.mark.slow
def test_where_published_rules_ask_a_model_the_judge_is_that_model() -> None:
    judge = Waiting({"answer": "yes", "trigger-response": "yes"})
    for verdict in (
        RecallsFacts(FACTS[:1], QUESTIONS[:1], "v3.5", judge=judge)(
            ["What keeps food from rotting."]
        ),
        SaysAtEachTrigger("The kettle is on", 1, "v3.5", judge)(
            ["A kettle has been put on the fire again."]
        ),
    ):
        assert value(verdict) == 1
        assert "stands in" not in verdict.reason
