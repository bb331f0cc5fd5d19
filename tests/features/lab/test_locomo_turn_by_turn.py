"""`locomo-generate --turn-by-turn`: the prompts of each speaker; and edited files, checked again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import scripted_author

from pytest_ltm.commands import main
from pytest_ltm.datasets.locomo.samples import Category, load_locomo
from pytest_ltm.lab.locomo.model_text import RECALLED, recall_facts

Capture = pytest.CaptureFixture[str]
BY_TURNS = (
    "--model",
    "scripted_author:write",
    "--turn-by-turn",
    "--sessions",
    "3",
    "--turns",
    "36",
    "--questions",
    "12",
)


def generated(path: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["data", "locomo-generate", "-o", str(path), *words]) == 0
    found: list[dict[str, Any]] = json.loads(path.read_bytes())
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The prompts for turns, as they arrive."""
    prompts: list[str] = []
    rote = scripted_author.write

    def noting(prompt: str) -> str:
        if prompt.startswith("You are "):
            prompts.append(prompt)
        return rote(prompt)

    monkeypatch.setattr(scripted_author, "write", noting)
    return prompts


def test_a_conversation_written_turn_by_turn_loads(
    tmp_path: Path, asked: list[str]
) -> None:
    generated(tmp_path / "new.json", *BY_TURNS)
    (sample,) = load_locomo(tmp_path / "new.json").samples

    assert sample.notes == ()
    assert len(sample.turns) == 36 == len(asked)
    assert {question.category for question in sample.questions} == set(Category)


def test_a_speaker_sees_their_own_persona_and_news_and_not_the_other_s(
    tmp_path: Path, asked: list[str]
) -> None:
    (record,) = generated(tmp_path / "new.json", *BY_TURNS)
    names = {record["conversation"]["speaker_a"], record["conversation"]["speaker_b"]}

    for prompt in asked:
        who = prompt.split()[2].rstrip(",")
        (other,) = names - {who}
        assert f"{who} mends kites." in prompt
        assert f"{other} mends kites." not in prompt


def test_short_term_memory_is_the_chat_and_the_last_summary_and_long_term_memory_is_observed(
    tmp_path: Path, asked: list[str]
) -> None:
    generated(tmp_path / "new.json", *BY_TURNS)

    assert asked[0].count("You have not talked before.") == 1
    assert "They spoke of" in asked[-1]
    assert re.search(r"come.{0,400}\(D1:\d\)", asked[-1], re.DOTALL)
    assert len(re.findall(r"^D3:", asked[-1], re.MULTILINE)) > 3


def test_photos_are_shared_and_reacted_to(tmp_path: Path) -> None:
    (record,) = generated(tmp_path / "new.json", *BY_TURNS)
    said = record["conversation"]
    for number in (1, 2, 3):
        turns = said[f"session_{number}"]
        shown = [at for at, turn in enumerate(turns) if "blip_caption" in turn]
        assert shown
        assert all(
            f"What {turns[at]['blip_caption']}!" in turns[at + 1]["text"]
            for at in shown
        )


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"text": "Lovely weather."}, "it does not react to the photo"),
        ({"photo": ""}, "share a photo."),
        ({"text": " "}, r"Expected `str` matching regex '\\S' - at `$.text`"),
    ],
)
def test_a_turn_that_does_not_do_is_asked_for_again(
    changed: dict[str, str],
    wrong: str,
    tmp_path: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rote = scripted_author.write

    def stumbling(prompt: str) -> str:
        text = rote(prompt)
        needs = (
            "Share a photo with it" if "photo" in changed else "React to what it shows"
        )
        wants = (
            prompt.startswith("You are ")
            and needs in prompt
            and "cannot be used" not in prompt
        )
        return json.dumps({**json.loads(text), **changed}) if wants else text

    monkeypatch.setattr(scripted_author, "write", stumbling)
    generated(tmp_path / "new.json", *BY_TURNS)
    assert [prompt for prompt in asked if f"It cannot be used: {wrong}" in prompt]


def test_what_the_last_turn_touches_is_recalled() -> None:
    facts = [
        f"Ada: Her boat number {number} is red (D1:{number})" for number in range(20)
    ]
    facts[3] = "Ada: Her goat is called Moss (D1:3)"

    assert facts[3] in recall_facts(facts, "How is the goat?")
    assert len(recall_facts(facts, "How is the goat?")) == RECALLED
    assert recall_facts(facts, "Nothing.") == facts[-RECALLED:]


def test_turn_by_turn_needs_a_model(tmp_path: Path, capsys: Capture) -> None:
    assert (
        main(
            [
                "data",
                "locomo-generate",
                "-o",
                str(tmp_path / "new.json"),
                "--turn-by-turn",
            ]
        )
        == 2
    )
    assert "--turn-by-turn needs --model" in capsys.readouterr().err


# --- Edited files.


@pytest.fixture
def made(tmp_path: Path) -> Path:
    generated(tmp_path / "new.json", *BY_TURNS)
    return tmp_path / "new.json"


def test_what_was_written_holds(made: Path, capsys: Capture) -> None:
    assert main(["data", "locomo-check", str(made)]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


def _later(record: dict[str, Any]) -> None:
    record["conversation"]["session_1_date_time"] = record["conversation"][
        "session_3_date_time"
    ]


def _gone(record: dict[str, Any]) -> None:
    record["conversation"]["session_2"].pop()
    record["conversation"]["session_2"].pop(0)


def _swapped(record: dict[str, Any]) -> None:
    turns = record["conversation"]["session_2"]
    turns[1]["speaker"] = turns[0]["speaker"]


def _reworded(record: dict[str, Any]) -> None:
    asked = next(one for one in record["qa"] if one["category"] == Category.SINGLE_HOP)
    asked["answer"] = "a zeppelin"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "wrong"),
    [
        (_later, "session_2_date_time: is not a date after"),
        (_gone, "session_2, turn 1: dia_id is 'D2:2', expected 'D2:1'"),
        (_swapped, "the two take turns"),
        (_reworded, "has an answer that its evidence does not hold: 'a zeppelin'"),
    ],
)
def test_what_no_longer_holds_after_editing_is_named_and_not_carried_on(
    edit: Callable[[dict[str, Any]], None], wrong: str, made: Path, capsys: Capture
) -> None:
    records = json.loads(made.read_bytes())
    edit(records[0])
    made.write_text(json.dumps(records), encoding="utf-8")
    capsys.readouterr()

    assert main(["data", "locomo-check", str(made)]) == 1
    assert f"gen-0-1: {'qa[' if 'zeppelin' in wrong else ''}" in (
        told := capsys.readouterr().out
    )
    assert wrong in told
    assert (
        main(
            [
                "data",
                "locomo-generate",
                "-o",
                str(made),
                *BY_TURNS,
                "--conversations",
                "2",
            ]
        )
        == 2
    )
    assert "See ltm data locomo-check" in capsys.readouterr().err


def test_edited_words_are_kept_when_the_file_is_carried_on(made: Path) -> None:
    records = json.loads(made.read_bytes())
    records[0]["conversation"]["session_1"][0]["text"] = "Hello, my dear!"
    made.write_text(json.dumps(records), encoding="utf-8")

    both = generated(made, *BY_TURNS, "--conversations", "2")
    assert both[0] == records[0]
    assert len(both) == 2
