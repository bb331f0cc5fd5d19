"""`conversation`: a whole long run, as a multiple of one tiktoken pass over the same text."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._recorded import converse, tiktoken_pass

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 500_000
"""The memory span in tokens."""
SHORT = 2_000
"""The span of the run that shows what any run costs: starting pytest, loading plugins and ranks."""


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for each run, then the medians of the multiples: less what any run costs, and of the process."""
    converse(SHORT)  # warms the caches of files and bytecode
    whole, talk = [], []
    for _ in range(repeats):
        fixed, run = converse(SHORT).cost.cpu_seconds, converse(size)
        seconds, tokens = tiktoken_pass(run.texts)
        whole.append(run.cost.cpu_seconds / seconds)
        talk.append((run.cost.cpu_seconds - fixed) / seconds)
        yield (
            f"{tokens:,} tokens in {len(run.texts):,} messages: {run.cost.cpu_seconds:.2f} s, {fixed:.2f} s of it for "
            f"any run; one tiktoken pass: {seconds:.2f} s; {talk[-1]:.2f} passes; peak {run.cost.megabytes:.0f} MB"
        )
    yield f"median: {median(talk):.2f} tiktoken passes; {median(whole):.2f} with the start of the process"
