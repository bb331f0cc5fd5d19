"""Many conversations at once in one process (`--ltm-concurrency`): time, memory, and use of a provider's limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.runs import check_ended, pytest_run
from benchmarks.workers import AGENT, peaks_until_ended
from pytest_ltm.api.storage import stopwatch_seconds

WORKERS = 16
ISOLATED = 2_000
QUESTIONS = 500
COMMON = ("--ltm-no-probe", "--tb=no", "-rN", "-p", "no:randomly")
SUITE = ("--ltm-suite=standard", "--ltm-examples=1", "--ltm-span=1k")
SERVER = Path(__file__).with_name("loopback.py")
LIMIT, SECONDS, BURST = 32, 1.0, 20.0
"""The provider's concurrent requests, seconds per reply, and seconds between bursts of refusals."""
LEARNT = 20.0
"""Seconds after which the run should have found the limit."""
TURNS = 40
TALK = f"""
def test_talk(ltm):
    for number in range({TURNS}):
        ltm.say(f"This is message {{number}}.")
    ltm.ask("Was that all?")
"""
COMPARED = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.solver import solver

size, turns, url = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

@solver
def talk():
    async def solve(state, generate):
        for number in range(turns):
            state.messages.append(ChatMessageUser(content=f"{state.sample_id}: this is message {number}."))
            state = await generate(state)
        return state
    return solve

task = Task(dataset=[Sample(id=str(n), input=f"Conversation {n}.") for n in range(size)], solver=talk())
config = GenerateConfig(max_connections=32)
model = get_model("openai/loopback", base_url=url, api_key="none", config=config, responses_api=False)
eval(task, model=model, display="none", max_samples=size, log_dir="logs")
"""


def at_once(size: int, repeats: int) -> Iterator[str]:
    """Yield the costs of concurrent conversations against one alone and against workers, and the use of a provider."""
    for _ in range(repeats):
        yield from _beside_one_alone(size, 20)
        yield from _on_workers(size)
        yield from _short_ones()
        yield from _at_a_provider(size)
        yield from _beside_one_alone(200, 1_000)


@contextmanager
def _folder(milliseconds: int = 20) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text("")
        (folder / "slow.py").write_text(
            AGENT.format(seconds=milliseconds / 1_000), encoding="utf-8"
        )
        yield folder


def _beside_one_alone(size: int, milliseconds: int) -> Iterator[str]:
    with _folder(milliseconds) as folder:
        words = [*COMMON, *SUITE, "--ltm-agent=slow:Waits"]
        alone = pytest_run(folder, [*words, "--ltm-dir=alone"])
        replies = _replies(folder / "alone")
        cost = pytest_run(
            folder, [*words, f"--ltm-trials={size}", f"--ltm-concurrency={size}"]
        )
        more = (cost.cpu_seconds - alone.cpu_seconds) / max(size - 1, 1)
    yield f"one conversation of {replies} replies, {milliseconds} ms each: {alone.seconds:.1f} s"
    yield (
        f"{size} at once: {cost.seconds:.1f} s, {cost.seconds / alone.seconds:.2f} times as long, "
        f"{cost.megabytes:.0f} MB; of the processor {more * 1_000:.0f} ms for each further one, "
        f"{more / replies * 1e6:.0f} µs for each message"
    )


def _replies(folder: Path) -> int:
    return sum(
        path.read_text(encoding="utf-8").count('"event":"reply"')
        for path in folder.glob("**/journal.jsonl")
    )


def _on_workers(size: int) -> Iterator[str]:
    with _folder() as folder:
        words = [*COMMON, *SUITE, "--ltm-agent=slow:Waits", f"--ltm-trials={size}"]
        for how in (f"--ltm-concurrency={size}", f"-n{WORKERS}"):
            began = stopwatch_seconds()
            with (folder / "output.txt").open("wb") as output:
                process = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "pytest",
                        "-q",
                        "-p",
                        "no:cacheprovider",
                        *words,
                        how,
                    ],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
                peaks = peaks_until_ended(process)
            seconds = stopwatch_seconds() - began
            check_ended(
                process.returncode, folder / "output.txt", "the benchmark's pytest"
            )
            yield f"{size} conversations with {how}: {seconds:.1f} s, {sum(peaks.values()):.0f} MB in all processes"


def _short_ones() -> Iterator[str]:
    with _folder() as folder:
        words = [*COMMON, "--ltm-agent=slow:Waits"]
        isolated = [
            "--ltm-suite=standard",
            "--ltm-span=isolated",
            f"--ltm-examples={ISOLATED // 11}",
        ]
        questions = ["--ltm-suite=longmemeval?data=questions.json"]
        generate = [
            "data",
            "longmemeval-generate",
            "--count",
            str(QUESTIONS),
            "-o",
            "questions.json",
        ]
        subprocess.run(
            [sys.executable, "-m", "pytest_ltm", *generate],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        for name, what, suite in (
            ("isolated", f"{ISOLATED:,} isolated examples", isolated),
            ("questions", f"{QUESTIONS} questions of LongMemEval", questions),
        ):
            cost = pytest_run(
                folder, [*words, *suite, "--ltm-concurrency=64", f"--ltm-dir={name}"]
            )
            replies = _replies(folder / name)
            yield (
                f"{what}, 64 at a time: {cost.seconds:.1f} s for {replies:,} replies of 20 ms, {cost.megabytes:.0f} MB"
            )


def _at_a_provider(size: int) -> Iterator[str]:
    """Talk to a server with limits; inspect_ai does the same if LTM_INSPECT names an interpreter that has it."""
    with _folder() as folder, _provider() as url:
        (folder / "test_talk.py").write_text(TALK, encoding="utf-8")
        words = [
            *COMMON,
            f"--ltm-agent=openai:loopback@{url}",
            "--ltm-suite=none",
            "--ltm-span=20k",
        ]
        cost = pytest_run(
            folder,
            [
                *words,
                f"--ltm-trials={size}",
                f"--ltm-concurrency={size}",
                "test_talk.py",
            ],
        )
        sent = _replies(folder)
        yield f"a provider that takes {LIMIT} requests at a time: {_used(url, sent)}, {cost.megabytes:.0f} MB"
    python = os.environ.get("LTM_INSPECT")
    if python is None:
        return
    with _folder() as folder, _provider() as url:
        (folder / "talk.py").write_text(COMPARED, encoding="utf-8")
        subprocess.run(
            [python, "talk.py", str(size), str(TURNS + 2), url],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        yield f"the same with inspect_ai: {_used(url, size * (TURNS + 2))}"


@contextmanager
def _provider() -> Iterator[str]:
    """Run a chat server in its own process and yield its address."""
    command = [sys.executable, str(SERVER), str(SECONDS), str(LIMIT), str(BURST)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def _used(url: str, sent: int) -> str:
    with urllib.request.urlopen(url) as answer:  # noqa: S310 - on loopback
        told: dict[str, Any] = json.load(answer)
    ends: Sequence[float] = told["ends"]
    known = f"{told['answered']:,} of {sent:,} requests answered in {told['seconds']:.0f} s, {told['refused']} refused"
    # From the time the limit is known until the last conversations finish separately.
    steady = [end for end in ends[: -2 * LIMIT] if end > LEARNT]
    if not steady:
        return known
    used = len(steady) * SECONDS / LIMIT / (steady[-1] - LEARNT)
    return f"{known}, {used:.0%} of what it can do from second {LEARNT:.0f} on"
