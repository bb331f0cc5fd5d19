"""A process from which a folder is hidden: what it can and cannot read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ltm.agents._hidden import can_hide_folders

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not can_hide_folders(),
        reason="the kernel cannot hide folders (Landlock, Linux 5.19)",
    ),
]

START = """
import os, subprocess, sys
from pathlib import Path
from pytest_ltm.agents._hidden import hide_folder
hide_folder(Path("runs"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("runs", "data", "notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(f"of {name}")
    (tmp_path / "link").symlink_to(tmp_path / "runs" / "text")
    return tmp_path


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START + code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "code",
    [
        "print(open('runs/text').read())",
        "print(open('link').read())",
        "print(open(f'/proc/{os.getppid()}/cwd/' + os.path.abspath('runs/text')).read())",
        "subprocess.run(['cat', 'runs/text'], check=True)",
        "os.rename('runs/text', 'data/taken'); print(open('data/taken').read())",
        "os.rename('runs', 'data/taken'); print(open('data/taken/text').read())",
        "os.link('runs/text', 'data/taken'); print(open('data/taken').read())",
        "open('runs/new', 'w').write('of runs'); print(open('runs/new').read())",
    ],
)
def test_nothing_in_a_hidden_folder_can_be_read(folder: Path, code: str) -> None:
    done = run(folder, code)

    assert done.returncode
    assert "of runs" not in done.stdout
    assert any(
        why in done.stderr
        for why in ("Permission denied", "Invalid cross-device link", "No such file")
    )


@pytest.mark.parametrize(
    "code",
    [
        "print(open('data/text').read())",
        "open('data/new', 'w').write('of data'); print(open('data/new').read())",
        "os.rename('data/text', 'notes/moved'); print(open('notes/moved').read())",
        "subprocess.run(['cat', 'data/text'], check=True)",
        "os.listdir('runs'); open('runs/log', 'w').write('x'); print('of data')",
    ],
)
def test_all_else_can_be_read_written_and_moved(folder: Path, code: str) -> None:
    done = run(folder, code)

    assert done.stdout.strip() == "of data", done.stderr


def test_what_is_made_later_right_beside_a_hidden_folder_cannot_be_read(
    folder: Path,
) -> None:
    done = run(folder, "open('new', 'w').write('x'); open('new').read()")

    assert "PermissionError: [Errno 13] Permission denied: 'new'" in done.stderr
