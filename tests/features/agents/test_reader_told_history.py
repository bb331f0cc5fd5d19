"""The embedded reader and open questions about a history that it was told."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from pytest_ltm.agents import ShowsRetrieval
from pytest_ltm.agents.reader.history_qa import (
    NOT_MENTIONED,
    date_of_event,
    parse_question,
    split_date,
)
from pytest_ltm.agents.reader.reader import Reader, RetrievingReader, make_reader

TALK = [
    "[9:05 am on 3 March, 2021] Ida: Hi Tom! I adopted a greyhound called Biscuit yesterday.",
    "[9:05 am on 3 March, 2021] Tom: Lovely! I spent the morning repairing my grandfather's clock.",
    "[9:05 am on 3 March, 2021] Ida: My sister Wanda is going to sew curtains for my new flat in Lisbon.",
    "[2:30 pm on 20 June, 2021] Tom: Last month I planted eleven apple trees behind the mill.",
    "[2:30 pm on 20 June, 2021] Ida: I sold my red canoe two weeks ago.",
]
SESSIONS = [
    (
        "[2022/01/04 (Tue) 08:10] I keep 14 hens at the moment. How do I keep them warm?",
        "Use a heated drinker.",
    ),
    (
        "And what about the coop?",
        "Line the coop with straw. The brand Nestwell makes good liners.",
    ),
    ("[2022/02/01 (Tue) 19:00] I now keep 21 hens, by the way.", "How nice."),
    (
        "[2022/03/01 (Tue) 19:00] I visited the lighthouse museum today.",
        "I hope it was fun.",
    ),
]


def told(spec: str = "full") -> Reader:
    policy, _, argument = spec.partition(":")
    reader = make_reader(policy, argument)()
    for message in TALK:
        reader.accept(message, "I have read it.")
    return reader


def chatted() -> Reader:
    reader = make_reader("full")()
    for message, reply in SESSIONS:
        reader.accept(message, reply)
    return reader


def asked(reader: Reader, question: str) -> str:
    return reader.reply(
        f"About the conversation that you have read: {question} Answer with a short phrase."
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Ida adopt a greyhound?", "2 March 2021"),
        ("When did Tom plant the apple trees?", "May 2021"),
        ("When did Ida sell her canoe?", "two weeks before 20 June 2021"),
        ("How many apple trees did Tom plant?", "eleven apple"),
        ("Who is going to sew curtains for Ida?", "Wanda"),
        ("Where is the new flat of Ida?", "Lisbon"),
        ("Did Tom repair a clock?", "Yes"),
    ],
)
def test_a_short_phrase_answers_by_the_kind_of_question(
    question: str, expected: str
) -> None:
    assert asked(told(), question) == expected


def test_what_nobody_told_was_not_mentioned() -> None:
    assert asked(told(), "Which violin concerto does Tom practise?") == NOT_MENTIONED


@pytest.mark.parametrize(
    ("choices", "letter"),
    [
        ("(a) Not mentioned in the conversation (b) a greyhound", "(b)"),
        ("(a) a greyhound (b) Not mentioned in the conversation", "(a)"),
    ],
)
def test_the_choice_with_evidence_is_taken(choices: str, letter: str) -> None:
    question = f"About the conversation that you have read: What did Ida adopt? Choose one of the two: {choices}"

    assert told().reply(question).startswith(letter)


def test_what_somebody_else_did_is_no_evidence_of_who_is_asked_about() -> None:
    question = "What did Tom adopt yesterday? Choose one of the two: (a) a greyhound called Biscuit (b) Not mentioned"

    assert (
        told().reply(f"About the conversation that you have read: {question}")
        == "(b) Not mentioned"
    )


def test_a_window_that_has_moved_on_has_nothing_to_answer_from() -> None:
    assert asked(told("window:60"), "When did Ida adopt a greyhound?") == NOT_MENTIONED


def test_what_was_said_last_is_so() -> None:
    answer = chatted().reply("[2022/04/01 (Fri) 10:00] How many hens do I keep?")

    assert "21" in answer
    assert "14" not in answer


def test_what_the_assistant_said_can_be_asked_for() -> None:
    answer = chatted().reply(
        "[2022/04/01 (Fri) 10:00] Which brand makes good liners for the coop?"
    )

    assert "Nestwell" in answer


def test_days_are_counted_from_the_day_of_the_question() -> None:
    answer = chatted().reply(
        "[2022/03/11 (Fri) 10:00] How many days ago did I visit the lighthouse museum?"
    )

    assert answer == "10 days."


def test_sessions_that_are_sent_as_messages_are_read_alike() -> None:
    reader = make_reader("full")()
    for message, reply in SESSIONS:
        when_said, rest = split_date(message)
        reader.reply(f"[{when_said or '2022-01-04'}] I said: {rest}\nYou said: {reply}")

    assert "21" in reader.reply("[2022/04/01 (Fri) 10:00] How many hens do I keep?")


def test_without_a_history_questions_are_answered_as_ever() -> None:
    reader = make_reader("full")()
    reader.reply("My favourite colour is teal.")

    assert "teal" in reader.reply("What is my favourite colour?")


def test_a_history_leaves_what_other_abilities_understand_to_them() -> None:
    reader = told()
    reader.reply("My favourite colour is teal.")

    assert "teal" in reader.reply("What is my favourite colour?")


@pytest.mark.parametrize("spec", ["full", "bm25:60", "window:300"])
def test_a_reader_that_was_saved_and_loaded_answers_the_same(spec: str) -> None:
    reader, other = told(spec), told(spec)
    other.reset()
    other.load(reader.save())
    question = "When did Ida sell her canoe?"

    assert asked(other, question) == asked(reader, question)
    assert other.save() == reader.save()


def test_the_time_that_is_told_dates_what_has_no_date() -> None:
    reader = make_reader("full")()
    for number, message in enumerate(
        ["[2022-05-01] I begin.", "I painted the fence yesterday."]
    ):
        reader.tell_time(
            datetime(2022, 5, 1, tzinfo=timezone.utc) + timedelta(days=9 * number)
        )
        reader.accept(message, "Good.")

    assert asked(reader, "When did I paint the fence?") == "9 May 2022"


def test_bm25_shows_what_it_saw_the_best_first_and_no_earlier_question() -> None:
    reader = told("bm25:90")
    assert isinstance(reader, RetrievingReader)
    asked(reader, "Who sold the red canoe?")
    asked(reader, "Who sold the red canoe?")
    best, *others = reader.retrieved()

    assert best == f"{TALK[4]}\nI have read it."
    assert not any("Who sold" in text for text in others)


def test_only_readers_that_retrieve_show_it() -> None:
    assert isinstance(told("bm25:60"), ShowsRetrieval)
    assert not isinstance(told("full"), ShowsRetrieval)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I did it two days ago", "7 June 2023"),
        ("we met last Friday", "the Friday before 9 June 2023"),
        ("next month I move", "July 2023"),
        ("last year was hard", "2022"),
        ("it began in November", "November 2022"),
        ("since 2019 I have lived here", "2019"),
        ("tomorrow I leave", "10 June 2023"),
        ("I like it", None),
    ],
)
def test_a_time_that_is_told_is_resolved_against_its_day(
    text: str, expected: str | None
) -> None:
    assert date_of_event(text, date(2023, 6, 9)) == expected


@pytest.mark.parametrize(
    ("text", "told_day"),
    [
        ("I did it 999 days ago", date.min),
        ("I did it 99999999999 days ago", date(2023, 6, 9)),
        ("I did it 30 months ago", date.min),
        ("I did it 4000 years ago", date(2023, 6, 9)),
        ("last winter was hard", date.min),
        ("it began in November", date.min),
        ("tomorrow I leave", date.max),
        ("next month I move", date.max),
    ],
)
def test_a_time_outside_the_calendar_is_no_date(text: str, told_day: date) -> None:
    assert date_of_event(text, told_day) is None


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did it begin?", "when"),
        ("What did she do when she won?", "what"),
        ("How long did it take?", "amount"),
        ("How many weeks passed between the fair and the race?", "elapsed"),
        ("Which came first, the fair or the race?", "order"),
        ("Has he a dog?", "yes or no"),
        ("Where does he live?", "where"),
        ("Pick: what is it? (a) a dog (b) a cat", "choice"),
    ],
)
def test_questions_are_told_apart(question: str, kind: str) -> None:
    assert parse_question(question).kind == kind
