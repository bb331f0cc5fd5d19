"""What is kept of a journal, and what is cut off before it is gone on with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._errors import LtmError
from pytest_ltm._journal import line, read
from pytest_ltm._recording import cut_back, read_recording

if TYPE_CHECKING:
    from pathlib import Path

HEADER = ("header", {"format": 1, "agent": {}})
MESSAGE, REPLY, FAULT = ("message", {"exchange": 0}), ("reply", {"exchange": 0}), ("fault", {"exchange": 0})
FATAL = ("fault", {"exchange": 0, "fatal": True})
WAIT, JUDGE, FILLER = ("wait", {"example": "a/0"}), ("judge", {"reply": "yes"}), ("filler", {"exchange": 1})
END, ENDED = ("end", {"example": "a/0"}), ("end", {"reason": "complete"})
INTERRUPTED, GONE = ("end", {"reason": "interrupted"}), ("end", {"reason": "the agent is gone"})


def journal(tmp_path: Path, *events: tuple[str, dict[str, Any]], torn: bytes = b"") -> Path:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(line(event, **fields).encode() for event, fields in events) + torn)
    return path


@pytest.mark.parametrize(
    ("events", "kept"),
    [
        ([], 1),
        ([MESSAGE], 1),
        ([MESSAGE, REPLY], 3),
        ([MESSAGE, REPLY, WAIT, MESSAGE], 3),
        ([MESSAGE, REPLY, WAIT, END, JUDGE, WAIT], 6),
        ([MESSAGE, REPLY, FILLER, WAIT], 4),
        ([MESSAGE, REPLY, END, ENDED], 5),
        ([MESSAGE, REPLY, MESSAGE, INTERRUPTED], 3),
        ([MESSAGE, REPLY, MESSAGE, FAULT, END, INTERRUPTED], 5),
        ([MESSAGE, FAULT, MESSAGE, REPLY, MESSAGE, FAULT, MESSAGE], 7),
        ([MESSAGE, REPLY, MESSAGE, FAULT, MESSAGE, FAULT, WAIT, MESSAGE, FAULT], 3),
        ([MESSAGE, REPLY, MESSAGE, FAULT, MESSAGE, FAULT, MESSAGE, FAULT, END, END, GONE], 3),
        ([MESSAGE, REPLY, MESSAGE, FATAL], 3),
        ([MESSAGE, FAULT, END, GONE], 1),
        ([MESSAGE, REPLY, END, END, GONE], 3),
    ],
)
def test_what_came_from_outside_is_kept_but_for_the_last_faults_of_an_agent_that_was_gone(
    tmp_path: Path, events: list[Any], kept: int
) -> None:
    path = journal(tmp_path, HEADER, *events, torn=b'{"event":"rep')
    before = list(read(path))
    cut_back(tmp_path, read_recording(path))
    assert list(read(path)) == before[:kept]
    assert path.read_bytes().endswith(b"\n")
    (resumed,) = (event for event in read(tmp_path / "timings.jsonl") if event["event"] == "resumed")
    assert [json.loads(text) for text in resumed["cut"].splitlines()[:-1]] == before[kept:]


def test_what_is_complete_or_just_fits_is_not_touched(tmp_path: Path) -> None:
    path = journal(tmp_path, HEADER, MESSAGE, REPLY, ENDED)
    recording = read_recording(path)
    assert recording is not None
    assert recording.complete
    assert (recording.exchanges, recording.last, recording.heard) == (1, 0, True)
    cut_back(tmp_path, recording)
    assert not (tmp_path / "timings.jsonl").exists()


def test_a_kill_between_telling_and_cutting_loses_nothing(tmp_path: Path) -> None:
    path = journal(tmp_path, HEADER, MESSAGE, REPLY, MESSAGE)
    whole = path.read_bytes()
    cut_back(tmp_path, read_recording(path))
    told = (tmp_path / "timings.jsonl").read_bytes()
    for size in range(len(told) + 1):  # whatever was written of the telling, the journal was still whole
        path.write_bytes(whole)
        (tmp_path / "timings.jsonl").write_bytes(told[:size])
        cut_back(tmp_path, read_recording(path))
        assert [event["event"] for event in read(path)] == ["header", "message", "reply"]
        assert list(read(tmp_path / "timings.jsonl"))[-1]["cut"] == line("message", exchange=0)


def test_no_journal_and_one_without_a_whole_header_hold_nothing(tmp_path: Path) -> None:
    assert read_recording(tmp_path / "journal.jsonl") is None
    path = journal(tmp_path, torn=b'{"event":"header","format":1')
    assert read_recording(path) is None
    cut_back(tmp_path, None)
    assert path.read_bytes() == b""


def test_an_agent_that_never_replied_has_heard_nothing_that_matters(tmp_path: Path) -> None:
    gone = read_recording(journal(tmp_path, HEADER, MESSAGE, FATAL, GONE))
    once = read_recording(journal(tmp_path, HEADER, MESSAGE, FAULT))
    assert gone is not None
    assert once is not None
    assert (gone.heard, once.heard) == (False, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"not json\n", "line 1: not a JSON event"),
        (b"[1]\n", "line 1: not a JSON event"),
        (b"[" * 100_000 + b"\n", "line 1: not a JSON event"),
        (line("message").encode(), "line 1: not the header of a journal that this version can go on with"),
        (line("header", format=99, agent={}).encode(), "not the header"),
        (line("header", format=1).encode(), "not the header"),
        (line("header", format=1, agent={}).encode() + line("reply", exchange="../x").encode(), "'../x' is no number"),
        (line("header", format=1, agent={}).encode() + line("reply", exchange=-1).encode(), "-1 is no number"),
    ],
)
def test_what_is_no_journal_of_ours_is_an_error_that_says_where(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(text)
    with pytest.raises(LtmError, match=says):
        read_recording(path)
    assert path.read_bytes() == text
