"""Long conversations: their total cost, its growth, and the cost of journalling and resuming them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from math import log
from pathlib import Path
from statistics import median

from benchmarks.runs import converse, measured_run, pytest_run, tiktoken_pass
from pytest_ltm.api.journal import events, read_results
from pytest_ltm.api.storage import Appender, stopwatch_seconds

SHORT = 2_000
"""The span of the run that shows the fixed cost of any run: starting pytest, loading plugins and ranks."""


def conversation(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for each run, then median multiples of a tiktoken pass, without the fixed cost and with it.

    Then the cost of an exchange, from a run whose filler sends many short messages.
    """
    converse(SHORT)  # warms the caches of files and bytecode
    whole, talk, each = [], [], []
    for _ in range(repeats):
        fixed, run = converse(SHORT).cost.cpu_seconds, converse(size)
        seconds, tokens = tiktoken_pass(run.texts)
        whole.append(run.cost.cpu_seconds / seconds)
        talk.append((run.cost.cpu_seconds - fixed) / seconds)
        yield (
            f"{tokens:,} tokens in {len(run.texts):,} messages: {run.cost.cpu_seconds:.2f} s, {fixed:.2f} s of it for "
            f"any run; one tiktoken pass: {seconds:.2f} s; {talk[-1]:.2f} passes; peak {run.cost.megabytes:.0f} MB"
        )
        few, many = (converse(span, "varied") for span in (SHORT, size // SHARE))
        exchanges = (len(many.texts) - len(few.texts)) // 2
        each.append((many.cost.cpu_seconds - few.cost.cpu_seconds) / exchanges * 1_000)
        yield f"{exchanges:,} exchanges of short messages: {each[-1]:.2f} ms each"
    yield f"median: {median(talk):.2f} tiktoken passes; {median(whole):.2f} with the start of the process"
    yield f"median: {median(each):.2f} ms an exchange"


SHARE = 15
"""Short exchanges are timed at this fraction of the memory span."""


SPANS = 2.7
"""Spans in a conversation of the suite `standard`: three examples in sequence, at 90 % of a span each."""


def scale(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for each length, then the slopes: the exponent of the growth, 1 being linear."""
    points = []
    for tokens in (size // 100, size // 10, size):
        runs = [converse(max(2_000, round(tokens / SPANS))) for _ in range(repeats)]
        seconds = median(run.cost.cpu_seconds for run in runs)
        megabytes = median(run.cost.megabytes for run in runs)
        points.append((runs[0].tokens, seconds, megabytes))
        yield f"{runs[0].tokens:,} tokens: {seconds:.2f} s, peak {megabytes:.0f} MB"
    (low, *before), (high, *after) = points[-2:]
    growth = [
        (later - earlier) / (high - low) * 1e6
        for earlier, later in zip(before, after, strict=True)
    ]
    slopes = [
        log(later / earlier) / log(high / low)
        for earlier, later in zip(before, after, strict=True)
        if earlier
    ]
    yield f"each further million tokens: {growth[0]:.2f} s, {growth[1]:.1f} MB"
    yield "slopes of the last tenfold (1 is linear): " + ", ".join(
        f"{slope:.2f}" for slope in slopes
    )


EXCHANGES = 500


def resume(size: int, repeats: int) -> Iterator[str]:
    """Yield the cost of journalling an exchange, the size of a journal, and the time to resume from it."""
    with tempfile.TemporaryDirectory(prefix="ltm-resume-") as name:
        folder = Path(name)
        yield from _writing(folder)
        words = [
            "--ltm-agent=full",
            "--ltm-suite=standard",
            f"--ltm-span={round(size / SPANS)}",
        ]
        played = pytest_run(folder, words)
        journal = next(folder.glob(".ltm/runs/*/*/journal.jsonl"))
        result, weight = (
            read_results(journal.with_name("results.json")),
            journal.stat().st_size,
        )
        yield (
            f"{result.tokens:,} tokens in {result.exchanges:,} exchanges: played in {played.cpu_seconds:.2f} s; "
            f"{weight:,} bytes of journal, {weight / result.tokens:.2f} a token"
        )
        yield f"reported again: {median(_seconds(folder) for _ in range(repeats)):.2f} s"
        lines = journal.read_bytes().splitlines(keepends=True)
        times = []
        for _ in range(repeats):
            last = max(
                number
                for number, event in enumerate(events.read_events(journal))
                if isinstance(event, events.ReplyReceived)
            )
            journal.write_bytes(b"".join(lines[: last + 1]))
            times.append(_seconds(folder))
        yield f"gone on with after the last reply: {median(times):.2f} s, the start of pytest included"


def verification(size: int, repeats: int) -> Iterator[str]:
    """Yield the cost of `ltm verify` for a conversation of SIZE tokens, and for its bundle."""
    with tempfile.TemporaryDirectory(prefix="ltm-verify-") as name:
        folder = Path(name)
        words = [
            "--ltm-agent=full",
            "--ltm-suite=standard",
            f"--ltm-span={round(size / SPANS)}",
        ]
        pytest_run(folder, words)
        result = read_results(next(folder.glob(".ltm/runs/*/*/results.json")))
        measured_run(
            folder, ["pytest_ltm", "lab", "bundle", "latest", "-o", "run.ltm.zip"]
        )
        for what, path in (("run", "latest"), ("bundle", "run.ltm.zip")):
            costs = [
                measured_run(folder, ["pytest_ltm", "verify", path])
                for _ in range(repeats)
            ]
            yield (
                f"{what} of {result.tokens:,} tokens in {result.exchanges:,} exchanges verified in "
                f"{median(cost.cpu_seconds for cost in costs):.2f} s, {median(cost.seconds for cost in costs):.2f} s "
                f"on the wall; peak {max(cost.megabytes for cost in costs):.0f} MB"
            )


def _seconds(folder: Path) -> float:
    return pytest_run(folder, ["--ltm-resume=latest"]).cpu_seconds


def _writing(folder: Path) -> Iterator[str]:
    event = events.encode_event(
        events.ReplyReceived(exchange=0, text="word " * 100, tokens=100)
    ).encode()
    for name, policy in (
        ("handed to the system", ""),
        ("asked of the disk at most once a second", "lasting"),
        ("asked of the disk each time", "each"),
    ):
        file = Appender(folder / f"{len(name)}.jsonl", new=True)
        began = stopwatch_seconds()
        for _ in range(EXCHANGES):
            file.append(event)
            file.append(event, lasting=policy == "lasting")
            if policy == "each":
                file.sync()
        seconds = stopwatch_seconds() - began
        file.close()
        yield f"an exchange, {name}: {seconds / EXCHANGES * 1e6:.0f} microseconds"
