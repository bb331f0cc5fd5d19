"""`resume`: what it costs to write a conversation down, and to go on with it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._process import pytest_run
from pytest_ltm._benchmarks._scale import SPANS
from pytest_ltm._clock import stopwatch
from pytest_ltm._disk import Appender
from pytest_ltm._journal import line, read
from pytest_ltm._result import read_results

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 1_000_000
"""Tokens of the conversation, about."""
EXCHANGES = 500
AGENT = "full"


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield what an exchange costs to write down, what a journal weighs, and how long going on with it takes."""
    with tempfile.TemporaryDirectory(prefix="ltm-resume-") as name:
        folder = Path(name)
        yield from _writing(folder)
        words = [f"--ltm-agent={AGENT}", "--ltm-suite=standard", f"--ltm-span={round(size / SPANS)}"]
        played = pytest_run(folder, words)
        journal = next(folder.glob(".ltm/runs/*/*/journal.jsonl"))
        result, weight = read_results(journal.with_name("results.json")), journal.stat().st_size
        yield (
            f"{result.tokens:,} tokens in {result.exchanges:,} exchanges: played in {played.cpu_seconds:.2f} s; "
            f"{weight:,} bytes of journal, {weight / result.tokens:.2f} a token"
        )
        yield f"reported again: {median(_seconds(folder) for _ in range(repeats)):.2f} s"
        lines = journal.read_bytes().splitlines(keepends=True)
        times = []
        for _ in range(repeats):
            last = max(number for number, event in enumerate(read(journal)) if event["event"] == "reply")
            journal.write_bytes(b"".join(lines[: last + 1]))
            times.append(_seconds(folder))
        yield f"gone on with after the last reply: {median(times):.2f} s, the start of pytest included"


def _seconds(folder: Path) -> float:
    return pytest_run(folder, ["--ltm-resume=latest"]).cpu_seconds


def _writing(folder: Path) -> Iterator[str]:
    event = line("reply", exchange=0, text="word " * 100, tokens=100).encode()
    for name, policy in (("handed to the system", ""), ("asked of the disk at most once a second", "lasting"),
                         ("asked of the disk each time", "each")):  # fmt: skip
        file = Appender(folder / f"{len(name)}.jsonl", new=True)
        began = stopwatch()
        for _ in range(EXCHANGES):
            file.append(event)
            file.append(event, lasting=policy == "lasting")
            if policy == "each":
                file.sync()
        seconds = stopwatch() - began
        file.close()
        yield f"an exchange, {name}: {seconds / EXCHANGES * 1e6:.0f} microseconds"
