"""Wherever a conversation is cut off, resuming from its record leads to the same end."""

from __future__ import annotations

import tempfile
from pathlib import Path

import journals
import pytest
from _examples import share
from _plans import Case, Listen, Part, Pause, Speak, cases, play
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_ltm.api.journal import Resumed, events, iter_timings
from pytest_ltm.records.recording import (
    cut_back,
    read_recording,
)

TORN_WRITES = pytest.mark.nightly(
    "half a minute of torn writes: it has its turn within days", every=4
)

HEADER = journals.sealed(journals.header())[0].encode()
resumes = settings(
    max_examples=share(80), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@resumes
@given(cases, st.floats(0, 1))
def test_a_journal_that_is_cut_anywhere_grows_into_the_whole_one_again(
    case: Case, share: float
) -> None:
    whole = play(case)
    journal = whole.journal.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(
            journal[: len(HEADER) + round(share * (len(journal) - len(HEADER)))]
        )
        recording = read_recording(path)
        cut_back(Path(folder), recording)
        kept = path.read_bytes().splitlines(keepends=True)
    resumed = play(case, recorded=kept)
    assert b"".join(kept).decode() + resumed.journal == whole.journal
    assert {key: str(ending) for key, ending in resumed.endings.items()} == {
        key: str(ending) for key, ending in whole.endings.items()
    }
    sent = sum(
        isinstance(event, (events.ReplyReceived, events.FillerSent, events.Fault))
        for event in whole.events
    )
    assert resumed.voice.calls == sent
    assert [e.number for e in resumed.transcript] == [
        e.number for e in whole.transcript
    ]


@resumes
@given(cases, st.data())
def test_what_is_cut_off_is_kept_elsewhere(case: Case, data: st.DataObject) -> None:
    journal = play(case).journal.encode()
    torn = journal[: data.draw(st.integers(len(HEADER), len(journal)))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(torn)
        cut_back(Path(folder), read_recording(path))
        kept = path.read_bytes()
        cut = "".join(
            timing.cut
            for timing in iter_timings(Path(folder) / "timings.jsonl", Resumed)
        )
    assert kept + cut.encode() == torn


TORN = Case(
    parts=tuple(
        Part(
            name=name,
            steps=(
                Speak(20, asked=False),
                Pause(0.5, 0.0, 30),
                step,
                Speak(9, asked=True),
            ),
            examples=2,
            span=None,
            incompatible=(),
            reset="forget it",
            swallows=False,
        )
        for name, step in (("a", Listen(2, 2)), ("b", Pause(0.9, 0.0, 0)))
    ),
    span=400,
    opening="let us begin",
    replies=(3, 40),
    faults=frozenset({4, 9}),
    fatal=None,
    accepts_history=True,
    max_message_tokens=64,
    sessions="3",
)


@TORN_WRITES
def test_a_write_that_is_torn_at_any_byte_is_gone_on_from(
    tmp_path: Path, everything: bool
) -> None:
    """Tear the lines at every byte; before a merge, at their ends and at every eighth byte."""
    step = 1 if everything else 8
    whole = play(TORN)
    journal = whole.journal.encode()
    lines = journal.splitlines(keepends=True)
    path = tmp_path / "journal.jsonl"
    # Most tears leave the same lines, so what they grow into is played only once.
    grown: dict[bytes, str] = {}
    # The first event of each kind, and the last five events.
    kinds = {
        type(event): number for number, event in reversed(list(enumerate(whole.events)))
    }
    for number in {*kinds.values(), *range(len(lines) - 5, len(lines))}:
        start = sum(map(len, lines[:number]))
        last = start + len(lines[number]) - 1
        for end in {*range(start, last, step), last}:
            path.write_bytes(journal[:end])
            cut_back(tmp_path, read_recording(path))
            kept = path.read_bytes()
            if kept not in grown:
                lines_left = kept.splitlines(keepends=True)
                resumed = play(TORN, recorded=lines_left)
                grown[kept] = kept.decode() + resumed.journal
            assert grown[kept] == whole.journal
    judged = {
        events.JudgeAsked,
        events.JudgeChecked,
        events.UserModelAsked,
        events.VerdictRecorded,
    }
    assert set(kinds) == set(events.KINDS.values()) - judged
