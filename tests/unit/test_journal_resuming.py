"""A journal that is gone on with: what is recorded is said again, then it grows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import DiskFault, Divergence
from pytest_ltm._journal import Journal, Timings, line, read

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = [line("message", exchange=0, text="hello"), line("reply", exchange=0, text="oh\udfff 😀", cost_usd=0.1)]


def resuming(tmp_path: Path) -> tuple[Journal, Path]:
    path = tmp_path / "journal.jsonl"
    path.write_bytes("".join(RECORDED).encode())
    return Journal.resuming(path), path


def test_what_is_said_again_is_not_written_again_and_what_follows_is(tmp_path: Path) -> None:
    journal, path = resuming(tmp_path)
    assert journal.replaying
    journal.write("message", exchange=0, text="hello")
    assert journal.upcoming("reply") == {"event": "reply", "exchange": 0, "text": "oh\udfff 😀", "cost_usd": 0.1}
    journal.write("reply", exchange=0, text="oh\udfff 😀", cost_usd=0.1)
    assert journal.upcoming("reply") is None
    assert path.read_bytes() == "".join(RECORDED).encode()
    journal.write("wait", example="a/0")
    assert path.read_bytes() == ("".join(RECORDED) + line("wait", example="a/0")).encode()


def test_what_comes_next_is_told_only_if_it_is_of_the_kind_asked_for(tmp_path: Path) -> None:
    journal, _ = resuming(tmp_path)
    assert journal.upcoming("reply") is None
    assert journal.upcoming("message") is not None
    assert Journal().upcoming("message") is None


def test_lines_that_hold_the_same_are_the_same_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"text": "hello", "exchange": 0, "event": "message"}\n')
    Journal.resuming(path).write("message", exchange=0, text="hello")


def test_a_difference_shows_both_and_then_nothing_more_can_be_written(tmp_path: Path) -> None:
    journal, path = resuming(tmp_path)
    with pytest.raises(Divergence, match=r"line 1 .*text: recorded 'hello', now 'good-bye'"):
        journal.write("message", exchange=0, text="good-bye")
    with pytest.raises(Divergence, match="line 1"):
        journal.write("message", exchange=0, text="hello")
    with pytest.raises(Divergence, match="line 1"):
        journal.upcoming("message")
    journal.note("end", reason="over")
    assert path.read_bytes() == "".join(RECORDED).encode()


def test_another_kind_of_event_is_a_difference(tmp_path: Path) -> None:
    journal, _ = resuming(tmp_path)
    with pytest.raises(Divergence, match=r"Recorded: {'event': 'message'.*now: {'event': 'wait'"):
        journal.write("wait", example="a/0")


def test_a_journal_that_is_not_there_yet_is_begun(tmp_path: Path) -> None:
    journal = Journal.resuming(tmp_path / "journal.jsonl")
    journal.write("header")
    assert not journal.replaying
    assert len(list(read(tmp_path / "journal.jsonl"))) == 1


def test_timings_lose_a_torn_line_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    path.write_text(line("reply", exchange=0) + '{"event":"rep')
    Timings.resuming(path).write("reply", exchange=1)
    assert [event["exchange"] for event in read(path)] == [0, 1]


class Full(io.StringIO):
    """A file on a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError(28, f"No space left on device for {len(text)}")


def test_a_disk_that_takes_nothing_is_said_again_and_again() -> None:
    journal = Journal(Full())
    for _ in range(2):
        with pytest.raises(DiskFault, match="No space left on device"):
            journal.write("message")
    journal.note("end", reason="over")
    journal.close()


def test_a_file_that_is_closed_is_a_disk_fault(tmp_path: Path) -> None:
    journal = Journal.at(tmp_path / "journal.jsonl")
    journal.close()
    with pytest.raises(DiskFault, match="it is closed"):
        journal.write("message")
