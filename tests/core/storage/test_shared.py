"""A value shared and changed by several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.storage import locks as _shared
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.locks import Shared

ADDS = """\
import sys
from pathlib import Path
from pytest_ltm._core.storage.locks import Shared
for _ in range(100):
    Shared(Path(sys.argv[1])).change(lambda value: {"n": value.get("n", 0) + 1})
"""
DIES_WITH_THE_LOCK = """\
import os, signal, sys
from pathlib import Path
from pytest_ltm._core.storage.locks import Shared
shared = Shared(Path(sys.argv[1]))
shared.change(lambda value: {"n": 7})
shared._new_path.write_bytes(b'{"n": 8')
shared.change(lambda value: os.kill(os.getpid(), signal.SIGKILL))
"""


def one_more(value: dict[str, Any]) -> dict[str, Any]:
    value["n"] = value.get("n", 0) + 1
    return value


def test_a_value_begins_empty_and_is_changed_from_what_it_was(tmp_path: Path) -> None:
    shared = Shared(tmp_path / "deep" / "limits.json")
    assert shared.read() == {}
    assert shared.change(one_more) == {"n": 1}
    assert Shared(shared.path).change(one_more) == {"n": 2}
    assert shared.read() == {"n": 2}


@pytest.mark.slow
def test_no_change_of_several_processes_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    running = [
        subprocess.Popen([sys.executable, "-c", ADDS, str(path)]) for _ in range(3)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert Shared(path).read() == {"n": 300}


@pytest.mark.slow
def test_no_change_of_several_threads_is_lost(tmp_path: Path) -> None:
    shared = Shared(tmp_path / "n.json")
    threads = [
        threading.Thread(target=lambda: [shared.change(one_more) for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.read() == {"n": 200}


def test_a_change_that_raises_changes_nothing(tmp_path: Path) -> None:
    shared = Shared(tmp_path / "n.json")
    shared.change(one_more)
    with pytest.raises(ZeroDivisionError):
        shared.change(lambda value: {"n": value["n"] / 0})
    assert shared.change(one_more) == {"n": 2}


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_who_dies_in_the_middle_of_a_change_leaves_the_value_and_no_lock(
    tmp_path: Path,
) -> None:
    path = tmp_path / "n.json"
    died = subprocess.run(
        [sys.executable, "-c", DIES_WITH_THE_LOCK, str(path)], check=False
    )
    assert died.returncode == -signal.SIGKILL
    assert Shared(path).change(one_more) == {"n": 8}


def test_reading_waits_for_nobody(tmp_path: Path) -> None:
    shared = Shared(tmp_path / "n.json")
    shared.change(one_more)
    seen: list[dict[str, Any]] = []

    def look(value: dict[str, Any]) -> dict[str, Any]:
        seen.append(Shared(shared.path).read())
        return one_more(value)

    assert shared.change(look) == {"n": 2}
    assert seen == [{"n": 1}]


def test_a_lock_that_is_never_given_back_is_told_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_shared, "LONGEST_WAIT", 0.01)
    shared, inside, leave = (
        Shared(tmp_path / "n.json"),
        threading.Event(),
        threading.Event(),
    )

    def stay(value: dict[str, Any]) -> dict[str, Any]:
        inside.set()
        leave.wait(30)
        return value

    keeper = threading.Thread(target=lambda: shared.change(stay))
    keeper.start()
    inside.wait(30)
    with pytest.raises(LtmError, match=r"n\.json was locked by another process"):
        Shared(shared.path).change(one_more)
    leave.set()
    keeper.join()


@pytest.mark.parametrize("text", ["", "[1]", "{", "\udcff"])
def test_a_file_that_holds_something_else_is_told_with_the_way_out(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "n.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(LtmError, match=r"n\.json is not a JSON object: .* Remove it"):
        Shared(path).read()
