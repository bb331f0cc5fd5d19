"""A FIFO in place of a file: its other end may never be opened, so every command reports it at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.storage.disk import open_text, read_text, write_output
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm.commands import main
from pytest_ltm.reports.run_markdown import add_to_step_summary
from pytest_ltm.reports.summary_page import STEP_SUMMARY

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no FIFOs")

READ = [
    "data locomo-check PIPE",
    "data locomo-generate -o PIPE --model=echo",
    "data longmemeval-score answers.jsonl --data=PIPE",
    "data dataset-stats PIPE",
    "data convert chat PIPE -o made",
    "data convert openai PIPE -o made",
    "data convert whatsapp PIPE -o made",
    "data logs-check PIPE",
    "data logs-redact PIPE -o made.jsonl",
    "data import-answers PIPE",
    "data import-answers answers.jsonl --data=PIPE",
    "lab verdict-check PIPE",
    "lab agreement PIPE",
]


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """End a blocked test instead of waiting with it."""

    def fail(*_: Any) -> None:
        pytest.fail("it waited at a FIFO")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.jsonl").write_text("{}\n")
    os.mkfifo(tmp_path / "pipe.json")
    return tmp_path / "pipe.json"


@pytest.mark.parametrize("words", READ)
def test_a_command_says_that_it_is_no_regular_file(
    pipe: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.replace("PIPE", pipe.name).split()) == 2
    assert "not a regular file" in capsys.readouterr().err


def test_nothing_is_read_from_it(pipe: Path) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        read_text(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        open_text(pipe)


def test_nothing_is_written_to_it(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LtmError, match="not a regular file"):
        write_output(pipe, b"text")
    monkeypatch.setenv(STEP_SUMMARY, str(pipe))
    assert "not a regular file" in add_to_step_summary("text")


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="has no devices")
def test_a_device_is_written_to() -> None:
    write_output(Path("/dev/null"), b"text")
    assert Path("/dev/null").is_char_device()
