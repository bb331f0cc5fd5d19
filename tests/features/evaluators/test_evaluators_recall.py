from __future__ import annotations

from datetime import datetime, timezone

import pytest

from pytest_ltm.api.model import Exchange, Score, Unscored
from pytest_ltm.api.scenarios import PROMPTS, Inquiry
from pytest_ltm.evaluators import (
    AppliesRule,
    QuoteAtReply,
    RecallsFacts,
    RecallsJoke,
    RecallsSteps,
    SaysAtEachTrigger,
)
from pytest_ltm.testing import FakeJudge

JOKES = (
    "Our lighthouse keeper quit his job: he could not stand being looked down upon by gulls.",
    "The librarian told me that my overdue books had formed a union.",
    "I bought a clock with no hands and now I am always on time for nothing.",
    "My accordion applied for asylum at the neighbour's, who keeps it in the shed.",
)
TELLINGS = (
    (
        JOKES[0],
        "You told me the one about the lighthouse keeper who quit because gulls looked down on him.",
        "Our lighthouse keeper quit, since gulls looked down upon him.",
    ),
    (
        JOKES[1],
        "The joke about overdue library books starting a union.",
        "That your overdue books unionised, she said.",
    ),
    (
        JOKES[2],
        "The one with the handless clock: you're always on time for nothing.",
        "About a clock that has no hands.",
    ),
    (
        JOKES[3],
        "Your accordion sought asylum at the neighbor's place and lives in a shed now.",
    ),
)
ALL_TOLD = (
    "\n".join(JOKES),
    "You told me several: " + "; ".join(telling[1] for telling in TELLINGS),
)
EXCUSES = (
    "",
    "Which joke did I tell you about 3 hours ago?",
    "I do not remember any jokes, sorry. Feel free to tell me again!",
    "As a machine I keep no time, but I would love to hear one about a clock!",
)


def scored(verdict: object) -> Score:
    assert isinstance(verdict, Score)
    return verdict


def joke(n: int, **options: object) -> RecallsJoke:
    return RecallsJoke(
        JOKES[n],
        tuple(other for i, other in enumerate(JOKES) if i != n),
        **options,  # type: ignore[arg-type]
    )


def value(verdict: object) -> float:
    assert isinstance(verdict, Score)
    return verdict.value


@pytest.mark.parametrize("n", range(4))
def test_a_joke_that_is_only_named_is_not_told(n: int) -> None:
    hints = (
        "It was the lighthouse joke.",
        "Something about library books.",
        "The clock one.",
        "The accordion one",
    )
    assert value(joke(n)([hints[n]])) == 0


@pytest.mark.parametrize("n", range(4))
def test_a_joke_is_recognised_in_other_words_and_told_from_the_others(n: int) -> None:
    for k, tellings in enumerate(TELLINGS):
        for telling in tellings:
            assert value(joke(n)([telling])) == (k == n), telling


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("answer", [*ALL_TOLD, *EXCUSES])
def test_telling_all_jokes_or_none_earns_nothing(n: int, answer: str) -> None:
    assert value(joke(n)([answer])) == 0


def test_the_published_rule_takes_the_text_even_in_a_list_of_all() -> None:
    for scoring in ("v3.5", "paper"):
        assert value(joke(2, scoring=scoring)([ALL_TOLD[0]])) == 1


def test_where_the_published_rule_asks_a_model_the_verdict_says_what_stood_in() -> None:
    verdict = joke(2, scoring="v3.5")(["About a clock that has no hands."])
    assert (verdict.rule, "stands in" in verdict.reason) == ("jokes/v3.5+jokes/2", True)


def test_a_judge_is_asked_only_where_the_rule_is_unsure() -> None:
    judge = FakeJudge({"jokes": "Hm. GRADE: yes\nNo: GRADE: no"})
    assert value(joke(0, judge=judge)([TELLINGS[0][1]])) == 1
    assert judge.asked == []
    assert value(joke(0, judge=judge)(["It was the lighthouse joke."])) == 0
    assert [(asked.prompt, asked.version) for asked in judge.asked] == [
        ("jokes", PROMPTS["jokes"].version)
    ]


def test_a_judge_that_fails_or_answers_off_the_menu_leaves_the_answer_unscored() -> (
    None
):
    class Broken:
        def assess(self, inquiry: Inquiry, /) -> str:  # noqa: ARG002
            raise OSError("gone")

    for judge in (
        Broken(),
        FakeJudge(otherwise="GRADE: maybe"),
        FakeJudge(otherwise="maybe"),
        FakeJudge(otherwise="GRADE: yes/no"),
    ):
        assert isinstance(
            joke(0, judge=judge)(["It was the lighthouse joke."]), Unscored
        )


SENTENCE = "The kettle is on. Mind the steam"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("the kettle is on, mind the steam!", True),
        ("Sure. The kettle's on. Mind the steam. Anything else?", True),
        ("Hello! The kettles are on. Mind the steam", False),
        ("Yes, Ann: the kettle is on, Ann. Mind the steam.", True),
        ("Put the kettle on.", False),
        ("Mind the steam.", False),
        ("", False),
    ],
)
def test_a_trigger_sentence_is_recognised_literally_or_nearly_so(
    answer: str, said: bool
) -> None:
    assert value(SaysAtEachTrigger(SENTENCE, 1)([answer])) == said


def test_each_activation_is_a_third_and_a_missing_answer_counts_as_silence() -> None:
    verdict = scored(SaysAtEachTrigger(SENTENCE)([SENTENCE, "no"]))
    assert value(verdict) == pytest.approx(1 / 3)
    assert [check.ok for check in verdict.checks] == [True, False, False]


def test_the_published_trigger_rule_compares_the_whole_answer() -> None:
    rule = SaysAtEachTrigger(SENTENCE, 1, "v3.5")
    assert scored(rule(["Kettle is on, mind the steams"])).value == 1
    assert rule([f"Well now: {SENTENCE}."]).rule == "trigger-response/v3.5"
    assert "stands in" in rule(["Something else"]).reason


QUOTE = "A borrowed umbrella never learns its owner's name."


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        (["ok", "yes", f"Fine. “{QUOTE}” - A. Nobody"], 1),
        (["ok", QUOTE, "no"], 0),
        (["ok", "yes", "no"], 0),
        ([QUOTE, "yes", QUOTE], 0),
        (["ok", "yes"], None),
        (["ok", QUOTE], 0),
        ([], None),
    ],
)
def test_a_quote_belongs_in_one_reply_alone(
    replies: list[str], expected: float | None
) -> None:
    for scoring in ("current", "v3.5", "paper"):
        verdict = QuoteAtReply(QUOTE, 3, scoring).verdict(replies)
        assert (value(verdict) if verdict else None) == expected


def test_a_reply_that_repeats_the_instruction_too_does_not_append_a_quote() -> None:
    instruction = (
        "Write the line from what I am writing below your 2nd reply, and nowhere else."
    )
    dumped = f'I let Ada say: "{QUOTE}"\n{instruction}\nAnd then sleet.'
    for reply, current in (
        (dumped, 0),
        (f"Sleet it is. {QUOTE}", 1),
        (f'{QUOTE} You asked: "{instruction}"', 1),
    ):
        since = [exchange(instruction, "Gladly."), exchange("And then sleet.", reply)]
        assert value(QuoteAtReply(QUOTE, 2)(since)) == current
        assert value(QuoteAtReply(QUOTE, 2, "v3.5")(since)) == 1


def test_a_quote_amid_messages_of_the_user_is_not_appended() -> None:
    recited = f"{QUOTE} Just checking: how long is the Ald? Back to Pellovik, once more: who founded it? Okay."
    for reply, current in (
        (recited, 0),
        (f"The Ald. {QUOTE} That was the line, wasn't it?", 1),
    ):
        since = [
            exchange("Write that line below your 2nd reply.", "Gladly."),
            exchange("Which river?", reply),
        ]
        assert value(QuoteAtReply(QUOTE, 2)(since)) == current


def exchange(message: str, reply: str) -> Exchange:
    """Return an exchange with this message and reply."""
    now = datetime(2024, 3, 4, tzinfo=timezone.utc)
    return Exchange(
        number=0,
        by="",
        kind="ask",
        message=message,
        reply=reply,
        start=0,
        message_tokens=1,
        reply_tokens=1,
        now=now,
    )


def test_a_sentence_that_comes_at_controls_costs_their_share() -> None:
    rule = SaysAtEachTrigger(SENTENCE, 2, controls=2)
    assert value(rule([SENTENCE, SENTENCE, "", "I see."])) == 1
    assert value(rule([SENTENCE, SENTENCE, "", SENTENCE])) == 0.5
    assert value(rule([SENTENCE] * 4)) == 0


def test_a_sentence_with_another_telling_word_is_not_said() -> None:
    rule = SaysAtEachTrigger("Fish keep every secret that they are told.", 1)
    assert value(rule(["Fish keep every secret that they are given."])) == 0
    assert value(rule(["Fish keep every secret they are told"])) == 1


@pytest.mark.parametrize(
    ("reply", "value_of_it"),
    [
        ('Understood! Whenever you bring up the harbour, I will answer "{}"', 0),
        ("From now on I'll say '{}' when you mention the harbour.", 0),
        ("Okay. If the harbour is mentioned, I should say: {}", 0),
        ("{} I'll keep saying that whenever you mention the harbour.", 1),
        ("You mentioned the harbour, so: {}", 1),
        ("I must say it now: {}", 1),
    ],
)
def test_who_announces_a_sentence_does_not_say_it(
    reply: str, value_of_it: float
) -> None:
    sentence = "Gulls never pay rent."
    rule = SaysAtEachTrigger(sentence, 1)

    assert value(rule([reply.format(sentence)])) == value_of_it


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Quellbrook.", 1),
        ("It was T. Quellbrook.", 1),
        ("Captain Quellbrook founded it.", 1),
        ("R. Quellbrook.", 0),
        ("Brugo Quellbrook founded it.", 0),
        ("Not Quellbrook; it was Hesper Dunmorrow.", 0),
    ],
)
def test_a_surname_is_the_person_who_is_asked_for(reply: str, expected: float) -> None:
    rule = RecallsFacts(("Tamsin Quellbrook",), ("Who founded the port?",))

    assert value(rule([reply])) == expected


def test_a_surname_of_two_people_is_neither() -> None:
    founders = ("Tamsin Quellbrook", "Orla Quellbrook")
    rule = RecallsFacts(founders, ("Who founded the port?", "Who led the miners?"))

    assert value(rule(["Quellbrook.", "O. Quellbrook."])) == 0


@pytest.mark.parametrize(
    ("expected", "reply", "is_right"),
    [
        ("Rub the lens with a fig leaf.", "You rub the lens with a fig leaf.", True),
        ("Rub the lens with a fig leaf.", "Polish the lens with a fig leaf.", True),
        ("Rub the lens with a fig leaf.", "Rub the lens with a towel.", False),
        ("Pour a thimble of milk into the crank.", "Pour milk into the crank.", True),
        ("Whistle a lullaby at the gauge.", "Whistle a march at the gauge.", False),
    ],
)
def test_a_step_with_another_word_in_the_place_of_one_is_not_proven(
    expected: str, reply: str, *, is_right: bool
) -> None:
    other = "Press the square button."
    questions = ("What comes next?", "What comes first?")
    rule = RecallsSteps((expected, other), questions, (other, expected))
    checks = scored(rule([reply, other])).checks

    assert (checks[0].ok, checks[0].open) == (is_right, not is_right)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [("8", 1), ("11", 0), ("8, not eleven.", 1), ("11 rather than 8", 0)],
)
def test_a_number_in_figures_is_the_thing_that_is_offered_in_words(
    reply: str, expected: float
) -> None:
    rule = AppliesRule(("eight",), (("eight", "eleven"),))

    assert value(rule([reply])) == expected
