"""Long conversations through pytest, and the texts that they recorded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import process_time
from typing import NamedTuple

from pytest_ltm._benchmarks._process import Cost, pytest_run
from pytest_ltm._journal import read
from pytest_ltm._tokens import encoding

AGENT = "pytest_ltm._benchmarks._agents:Ready"


class Recorded(NamedTuple):
    """One conversation and what it cost."""

    cost: Cost
    tokens: int
    texts: tuple[str, ...]


def converse(span: int) -> Recorded:
    """Play the built-in suite in an empty folder, at a memory span in tokens, with an agent that answers at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [f"--ltm-agent={AGENT}", f"--ltm-span={span}", "--ltm-suite=standard", "--ltm-dir=runs", "--tb=no"]
        cost = pytest_run(folder, words)
        events = [event for path in folder.glob("runs/runs/*/*/journal.jsonl") for event in read(path)]
    spoken = [event for event in events if event["event"] in {"message", "reply"}]
    return Recorded(cost, sum(event["tokens"] for event in spoken), tuple(event["text"] for event in spoken))


def tiktoken_pass(texts: tuple[str, ...]) -> tuple[float, int]:
    """Return the seconds (of the processor) that tiktoken needs to encode all texts once, and their tokens."""
    encode = encoding("cl100k_base").encode_ordinary
    began = process_time()
    tokens = sum(len(encode(text)) for text in texts)
    return process_time() - began, tokens
