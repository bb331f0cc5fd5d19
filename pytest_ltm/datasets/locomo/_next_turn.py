"""The verdict on one next turn, and the figures beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pytest_ltm._dotted import DottedPath
from pytest_ltm._errors import ConfigurationError
from pytest_ltm._score import Score
from pytest_ltm.datasets.locomo._overlap import bleu, rouge

if TYPE_CHECKING:
    from pytest_ltm._scenario import Definition

Embeds: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text, all of one length."""
_PHOTO = re.compile(r"\[shares a photo:\s*([^\]]*)\]", re.IGNORECASE)
_QUOTES = "\"'“”‘’ \n\t"  # noqa: RUF001 - quotes as people type them
_SHOWN = 300


class NextTurn:
    """One answer to a definition of dialogue generation: its score, and the figures beside it."""

    def __init__(self, definition: Definition, answer: str) -> None:
        gold, facts = definition.expected, definition.parameters
        self._gold = (str(gold["said"]), str(gold["photo"]))
        self._said = taken_apart(answer, str(facts["speaker"]))
        self._embeddings = str(facts["embeddings"])
        self._overlap = bleu(self._gold[0], self._said[0]) | {"rougeL": rouge(self._gold[0], self._said[0])["rougeL"]}

    @property
    def score(self) -> Score:
        """The ROUGE-L of what is said."""
        value = self._overlap["rougeL"]
        return Score(
            value, f"ROUGE-L {value:.3f} of {self._gold[0]!r}", rule="locomo-dialogue-rouge/1",
            evidence=self._said[0][:_SHOWN],
        )  # fmt: skip

    @property
    def measures(self) -> dict[str, float]:
        """`bleu1`, `bleu2`, `bleu4`, `rougeL` of what is said; `photo_agrees`: whether both share a photo or neither.

        With embeddings `mm_relevance`; ConfigurationError if the function is none or returns something else.
        """
        found = self._overlap | {"photo_agrees": float(bool(self._gold[1]) == bool(self._said[1]))}
        if self._embeddings:
            gold, said = ([part for part in pair if part] for pair in (self._gold, self._said))
            found["mm_relevance"] = relevance(gold, said, embedding(self._embeddings))
        return found


def taken_apart(answer: str, speaker: str) -> tuple[str, str]:
    """Return what is said, without the speaker's name before it and quotes around it, and what a shared photo shows."""
    photo = _PHOTO.search(answer)
    text = _PHOTO.sub(" ", answer).strip()
    text = re.sub(rf"^\**{re.escape(speaker)}\**\s*:\**\s*", "", text)
    return text.strip(_QUOTES), photo[1].strip() if photo else ""


def relevance(gold: Sequence[str], said: Sequence[str], embeds: Embeds) -> float:
    """Return the MM-relevance (Feng et al., 2023) of two turns of text and photo, by vectors of texts.

    Their parts are compared in order by cosine (below 0 counts 0); the sum is divided by the number of parts said
    (precision) and of those expected (recall), and the result is their harmonic mean, 0 to 1.
    """
    if not gold or not said:
        return 0.0
    vectors = _vectors(embeds, [*gold, *said])
    pairs = zip(vectors[: len(gold)], vectors[len(gold) :], strict=False)
    shared = sum(max(0.0, _cosine(one, other)) for one, other in pairs)
    return min(1.0, 2 * shared / (len(gold) + len(said)))


def embedding(path: str) -> Embeds:
    """Return the function that a dotted path names; ConfigurationError if there is none."""
    found = DottedPath(path, what="--ltm-locomo-embeddings", error=ConfigurationError).resolve()
    if not callable(found):
        raise ConfigurationError(f"--ltm-locomo-embeddings: {path!r} is no function of a list of texts")
    return cast(Embeds, found)


def _vectors(embeds: Embeds, texts: list[str]) -> list[list[float]]:
    try:
        found = [[float(value) for value in vector] for vector in embeds(texts)]
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"--ltm-locomo-embeddings: expected a vector of numbers for each text: {error}"
        ) from error
    if len(found) != len(texts) or len({len(vector) for vector in found}) != 1:
        raise ConfigurationError(
            f"--ltm-locomo-embeddings: expected {len(texts)} vectors of one length, got lengths {[*map(len, found)]}"
        )
    return found


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0
