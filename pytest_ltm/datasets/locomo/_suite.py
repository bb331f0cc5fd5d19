"""LoCoMo as a suite: a conversation for each sample, an example for each question, an entry for each category."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, DatasetError, did_you_mean
from pytest_ltm._scenario import Ask, Definition, Wait
from pytest_ltm._suite import Suite, SuiteEntry
from pytest_ltm.datasets._suites import ToldConversation
from pytest_ltm.datasets.locomo._asking import ASKINGS, VERSION, put
from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._delivery import TELLINGS, history, opening, told_after
from pytest_ltm.datasets.locomo._file import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ltm._history import PastExchange
    from pytest_ltm.datasets.locomo._file import LocomoData
    from pytest_ltm.datasets.locomo._schema import Question, Sample

PASS_MARK = 0.5
"""The F1 from which an answer passes: a right answer in other words rarely has all of it."""
OPTIONS = ("conversations", "asking", "telling", "after")
"""The names of the options that this data set has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the options say."""

    asking: str = "official"
    telling: str = "turns"
    after: int | None = None
    """So many tokens after its evidence a question is asked; None: after the whole history."""
    seed: int = 0


class LocomoSuite:
    """The questions of a LoCoMo file."""

    def __init__(self, data: LocomoData, samples: Sequence[Sample], choices: Choices) -> None:
        self._data, self._choices = data, choices
        self._samples = {label_of(sample.id): sample for sample in samples}
        self.notes = data.notes
        kinds = [kind for kind in Category if any(q.category is kind for sample in samples for q in sample.questions)]
        self._kinds = {kind.label.replace("-", "_"): kind for kind in kinds}
        entries = tuple(
            SuiteEntry(scenario="_locomo_question", name=name, pass_mark=PASS_MARK, parameters={"category": kind.value})
            for name, kind in self._kinds.items()
        )
        self.suite = Suite(name="locomo", path=str(data.path), entries=entries)
        asked = sum(len(sample.questions) for sample in samples)
        file, way = data.known_as or data.path.name, f"asked {choices.asking}ly"
        self.title = f"{file}: {len(samples)} conversations, {asked} questions, {way}"

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return sample and index of every question of a category."""
        kind = self._kinds[entry]
        return [
            (thread, str(question.index))
            for thread, sample in self._samples.items()
            for question in sample.questions
            if question.category is kind
        ]

    def told(self, thread: str) -> ToldConversation:
        """Return the sample's sessions."""
        sample, choices = self._samples[thread], self._choices
        return ToldConversation(
            history=history(sample, choices.telling),
            opening=opening(sample),
            described={
                "data": "locomo", "sha256": self._data.sha256, "sample": sample.id, "telling": choices.telling,
                "asking": choices.asking, "wording": VERSION, "after": choices.after,
            },
        )  # fmt: skip

    def definition(self, entry: str, thread: str, example: str) -> Definition:
        """Return one question."""
        sample = self._samples[thread]
        question = sample.questions[int(example)]
        past = history(sample, self._choices.telling)
        rng = random.Random(f"{self._choices.seed} {sample.id} {question.index}")
        wording = put(question, self._choices.asking, rng)
        return Definition(
            steps=(*self._waits(past, question), Ask(wording.text, question.evidence)),
            expected=question.answer,
            parameters={
                "category": question.category.value, "sample": sample.id, "question": question.text,
                "choices": list(wording.choices), "adversarial_answer": question.adversarial_answer,
                "evidence": list(question.evidence), "cited": list(question.cited), "asking": self._choices.asking,
                "kind": entry,
            },
        )  # fmt: skip

    def _waits(self, past: Sequence[PastExchange], question: Question) -> tuple[Wait, ...]:
        if self._choices.after is None:
            return (Wait(history=len(past)),)
        return Wait(history=told_after(past, set(question.evidence))), Wait(tokens=self._choices.after)


def open_suite(path: Path | None, options: Mapping[str, str], *, seed: int) -> LocomoSuite:
    """Return the suite of a file or folder; DatasetError or ConfigurationError for what cannot be used."""
    if path is None:
        raise DatasetError("LoCoMo is not shipped: download locomo10.json and give --ltm-data=PATH")
    data = load(path)
    return LocomoSuite(data, _chosen(data, options.get("conversations", "")), _choices(options, seed))


def label_of(name: str) -> str:
    """Return a sample's name as a label of node ids."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _chosen(data: LocomoData, names: str) -> Sequence[Sample]:
    """Return the samples that a list of ids or places (from 0) names; all for an empty one."""
    by_name = {key: sample for i, sample in enumerate(data.samples) for key in (sample.id, label_of(sample.id), str(i))}
    found = {}
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name not in by_name:
            raise ConfigurationError(
                f"--ltm-locomo-conversations: no conversation {name!r}.{did_you_mean(name, by_name)} "
                f"There are {', '.join(sample.id for sample in data.samples)}"
            )
        found[by_name[name].id] = by_name[name]
    return tuple(found.values()) or data.samples


def _choices(options: Mapping[str, str], seed: int) -> Choices:
    after = options.get("after", "")
    if after and not after.isdecimal():
        raise ConfigurationError(f"--ltm-locomo-after: expected a number of tokens, got {after!r}")
    return Choices(
        asking=_one_of(options, "asking", ASKINGS),
        telling=_one_of(options, "telling", TELLINGS),
        after=int(after) if after else None,
        seed=seed,
    )


def _one_of(options: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    given = options.get(name) or known[0]
    if given not in known:
        raise ConfigurationError(
            f"--ltm-locomo-{name}: {given!r} is not one of {', '.join(known)}.{did_you_mean(given, known)}"
        )
    return given
