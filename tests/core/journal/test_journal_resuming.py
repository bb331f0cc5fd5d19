"""Resuming a journal: recorded events are replayed, then new ones are appended."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from journals import header, message, reply, sealed, wait, write

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import (
    ReplyTime,
    Timings,
    iter_timings,
    load_all_timings,
)
from pytest_ltm._core.storage.errors import DiskFault, Divergence

HELLO, OH = message(text="hello"), reply(text="oh\udfff 😀", cost_usd=0.1)
RECORDED = sealed(HELLO, OH)


def resuming(tmp_path: Path) -> tuple[Journal, Path]:
    path = tmp_path / "journal.jsonl"
    path.write_bytes("".join(RECORDED).encode())
    return Journal.resuming(path), path


def test_what_is_said_again_is_not_written_again_and_what_follows_is(
    tmp_path: Path,
) -> None:
    journal, path = resuming(tmp_path)
    assert journal.replaying
    journal.write(HELLO)
    assert journal.upcoming(events.ReplyReceived) == OH
    journal.write(OH)
    assert journal.upcoming(events.ReplyReceived) is None
    assert path.read_bytes() == "".join(RECORDED).encode()
    journal.write(wait())
    assert path.read_bytes() == "".join(sealed(HELLO, OH, wait())).encode()


def test_what_comes_next_is_told_only_if_it_is_of_the_kind_asked_for(
    tmp_path: Path,
) -> None:
    journal, _ = resuming(tmp_path)
    assert journal.upcoming(events.ReplyReceived) is None
    assert journal.upcoming(events.MessageSent) is not None
    assert Journal().upcoming(events.MessageSent) is None


def test_lines_that_hold_the_same_are_the_same_however_they_are_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, '{"text": "boom", "fatal": false, "exchange": 0, "event": "fault"}\n')
    Journal.resuming(path).write(events.Fault(exchange=0, text="boom"))


def test_a_difference_shows_both_and_then_nothing_more_can_be_written(
    tmp_path: Path,
) -> None:
    journal, path = resuming(tmp_path)
    with pytest.raises(
        Divergence,
        match=r"line 1 .*message of a/0, text: recorded 'hello', now 'good-bye'",
    ):
        journal.write(message(text="good-bye"))
    with pytest.raises(Divergence, match="line 1"):
        journal.write(HELLO)
    with pytest.raises(Divergence, match="line 1"):
        journal.upcoming(events.MessageSent)
    journal.note(events.End(reason="over"))
    assert path.read_bytes() == "".join(RECORDED).encode()


def test_another_kind_of_event_is_a_difference(tmp_path: Path) -> None:
    journal, _ = resuming(tmp_path)
    with pytest.raises(
        Divergence,
        match=r"Recorded: MessageSent\(exchange=0.*now: WaitBegan\(example='a/0'",
    ):
        journal.write(wait())


def test_what_is_no_event_is_a_difference_that_says_where(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, '{"event":"reply"}\n')
    with pytest.raises(
        Divergence,
        match="line 1 of the journal: a damaged 'reply' event: Object missing",
    ):
        Journal.resuming(path).upcoming(events.ReplyReceived)


def test_a_journal_that_is_not_there_yet_is_begun(tmp_path: Path) -> None:
    journal = Journal.resuming(tmp_path / "journal.jsonl")
    journal.write(header())
    assert not journal.replaying
    assert list(events.read_events(tmp_path / "journal.jsonl")) == [header()]


def test_timings_lose_a_torn_line_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    Timings.at(path).write(ReplyTime(exchange=0, seconds=0.5))
    with path.open("a") as file:
        file.write('{"event":"rep')
    Timings.resuming(path).write(ReplyTime(exchange=1, seconds=0.5))
    timings, problem = load_all_timings(path)
    assert [timing.exchange for timing in iter_timings(path, ReplyTime)] == [0, 1]
    assert (len(timings), problem) == (2, "")


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, f"No space left on device for {len(text)}")


def test_a_disk_that_takes_nothing_is_said_again_and_again() -> None:
    journal = Journal(Full())
    for _ in range(2):
        with pytest.raises(DiskFault, match="No space left on device"):
            journal.write(HELLO)
    journal.note(events.End(reason="over"))
    journal.close()


def test_a_file_that_is_closed_is_a_disk_fault(tmp_path: Path) -> None:
    journal = Journal.at(tmp_path / "journal.jsonl")
    journal.close()
    with pytest.raises(DiskFault, match="it is closed"):
        journal.write(HELLO)
