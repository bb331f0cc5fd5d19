"""Whether an agent that shows what it retrieved had found the needles of a question: by their text."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._engine.result import QuestionResult
    from pytest_ltm._engine.transcript import Exchange


DEPTHS = (5, 10)
"""The k of the recall that each example reports."""
MISSED = 0
"""The rank of a needle that was not retrieved."""


def ranks(retrieved: Sequence[str] | None, needles: Sequence[str], said: Iterable[Exchange]) -> tuple[int | None, ...]:
    """Return for each needle the place, from 1, of the first retrieved text that holds its whole message.

    `MISSED` if none does. None for all where that cannot be told: nothing is reported, or of what is, no text holds any
    message or reply that was `said` before, so that it may be ids, or what the agent made of what it heard.
    """
    if retrieved is None:
        return (None,) * len(needles)
    texts = [_plain(text) for text in retrieved]
    places = [next((at for at, text in enumerate(texts, 1) if _plain(one) in text), MISSED) for one in needles]
    if texts and not any(places) and not _is_text(retrieved, texts, said):
        return (None,) * len(needles)
    return tuple(places)


def _is_text(retrieved: Sequence[str], texts: Sequence[str], said: Iterable[Exchange]) -> bool:
    parts = {part for each in said for part in (each.message, each.reply)}
    if not parts.isdisjoint(retrieved):  # the usual case, and a quick one
        return True
    heard = {_plain(part) for part in parts} - {""}
    return any(text in heard for text in texts) or any(one in text for text in texts for one in heard)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def recall(questions: Iterable[QuestionResult], k: int) -> float | None:
    """Return the share of the needles that stood among the first `k` retrieved texts, mean over questions.

    None if that is not known of any question.
    """
    found = [
        fmean(MISSED < rank <= k for rank in known)
        for question in questions
        if (known := [needle.rank for needle in question.needles if needle.rank is not None])
    ]
    return fmean(found) if found else None


def metrics(questions: Sequence[QuestionResult]) -> dict[str, float]:
    """Return the recall at each of `DEPTHS`, and the mean rank of the needles that were found; nothing if unknown."""
    found = {f"recall@{k}": value for k in DEPTHS if (value := recall(questions, k)) is not None}
    places = [needle.rank for question in questions for needle in question.needles if needle.rank]
    return {**found, "needle_rank": fmean(places)} if places else found


def covers_all(asked: Sequence[Exchange]) -> bool:
    """Whether each question got at least as many texts as exchanges stood before it: then nothing was chosen."""
    return bool(asked) and all(
        one.number and one.retrieved is not None and len(one.retrieved) >= one.number for one in asked
    )
