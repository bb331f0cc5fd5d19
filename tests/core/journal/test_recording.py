"""The part of a journal that is kept, and the part cut off before resuming."""

from __future__ import annotations

from pathlib import Path

import pytest
from journals import (
    fault,
    filler,
    header,
    judge,
    message,
    opened,
    reply,
    sealed,
    wait,
    write,
)

from pytest_ltm._core.journal import events, timings
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm.records.recording import (
    cut_back,
    read_recording,
)

HEADER, MESSAGE, REPLY, FAULT, FATAL = (
    header(),
    message(),
    reply(),
    fault(),
    fault(fatal=True),
)
PASSING = fault(passing=True)
WAIT, JUDGE, FILLER = wait(), judge(), filler(1)
END, ENDED = events.End(example="a/0"), events.End(reason="complete")
INTERRUPTED, GONE = (
    events.End(reason="interrupted"),
    events.End(reason="the agent is gone"),
)


def journal(tmp_path: Path, *said: events.Event, torn: str = "") -> Path:
    return write(tmp_path / "journal.jsonl", *said, torn=torn)


@pytest.mark.parametrize(
    ("said", "kept"),
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
        (
            [
                MESSAGE,
                REPLY,
                MESSAGE,
                FAULT,
                MESSAGE,
                FAULT,
                MESSAGE,
                FAULT,
                END,
                END,
                GONE,
            ],
            3,
        ),
        ([MESSAGE, REPLY, MESSAGE, FATAL], 3),
        ([MESSAGE, FAULT, END, GONE], 1),
        ([MESSAGE, REPLY, END, END, GONE], 3),
    ],
)
def test_what_came_from_outside_is_kept_but_for_the_last_faults_of_an_agent_that_was_gone(
    tmp_path: Path, said: list[events.Event], kept: int
) -> None:
    path = journal(tmp_path, HEADER, *said, torn='{"event":"rep')
    before = list(events.read_events(path))
    cut_back(tmp_path, read_recording(path))
    assert list(events.read_events(path)) == before[:kept]
    assert path.read_bytes().endswith(b"\n")
    (resumed,) = timings.iter_timings(tmp_path / "timings.jsonl", timings.Resumed)
    assert opened(resumed.cut[: resumed.cut.rfind("\n") + 1]) == before[kept:]


@pytest.mark.parametrize(
    ("said", "kept", "lost"),
    [
        ([MESSAGE, REPLY, WAIT, MESSAGE, PASSING, END, ENDED], 3, 1),
        ([MESSAGE, REPLY, MESSAGE, PASSING, MESSAGE, PASSING, END], 3, 2),
        ([MESSAGE, REPLY, MESSAGE, FAULT, MESSAGE, PASSING, ENDED], 5, 1),
        ([MESSAGE, REPLY, MESSAGE, PASSING, MESSAGE, FAULT, END, ENDED], 9, 0),
        ([MESSAGE, PASSING, MESSAGE, REPLY, MESSAGE], 5, 0),
        ([MESSAGE, PASSING, END, ENDED], 1, 1),
    ],
)
def test_passing_faults_at_the_end_are_never_final(
    tmp_path: Path, said: list[events.Event], kept: int, lost: int
) -> None:
    path = journal(tmp_path, header("AcceptsHistory"), *said)
    before, recording = list(events.read_events(path)), read_recording(path)
    assert recording is not None
    assert (recording.lost, recording.complete) == (lost, kept == len(before))
    cut_back(tmp_path, recording)
    assert list(events.read_events(path)) == before[:kept]


def test_a_complete_conversation_whose_agent_cannot_be_restored_stays_complete(
    tmp_path: Path,
) -> None:
    path = journal(tmp_path, HEADER, MESSAGE, REPLY, MESSAGE, PASSING, ENDED)
    recording = read_recording(path)
    assert recording is not None
    assert (recording.lost, recording.complete) == (0, True)


def test_what_is_complete_or_just_fits_is_not_touched(tmp_path: Path) -> None:
    path = journal(tmp_path, HEADER, MESSAGE, REPLY, ENDED)
    recording = read_recording(path)
    assert recording is not None
    assert recording.complete
    assert (
        recording.exchanges,
        recording.record.transcript.remembered[-1].number,
        recording.heard,
    ) == (1, 0, True)
    cut_back(tmp_path, recording)
    assert not (tmp_path / "timings.jsonl").exists()


@pytest.mark.slow
def test_a_kill_between_telling_and_cutting_loses_nothing(tmp_path: Path) -> None:
    path = journal(tmp_path, HEADER, MESSAGE, REPLY, MESSAGE)
    whole = path.read_bytes()
    cut_back(tmp_path, read_recording(path))
    told = (tmp_path / "timings.jsonl").read_bytes()
    for size in range(len(told) + 1):
        # however much of the timings was written, the journal was still uncut
        path.write_bytes(whole)
        (tmp_path / "timings.jsonl").write_bytes(told[:size])
        cut_back(tmp_path, read_recording(path))
        assert list(events.read_events(path)) == [HEADER, MESSAGE, REPLY]
        cut = sealed(HEADER, MESSAGE, REPLY, MESSAGE)[-1]
        assert (
            list(timings.iter_timings(tmp_path / "timings.jsonl", timings.Resumed))[
                -1
            ].cut
            == cut
        )


def test_no_journal_and_one_without_a_whole_header_hold_nothing(tmp_path: Path) -> None:
    assert read_recording(tmp_path / "journal.jsonl") is None
    path = journal(tmp_path, torn='{"event":"header","format":3')
    assert read_recording(path) is None
    cut_back(tmp_path, None)
    assert path.read_bytes() == b""


def test_an_agent_that_never_replied_has_heard_nothing_that_matters(
    tmp_path: Path,
) -> None:
    gone = read_recording(journal(tmp_path, HEADER, MESSAGE, FATAL, GONE))
    once = read_recording(journal(tmp_path, HEADER, MESSAGE, FAULT))
    assert gone is not None
    assert once is not None
    assert (gone.heard, once.heard) == (False, True)


def _replied(number: str) -> tuple[events.Event | str, ...]:
    return HEADER, f'{{"event":"reply","exchange":{number},"text":"","tokens":1}}\n'


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (["not json\n"], "line 1: not a JSON event"),
        (["[1]\n"], "line 1: not a JSON event"),
        (["[" * 100_000 + "\n"], "line 1: not a JSON event"),
        ([MESSAGE], "line 1: not the header of a journal"),
        (
            [events.encode_event(HEADER).replace('"format":3', '"format":99')],
            "a journal of format 99; this version",
        ),
        (['{"event":"header","format":3}\n'], "line 1: a damaged 'header' event"),
        (
            [HEADER, '{"event":"mood"}\n'],
            "line 2: an event 'mood' is not part of journal format 3",
        ),
        (
            _replied('"../x"'),
            "line 2: a damaged 'reply' event: Expected `int`, got `str` - at `.\\.exchange`",
        ),
        (
            _replied("-1"),
            "line 2: a damaged 'reply' event: Expected `int` >= 0 - at `.\\.exchange`",
        ),
        (_replied("7"), "line 2: a reply to no message: no message 7 waits for one"),
    ],
)
def test_what_is_no_journal_of_ours_is_an_error_that_says_where(
    tmp_path: Path, said: list[events.Event | str], says: str
) -> None:
    path = write(tmp_path / "journal.jsonl", *said)
    text = path.read_bytes()
    with pytest.raises(LtmError, match=says):
        read_recording(path)
    assert path.read_bytes() == text


def test_a_journal_of_the_format_before_says_so_rather_than_that_it_is_damaged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(events.encode_event(HEADER).replace('"format":3', '"format":2'))
    with pytest.raises(
        LtmError,
        match="line 1: a journal of format 2; this version of pytest-ltm reads format 3",
    ):
        read_recording(path)
