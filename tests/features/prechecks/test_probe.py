from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_ltm import Ask, Definition, Say
from pytest_ltm.api.journal import Price, Tariff
from pytest_ltm.api.model import Usage
from pytest_ltm.prechecks.probe_questions import (
    QUESTIONS,
    Secret,
    is_known,
    probe_questions,
)
from pytest_ltm.records import probe_record
from pytest_ltm.records.probe_record import PROBE_FILE, Decided, ProbeExchange


def definition(said: str, question: str, expected: object) -> Definition:
    return Definition(steps=(Say(said), Ask(question)), expected=expected)


BOAT = definition(
    "My boat is called Marquardt Kestrel.",
    "What is my boat called?",
    "Marquardt Kestrel",
)
NAMES = definition(
    "People call me Seanna, Thaddeus and Clair.",
    "Which names have I?",
    ["Seanna", "Thaddeus", "Clair"],
)
COLOUR = definition(
    "My favourite colour is ochre.", "Which colour is my favourite?", "ochre"
)
PET = definition("I have a pet, a goat.", "What pet have I?", "a goat")
REFUSED = definition(
    "I own a cello.",
    "What is my sister's job?",
    "You did not mention this. I do not know.",
)
CHOICE = definition("He went home.", "Did he go home or to the harbour?", "home")


def test_the_most_telling_questions_are_asked_one_of_each_scenario() -> None:
    chosen = probe_questions(
        {"colours": COLOUR, "boats": BOAT, "pets": PET, "names": NAMES}
    )

    assert [one.text for one in chosen] == [
        "Which names have I?",
        "What is my boat called?",
        "Which colour is my favourite?",
    ]
    assert len(chosen) == QUESTIONS


@pytest.mark.parametrize(
    "given", [REFUSED, CHOICE], ids=["a refusal", "in the question"]
)
def test_a_question_that_anybody_can_answer_is_not_asked(given: Definition) -> None:
    assert probe_questions({"one": given}) == ()


def test_an_answer_that_another_question_gives_away_tells_nothing() -> None:
    asks_first = definition(
        "I own the Kestrel and a dog, Zoltan.",
        "What else than the Kestrel do I own?",
        "Zoltan",
    )

    assert all(
        "kestrel" not in question.telling
        for question in probe_questions({"boats": BOAT, "other": asks_first})
    )


def test_each_of_several_questions_has_its_own_answer() -> None:
    steps = (
        Say("The cat is Minka, the dog is Wolfgang."),
        Ask("How is the cat called?"),
        Ask("And the dog?"),
    )

    (chosen,) = probe_questions(
        {"pets": Definition(steps=steps, expected=["Minka", "Wolfgang"])}
    )

    assert (chosen.text, chosen.telling) == ("And the dog?", frozenset({"wolfgang"}))


@pytest.mark.parametrize(
    ("replies", "knows"),
    [
        (
            [
                "Seanna, Thaddeus, Clair",
                "It is the Marquardt Kestrel.",
                "I do not know.",
            ],
            True,
        ),
        (["Seanna and Thaddeus.", "marquardt kestrel", ""], True),
        (
            ["I do not know your names.", "It is the Marquardt Kestrel.", "No idea."],
            False,
        ),
        (
            [
                "You have not told me.",
                "I have no record of a boat.",
                "Your favourite colour is ochre.",
            ],
            False,
        ),
        (["Clair", "Kestrel", "ochre"], False),
    ],
    ids=["all", "most", "one answer", "a guess", "half an answer"],
)
def test_an_agent_knows_the_answers_only_if_it_gives_two_that_nobody_can_guess(
    replies: list[str], knows: bool
) -> None:
    chosen = probe_questions({"names": NAMES, "boats": BOAT, "colours": COLOUR})

    assert is_known(list(zip(chosen, replies, strict=True))) is knows


def test_two_short_answers_may_be_guesses() -> None:
    chosen = probe_questions({"colours": COLOUR, "pets": PET})

    assert not is_known([(one, "ochre, and a goat") for one in chosen])


def test_a_secret_is_another_for_each_agent_and_seed_and_known_in_any_spelling() -> (
    None
):
    secret = Secret.secret_word(0, "bot")

    assert secret == Secret.secret_word(0, "bot")
    assert (
        len({secret, Secret.secret_word(1, "bot"), Secret.secret_word(0, "other")}) == 3
    )
    assert secret.word in secret.telling
    assert secret.word not in secret.question
    assert secret.is_in(f"It is called {secret.word.upper()}!")
    assert not secret.is_in("It is called Kestrel.")


def test_the_record_says_what_was_asked_decided_and_spent(tmp_path: Path) -> None:
    used = Usage(input_tokens=500_000, output_tokens=0)
    rows: list[probe_record.Row] = [
        ProbeExchange(
            agent="bot",
            conversation="probe-bot-1",
            message="Hi?",
            message_tokens=2,
            reply="Ho.",
            reply_tokens=3,
        ),
        ProbeExchange(
            agent="bot",
            conversation="probe-bot-2",
            message="Hi?",
            message_tokens=2,
            reply="",
            reply_tokens=0,
            usage=used,
        ),
        Decided(agent="bot", verdict="clean", messages=2, tokens=500_005, cost_usd=0.5),
    ]
    for row in rows:
        probe_record.append_probe_row(tmp_path / PROBE_FILE, row)
    with (tmp_path / PROBE_FILE).open("a") as file:
        file.write('{"event":"decided","agent":"torn"')

    assert probe_record.read_probe(tmp_path) == rows
    probe_record.append_probe_row(tmp_path / PROBE_FILE, rows[0])
    assert probe_record.read_probe(tmp_path) == [*rows, rows[0]]
    assert probe_record.probe_decisions(tmp_path) == {"bot": rows[-1]}
    messages, tokens, usd, _guessed = probe_record.probe_usage(
        rows, "bot", Tariff(price=Price(1, 1))
    )
    assert (messages, tokens, round(usd or 0, 3)) == (2, 500_005, 0.5)
    assert probe_record.probe_usage(rows, "bot", Tariff()) == (2, 500_005, None, False)


def test_what_was_estimated_is_marked_where_the_probe_was_cut_off(
    tmp_path: Path,
) -> None:
    asked = ProbeExchange(
        agent="bot",
        conversation="probe-bot-1",
        message="Hi?",
        message_tokens=2,
        reply="Ho.",
        reply_tokens=3,
    )
    for row in (asked, replace(asked, agent="priced", estimated=True)):
        probe_record.append_probe_row(tmp_path / PROBE_FILE, row)

    assert [
        (precheck.of, precheck.verdict, precheck.estimated)
        for precheck in probe_record.probe_prechecks(tmp_path)
    ] == [
        ("bot", "unfinished", False),
        ("priced", "unfinished", True),
    ]


def test_a_run_that_probed_nobody_has_no_record(tmp_path: Path) -> None:
    assert probe_record.read_probe(tmp_path) == []
