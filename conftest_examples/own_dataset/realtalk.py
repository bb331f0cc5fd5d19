"""A custom data set as a pytest plugin: chats in the format of REALTALK (arXiv 2502.13270)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_ltm import Definition
from pytest_ltm.datasets import (
    Dataset,
    History,
    Picture,
    Question,
    Session,
    Turn,
    history_dataset,
)

KINDS = {1: "multi_hop", 2: "temporal", 3: "commonsense"}


def read_chats(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history per file of a folder: sessions of two people, and questions with evidence."""
    for path in paths:
        for file in sorted(path.glob("Chat_*.json")) if path.is_dir() else [path]:
            chat = json.loads(file.read_text(encoding="utf-8"))
            names = [
                name
                for name in chat
                if name.startswith("session_") and name[8:].isdecimal()
            ]
            ids = {
                turn["dia_id"]: f"{name}_{n}"
                for name in names
                for n, turn in enumerate(chat[name], start=1)
            }
            counts["left out: events, which are not asked about"] += sum(
                name.startswith("events_") for name in chat
            )
            sessions = [
                Session(
                    id=name,
                    date=read_date(chat[f"{name}_date_time"]),
                    turns=tuple(map(read_turn, chat[name])),
                )
                for name in names
            ]
            yield History(
                sessions, [read_question(one, ids) for one in chat["qa"]], file.stem
            )


def read_turn(turn: dict[str, Any]) -> Turn:
    photos = (
        (Picture(caption=turn["blip_caption"]),) if turn.get("blip_caption") else ()
    )
    return Turn(
        role="user", name=turn["speaker"], content=turn["clean_text"], images=photos
    )


def read_date(text: str) -> str:
    return datetime.strptime(text, "%d.%m.%Y, %H:%M:%S").isoformat(sep=" ")  # noqa: DTZ007 - the chats name no zone


def read_question(one: dict[str, Any], ids: dict[str, str]) -> Question:
    evidence = tuple(ids[name] for name in one["evidence"] if name in ids)
    return Question(
        text=one["question"],
        gold=one["answer"],
        kind=KINDS[one["category"]],
        evidence=evidence,
    )


def score_answer(definition: Definition, answer: str) -> float:
    """Return the share of the gold answer's words in the answer: any such function can be a scorer."""
    wanted, said = (
        set(definition.expected[0].lower().split()),
        set(answer.lower().replace(".", "").split()),
    )
    return len(wanted & said) / len(wanted)


REALTALK = history_dataset(
    "realtalk",
    metric="share of words",
    read=read_chats,
    source="REALTALK",
    scorer="realtalk:score_answer",
)


def pytest_ltm_datasets(register: Callable[[Dataset], None]) -> None:
    register(REALTALK)
