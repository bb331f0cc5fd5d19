"""Journal checksums: any change to a line is detected and classified."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from journals import filler, header, message, reply, sealed, verdict, write

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.codec import (
    LONGEST,
    Chain,
    Damage,
    find_damages,
    flip_bit_back,
)
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm.records.recording import read_recording

SAID = (
    header(),
    message(0),
    reply(0, "Grüezi"),
    filler(1),
    message(2),
    reply(2, "ho"),
    verdict(score=1.0),
)
LINES = [
    line.encode()
    for line in (*sealed(*SAID), sealed(*SAID, events.End(reason="complete"))[-1])
]
JOURNAL = b"".join(LINES)


def kept(data: bytes) -> int | None:
    """Return the number of lines that a reader accepts; None if it refuses the file."""
    chain, lines = Chain(), [line + b"\n" for line in data.split(b"\n")[:-1]]
    return (
        None if any(chain.verify_line(line) is None for line in lines) else len(lines)
    )


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def only(data: bytes) -> Damage:
    (found,) = find_damages(data)
    return found


def test_no_flipped_bit_goes_unnoticed_but_that_of_the_end_which_tears_the_last_line() -> (
    None
):
    unnoticed = [
        (at, bit)
        for at in range(len(JOURNAL))
        for bit in range(8)
        if kept(flipped(JOURNAL, at, bit)) is not None
    ]
    assert unnoticed == [(len(JOURNAL) - 1, bit) for bit in range(8)]
    assert kept(flipped(JOURNAL, len(JOURNAL) - 1, 0)) == len(LINES) - 1


@pytest.mark.slow
def test_wherever_it_is_torn_the_whole_lines_before_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for size in range(len(JOURNAL) + 1):
        path.write_bytes(JOURNAL[:size])
        ends = [end for end, *_ in events.iter_event_lines(path)]
        assert len(ends) == JOURNAL[:size].count(b"\n")
        assert next(find_damages(JOURNAL[:size]), None) is None


@pytest.mark.slow
@given(st.data())
def test_no_edit_goes_unnoticed(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(JOURNAL)))
    end = data.draw(st.integers(start, len(JOURNAL)))
    new = data.draw(st.binary(max_size=40))
    edited = JOURNAL[:start] + new + JOURNAL[end:]
    lines = kept(edited)
    assert lines is None or edited[: edited.rfind(b"\n") + 1] == b"".join(LINES[:lines])


@pytest.mark.parametrize("step", range(0, 8 * len(JOURNAL), 397))
def test_a_flipped_bit_is_found_and_can_be_put_back(step: int) -> None:
    damaged = flipped(JOURNAL, step // 8, step % 8)
    found = only(damaged)
    assert found.what.startswith("one bit has flipped: byte ")
    assert found.flipped == (step // 8, JOURNAL[step // 8])
    assert flip_bit_back(damaged, found) == JOURNAL


def test_flipped_bits_of_several_lines_are_all_found() -> None:
    damaged = flipped(flipped(JOURNAL, 30, 2), len(LINES[0]) + len(LINES[1]) + 9, 0)
    assert [damage.line for damage in find_damages(damaged)] == [1, 3]


def edited(number: int, old: bytes, new: bytes) -> bytes:
    return b"".join(
        line.replace(old, new) if index == number else line
        for index, line in enumerate(LINES)
    )


def test_a_changed_reply_is_told_from_a_flipped_bit() -> None:
    assert only(edited(2, "Grüezi".encode(), b"Hello")) == Damage(
        line=3,
        start=len(LINES[0]) + len(LINES[1]),
        what="the reply of exchange 0 was changed after it was written, or lines before it are missing",
    )


def test_a_missing_line_shows_in_the_next() -> None:
    found = only(b"".join([*LINES[:3], *LINES[4:]]))
    assert (found.line, found.flipped) == (4, None)
    assert "or lines before it are missing" in found.what


def test_a_second_writer_is_told_from_a_change() -> None:
    other = (
        Chain(LINES[3][-35:-3].decode())
        .seal_line(events.encode_event(message(2, text="of a copy")))
        .encode()
    )
    found = list(find_damages(b"".join([*LINES[:5], other, *LINES[5:]])))
    assert [(one.line, one.what.partition(":")[0]) for one in found] == [
        (6, "it was written after line 4"),
        (7, "it was written after line 5"),
    ]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (
            b"\xff\x00\n",
            "it is not a line of a journal: it was torn, overwritten or edited",
        ),
        (
            LINES[3][:20] + b"\n",
            "it is not a line of a journal: it was torn, overwritten or edited",
        ),
        (
            events.encode_event(filler(1)).encode(),
            "it has no checksum: it was edited, or something else wrote it",
        ),
    ],
)
def test_a_line_that_no_journal_has_is_told_and_those_after_it_are_read(
    line: bytes, what: str
) -> None:
    found = list(find_damages(b"".join([*LINES[:3], line, *LINES[4:]])))
    assert [(one.line, one.what) for one in found] == [(4, what)]


def test_a_very_long_line_is_not_searched_for_a_flipped_bit() -> None:
    line = Chain().seal_line(events.encode_event(message(text="x" * LONGEST))).encode()
    assert only(flipped(line, 200, 1)).flipped is None


def test_what_is_written_grows_from_what_is_recorded() -> None:
    file = io.StringIO()
    journal = Journal(file, iter(LINES[:2]))
    assert journal.head == LINES[0][-35:-3].decode()
    for event in SAID:
        journal.write(event)
    assert [
        line.encode() for line in file.getvalue().splitlines(keepends=True)
    ] == LINES[2:-1]
    assert journal.head == LINES[-2][-35:-3].decode()


def test_equal_events_have_another_checksum_after_other_lines() -> None:
    one, other = Chain(), Chain()
    one.seal_line(events.encode_event(message(0)))
    assert one.seal_line(events.encode_event(reply())) != other.seal_line(
        events.encode_event(reply())
    )


def test_readers_say_which_line_of_which_file_what_it_is_and_what_can_be_done(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "journal.jsonl", *SAID)
    path.write_bytes(edited(2, "Grüezi".encode(), b"Hello"))
    with pytest.raises(LtmError) as caught:
        read_recording(path)
    assert str(caught.value) == (
        f"{path}, line 3: the reply of exchange 0 was changed after it was written, or lines before it are missing. "
        f"Restore a copy of the file, or cut it there, keeping the damaged file: ltm doctor --repair {tmp_path}"
    )
    path.write_bytes(flipped(JOURNAL, 30, 2))
    with pytest.raises(
        LtmError,
        match=r"line 1: one bit has flipped: .* Put it back, keeping .*: ltm doctor --repair ",
    ):
        read_recording(path)
    assert len(list(events.iter_readable_events(path))) >= len(LINES) - 1
