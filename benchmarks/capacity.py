"""The number of facts the suite lifecycle can handle: its test `many` on an in-memory index, at growing numbers."""

from __future__ import annotations

import heapq
import random
import re
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from pytest_ltm.agents.memory.pace import Pace
from pytest_ltm.lifecycle.bench import Bench
from pytest_ltm.lifecycle.keeping import hold_many
from pytest_ltm.lifecycle.subject import Subject

_SMALLEST = 1_000
_WORD = re.compile(r"\w+")


class IndexStore:
    """A word index: finds the texts with a query's rarest word, ranked by the number of words in common."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[tuple[str, str], list[int]] = defaultdict(list)

    def add(
        self, text: str, *, role: str, at: datetime, session: str, user: str
    ) -> int:
        """Store a text and return its position."""
        del role, at, session
        for word in set(_WORD.findall(text.casefold())):
            self._places[user, word].append(len(self.texts))
        self.texts.append(text)
        return len(self.texts) - 1

    def search(self, query: str, *, k: int, user: str) -> list[str]:
        """Return the best texts."""
        words = set(_WORD.findall(query.casefold()))
        lists = [
            self._places[user, word] for word in words if (user, word) in self._places
        ]
        rarest = min(lists, key=len, default=[])
        found = [self.texts[place] for place in rarest]
        return heapq.nlargest(
            k, found, key=lambda text: len(words & set(_WORD.findall(text.casefold())))
        )


def capacity(size: int, repeats: int) -> Iterator[str]:
    """Yield a table of the test's seconds at 1,000 facts, ten times as many, and so on up to `size`."""
    del repeats
    yield "| facts | found | seconds | a search | peak memory |"
    yield "|---|---|---|---|---|"
    facts = _SMALLEST
    while facts <= size:
        yield _row(facts)
        facts *= 10


def _row(facts: int) -> str:
    began = time.process_time()
    bench = Bench(Subject(IndexStore, Pace()), random.Random(0), facts)
    hold_many(bench)
    seconds = time.process_time() - began
    notes = {
        cell.look: cell.evidence for cell in bench.row.cells if cell.state == "note"
    }
    bench.subject.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    wrong = "".join(f"; {line}" for line in bench.row.lines())
    return f"| {facts:,} | {notes['found']}{wrong} | {seconds:.1f} | {notes['seconds a search']} s | {peak:,} MB |"
