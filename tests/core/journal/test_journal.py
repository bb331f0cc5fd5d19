"""The journal: a line per event, written before anything else happens."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from journals import fault, header, message, opened, reply
from msgspec.structs import replace

from pytest_ltm._core.journal import events, timings
from pytest_ltm._core.journal.codec import Chain, strip_checksum
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import ReplyTime, Timings
from pytest_ltm._core.storage.errors import LtmError


def test_an_event_is_there_before_the_journal_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.at(path)
    said: list[events.Event] = [header(), message(3), reply(3, "Grüezi\n\u2028")]
    for event in said:
        journal.write(event)
    assert list(events.read_events(path)) == said
    journal.close()


def test_a_journal_grows_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.at(path)
    for number in range(3):
        journal.write(reply(number))
        assert path.read_bytes().count(b"\n") == number + 1
    journal.close()


def test_a_journal_is_never_written_over_another(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal.at(path).close()
    with pytest.raises(LtmError, match=r"cannot write .*journal\.jsonl: File exists"):
        Journal.at(path)


def test_a_journal_can_be_closed_twice(tmp_path: Path) -> None:
    journal = Journal.at(tmp_path / "journal.jsonl")
    journal.close()
    journal.close()


def test_a_journal_without_a_file_keeps_nothing() -> None:
    journal = Journal()
    journal.write(reply())
    journal.close()


def test_a_file_that_was_given_stays_open() -> None:
    file = io.StringIO()
    journal = Journal(file)
    journal.write(fault())
    journal.close()
    assert opened(file.getvalue()) == [fault()]


def test_an_event_is_one_line_of_readable_text() -> None:
    assert '"text":"çà \\"and\\"\\nthere"' in events.encode_event(
        reply(text='çà "and"\nthere')
    )


@pytest.mark.parametrize(
    "text",
    [
        "half a pair: \ud83d",
        "\udfff",
        "\\ud83d",
        "\\\ud83d",
        "a whole one: 😀",
        "\x00\x85",
    ],
)
def test_any_text_at_all_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.at(path)
    journal.write(header())
    journal.write(message(text=text))
    journal.close()
    path.read_bytes().decode("utf-8")
    assert list(events.read_events(path))[1] == message(text=text)


def test_what_is_written_is_told_once_it_is_kept() -> None:
    file, told = io.StringIO(), list[tuple[events.Event, int]]()
    journal = Journal(file)
    journal.observers.append(
        lambda event: told.append((event, file.getvalue().count("\n")))
    )
    journal.write(message())
    journal.write(reply())
    assert told == [(message(), 1), (reply(), 2)]


def test_timings_know_the_time_on_the_wall_and_the_journal_does_not() -> None:
    journal, timed = io.StringIO(), io.StringIO()
    Journal(journal).write(fault())
    Timings(timed).write(ReplyTime(exchange=0, seconds=0.25))
    assert (
        strip_checksum(journal.getvalue().encode())
        == b'{"event":"fault","exchange":0,"text":"boom"}\n'
    )
    told = json.loads(strip_checksum(timed.getvalue().encode()))
    assert told.pop("at").endswith("Z")
    assert told == {"event": "reply", "exchange": 0, "seconds": 0.25}


def test_timings_are_begun_and_kept_as_a_journal_is(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    found = Timings.at(path)
    retry = timings.Retry(exchange=0, attempt=1, waited=0.5, error="no line")
    found.write(ReplyTime(exchange=0, seconds=0.25))
    found.write(retry)
    found.close()
    assert [
        replace(timing, at=None) for timing in timings.iter_timings(path, ReplyTime)
    ] == [ReplyTime(exchange=0, seconds=0.25)]
    assert [
        replace(timing, at=None) for timing in timings.iter_timings(path, timings.Retry)
    ] == [retry]


def test_every_timing_comes_back_from_its_line(tmp_path: Path) -> None:
    path = tmp_path / "timings.jsonl"
    said: list[timings.Timing] = [
        timings.JudgeTime(
            example="a/0", vote=1, remembered=True, seconds=0.0, cost_usd=0.5
        ),
        timings.JudgeRetry(attempt=1, wait=2.0, error="busy"),
        timings.Resumed(kept=20, cut=events.encode_event(message())),
    ]
    found = Timings.at(path)
    for one in said:
        found.write(one)
    found.close()
    lines = path.read_bytes().splitlines(keepends=True)
    assert [
        replace(timings.decode_timing(line, "t"), at=None) for line in lines
    ] == said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"event"}', "not a JSON event"),
        (
            '{"event":"mood","at":"x"}',
            "an event 'mood' is not part of these timings: a later version of pytest-ltm wrote it",
        ),
        (
            '{"event":"reply"}',
            "a damaged 'reply' event: Object missing required field `exchange`",
        ),
    ],
)
def test_what_times_nothing_is_told_with_its_place(line: str, says: str) -> None:
    with pytest.raises(LtmError, match=r"^t, line 1: ") as caught:
        timings.decode_timing(Chain().seal_line(f"{line}\n").encode(), "t, line 1")
    assert says in str(caught.value)


TIMED = [ReplyTime(exchange=number, seconds=0.25) for number in range(3)]


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (lambda data: data.replace(b"0.25", b"4.25", 1), 2),
        (lambda data: data.replace(b"\n", b"\x0b", 1), 1),
        (lambda data: b"\x00\xff" * 500 + b"\n" + data, 3),
        (lambda _: b"\x00\xff" * 500 + b"\n", 0),
        (lambda data: data[:-100] + b"\n", 2),
    ],
)
def test_timings_that_are_damaged_are_left_out_and_told(
    tmp_path: Path, damage: Callable[[bytes], bytes], left: int
) -> None:
    path = tmp_path / "timings.jsonl"
    written = Timings.at(path)
    for one in TIMED:
        written.write(one)
    written.close()
    assert [replace(one, at=None) for one in timings.load_all_timings(path)[0]] == TIMED
    assert timings.load_all_timings(path)[1] == ""
    path.write_bytes(damage(path.read_bytes()))
    found, why = timings.load_all_timings(path)
    assert len(found) == len(list(timings.iter_timings(path, ReplyTime))) == left
    assert "cannot be read" in why


def test_timings_that_are_missing_or_no_file_are_told(tmp_path: Path) -> None:
    assert timings.load_all_timings(tmp_path / "none") == (
        [],
        f"{tmp_path / 'none'}: cannot be read: No such file or directory",
    )
    assert "cannot be read: Is a directory" in timings.load_all_timings(tmp_path)[1]


def at(second: int) -> datetime:
    return datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc) + timedelta(seconds=second)


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        (
            [
                timings.Began(at=at(0), after=1.0),
                timings.Ended(at=at(20), seconds=21.0),
            ],
            21.0,
        ),
        (
            [
                timings.Began(at=at(0), after=1.0),
                timings.Ended(at=at(20), seconds=21.0),
                timings.Began(at=at(100), after=2.0),
                timings.Ended(at=at(110), seconds=12.0),
            ],
            33.0,
        ),
        (  # the first process was killed after ten seconds, the second before any timing
            [
                timings.Began(at=at(0), after=1.0),
                timings.Began(at=at(50), after=2.0),
                timings.Began(at=at(100), after=3.0),
                timings.Ended(at=at(110), seconds=13.0),
            ],
            11.0 + 2.0 + 13.0,
        ),
        ([timings.Began(at=at(0), after=1.0)], 106.0),
        ([], 0.0),
    ],
)
def test_what_a_run_took_is_the_sum_of_its_parts(
    parts: list[timings.Timing], seconds: float
) -> None:
    assert timings.wall_seconds(parts, [at(10), at(4), at(105)]) == seconds


def test_timings_without_a_file_keep_and_hold_nothing(tmp_path: Path) -> None:
    Timings().write(ReplyTime(exchange=0, seconds=0.0))
    assert list(timings.iter_timings(tmp_path / "none", ReplyTime)) == []
