"""The delivery of LoCoMo's sessions: by date, with speakers and photo captions, and without any hint at answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

import pytest
from locomo_files import SECRET, second, talk, written

from pytest_ltm import Ltm
from pytest_ltm.api.scenarios import told_after
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.datasets import LOCOMO
from pytest_ltm.datasets.locomo.locomo_suite import LocomoSuite
from pytest_ltm.datasets.locomo.samples import (
    CHARACTERS,
    history_exchanges,
    opening_message,
)
from pytest_ltm.testing import run_conversation

BOTH = pytest.mark.parametrize("telling", ["turns", "sessions"])


def suite(tmp_path: Path, *samples: object, **options: str) -> LocomoSuite:
    return cast(
        "LocomoSuite",
        LOCOMO.open(
            written(tmp_path / "data.json", list(samples) or [talk()]), options, seed=0
        ),
    )


@BOTH
def test_nothing_that_leaks_an_answer_is_ever_said(
    tmp_path: Path, telling: str
) -> None:
    played = suite(tmp_path, telling=telling)
    told = played.told("conv_1")
    asked = [
        step
        for entry in played.suite.entries
        for place in played.places(entry.name or "")
        for step in played.definition(entry.name or "", *place).steps
    ]
    said = [
        told.opening,
        *(text for one in told.history for text in (one.message, one.reply, one.asked)),
    ]
    questions = [getattr(step, "text", "") for step in asked]

    assert SECRET not in " ".join([*said, *questions])
    # a gold answer that no one says
    assert not any("19 April" in text for text in (*said, *questions))
    assert not any("img.test" in text for text in said)


@BOTH
def test_every_word_is_told_once_in_the_order_of_the_dates(
    tmp_path: Path, telling: str
) -> None:
    (sample,) = suite(tmp_path)._samples.values()
    past = history_exchanges(sample, telling)
    whole = "\n".join(one.message for one in past)

    assert [one.at for one in past] == sorted(one.at for one in past)
    assert all(whole.count(turn.text) == 1 for turn in sample.turns)
    assert [whole.index(turn.text) for turn in sample.turns] == sorted(
        whole.index(turn.text) for turn in sample.turns
    )


def test_a_turn_has_its_date_its_speaker_and_what_its_photo_shows(
    tmp_path: Path,
) -> None:
    (sample,) = suite(tmp_path)._samples.values()
    one = history_exchanges(sample, "turns")[1]

    assert one.message == (
        "[9:05 am on 3 March, 2024] Tomas: My cello came back from the workshop. [shares a photo: a cello on a chair]"
    )
    assert (one.id, one.at.isoformat()) == ("D1:2", "2024-03-03T09:05:00+00:00")


def test_a_session_knows_the_turns_that_it_holds(tmp_path: Path) -> None:
    (sample,) = suite(tmp_path)._samples.values()
    parts = history_exchanges(sample, "sessions")

    assert [(part.id, part.holds) for part in parts] == [
        ("D1:1-D1:3", ("D1:1", "D1:2", "D1:3")),
        ("D2:1-D2:2", ("D2:1", "D2:2")),
    ]


def test_a_long_session_is_told_in_parts_that_any_agent_takes(tmp_path: Path) -> None:
    long = talk()
    turns = [
        {"speaker": "Ines", "dia_id": f"D1:{n}", "text": f"{n} " + "word " * 300}
        for n in range(1, 12)
    ]
    long["conversation"]["session_1"] = turns
    (sample,) = suite(tmp_path, long)._samples.values()
    parts = history_exchanges(sample, "sessions")

    assert len(parts) > 2
    assert max(len(part.message) for part in parts) <= CHARACTERS + 100
    assert [turn for part in parts for turn in part.holds] == [
        turn.id for turn in sample.turns
    ]


def test_the_opening_names_both_speakers(tmp_path: Path) -> None:
    (sample,) = suite(tmp_path)._samples.values()

    assert "between Ines and Tomas" in opening_message(sample)


@pytest.mark.parametrize(
    ("telling", "evidence", "after"),
    [
        ("turns", {"D1:1"}, 1),
        ("turns", {"D1:1", "D2:1"}, 4),
        ("turns", set(), 5),
        ("sessions", {"D1:3"}, 1),
    ],
)
def test_evidence_has_been_told_after_the_last_exchange_that_holds_some(
    tmp_path: Path, telling: str, evidence: set[str], after: int
) -> None:
    (sample,) = suite(tmp_path)._samples.values()

    assert told_after(history_exchanges(sample, telling), evidence) == after


def test_what_is_told_is_described_for_the_fingerprint(tmp_path: Path) -> None:
    described = [
        json.dumps(
            suite(tmp_path, asking=asking, telling=telling).told("conv_1").described
        )
        for asking in ("official", "free")
        for telling in ("turns", "sessions")
    ]

    assert len(set(described)) == 4


def test_each_sample_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    played = suite(tmp_path, talk(), second())

    assert played.places("single_hop") == [
        ("conv_1", "3"),
        ("conv_1", "5"),
        ("conv_2", "0"),
    ]
    assert played.told("conv_2").history[0].at.year == 2023


class Looks:
    """Takes images, and accepts a history."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[bytes]]] = []
        self.told: list[str] = []

    def reply(self, message: str) -> str:  # noqa: ARG002 - an agent's signature
        return "ok"

    def reply_with_images(self, message: str, images: list[bytes]) -> str:
        self.seen.append((message, images))
        return "I see."

    def accept(self, message: str, reply: str) -> None:  # noqa: ARG002 - an agent's signature
        self.told.append(message)


@BOTH
def test_an_agent_that_takes_images_sees_the_photos_that_are_there(
    tmp_path: Path, telling: str
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cello.jpg").write_bytes(b"\xff\xd8cello")
    played = suite(tmp_path, telling=telling, images=str(tmp_path / "photos"))

    def scenario(ltm: Ltm) -> None:
        ltm.play(played.definition("temporal", "conv_1", "1"))

    looks = Looks()
    run_conversation(
        {"temporal": scenario}, looks, history=played.told("conv_1").history
    )
    ((message, images),) = looks.seen

    assert images == [b"\xff\xd8cello"]
    assert "see the image" in message
    assert "a cello on a chair" not in message
    assert any("Last Friday I played the Elgar" in text for text in looks.told)


def test_without_the_folder_a_photo_is_its_caption(tmp_path: Path) -> None:
    looks = Looks()
    played = suite(tmp_path)

    def scenario(ltm: Ltm) -> None:
        ltm.play(played.definition("temporal", "conv_1", "1"))

    run_conversation(
        {"temporal": scenario}, looks, history=played.told("conv_1").history
    )

    assert looks.seen == []
    assert any("a cello on a chair" in text for text in looks.told)


def photo(folder: Path, content: bytes) -> str:
    (folder / "photos").mkdir()
    (folder / "photos" / "cello.jpg").write_bytes(content)
    return str(folder / "photos")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"<html>not found</html>",
            "cello.jpg: its content is not a PNG, JPEG, GIF or WebP image. Replace it, or remove",
        ),
        (b"", "cello.jpg: its content is not a PNG"),
        (
            b"\xff\xd8" + bytes(20_000_000),
            "cello.jpg: larger than 20,000,000 bytes, too large to be sent",
        ),
    ],
)
def test_a_photo_that_cannot_be_sent_is_an_error_before_the_run(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        suite(tmp_path, images=photo(tmp_path, content))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_photo_that_is_a_pipe_or_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    os.mkfifo(folder / "cello.jpg")
    with pytest.raises(
        ConfigurationError,
        match=r"--ltm-suite=locomo.images: .*cello\.jpg: cannot be read: .*not a reg",
    ):
        suite(tmp_path, images=str(folder))
    (folder / "cello.jpg").unlink()
    (folder / "cello.jpg").symlink_to(tmp_path / "gone.jpg")
    with pytest.raises(
        ConfigurationError,
        match=r"--ltm-suite=locomo.images: .*cello\.jpg: cannot be read: No such file",
    ):
        suite(tmp_path, images=str(folder))


def test_a_folder_without_any_of_the_photos_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="none of the 1 photos is here"):
        suite(tmp_path, images=str(tmp_path))


def test_other_files_of_the_folder_are_not_looked_at(tmp_path: Path) -> None:
    folder = photo(tmp_path, b"\xff\xd8cello")
    (tmp_path / "photos" / "notes.txt").write_text("not a photo")
    described: Any = suite(tmp_path, images=folder).told("conv_1").described
    assert described["images"] == ["cello.jpg"]


def test_a_photo_that_disappears_during_the_run_ends_it_and_says_so(
    tmp_path: Path,
) -> None:
    played = suite(tmp_path, images=photo(tmp_path, b"\xff\xd8cello"))
    (tmp_path / "photos" / "cello.jpg").unlink()

    def scenario(ltm: Ltm) -> None:
        ltm.play(played.definition("temporal", "conv_1", "1"))

    result = run_conversation(
        {"temporal": scenario}, Looks(), history=played.told("conv_1").history
    )
    assert any("cello.jpg: cannot be read" in notice for notice in result.notices)


def test_a_folder_of_photos_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no folder of photos"):
        suite(tmp_path, images=str(tmp_path / "nowhere"))
