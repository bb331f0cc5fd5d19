"""Retrieval: whether the texts that an agent retrieved contain the needles of a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from pytest_ltm._core.model.transcript import Exchange

if TYPE_CHECKING:
    from pytest_ltm._core.journal.result import QuestionResult

# The depths at which each example reports its recall.
DEPTHS = (5, 10)
# The rank of a needle that was not retrieved.
MISSED = 0


def retrieval_ranks(
    retrieved: Sequence[str],
    in_context: Sequence[str],
    needles: Mapping[int, str],
    exchanges: Sequence[Exchange],
) -> dict[int, int]:
    """Return for each needle the rank, from 1, of the first retrieved text that contains its whole message.

    `MISSED` if none does. Needles without evidence are left out: those in the agent's
    context anyway (`in_context`); and all of them if no retrieved text contains a
    message or reply of `exchanges`, because the texts may be ids or the agent's own
    summaries.
    """
    texts = list(map(_plain_casefold, retrieved))
    context_texts = list(map(_plain_casefold, in_context))
    numbers = {}
    for number, needle in needles.items():
        plain_needle = _plain_casefold(needle)
        place = next(
            (number for number, text in enumerate(texts, 1) if plain_needle in text),
            MISSED,
        )
        if place or not any(plain_needle in text for text in context_texts):
            numbers[number] = place
    if (
        numbers
        and texts
        and not any(numbers.values())
        and not _is_text(retrieved, texts, exchanges)
    ):
        return {}
    return numbers


def _is_text(
    retrieved: Sequence[str], texts: Sequence[str], exchanges: Sequence[Exchange]
) -> bool:
    """Return whether a retrieved text contains a message or reply, or begins with one as its own line."""
    for part in _iter_parts(exchanges):
        # The usual case, and fast.
        if any(_begins(text, part) for text in retrieved):
            return True
    parts = filter(None, map(_plain_casefold, _iter_parts(exchanges)))
    return any(part in text for part in parts for text in texts)


def _iter_parts(exchanges: Sequence[Exchange]) -> Iterator[str]:
    for exchange in exchanges:
        yield from filter(None, (exchange.message, exchange.raw_reply))


def _begins(text: str, part: str) -> bool:
    return text.startswith(part) and text[len(part) : len(part) + 1] in ("", "\n")


def _plain_casefold(text: str) -> str:
    return " ".join(text.split()).casefold()


def recall_at(questions: Iterable[QuestionResult], k: int) -> float | None:
    """Return the share of the needles among the first `k` retrieved texts, averaged over questions.

    None if it is unknown for all questions.
    """
    shares = []
    for ranks in filter(None, map(_known_ranks, questions)):
        shares.append(fmean(MISSED < rank <= k for rank in ranks))
    return fmean(shares) if shares else None


def _known_ranks(question: QuestionResult) -> list[int]:
    return [needle.rank for needle in question.needles if needle.rank is not None]


def retrieval_metrics(questions: Sequence[QuestionResult]) -> dict[str, float]:
    """Return the recall at each of `DEPTHS`, and the mean rank of the found needles; empty if unknown."""
    values = {
        f"recall@{k}": value
        for k in DEPTHS
        if (value := recall_at(questions, k)) is not None
    }
    ranks = chain.from_iterable(map(_known_ranks, questions))
    if places := list(filter(None, ranks)):
        values["needle_rank"] = fmean(places)
    return values


def evidence_found(
    questions: Sequence[QuestionResult], metrics: Mapping[str, float]
) -> bool | None:
    """Return whether all needles of known rank were retrieved, else whether the recall is 1; None if unknown."""
    ranks = list(chain.from_iterable(map(_known_ranks, questions)))
    if ranks:
        return MISSED not in ranks
    recall = metrics.get("recall_repaired", metrics.get("recall"))
    return None if recall is None else recall == 1


def covers_all(exchanges: Iterable[Exchange]) -> bool:
    """Return whether each question retrieved at least as many texts as earlier exchanges, so nothing was selected."""
    exchanges_before = 0
    questions = 0
    for exchange in exchanges:
        if exchange.kind == "ask":
            if (
                not exchanges_before
                or exchange.retrieved is None
                or len(exchange.retrieved) < exchanges_before
            ):
                return False
            questions += 1
        exchanges_before += not exchange.alone
    return questions > 0
