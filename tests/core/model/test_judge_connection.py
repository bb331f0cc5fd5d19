from __future__ import annotations

import io
import json
import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm import Reply, Usage
from pytest_ltm._core.calls.retry import Failed, Retries
from pytest_ltm._core.journal.codec import strip_checksum
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.judge import PROMPTS, Inquiry
from pytest_ltm._core.storage.errors import JudgeError
from pytest_ltm.judges.connection import JudgeCache, JudgeConnection
from pytest_ltm.judges.model_calls import ModelCaller

JudgeCall = partial(ModelCaller, who="the judge", error=JudgeError)


class Counting:
    """A judge that replies "no" with usage and cost, and counts its calls."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls = 0
        self.error = error

    def assess(self, inquiry: Inquiry, /) -> Reply:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return Reply(
            f"Vote {inquiry.vote}. GRADE: no",
            Usage(input_tokens=90, output_tokens=10),
            0.25,
        )


class Setting:
    """A judge connection with its files in a folder."""

    def __init__(
        self,
        folder: Path,
        judge: Any,
        *,
        journal: str = "journal.jsonl",
        cache: bool = True,
        trial: str = "0",
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = folder / journal
        self.journal, self.told = Journal.resuming(self.path), io.StringIO()
        self.connection = JudgeConnection(
            JudgeCall(judge, timeout=None),
            configuration={"judge": "counting"}
            if configuration is None
            else configuration,
            cache=JudgeCache(folder / "judge-cache") if cache else None,
            journal=self.journal,
            timings=Timings(self.told),
            trial=trial,
            votes=3,
        )

    def asks(self, answer: str = "In Brno.") -> bool:
        return bool(self.connection.handle("city/0").grade("Where?", answer, "Turku"))

    def events(self) -> list[dict[str, Any]]:
        self.journal.close()
        return [
            json.loads(strip_checksum(line))
            for line in self.path.read_bytes().splitlines(keepends=True)
        ]

    def remembered(self) -> list[bool]:
        return [
            json.loads(line)["remembered"] for line in self.told.getvalue().splitlines()
        ]


def test_every_call_is_a_line_of_the_journal_and_costs_what_it_costs(
    tmp_path: Path,
) -> None:
    setting = Setting(tmp_path, Counting())
    assert not setting.asks()
    first, second = setting.events()
    digest = first["prompt"]
    assert first == {
        "event": "judge",
        "example": "city/0",
        "name": "answer",
        "version": 1,
        "prompt": digest,
        "vote": 0,
        "reply": "Vote 0. GRADE: no",
        "usage": {"input_tokens": 90, "output_tokens": 10, "cached_tokens": 0},
        "cost_usd": 0.25,
    }
    assert digest.startswith("sha256:")
    assert (second["vote"], second["prompt"]) == (1, digest)
    assert setting.connection.result_fields("city/0") == {
        "judge_calls": 2,
        "judge_tokens": 200,
        "judge_cost_usd": 0.5,
    }
    assert setting.connection.result_fields("city/1") == {
        "judge_calls": 0,
        "judge_tokens": 0,
        "judge_cost_usd": None,
    }


def test_what_was_asked_before_is_not_asked_again_and_the_journal_is_the_same(
    tmp_path: Path,
) -> None:
    judge = Counting()
    one, other = (
        Setting(tmp_path, judge, journal="1.jsonl"),
        Setting(tmp_path, judge, journal="2.jsonl"),
    )
    one.asks()
    other.asks()
    assert judge.calls == 2
    assert one.events() == other.events()
    assert (one.remembered(), other.remembered()) == ([False, False], [True, True])
    assert other.connection.result_fields("city/0") == one.connection.result_fields(
        "city/0"
    )


@pytest.mark.parametrize(
    "other",
    [
        {"trial": "1"},
        {"configuration": {"judge": "counting", "model": "b"}},
        {"cache": False},
    ],
    ids=["trial", "model", "off"],
)
def test_another_trial_or_another_judge_is_asked_anew(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    judge = Counting()
    Setting(tmp_path, judge, journal="1.jsonl").asks()
    Setting(tmp_path, judge, journal="2.jsonl", **other).asks()
    assert judge.calls == 4


def test_another_answer_or_another_version_of_the_prompt_is_asked_anew(
    tmp_path: Path,
) -> None:
    judge = Counting()
    setting = Setting(tmp_path, judge)
    setting.asks("In Brno.")
    setting.asks("In Porto.")
    assert judge.calls == 4
    inquiry = PROMPTS["answer"].inquiry(
        question="Where?", answer="In Brno.", reference="Turku"
    )
    handle = setting.connection.handle("city/0")
    handle.assess(inquiry)
    assert judge.calls == 4
    handle.assess(
        Inquiry(
            prompt="answer",
            version=2,
            text=inquiry.text,
            grades=inquiry.grades,
            fail="no",
        )
    )
    assert judge.calls == 5


def test_a_judge_that_does_not_tell_what_its_replies_depend_on_is_always_asked(
    tmp_path: Path,
) -> None:
    judge = Counting()
    for name in ("1.jsonl", "2.jsonl"):
        setting = Setting(tmp_path, judge, journal=name)
        setting.connection.configuration = None
        setting.asks()
    assert judge.calls == 4
    assert not (tmp_path / "judge-cache").exists()


def test_a_conversation_that_is_resumed_asks_nothing_again(tmp_path: Path) -> None:
    judge = Counting()
    played = Setting(tmp_path, judge, cache=False)
    played.asks()
    before = played.events()
    again = Setting(tmp_path, judge, cache=False)
    again.asks()
    assert judge.calls == 2
    assert again.events() == before
    assert again.connection.result_fields("city/0") == played.connection.result_fields(
        "city/0"
    )


def test_a_vote_that_was_not_recorded_is_asked_for(tmp_path: Path) -> None:
    judge = Counting()
    played = Setting(tmp_path, judge, cache=False)
    played.asks()
    whole = played.path.read_text()
    played.journal.close()
    played.path.write_text(whole.splitlines(keepends=True)[0])
    again = Setting(tmp_path, judge, cache=False)
    again.asks()
    assert judge.calls == 3
    assert again.path.read_text() == whole


def test_a_failure_is_recorded_too_and_stays_one_when_it_is_replayed(
    tmp_path: Path,
) -> None:
    broken = Counting(OSError("the line is dead"))
    for judge in (broken, Counting()):
        setting = Setting(tmp_path, judge)
        with pytest.raises(
            JudgeError, match="the judge failed: OSError: the line is dead"
        ) as caught:
            setting.asks()
        assert caught.value.cause == "judge"
        [event] = setting.events()
        assert event["fault"] == "the judge failed: OSError: the line is dead"
        assert judge.calls == (1 if judge is broken else 0)
    assert not list((tmp_path / "judge-cache").rglob("*.json"))


def test_no_question_and_no_secret_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sesame-open-4711")

    class Chatty:
        def assess(self, inquiry: Inquiry, /) -> str:
            return f"My key is sesame-open-4711, {len(inquiry.text)}. GRADE: no"

    setting = Setting(tmp_path, Chatty())
    setting.asks("My grandmother is called Xenia-Ottilie.")
    setting.journal.close()
    kept = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) == 3
    assert not any("sesame" in text or "Xenia" in text for text in kept)
    assert any("[redacted $SOME_API_KEY]" in text for text in kept)


def test_a_file_that_cannot_be_read_counts_as_not_there(tmp_path: Path) -> None:
    judge = Counting()
    Setting(tmp_path, judge, journal="1.jsonl").asks()
    first, second = sorted((tmp_path / "judge-cache").rglob("*.json"))
    first.write_text('{"reply": "GRADE: ye')
    second.write_text("[]")
    Setting(tmp_path, judge, journal="2.jsonl").asks()
    assert judge.calls == 4
    assert json.loads(first.read_text())["reply"].endswith("GRADE: no")


def test_a_folder_that_cannot_be_written_costs_the_memory_only(tmp_path: Path) -> None:
    (tmp_path / "judge-cache").write_text("not a folder")
    judge = Counting()
    assert not Setting(tmp_path, judge).asks()
    assert judge.calls == 2


def inquiry() -> Inquiry:
    return PROMPTS["statement"].inquiry(question="?", answer="!")


def test_whoever_wants_to_know_is_told_of_each_attempt_that_is_followed_by_another() -> (
    None
):
    class Shy(Counting):
        def assess(self, inquiry: Inquiry, /) -> Reply:
            self.error = ConnectionRefusedError("not now") if self.calls < 2 else None
            return super().assess(inquiry)

    told: list[Failed] = []
    retries = Retries(most=3, rng=random.Random(0), sleep=lambda _: None)
    assert JudgeCall(Shy(), timeout=None, retries=retries, retried=told.append)(
        inquiry()
    ).text.startswith("Vote 0")
    assert [failed.attempt for failed in told] == [1, 2]


def test_a_judge_may_be_async() -> None:
    class Patient:
        async def assess(self, inquiry: Inquiry, /) -> str:
            return f"GRADE: {inquiry.grades[0]}"

    call = JudgeCall(Patient(), timeout=60)  # users' judges may be async
    assert call(inquiry()).text == "GRADE: yes"
    call.close()


def test_a_reply_without_a_grade_is_not_remembered(tmp_path: Path) -> None:
    class Fickle(Counting):
        def assess(self, inquiry: Inquiry, /) -> Reply:  # noqa: ARG002
            self.calls += 1
            return Reply("Hm." if self.calls <= 3 else "GRADE: yes")

    judge = Fickle()
    with pytest.raises(JudgeError, match="gave no grade"):
        Setting(tmp_path, judge, journal="1.jsonl").asks()
    assert Setting(tmp_path, judge, journal="2.jsonl").asks()
    assert judge.calls == 4


@pytest.mark.slow
def test_a_judge_that_does_not_come_back_or_says_no_text_has_failed() -> None:
    class Slow:
        def assess(self, inquiry: Inquiry, /) -> str:  # noqa: ARG002
            while True:
                pass

    class Mute:
        def assess(self, inquiry: Inquiry, /) -> Any:
            return inquiry.vote or None

    with pytest.raises(JudgeError, match=r"did not return within 0\.05 s"):
        JudgeCall(Slow(), timeout=0.05)(inquiry())

    class Flooding:
        def assess(self, inquiry: Inquiry, /) -> str:  # noqa: ARG002 - the protocol's signature
            return "yes " * 300_000

    with pytest.raises(JudgeError, match="replied with 1,200,000 characters"):
        JudgeCall(Flooding(), timeout=None)(inquiry())
    with pytest.raises(JudgeError, match="replied with None"):
        JudgeCall(Mute(), timeout=None)(inquiry())
