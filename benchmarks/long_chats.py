"""The time and memory to convert and play synthetic chats of one to ten million tokens, in the form of BEAM."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from pytest_ltm.api.storage import stopwatch_seconds

_PAIRS = 20
"""Pairs of messages per batch."""
_TEXT = """\
garden river market letter window journey station kitchen teacher winter summer bicycle library concert painter village
harbour bridge engine forest meadow mirror pocket ribbon silver timber valley wagon yellow basket candle dinner evening
farmer gather hammer island jacket kettle ladder morning needle orchard paper quarter rabbit sailor told asked found
carried opened painted planted repaired visited watched borrowed finished gathered measured slowly early often twice
again nearly rather always never gently"""
_WORDS = _TEXT.split()
_TOKENS_A_WORD = 1.05


def write_chat(folder: Path, tokens: int) -> None:
    """Write a chat of about `tokens` tokens, holding one batch in memory at a time, with a question per tenth."""
    rng, place, said = Random(f"long chat {tokens}"), 0, 0.0
    facts: list[tuple[int, str]] = []
    folder.mkdir(parents=True)
    with (folder / "chat.json").open("w", encoding="utf-8") as file:
        file.write("[")
        while said < tokens:
            batch = place // (2 * _PAIRS)
            if batch:
                file.write(",\n")
            messages = list(_messages(rng, place, batch))
            if said >= len(facts) * tokens / 10:
                messages[0]["content"] = (
                    f"The key of cupboard {len(facts) + 101} hangs behind the {_WORDS[len(facts)]}."
                )
                facts.append((place, _WORDS[len(facts)]))
            said += (
                sum(len(message["content"].split()) for message in messages)
                * _TOKENS_A_WORD
            )
            json.dump(
                {
                    "batch_number": batch + 1,
                    "turns": [messages[n : n + 2] for n in range(0, len(messages), 2)],
                },
                file,
            )
            place += len(messages)
        file.write("]")
    probes = []
    for number, (at, word) in enumerate(facts):
        probe = {
            "question": f"Behind what does the key of cupboard {number + 101} hang?",
            "answer": f"the {word}",
            "rubric": [f"says: the {word}"],
            "source_chat_ids": [at],
        }
        probes.append(probe)
    target = folder / "probing_questions" / "probing_questions.json"
    target.parent.mkdir()
    target.write_text(json.dumps({"information_extraction": probes}), encoding="utf-8")


def _messages(rng: Random, first: int, batch: int) -> Iterator[dict[str, Any]]:
    for number in range(2 * _PAIRS):
        text = " ".join(
            rng.choices(
                _WORDS,
                k=rng.randint(40, 90) if number % 2 == 0 else rng.randint(150, 400),
            )
        )
        row = {
            "role": ("user", "assistant")[number % 2],
            "id": first + number,
            "content": f"{text}.",
        }
        anchor = (
            {"time_anchor": f"March-{batch % 28 + 1:02}-{2026 + batch // 28}"}
            if number == 0
            else {}
        )
        yield {**row, **anchor}


def long_chats(size: int, _repeats: int) -> Iterator[str]:
    """Yield time and peak memory for chats of a tenth, a fifth, half and all of `size` tokens."""
    yield f"{'tokens':>12} {'file, MB':>9} {'seconds':>8} {'peak, MB':>9}"
    for tokens in (size // 10, size // 5, size // 2, size):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "chats", f"{tokens}", "1")
            write_chat(folder, tokens)
            megabytes = (folder / "chat.json").stat().st_size / 1e6
            seconds, peak = _play(folder, Path(name))
            yield f"{tokens:>12,} {megabytes:>9,.0f} {seconds:>8,.0f} {peak:>9,.0f}"


def _play(folder: Path, work: Path) -> tuple[float, float]:
    """Return seconds and peak memory in MB of a run."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        f"--ltm-suite=beam?data={folder}",
        "--ltm-agent=bm25:8k",
        "-q",
        "--tb=no",
    ]
    words += [
        "-p",
        "no:cacheprovider",
        f"--rootdir={work}",
        f"--ltm-dir={work / 'ltm'}",
    ]
    start = stopwatch_seconds()
    process = os.spawnv(os.P_NOWAIT, sys.executable, words)  # noqa: S606 - no shell is what is wanted
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"the run ended with {os.waitstatus_to_exitcode(status)}")
    return stopwatch_seconds() - start, usage.ru_maxrss / 1000
