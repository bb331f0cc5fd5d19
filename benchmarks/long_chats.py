"""Chats of one to ten million tokens in the form of BEAM, made here: what it takes to convert and to play one."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (1, 2, 5, 10)
"""In millions of tokens."""
_PAIRS = 20
"""Of a batch."""
_WORDS = (
    "garden river market letter window journey station kitchen teacher winter summer bicycle library concert painter "
    "village harbour bridge engine forest meadow mirror pocket ribbon silver timber valley wagon yellow basket candle "
    "dinner evening farmer gather hammer island jacket kettle ladder morning needle orchard paper quarter rabbit sailor "
    "told asked found carried opened painted planted repaired visited watched borrowed finished gathered measured "
    "slowly early often twice again nearly rather always never gently"
).split()
_TOKENS_A_WORD = 1.05


def write_chat(folder: Path, tokens: int) -> None:
    """Write a chat of about so many tokens, one batch in memory at a time, with a question for each tenth of it."""
    rng, place, said, facts = Random(f"long chat {tokens}"), 0, 0.0, []
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
            said += sum(len(one["content"].split()) for one in messages) * _TOKENS_A_WORD
            json.dump(
                {"batch_number": batch + 1, "turns": [messages[n : n + 2] for n in range(0, len(messages), 2)]}, file
            )
            place += len(messages)
        file.write("]")
    probes = [
        {"question": f"Behind what does the key of cupboard {number + 101} hang?", "answer": f"the {word}",
         "rubric": [f"says: the {word}"], "source_chat_ids": [at]}
        for number, (at, word) in enumerate(facts)
    ]  # fmt: skip
    target = folder / "probing_questions" / "probing_questions.json"
    target.parent.mkdir()
    target.write_text(json.dumps({"information_extraction": probes}), encoding="utf-8")


def _messages(rng: Random, first: int, batch: int) -> Iterator[dict[str, Any]]:
    for number in range(2 * _PAIRS):
        text = " ".join(rng.choices(_WORDS, k=rng.randint(40, 90) if number % 2 == 0 else rng.randint(150, 400)))
        row = {"role": ("user", "assistant")[number % 2], "id": first + number, "content": f"{text}."}
        anchor = {"time_anchor": f"March-{batch % 28 + 1:02}-{2026 + batch // 28}"} if number == 0 else {}
        yield {**row, **anchor}


def run(arguments: list[str]) -> int:
    """Print time and peak memory for each size; sizes in millions of tokens may be given."""
    print(f"{'tokens':>12} {'file, MB':>9} {'seconds':>8} {'peak, MB':>9}")
    for size in [float(one) for one in arguments] or SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "chats", f"{size:g}M", "1")
            write_chat(folder, round(size * 1_000_000))
            megabytes = (folder / "chat.json").stat().st_size / 1e6
            seconds, peak = _play(folder, Path(name))
            print(f"{size * 1e6:>12,.0f} {megabytes:>9,.0f} {seconds:>8,.0f} {peak:>9,.0f}", flush=True)
    return 0


def _play(folder: Path, work: Path) -> tuple[float, float]:
    """Return seconds and peak memory in MB of a run."""
    words = [sys.executable, "-m", "pytest", "--ltm-suite=beam", f"--ltm-data={folder}", "--ltm-agent=bm25:8k", "-q"]
    words += ["-p", "no:cacheprovider", f"--rootdir={work}", f"--ltm-dir={work / 'ltm'}"]
    start = time.monotonic()
    process = os.spawnv(os.P_NOWAIT, sys.executable, words)
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"the run ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - start, usage.ru_maxrss / 1000
