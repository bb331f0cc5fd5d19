"""`doctor --verify` and `doctor --repair`: their reports on damaged journals, and their repairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from journals import header, message, reply, verdict, write
from run_folders import held, played, write_run

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.result import write_results
from pytest_ltm._core.storage.locks import FolderLock
from pytest_ltm.commands import main
from pytest_ltm.records.recording import read_recording

SAID = (
    header("AcceptsHistory"),
    message(0),
    reply(0, "Grey."),
    message(1),
    reply(1, "Blue."),
    verdict(score=1.0),
    events.End(reason="complete"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "bot~2k~0"
    folder.mkdir(parents=True)
    path = write(folder / "journal.jsonl", *SAID)
    write_results(folder / "results.json", held([played(agent="bot")]))
    return path


def doctor(path: Path, *words: str) -> int:
    return main(["doctor", str(path.parent.parent), *words])


def test_a_whole_journal_is_told_with_its_last_checksum(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(path, "--verify") == 0
    assert (
        capsys.readouterr().out
        == f"{path}: 7 lines, whole; last checksum {events.last_checksum(path)}\n"
    )


def test_a_flipped_bit_is_told_and_put_back(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Grey", b"Frey"))
    assert doctor(path, "--verify") == 1
    at = whole.splitlines()[2].index(b"G") + 1
    told = (
        f"{path}, line 3: one bit has flipped: byte {at} of the line is 'F' and was 'G'"
    )
    assert capsys.readouterr().out.startswith(told)
    assert doctor(path, "--repair") == 0
    assert path.read_bytes() == whole
    assert path.with_name("journal.jsonl.damaged").read_bytes() == whole.replace(
        b"Grey", b"Frey"
    )
    assert doctor(path, "--verify") == 0


def test_a_changed_reply_is_told_and_the_journal_is_cut_before_it(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = path.read_bytes()
    changed = whole.replace(b"Blue", b"Teal")
    path.write_bytes(changed)
    assert doctor(path, "--verify") == 1
    out = capsys.readouterr().out
    assert (
        f"{path}, line 5: the reply of exchange 1 was changed after it was written"
        in out
    )
    assert f"ltm doctor --repair {path.parent.parent}" in out
    assert doctor(path, "--repair") == 1
    assert "Cut before it: 3 lines less" in capsys.readouterr().out
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:4])
    assert path.with_name("journal.jsonl.damaged").read_bytes() == changed
    recording = read_recording(path)
    assert recording is not None
    assert (recording.exchanges, recording.complete) == (1, False)


def test_damaged_files_are_never_written_over(path: Path) -> None:
    for _ in range(3):
        path.write_bytes(path.read_bytes().replace(b"Grey", b"Frey"))
        doctor(path, "--repair")
    assert sorted(one.name for one in path.parent.glob("*.damaged*")) == [
        "journal.jsonl.damaged",
        "journal.jsonl.damaged2",
        "journal.jsonl.damaged3",
    ]


def test_lines_that_are_missing_at_the_end_are_told_from_the_results(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = held([played(agent="bot")], journal=events.last_checksum(path))
    write_results(path.with_name("results.json"), whole)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    assert doctor(path, "--verify") == 1
    assert (
        "lines are missing at its end, or it is another journal"
        in capsys.readouterr().out
    )


def test_a_torn_last_line_is_no_damage(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(path, *SAID[:3], torn='{"event":"mess')
    (path.parent / "results.json").unlink()
    assert doctor(path, "--verify") == 0
    assert "an incomplete last line of 14 bytes is ignored" in capsys.readouterr().out


def test_what_is_told_is_there_as_json_too(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = events.last_checksum(path)
    doctor(path, "--verify", "--json")
    (found,) = json.loads(capsys.readouterr().out)
    assert found == {
        "file": str(path),
        "lines": 7,
        "torn": 0,
        "head": head,
        "problems": [],
    }


def test_what_somebody_is_writing_is_not_repaired(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_bytes(path.read_bytes().replace(b"Grey", b"Frey"))
    lock = FolderLock(path.parent)
    lock.acquire()
    try:
        assert doctor(path, "--repair") == 2
    finally:
        lock.release()
    assert "is in use by process" in capsys.readouterr().err
    assert b"Frey" in path.read_bytes()


def test_a_report_leaves_a_damaged_journal_out_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", held([played()]))
    journal = run / "full~2k~0" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"Noted.", b"Voted."))
    assert main(["report", str(run), "-o", str(tmp_path / "page.html")]) == 1
    said = capsys.readouterr()
    assert said.out.startswith(str(tmp_path / "page.html"))
    assert (
        f"left out of the report: {journal}, line 6: the reply of exchange 1 was changed"
        in said.err
    )


def test_runs_with_damaged_journals_are_not_merged(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_bytes(path.read_bytes().replace(b"Grey", b"Frey"))
    target = path.parent.parent.parent / "merged"
    assert main(["merge", str(path.parent.parent), "-o", str(target)]) == 2
    assert f"{path}, line 3: one bit has flipped" in capsys.readouterr().err
    assert not target.exists()
