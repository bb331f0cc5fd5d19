"""BEAM (Tavakoli et al., ICLR 2026): chats of 128,000 to 10 million tokens, read batch by batch."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets._interchange import History, Question, Session
from pytest_ltm.datasets.converters.declared_files import (
    Foreign,
    ForeignMessage,
    date_as,
    decode_as,
    files_in,
    iter_items,
    json_as,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_GOLD = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
# The place in the plan of a chat, which stands behind what users say: it would tell which batch an answer is in.
_PLAN_CUT = "cut: plan indices behind what users say, such as ->-> 1,1"
_PLAN_INDEX = re.compile(r"\s*->+\s*(?:->*|>)?\s*(?:\d+|N/?A)\s*,\s*(?:\d+|N/?A)\s*$")


class _Message(ForeignMessage, frozen=True, kw_only=True):
    id: int
    time_anchor: str | None = None


class _Batch(Foreign, frozen=True):
    turns: list[list[_Message]]


class _Probe(Foreign, frozen=True):
    question: str
    rubric: list[str]
    answer: Any = None
    ideal_answer: Any = None
    ideal_response: Any = None
    ideal_summary: Any = None
    expected_compliance: Any = None
    source_chat_ids: dict[str, list[int]] | list[int] | None = None


def read_histories(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each chat: files named chat.json with probing_questions.json beside or below them."""
    for file in files_in(paths, "chat.json"):
        turns: dict[int, str] = {}
        questions = _read_questions(file, turns, counts)
        yield History(_read_sessions(file, turns, counts), questions, f"{file.parent.parent.name}_{file.parent.name}")


def _read_sessions(file: Path, turns: dict[int, str], counts: Counter[str]) -> Iterator[Session]:
    """Yield the batches as sessions; `turns` takes the ids of their turns by those of the messages."""
    date = ""
    for number, batch in enumerate(_iter_batches(file), start=1):
        messages = list(chain.from_iterable(batch.turns))
        anchor = next((one.time_anchor for one in messages if one.time_anchor), None)
        counts["dates guessed: sessions without a time anchor have that of the one before"] += bool(date and not anchor)
        date = date_as(anchor, "%B-%d-%Y", f"{file}: time_anchor").partition(" ")[0] if anchor else date
        turns |= {one.id: f"s{number}_{place}" for place, one in enumerate(messages, start=1)}
        if messages:
            told = tuple(one.turn(counts, _PLAN_INDEX, _PLAN_CUT) for one in messages)
            yield Session(id=f"s{number}", date=date, turns=told)


def _iter_batches(file: Path) -> Iterator[_Batch]:
    """Yield the batches of a chat: a list of them, or of plans, each of which is a list of them or holds several."""
    for where, raw in iter_items(file, "item"):
        if raw.startswith(b"["):
            yield from decode_as(raw, list[_Batch], where)
        elif b'"batch_number"' in raw.partition(b"[")[0]:
            yield decode_as(raw, _Batch, where)
        else:
            yield from chain.from_iterable(decode_as(raw, dict[str, list[_Batch]], where).values())


def _read_questions(file: Path, turns: dict[int, str], counts: Counter[str]) -> Iterator[Question]:
    found = sorted(file.parent.rglob("probing_questions.json"))
    if not found:
        raise DatasetError(f"{file.parent}: there is no probing_questions.json in it, so nothing to ask. Add the file")
    for kind, probes in json_as(found[0], dict[str, list[_Probe]]).items():
        for number, probe in enumerate(probes, start=1):
            ids = probe.source_chat_ids or []
            cited = dict.fromkeys(chain.from_iterable(ids.values()) if isinstance(ids, dict) else ids)
            counts["left out: evidence that the chat does not hold"] += sum(one not in turns for one in cited)
            gold = next((str(one) for name in _GOLD if (one := getattr(probe, name)) is not None), None)
            ordered = kind == "event_ordering"  # its rubric is the order itself, not claims to be met one by one
            yield Question(
                id=f"{kind}_{number}", kind=kind, text=probe.question, gold=tuple(probe.rubric) if ordered else gold,
                match="order" if ordered else "answer", claims=() if ordered else tuple(probe.rubric),
                never_told=kind == "abstention",
                evidence=() if kind == "abstention" else tuple(turns[one] for one in cited if one in turns),
            )  # fmt: skip
