"""BEAM (Tavakoli et al., ICLR 2026): chats of 128,000 to 10 million tokens, read batch by batch."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets._interchange import History, Question, Session, Turn
from pytest_ltm.datasets.converters.declared_files import Foreign, decode_as, files_in, items_as, json_as

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import msgspec

_GOLD = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
# The place in the plan of a chat, which stands behind what users say: it would tell which batch an answer is in.
_PLAN_INDEX = re.compile(r"\s*->+\s*(?:->*|>)?\s*(?:\d+|N/?A)\s*,\s*(?:\d+|N/?A)\s*$")


class _Message(Foreign, frozen=True):
    role: str
    id: int
    content: str
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
        date = _read_anchor(anchor, file) if anchor else date
        turns |= {one.id: f"s{number}_{place}" for place, one in enumerate(messages, start=1)}
        if messages:
            told = tuple(_read_turn(one, counts) for one in messages)
            yield Session(id=f"s{number}", date=date, turns=told)


def _iter_batches(file: Path) -> Iterator[_Batch]:
    """Yield the batches of a chat: a list of them, or a list of plans that hold them."""
    import msgspec

    for where, raw in items_as(file, msgspec.Raw):
        yield from _batches_in(raw, where)


def _batches_in(raw: msgspec.Raw, where: str) -> Iterable[_Batch]:
    content = bytes(raw)
    if content.lstrip()[:1] == b"[":
        return decode_as(content, list[_Batch], where)
    if b'"turns"' in content and b'"batch_number"' in content.partition(b"[")[0]:
        return [decode_as(content, _Batch, where)]
    return chain.from_iterable(decode_as(content, dict[str, list[_Batch]], where).values())


def _read_anchor(text: str, file: Path) -> str:
    try:
        return datetime.strptime(text.strip(), "%B-%d-%Y").date().isoformat()  # noqa: DTZ007 - a day has no zone
    except ValueError as error:
        raise DatasetError(f"{file}: time_anchor: expected a day such as March-02-2026, got {text!r}") from error


def _read_turn(one: _Message, counts: Counter[str]) -> Turn:
    text = _PLAN_INDEX.sub("", one.content)
    counts["cut: plan indices behind what users say, such as ->-> 1,1"] += text != one.content
    return Turn(role="assistant" if one.role == "assistant" else "user", content=text or "(nothing)")


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
            ordered = kind == "event_ordering"
            yield Question(
                id=f"{kind}_{number}",
                kind=kind,
                text=probe.question,
                gold=tuple(probe.rubric) if ordered else gold,
                match="order" if ordered else "answer",
                claims=() if ordered else tuple(probe.rubric),
                never_told=kind == "abstention",
                evidence=() if kind == "abstention" else tuple(turns[one] for one in cited if one in turns),
            )
