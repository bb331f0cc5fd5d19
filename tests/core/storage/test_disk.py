"""Whole lines, whole files, a single writer."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from weakref import WeakSet

import pytest

from pytest_ltm._core.engine.held_agent import Checkpoints
from pytest_ltm._core.journal import timings
from pytest_ltm._core.storage import disk
from pytest_ltm._core.storage.disk import Appender, write_whole
from pytest_ltm._core.storage.errors import DiskFault
from pytest_ltm._core.storage.locks import FolderLock, InUse

LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # half a file of it would be left to others
from pathlib import Path
from pytest_ltm._core.storage.disk import Appender, write_whole
from pytest_ltm._core.storage.errors import DiskFault
resource.setrlimit(resource.RLIMIT_FSIZE, (15, resource.RLIM_INFINITY))
folder = Path(sys.argv[1])
file = Appender(folder / "lines", new=True)
file.append(b"0123456789")
for act in (lambda: file.append(b"0123456789"), lambda: write_whole(folder / "whole", b"0" * 20)):
    try:
        act()
    except DiskFault as fault:
        print(fault)
file.append(b"0123")
file.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits for files")
def test_a_line_is_added_whole_or_not_at_all_and_a_file_stays_as_it_was(
    tmp_path: Path,
) -> None:
    write_whole(tmp_path / "whole", b"old")
    told = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [line.partition(":")[0].split("/")[-1] for line in told.splitlines()] == [
        "lines",
        "whole",
    ]
    assert told.count("File too large. Nothing more is sent") == 2
    assert (tmp_path / "lines").read_bytes() == b"01234567890123"
    assert (tmp_path / "whole").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lines", "whole"]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed here")
def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    for name in ("whole.new", "lines"):
        (tmp_path / name).symlink_to(target)
    with pytest.raises(DiskFault):
        Appender(tmp_path / "lines", new=False)
    with pytest.raises(DiskFault):
        write_whole(tmp_path / "whole", b"new")
    assert target.read_bytes() == b"precious"


def test_a_full_disk_is_a_disk_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = Appender(tmp_path / "lines", new=True)
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiskFault, match="No space left on device"):
        file.append(b"x")


def test_many_files_ask_a_slow_disk_for_a_small_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 1_000.0
    asked = []

    def flush(file: int) -> None:
        nonlocal seconds
        seconds += 0.5
        asked.append(file)

    monkeypatch.setattr(disk, "stopwatch_seconds", lambda: seconds)
    monkeypatch.setattr(disk, "_OPEN", WeakSet[Appender]())
    monkeypatch.setattr(os, "fsync", flush)
    files = [Appender(tmp_path / name, new=True) for name in "abcd"]
    for _ in range(100):
        seconds += 1
        for file in files:
            file.append(b"x", lasting=True)
    assert len(asked) * 0.5 <= (seconds - 1_000) / 4
    assert [asked.count(file) for file in set(asked)] == [15] * len(files)


def test_what_cannot_be_opened_or_replaced_is_a_disk_fault(tmp_path: Path) -> None:
    with pytest.raises(DiskFault, match="No such file or directory"):
        Appender(tmp_path / "none" / "lines", new=False)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    with pytest.raises(DiskFault, match="folder"):
        write_whole(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_a_file_that_another_process_wrote_at_the_same_moment_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def taken(beside: Path, path: Path) -> None:
        replace(beside, path)  # by the other process
        replace(beside, path)

    monkeypatch.setattr(Path, "replace", taken)
    write_whole(tmp_path / "latest", b"one")
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]


def test_two_states_are_kept_and_found_again(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "checkpoints")
    for number in (3, 4, 10):
        kept.keep_state(number, f"state {number}".encode())
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        "10.bin",
        "4.bin",
    ]
    (tmp_path / "checkpoints" / "notes.txt").touch()
    again = Checkpoints(tmp_path / "checkpoints")
    assert [again.has_state(number) for number in (3, 4, 10)] == [False, True, True]
    assert again.state(4) == b"state 4"


def test_without_a_folder_states_are_held_in_memory() -> None:
    kept = Checkpoints(None)
    for number in range(4):
        kept.keep_state(number, bytes([number]))
    assert [kept.has_state(number) for number in range(4)] == [False, False, True, True]
    assert kept.state(3) == b"\x03"


def test_a_folder_has_one_writer_who_is_named_to_others(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.acquire()
    with pytest.raises(InUse, match=f"process {os.getpid()} on "):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    second.release()


@pytest.mark.parametrize(
    "owner",
    ["[]", "{}", '{"pid": "x", "host": 1, "since": 2}', "[" * 100_000, "\udc80"],
)
def test_whoever_cannot_be_named_is_another_process(tmp_path: Path, owner: str) -> None:
    first = FolderLock(tmp_path)
    first.acquire()
    (tmp_path / ".owner.json").write_bytes(owner.encode("utf-8", "surrogateescape"))
    with pytest.raises(InUse, match="another process"):
        FolderLock(tmp_path).acquire()
    first.release()


def test_the_owner_says_who_and_since_when(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.acquire()
    assert json.loads((tmp_path / ".owner.json").read_bytes())["pid"] == os.getpid()
    lock.release()
    assert not (tmp_path / ".owner.json").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no FIFOs")
@pytest.mark.parametrize("read", [False, True])
def test_a_fifo_in_the_place_of_a_journal_is_refused_without_waiting(
    tmp_path: Path, read: bool
) -> None:
    path = tmp_path / "journal.jsonl"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if read else None
    try:
        with pytest.raises(DiskFault, match=r"journal\.jsonl"):
            Appender(path, new=False)
    finally:
        if reader is not None:
            os.close(reader)


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="has no devices")
def test_a_device_in_the_place_of_a_journal_is_refused() -> None:
    with pytest.raises(DiskFault, match="not a regular file"):
        Appender(Path("/dev/null"), new=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no FIFOs")
def test_a_fifo_in_the_place_of_the_timings_is_told_without_waiting(
    tmp_path: Path,
) -> None:
    path = tmp_path / "timings.jsonl"
    os.mkfifo(path)
    assert timings.load_all_timings(path) == (
        [],
        f"{path}: cannot be read: it is not a regular file",
    )
