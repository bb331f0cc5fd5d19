"""The spoken part of a reply, and its normal form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.linear import PIECES
from pytest_ltm.lab.commands.verdict_check import dress_templates, dress_up
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.speech import speech

RECALLED = "My boat was called Petrel. It is Dunlin now! Tell me: what was it in May? [Ida] asked, too."
ANSWERS = (
    "Your boat is called Dunlin.",
    "Dunlin",
    "16 (Tavephy), 27",
    "- eggs: 3\n- milk: 2",
    "1. Gareth\n2. Ida",
    '{"drink": "cola", "amount": 2}',
    "I don't know.",
    "Yes, it's Dunlin; you told me so on 4 March.",
)


@pytest.mark.parametrize("name", dress_templates())
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_reads_the_same_in_any_dress(name: str, answer: str) -> None:
    dressed = dress_up(
        dress_templates()[name],
        answer,
        recalled=RECALLED,
        question="What is my boat called?",
    )

    assert normalize(speech(dressed)) == normalize(answer)


@pytest.mark.parametrize(
    "reply",
    [
        "  Dunlin \u2013 that\u2019s it.\r\n\r\n",
        "Wrap it in `<think>` tags, as in `[THINK]`.",
        "<b>Dunlin</b>",
        '{"name": "Dunlin", "colour": "grey"}',
        "Reasoning: it was May.",
        "> Thinking of it:\n\n> Dunlin",
        "Q: Which boat?\nA: Dunlin",
        "Question: Which boat?\nAnswer: Dunlin\nQuestion: Whose?\nAnswer: mine",
        "<name>Dunlin</name><colour>the grey of a gull in May</colour>",
        "2 < 3 and 5 > 4",
        "[Dunlin], as ever",
        "**Dunlin** [1]",
    ],
)
def test_what_no_format_marks_stays_as_it_came(reply: str) -> None:
    assert speech(reply) == reply


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>Petrel? No, Dunlin.", ""),
        ("<think>Petrel?</think>", ""),
        ("Dunlin.\n<think>Or Petrel?", "Dunlin."),
        ('{"name": "recall", "arguments": {"q": "boat"}}', ""),
        ('recall({"q": "boat"})', ""),
        ('tools[{"name": "recall", "arguments": {"q": "boat"}}]', ""),
        ("<|channel|>analysis<|message|>Petrel?<|end|>", ""),
        ("Dunlin.<|im_end|>\n<|im_start|>user\nAnd Petrel?", "Dunlin."),
        ("Dunlin<|box_end|> it is", "Dunlin"),
        ("> Thinking: Petrel?\n>\n> Or was it?\n\nDunlin.", "Dunlin."),
        ("> Thinking: Petrel?\n\n> Or was it?\n\nDunlin.", "Dunlin."),
        ("*Thinking...*\n> Petrel?\n\n> Or was it?\nDunlin.", "Dunlin."),
    ],
)
def test_marks_may_leave_a_part_or_nothing(reply: str, expected: str) -> None:
    assert speech(reply) == expected


def test_a_block_in_unknown_tags_is_the_answer_if_only_a_question_back_follows() -> (
    None
):
    block = "<section>It is the Dunlin, out of five boats.</section>"
    asked = f"{block}\n\nWas there something else you wanted?"
    assert speech(asked) == asked
    assert speech(f"{block}\n\nThe Petrel.").strip() == "The Petrel."


def test_tags_of_ones_own_enclose_thoughts() -> None:
    assert speech("<zz>Petrel</zz>Dunlin <zz>no</zz>", tags=["zz"]) == "Dunlin"


@pytest.mark.parametrize(
    ("said", "normal"),
    [
        ("Sure!", "Sure!"),
        (
            "Let me know if you need anything else!",
            "Let me know if you need anything else!",
        ),
        ("Thank you!", "Thank you!"),
        ("I am not sure. It was teal.", "I am not sure. It was teal."),
        ("The correct one is [2]", "The correct one is [2]"),
        ("Option [2]", "Option [2]"),
        ("80 g/m\u00b2", "80 g/m\u00b2"),
        ("Sources: 1\n" * 2_000, "Sources: 1\n" * 1_999 + "Sources: 1"),
        (
            "You moved to the old harbour\nof Turku, after the storm of\nlast May.\n\nIt was wet.",
            "You moved to the old harbour of Turku, after the storm of last May.\n\nIt was wet.",
        ),
        (
            "Call the dentist on Monday\nWater the plants",
            "Call the dentist on Monday\nWater the plants",
        ),
        ("3 bags of the best cement\n2 hoses", "3 bags of the best cement\n2 hoses"),
        ('["Ida", "Gareth"]', '["Ida", "Gareth"]'),
        ("AB\u2212", "AB-"),
        ("C++", "C++"),
        ("$\\$1{,}200$", "$1,200"),
        ("It cost $5 then and $6 now.", "It cost $5 then and $6 now."),
        (
            "Would you like some tea? Let me know if you need anything else.",
            "Would you like some tea?",
        ),
        ("> - Ida\n- Gareth\n\nThat is all.", "- Ida\n- Gareth\n\nThat is all."),
        ("**- **Ida** (now)\n- **Gareth**", "- **Ida** (now)\n- **Gareth**"),
        ("| egg | 2 |\n| bun | 3 | [1][2]", "| egg | 2 |\n| bun | 3 |"),
        ("- memory card\n- tripod\n- lens", "- memory card\n- tripod\n- lens"),
        ("[Bot] The Dunlin.", "The Dunlin."),
        ("[Dunlin] is its name.", "[Dunlin] is its name."),
    ],
)
def test_what_says_something_stays_in_the_normal_form(said: str, normal: str) -> None:
    assert normalize(said) == normal


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_reading_a_reading_changes_nothing(reply: str) -> None:
    spoken = speech(reply)

    assert speech(spoken) == spoken
    assert normalize(normalize(spoken)) == normalize(spoken)


@pytest.mark.parametrize(
    "reply",
    ["~~Petrel~~ Dunlin", "<s>Petrel</s> Dunlin", "Dunlin <del>or petrel</del>"],
)
def test_what_is_struck_out_is_no_part_of_an_answer(reply: str) -> None:
    assert normalize(reply) == "Dunlin"


@pytest.mark.parametrize(
    "role", ["Human", "USER", "**User**", "### Human", "Benutzer", "Usuario", "用户"]
)
@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_speech_ends_where_another_role_begins_to_speak(
    role: str, between: str
) -> None:
    assert speech(f"Dunlin.{between}{role}: And Petrel?\nAssistant: No.") == "Dunlin."


def test_a_heading_begins_somebody_elses_turn_where_it_asks_and_another_answers() -> (
    None
):
    turns = "### Instruction:\nAnd Petrel?\n### Response:\nNo."
    assert speech(f"Dunlin.\n{turns}") == "Dunlin."
    assert speech(f"You wrote:\n{turns}") == f"You wrote:\n{turns}"
    fields = "Dunlin.\n### Colour:\nGrey.\n### Length:\nSix metres."
    assert speech(fields) == fields


@pytest.mark.parametrize(
    "reply",
    [
        "You wrote:\nUser: Dunlin\nAssistant: Noted.",
        "```\nUser: Dunlin\nAssistant: Noted.\n```",
        "Users: 3\nHumans: 2",
        "- User: Ida\n- Admin: Gareth",
        "Put it into the <box>, and the <boy> too.",
    ],
)
def test_a_chat_that_is_quoted_is_speech(reply: str) -> None:
    assert speech(reply) == reply


@pytest.mark.parametrize(
    "end",
    ["<end_of_utterance>", "[|endofturn|]", "<|im_end|>", "\u2039|end|\u203a", "<eos>"],
)
def test_a_turn_ends_at_a_mark_of_that_form(end: str) -> None:
    assert speech(f"Dunlin.{end}\nPetrel") == "Dunlin."


@pytest.mark.parametrize(
    "thought",
    [
        "<|channel>thought\nPetrel was before.<channel|>",
        "< think >Petrel was before.</ think >",
        "Here is my thought process:\n\nPetrel was before.\n\nHere is my response:\n\n",
        "*Thinking...*\n> Petrel was before.\n\n",
        "思考：Petrel was before.\n回答：",
        "## Step 1: look\nPetrel was before.\n\n## FINAL ANSWER\n",
        "(Remembering: you had Petrel before, then another.)\n\n",
        "<response_thinking>Petrel.</response_thinking>",
        "summaryPetrel was before.assistantfinal",
        "Thinking...\nPetrel was before.\nFinished thinking.\n\n",
        "Observation: Petrel\nThought: Petrel was before.\nFinal Answer: ",
    ],
)
def test_thoughts_are_told_by_the_form_of_their_marks(thought: str) -> None:
    assert speech(f"{thought}Dunlin.").strip() == "Dunlin."
