"""The journal: a line for each event, there before anything else happens."""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import LtmError
from pytest_ltm._journal import Journal, Timings, line, read

if TYPE_CHECKING:
    from pathlib import Path


def test_an_event_is_there_before_the_journal_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.at(path)
    journal.write("reply", exchange=3, text="Grüezi\n\u2028", tokens=4)
    assert list(read(path)) == [{"event": "reply", "exchange": 3, "text": "Grüezi\n\u2028", "tokens": 4}]
    journal.close()


def test_a_journal_grows_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.at(path)
    for number in range(3):
        journal.write("reply", exchange=number)
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
    journal.write("reply", exchange=0)
    journal.close()


def test_a_file_that_was_given_stays_open() -> None:
    file = io.StringIO()
    journal = Journal(file)
    journal.write("jump", to="tomorrow")
    journal.close()
    assert file.getvalue() == '{"event":"jump","to":"tomorrow"}\n'


def test_an_event_is_one_line_of_readable_text() -> None:
    assert line("reply", text='çà "and"\nthere') == '{"event":"reply","text":"çà \\"and\\"\\nthere"}\n'


@pytest.mark.parametrize(
    "text", ["half a pair: \ud83d", "\udfff", "\\ud83d", "\\\ud83d", "a whole one: 😀", "\x00\x85"]
)
def test_any_text_at_all_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.at(path)
    journal.write("message", text=text)
    journal.close()
    path.read_bytes().decode("utf-8")
    assert [event["text"] for event in read(path)] == [text]


@pytest.mark.parametrize("torn", ['{"event":"rep', '{"event":"reply","text":"Gr\u00fc', '{"'])
def test_a_torn_last_line_is_dropped(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line("begin").encode() + torn.encode()[:-1])
    assert list(read(path)) == [{"event": "begin"}]


def test_a_broken_line_in_the_middle_is_an_error_that_says_where(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(line("begin") + "{torn\n" + line("end"))
    with pytest.raises(LtmError, match=r"journal\.jsonl, line 2: not a JSON event"):
        list(read(path))


def test_a_broken_last_line_that_is_whole_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(line("begin") + "{torn\n")
    with pytest.raises(LtmError, match="line 2"):
        list(read(path))


def test_timings_know_the_time_on_the_wall_and_the_journal_does_not() -> None:
    journal, timings = io.StringIO(), io.StringIO()
    Journal(journal).write("reply", exchange=0)
    Timings(timings).write("reply", exchange=0, seconds=0.25)
    assert json.loads(journal.getvalue()) == {"event": "reply", "exchange": 0}
    told = json.loads(timings.getvalue())
    assert datetime.fromisoformat(told.pop("at")).tzinfo is not None
    assert told == {"event": "reply", "exchange": 0, "seconds": 0.25}


def test_timings_are_begun_and_kept_as_a_journal_is(tmp_path: Path) -> None:
    timings = Timings.at(tmp_path / "timings.jsonl")
    timings.write("reply", exchange=0)
    timings.close()
    assert [event["event"] for event in read(tmp_path / "timings.jsonl")] == ["reply"]


def test_timings_without_a_file_keep_nothing() -> None:
    Timings().write("reply", exchange=0)
    assert Timings.clock() <= Timings.clock()
