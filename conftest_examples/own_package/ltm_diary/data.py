"""Diaries: a line per day, and questions with answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_ltm.datasets import History, Question, Session, Turn, history_dataset


def read_diaries(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield the history of each file."""
    for path in paths:
        diary = json.loads(path.read_text(encoding="utf-8"))
        sessions = [
            Session(id=day, date=day, turns=(Turn(role="user", content=text),))
            for day, text in diary["days"].items()
        ]
        counts["days without a text"] += sum(
            not text for text in diary["days"].values()
        )
        questions = [
            Question(text=text, gold=gold) for text, gold in diary["questions"].items()
        ]
        yield History(sessions, questions, path.stem)


DIARY = history_dataset(
    "diary", metric="share of questions answered rightly", read=read_diaries
)
