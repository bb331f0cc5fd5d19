"""Corrections of gold answers and evidence, from an audit's file: beside the published ones, never in their place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError, DefinitionError
from pytest_ltm._fields import Field
from pytest_ltm.datasets._json import json_in
from pytest_ltm.datasets.locomo._evidence import repaired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ltm.datasets.locomo._schema import Question, Sample

CITATION = "WRONG_CITATION"
"""The kind of error that leaves the gold answer right."""
_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_NEEDED = ("question_id", "question", "error_type", "correct_answer", "correct_evidence")


@dataclass(frozen=True, slots=True)
class Correction:
    """What an audit says of one question."""

    kind: str
    """`HALLUCINATION`, `TEMPORAL_ERROR`, `WRONG_CITATION`, ..."""
    answer: str
    """The corrected gold answer, without the auditor's asides in brackets."""
    evidence: tuple[str, ...]
    """Ids of turns, repaired."""

    @property
    def disputed(self) -> bool:
        """Whether the published gold answer is wrong, not only its citation."""
        return self.kind != CITATION


@dataclass(frozen=True, slots=True)
class Audit:
    """All corrections of a file."""

    corrections: Mapping[tuple[str, int], Correction]
    """By sample and index of the question."""
    notes: tuple[str, ...]

    def of(self, sample: Sample, question: Question) -> Correction | None:
        """Return what it says of a question, None if it has nothing against it."""
        return self.corrections.get((sample.id, question.index))


def load_audit(path: Path, samples: Sequence[Sample]) -> Audit:
    """Return the corrections that fit the samples; DatasetError for a file that cannot be used.

    A row is known by its id `locomo_<conversation>_qa<question>`, both from 0, and by the question's text.
    """
    try:
        tops = Field(json_in(path.read_bytes(), str(path)), str(path)).items("corrections")
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    except DefinitionError as error:
        raise DatasetError(str(error)) from error
    return _matched(tops, samples)


def _matched(tops: Sequence[Field], samples: Sequence[Sample]) -> Audit:
    found: dict[tuple[str, int], Correction] = {}
    strangers = 0
    for top in tops:
        try:
            fields = top.mapping(required=_NEEDED)
            place = _place(fields, samples)
            if place is None:
                strangers += 1
                continue
            sample, question = place
            found[sample.id, question.index] = _correction(fields, sample, question)
        except DefinitionError as error:
            raise DatasetError(str(error)) from error
    lost = f"corrections of the audit that fit no question of the file: {strangers}"
    return Audit(found, (lost,) if strangers else ())


def _place(fields: Mapping[str, Field], samples: Sequence[Sample]) -> tuple[Sample, Question] | None:
    named = _ID.fullmatch(fields["question_id"].text())
    if named is None or int(named[1]) >= len(samples):
        return None
    sample = samples[int(named[1])]
    if int(named[2]) >= len(sample.questions):
        return None
    question = sample.questions[int(named[2])]
    return (sample, question) if question.text == fields["question"].text() else None


def _correction(fields: Mapping[str, Field], sample: Sample, question: Question) -> Correction:
    kind, known = fields["error_type"].text(), {turn.id for turn in sample.turns}
    answer = question.answer or ""
    if kind != CITATION:
        said = str(fields["correct_answer"].value)
        answer = _ASIDE.sub("", said).strip() or said
    return Correction(kind, answer, repaired(fields["correct_evidence"].texts(), known)[0])
