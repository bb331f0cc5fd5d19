"""`longmemeval-generate --model`: sessions written by a model, and its retries."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import scripted_author_longmemeval as author
from chat_server import ChatServer

from pytest_ltm.commands import main
from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile
from pytest_ltm.lab.longmemeval.modelled import (
    RoundOutline,
    SessionOutline,
    read_chat,
    words_to_keep,
)
from pytest_ltm.lab.longmemeval.needles import generate_needles
from pytest_ltm.lab.longmemeval.session_text import Aside

Capture = pytest.CaptureFixture[str]
BY_MODEL = ("--count", "11", "--model", "scripted_author_longmemeval:write")
DOG = Aside("My dog Thistle has been chewing the table legs again.")
LIST = Aside(request="Make a list.", made="**Names**\n1. Moss")
KEPT = ("dog", "thistl")


def generated(path: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["data", "longmemeval-generate", "-o", str(path), *words]) == 0
    found: list[dict[str, Any]] = json.loads(path.read_bytes())
    return found


def test_a_model_writes_a_file_that_loads_without_a_note(
    tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "made.json"
    rows = generated(file, *BY_MODEL)

    found = list(LongMemEvalFile(file).records())
    assert {one.type for one in found} == set(TYPES)
    assert not any(one.notes for one in found)
    assert all(
        sum(turn["has_answer"] for turn in said) == 1
        for row in rows
        for said in row["haystack_sessions"]
    )
    assert re.search(r"write: \d+ calls, ", capsys.readouterr().err)


@pytest.mark.slow
def test_questions_golds_and_dates_are_those_made_without_a_model(
    tmp_path: Path,
) -> None:
    told = [
        {name: value for name, value in row.items() if name != "haystack_sessions"}
        for path, words in (("a.json", BY_MODEL), ("b.json", BY_MODEL[:2]))
        for row in generated(tmp_path / path, *words)
    ]
    assert told[:11] == told[11:]


@pytest.mark.slow
def test_a_chat_model_is_asked_over_the_network(
    tmp_path: Path, chat_server: ChatServer
) -> None:
    chat_server.default = lambda asked: author.write(asked.last)
    served = generated(
        tmp_path / "served.json",
        *BY_MODEL[:2],
        "--model",
        f"openai:any@{chat_server.url}",
    )

    assert served == generated(tmp_path / "rote.json", *BY_MODEL)


@pytest.mark.slow
def test_a_chat_model_talks_to_itself_as_the_person_and_as_the_assistant(
    tmp_path: Path, chat_server: ChatServer
) -> None:
    chat_server.default = lambda asked: author.write(asked.last)
    words = ("--model", f"openai:any@{chat_server.url}", "--turn-by-turn")
    rows = generated(tmp_path / "served.json", *BY_MODEL[:2], *words)

    assert {
        record.type for record in LongMemEvalFile(tmp_path / "served.json").records()
    } == set(TYPES)
    told = [turn for row in rows for said in row["haystack_sessions"] for turn in said]
    prompts = [request.last for request in chat_server.requests]
    assert len(prompts) == len(told)
    assert [turn["role"] for turn in told] == ["user", "assistant"] * (len(told) // 2)
    for prompt, turn in zip(prompts, told, strict=True):
        assert prompt.startswith(
            {"user": "You are a person", "assistant": "You are an AI"}[turn["role"]]
        )
    plans = ("What you want from it next", "comes out in this message")
    assert not [one for one in prompts[1::2] if any(plan in one for plan in plans)]
    assert all(
        turn["content"] in prompt
        for prompt, turn in zip(prompts[1::2], told[::2], strict=True)
    )
    assert {turn["role"] for turn in told if turn["has_answer"]} == {
        "user",
        "assistant",
    }


def test_turn_by_turn_the_model_is_told_which_message_was_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rote, asked = author.write, []

    def forgetful(prompt: str) -> str:
        asked.append(prompt)
        slips = (
            "comes out in this message" in prompt and "It cannot be used" not in prompt
        )
        return json.dumps({"text": "Well, how?"}) if slips else rote(prompt)

    monkeypatch.setattr(author, "write", forgetful)
    rows = generated(
        tmp_path / "made.json", "--count", "2", *BY_MODEL[2:], "--turn-by-turn"
    )
    assert sum("It cannot be used: round" in prompt for prompt in asked) >= len(rows)
    assert all(
        any(turn["has_answer"] for turn in said)
        for row in rows
        for said in row["haystack_sessions"]
    )


def test_turn_by_turn_needs_a_model(tmp_path: Path, capsys: Capture) -> None:
    assert (
        main(
            [
                "data",
                "longmemeval-generate",
                "-o",
                str(tmp_path / "x.json"),
                "--turn-by-turn",
            ]
        )
        == 2
    )
    assert "--turn-by-turn needs --model" in capsys.readouterr().err


COMMAND = """
import json, sys
sys.path.insert(0, {folder!r})
import scripted_author_longmemeval as author
for line in sys.stdin:
    print(json.dumps({{"reply": author.write(json.loads(line)["message"])}}), flush=True)
"""


@pytest.mark.slow
def test_an_agent_in_a_process_of_its_own_may_write(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        COMMAND.format(folder=str(Path(author.__file__).parent)), encoding="utf-8"
    )
    served = generated(
        tmp_path / "served.json",
        "--count",
        "2",
        "--model",
        f"cmd:{sys.executable} {script}",
    )

    assert served == generated(tmp_path / "rote.json", "--count", "2", *BY_MODEL[2:])


def test_an_agent_that_cannot_be_is_told_in_a_sentence(
    tmp_path: Path, capsys: Capture
) -> None:
    assert (
        main(
            [
                "data",
                "longmemeval-generate",
                "-o",
                str(tmp_path / "x.json"),
                "--model",
                "gone.yml",
            ]
        )
        == 2
    )
    assert (
        "--model gone.yml: agent 'gone.yml': there is no such file"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_a_file_that_broke_off_is_carried_on(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, rote, asked = tmp_path / "made.json", author.write, []

    def failing(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) == 9:
            raise ConnectionError("gone")
        return rote(prompt)

    monkeypatch.setattr(author, "write", failing)
    assert main(["data", "longmemeval-generate", "-o", str(file), *BY_MODEL]) == 2
    assert "What is complete is kept" in capsys.readouterr().err
    begun = json.loads(file.read_bytes())
    assert 0 < len(begun) < 11
    assert generated(file, *BY_MODEL)[: len(begun)] == begun
    assert generated(tmp_path / "whole.json", *BY_MODEL) == json.loads(
        file.read_bytes()
    )


def test_a_file_edited_into_something_else_is_refused_when_it_is_carried_on(
    tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "made.json"
    rows = generated(file, *BY_MODEL)
    del rows[0]["haystack_dates"]
    file.write_text(json.dumps(rows), encoding="utf-8")

    assert main(["data", "longmemeval-generate", "-o", str(file), *BY_MODEL]) == 2
    assert "haystack_dates" in capsys.readouterr().err


def test_the_model_is_told_what_was_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rote, asked = author.write, []

    def forgetful(prompt: str) -> str:
        asked.append(prompt)
        return "[]" if len(asked) == 1 else rote(prompt)

    monkeypatch.setattr(author, "write", forgetful)
    generated(tmp_path / "made.json", *BY_MODEL)
    assert "It cannot be used: it must be a list of" in asked[1]


def talk(*asides: Aside, place: int, kept: tuple[str, ...]) -> SessionOutline:
    return SessionOutline(
        tuple(
            RoundOutline("How?", aside, at == place) for at, aside in enumerate(asides)
        ),
        kept,
        "a session",
    )


def said(*users: str, assistant: str = "Yes.") -> list[dict[str, str]]:
    return [{"user": text, "assistant": assistant} for text in users]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (said("How?", "Thistle the dog is chewing table legs, so how?"), ""),
        (said("How?"), "a list of 2 rounds"),
        (said("How?", " "), "at `$[1].user`"),
        (
            said("How?", "The dog is chewing table legs again, so how?"),
            "must keep ['thistl']",
        ),
        (said("How?", "My dog Thistle is fine, so how?"), "does not tell"),
        (
            said("My dog is Thistle.", "Thistle, the dog, is chewing the table."),
            "is said again",
        ),
    ],
)
def test_what_is_told_stands_in_one_message_and_in_no_other(
    value: Any, wrong: str
) -> None:
    if not wrong:
        assert [
            turn["has_answer"]
            for turn in read_chat(value, talk(Aside(), DOG, place=1, kept=KEPT))
        ] == [
            False,
            False,
            True,
            False,
        ]
        return
    with pytest.raises(ValueError, match=re.escape(wrong)):
        read_chat(value, talk(Aside(), DOG, place=1, kept=KEPT))


def test_a_list_stands_in_the_answer_line_for_line() -> None:
    turns = read_chat(
        said("Make one.", assistant=f"Here:\n{LIST.made}"), talk(LIST, place=0, kept=())
    )
    assert [turn["has_answer"] for turn in turns] == [False, True]
    with pytest.raises(ValueError, match="lacks this line of `made`"):
        read_chat(said("Make one.", assistant="1. Moss"), talk(LIST, place=0, kept=()))


def test_a_message_that_drops_the_gold_value_is_refused() -> None:
    seen = 0
    for needle in generate_needles(150, 2):
        if needle.query.how not in ("value", "latest", "before"):
            continue
        for told, fact in zip(needle.sessions, needle.world, strict=True):
            seen += 1
            message = told.aside.said
            for word in fact.value.split():
                message = message.replace(word, "something")
            must = words_to_keep(told, [one.value for one in needle.world])
            session = talk(told.aside, place=0, kept=must)
            assert read_chat(said(told.aside.said), session)
            with pytest.raises(ValueError, match="must keep"):
                read_chat(said(message), session)
    assert seen > 60


@pytest.mark.slow
def test_histories_of_any_length_are_compiled_from_what_the_model_wrote(
    tmp_path: Path,
) -> None:
    file, long = tmp_path / "made.json", tmp_path / "long.json"
    generated(file, "--count", "33", *BY_MODEL[2:])
    assert (
        main(
            [
                "data",
                "longmemeval-compile",
                str(file),
                "--sessions",
                "8",
                "--fillers",
                str(file),
                "-o",
                str(long),
            ]
        )
        == 0
    )

    written = {
        said["content"]
        for row in json.loads(file.read_bytes())
        for part in row["haystack_sessions"]
        for said in part
    }
    rows = json.loads(long.read_bytes())
    assert {
        turn["content"]
        for row in rows
        for part in row["haystack_sessions"]
        for turn in part
    } <= written
