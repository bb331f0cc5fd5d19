"""A person in the browser, without a browser: what the run puts into the box, and what the page does with it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from pytest_ltm._core.storage.clock import wall_time
from pytest_ltm._core.storage.errors import AgentError
from pytest_ltm.agents import _human, _mailbox
from pytest_ltm.agents._human import HumanTestTerms, WebPerson
from pytest_ltm.agents._mailbox import Box, HumanPrompt, NoReplyMessage, message_id
from pytest_ltm.agents._registry import find_agent
from pytest_ltm.modes.concurrency import most_at_once


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_human, "_LOOK", 0.005)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a conversation."""
    path = tmp_path / "run" / "ann~2k~0"
    path.mkdir(parents=True)
    return path


def message(number: int = 1, text: str = "Hello?", **more: object) -> HumanPrompt:
    return HumanPrompt(
        id=message_id(number, text),
        number=number,
        text=text,
        now=None,
        **more,  # type: ignore[arg-type]
    )


def asked(person: WebPerson, text: str, answer: str) -> HumanPrompt:
    """Have the person asked and answer; return what was shown."""
    shown: list[HumanPrompt] = []

    def answers() -> None:
        box = person._box
        until = time.monotonic() + 10
        while (found := box.open()) is None and time.monotonic() < until:
            time.sleep(0.002)
        assert found is not None
        shown.append(found)
        box.reply(found, answer)

    hands = threading.Thread(target=answers)
    hands.start()
    assert asyncio.run(person.reply(text)) == answer
    hands.join()
    return shown[0]


@pytest.mark.parametrize(
    "answer",
    [
        "Ochre.",
        "",
        "x" * 1_000_000,
        "a\x00b\x1b[31mc\u202e\n",
        "<script>alert(1)</script>",
    ],
)
def test_what_the_person_types_is_the_reply_whatever_it_is(
    folder: Path, answer: str
) -> None:
    asked(WebPerson(folder, HumanTestTerms()), "Which?", answer)


def test_filler_is_shortened_and_counted_or_shown_in_full(folder: Path) -> None:
    for choices, told, more in (
        (HumanTestTerms(), 3, 2),
        (HumanTestTerms(filler="full"), 5, 0),
    ):
        person = WebPerson(folder.parent / f"{choices.filler}~2k~0", choices)
        for number in range(5):
            person.accept(f"Question {number} " + "long " * 200, "Answer.")
        shown = asked(person, "Which?", "Ochre.")
        assert (len(shown.told), shown.more, shown.number) == (told, more, 6)
        assert len(shown.told[0].message) <= (
            300 if choices.filler == "shortened" else 2_000
        )
        assert not asked(person, "And now?", "Teal.").told
    assert "filler" in str(person.configuration())


def test_a_resumed_person_is_not_shown_again_what_came_before(folder: Path) -> None:
    asked(WebPerson(folder, HumanTestTerms()), "Which?", "Ochre.")
    again = WebPerson(folder, HumanTestTerms())
    again.accept("Which?", "Ochre.")
    again.accept("Quiz?", "Four.")
    assert asked(again, "Still?", "Yes.").told == (NoReplyMessage("Quiz?", "Four."),)


def test_an_answer_given_while_the_run_was_dead_is_kept(folder: Path) -> None:
    box = Box(folder / "person")
    box.ask(message())
    assert box.reply(message(), "Hello!")
    assert asyncio.run(WebPerson(folder, HumanTestTerms()).reply("Hello?")) == "Hello!"


def test_an_answer_to_another_text_does_not_count(folder: Path) -> None:
    box = Box(folder / "person")
    box.ask(message())
    box.reply(message(), "Hello!")
    other = message(text="Goodbye?")
    box.ask(other)
    assert box.open() == other
    assert box.reply(other, "Bye.")
    assert box.answer(other).text == "Bye."  # type: ignore[union-attr]


def test_of_two_tabs_the_first_answers(folder: Path) -> None:
    box = Box(folder / "person")
    box.ask(message())
    assert box.reply(message(), "first")
    assert not box.reply(message(), "second")
    assert box.answer(message()).text == "first"  # type: ignore[union-attr]


def test_two_tabs_read_each_exchange_once(folder: Path) -> None:
    box, asks = (
        Box(folder / "person"),
        message(told=(NoReplyMessage("a", "b"), NoReplyMessage("c", "d"))),
    )
    box.ask(asks)
    box.read_on(asks, 0)
    box.read_on(asks, 0)
    assert box.message_state(asks).read == 1
    box.read_on(asks, 1)
    box.read_on(asks, 2)
    assert box.message_state(asks).read == 2


def test_the_time_to_answer_is_without_breaks(folder: Path, clock: list[float]) -> None:
    box = Box(folder / "person")
    box.ask(message())
    box.show(message())
    clock[0] += 5
    box.pause(message())
    clock[0] += 86_400
    box.go_on(message())
    box.show(message())
    clock[0] += 3
    box.pause(message())  # the tab is closed, and another one answers
    clock[0] += 60
    box.reply(message(), "Hello!")
    answer = box.answer(message())
    assert answer is not None
    assert answer.seconds == pytest.approx(8)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that have passed on the wall."""
    start, passed = wall_time(), [0.0]
    monkeypatch.setattr(
        _mailbox, "wall_time", lambda: start + timedelta(seconds=passed[0])
    )
    return passed


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"id":"x"}', b"\xff"])
def test_damaged_files_are_none(folder: Path, garbage: bytes) -> None:
    box = Box(folder / "person")
    box.ask(message())
    for kind in ("seen", "answer"):
        (folder / "person" / f"00001.{kind}.json").write_bytes(garbage)
    assert box.open() == message()
    assert box.message_state(message()).read == 0
    (folder / "person" / "00001.message.json").write_bytes(garbage)
    assert box.open() is None
    (folder.parent / "people").mkdir()
    (folder.parent / "people" / "bob.json").write_bytes(garbage)
    assert _mailbox.list_people(folder.parent) == []


def test_each_person_has_a_link_and_keeps_it(folder: Path) -> None:
    run = folder.parent
    ann, bob = _mailbox.invite_person(run, "ann"), _mailbox.invite_person(run, "bob")
    assert ann.link != bob.link
    assert len(ann.link) >= 20
    assert _mailbox.invite_person(run, "ann") == ann
    assert _mailbox.person_of([run], ann.link) == ann
    assert _mailbox.person_of([run], "nobody") is None
    assert (run / "people").stat().st_mode & 0o077 == 0


def test_consent_is_given_once_with_a_nickname(folder: Path) -> None:
    ann = _mailbox.invite_person(folder.parent, "ann")
    nobody = ann.consent
    ann.record_consent("  Annie\n<b> " + "x" * 99)
    ann.record_consent("somebody else")
    given = ann.consent
    assert nobody is None
    assert given is not None
    assert given.nickname.startswith("Annie <b> x")
    assert len(given.nickname) == 40


def test_earlier_messages_are_there_where_notes_are_allowed_only(folder: Path) -> None:
    for notes, expected in (("forbidden", []), ("allowed", [("Hello?", "Hi.")])):
        box = Box(folder / notes)
        box.ask(message(notes=notes))
        box.reply(message(notes=notes), "Hi.")
        assert [
            (one.text, answer.text) for one, answer in box.earlier_exchanges()
        ] == expected


@pytest.mark.parametrize(
    "spec",
    [
        "human:web?notes=perhaps",
        "human:web?colour=red",
        "human:web?notes",
        "human:screen",
    ],
)
def test_terms_that_there_are_not_are_refused(spec: str) -> None:
    with pytest.raises(AgentError, match=r"human:web"):
        find_agent(spec)


def test_the_terms_are_part_of_what_is_recorded(folder: Path) -> None:
    source = find_agent("human:web?notes=allowed")
    agent = source.make(folder=folder)
    assert source.configuration(agent) == {
        "human": "web",
        "filler": "shortened",
        "notes": "allowed",
    }


def test_a_person_has_one_conversation_at_a_time_and_other_people_theirs() -> None:
    assert most_at_once(find_agent("human:web"), 8, jumps=False) == 1


def test_what_is_kept_is_json_that_anybody_reads(folder: Path) -> None:
    asked(WebPerson(folder, HumanTestTerms()), "Which?", "Ochre.")
    kept = json.loads((folder / "person" / "00001.answer.json").read_text())
    assert kept["text"] == "Ochre."
