"""LoCoMo as a suite: a conversation for each sample, an example for each question, an entry for each category."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import ConfigurationError, DatasetError, did_you_mean
from pytest_ltm._scenario import Ask, Definition, Wait
from pytest_ltm._suite import Suite, SuiteEntry
from pytest_ltm.datasets._labels import label_of, labelled
from pytest_ltm.datasets._suites import ToldConversation
from pytest_ltm.datasets.locomo._asking import VERSION, put
from pytest_ltm.datasets.locomo._audit import load_audit
from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._delivery import history, opening, told_after
from pytest_ltm.datasets.locomo._dialogue import NextTurns
from pytest_ltm.datasets.locomo._events import EventSummaries
from pytest_ltm.datasets.locomo._file import load
from pytest_ltm.datasets.locomo._noted import NOTED, held_by
from pytest_ltm.datasets.locomo._options import Choices, choices_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._history import PastExchange
    from pytest_ltm.datasets.locomo._file import LocomoData
    from pytest_ltm.datasets.locomo._schema import Question, Sample
    from pytest_ltm.datasets.locomo._tasks import Task

PASS_MARK = 0.5
"""The F1 from which an answer passes: a right answer in other words rarely has all of it."""
PEOPLE = "people: 87.9 F1 over all categories of the published file (Maharana et al., 2024)"
"""What the paper reports of human readers."""


class LocomoSuite:
    """The questions of a LoCoMo file."""

    def __init__(self, data: LocomoData, samples: Sequence[Sample], choices: Choices) -> None:
        self._data, self._choices = data, choices
        self._samples = labelled(
            samples, ids="sample_ids", way_out="Rename one, or name one with --ltm-locomo-conversations"
        )
        self._last: tuple[str, Sequence[PastExchange]] = ("", ())
        """The thread whose history was told last, and the history: question after question asks for it."""
        self.notes = (*data.notes, *(choices.audit.notes if choices.audit else ()))
        asks = "questions" in choices.tasks
        self._tasks = {task.entry.name: task for task in _tasks(choices)}
        kinds = [kind for kind in Category if asks and any(q.category is kind for s in samples for q in s.questions)]
        self._kinds = {kind.label.replace("-", "_"): kind for kind in kinds}
        entries = tuple(
            SuiteEntry(scenario="_locomo_question", name=name, pass_mark=PASS_MARK, parameters={"category": kind.value})
            for name, kind in self._kinds.items()
        )
        others = tuple(task.entry for name, task in self._tasks.items() if self.places(name))
        for sample in samples if choices.telling in NOTED else ():
            history(sample, choices.telling)  # what has no notes is told now
        if not (entries or others):
            raise DatasetError(_nothing_to_ask(data, samples, choices))
        self.suite = Suite(name="locomo", path=str(data.path), entries=(*entries, *others))
        self.title = self._title()
        self.legend = self._legend()

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return sample and index of every question of a category, or sample and label of every example of a task."""
        if task := self._tasks.get(entry):
            return [(thread, one) for thread, sample in self._samples.items() for one in task.examples(sample)]
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
            history=self._past(thread),
            opening=opening(sample, choices.telling),
            described={
                "data": "locomo", "sha256": self._data.sha256, "sample": sample.id, "telling": choices.telling,
                "asking": choices.asking, "wording": VERSION, "after": choices.after,
                **({"images": sorted(choices.photos)} if choices.photos else {}),
            },
        )  # fmt: skip

    def alone(self, thread: str) -> Mapping[str, str]:
        """Return the option that names the sample."""
        return {"conversations": self._samples[thread].id}

    def definition(self, entry: str, thread: str, example: str) -> Definition:
        """Return one question."""
        sample = self._samples[thread]
        if task := self._tasks.get(entry):
            return task.definition(sample, self._past(thread), example)
        question = sample.questions[int(example)]
        about = [one for one in sample.speakers if re.search(rf"\b{re.escape(one)}\b", question.text)]
        past = self._past(thread)
        rng = random.Random(f"{self._choices.seed} {sample.id} {question.index}")
        wording = put(question, self._choices.asking, rng)
        return Definition(
            steps=(*self._waits(past, question), Ask(wording.text, held_by(past, question.evidence))),
            expected=question.answer,
            parameters={
                "category": question.category.value, "sample": sample.id, "question": question.text,
                "choices": list(wording.choices), "adversarial_answer": question.adversarial_answer,
                "evidence": list(question.evidence), "cited": list(question.cited), "asking": self._choices.asking,
                "kind": entry, "corrected": self._corrected(sample, question),
                "about": [about[0], *(one for one in sample.speakers if one != about[0])] if len(about) == 1 else [],
            },
        )  # fmt: skip

    def _past(self, thread: str) -> Sequence[PastExchange]:
        if self._last[0] != thread:
            self._last = thread, tuple(history(self._samples[thread], self._choices.telling, self._choices.photos))
        return self._last[1]

    def _corrected(self, sample: Sample, question: Question) -> dict[str, Any] | None:
        """Return what the audit says of a question, as JSON values; None without an audit."""
        if self._choices.audit is None:
            return None
        found = self._choices.audit.of(sample, question)
        if found is None:
            return {"kind": "", "disputed": False, "answer": question.answer, "evidence": list(question.evidence)}
        return {
            "kind": found.kind, "disputed": found.disputed, "answer": found.answer, "evidence": list(found.evidence),
        }  # fmt: skip

    def _title(self) -> str:
        asked = sum(len(sample.questions) for sample in self._samples.values())
        file, held = self._data.known_as or self._data.path.name, len(self._samples)
        disputed = "" if self._choices.audit is None else f", {self._disputed()} of them disputed"
        held_and_asked = f"{held} conversation{'s' * (held != 1)}, {asked} question{'s' * (asked != 1)}"
        others = "".join(f", {name}" for name in self._tasks)
        if not self._kinds:
            return f"{file}: {held} conversation{'s' * (held != 1)}{others}"
        return f"{file}: {held_and_asked}{disputed}, asked the {self._choices.asking} way{others}"

    def _disputed(self) -> int:
        audit = self._choices.audit
        pairs = [(sample, question) for sample in self._samples.values() for question in sample.questions]
        found = [audit.of(*pair) for pair in pairs] if audit else []
        return sum(one is not None and one.disputed for one in found)

    def _legend(self) -> tuple[str, ...]:
        if not self._kinds:
            return ()
        numbered = ", ".join(f"{kind.value} {name}" for name, kind in self._kinds.items())
        return (f"LoCoMo, asked the {self._choices.asking} way; categories by number: {numbered}", PEOPLE)

    def _waits(self, past: Sequence[PastExchange], question: Question) -> tuple[Wait, ...]:
        """Return what a question waits for; a choice, one token more than others that are due at the same moment.

        The wrong answer of a choice is the right one of another question for three in ten of these, word for word.
        """
        last = int(question.category is Category.ADVERSARIAL)
        after, told = self._choices.after, len(past)
        if after is not None:
            told = told_after(past, set(held_by(past, question.evidence)))
        return (Wait(history=told), Wait(tokens=after + last)) if after else (Wait(history=told, tokens=last),)


def open_suite(
    path: Path | None,
    options: Mapping[str, str],
    *,
    seed: int,
    cache: Path | None = None,  # noqa: ARG001 - small files are read anew
) -> LocomoSuite:
    """Return the suite of a file or folder; DatasetError or ConfigurationError for what cannot be used."""
    if path is None:
        raise DatasetError(
            "LoCoMo is not shipped: download locomo10.json, or make conversations with python -m pytest_ltm "
            "locomo-generate, and give --ltm-data=PATH"
        )
    data = load(path)
    audit = load_audit(Path(options["audit"]), data.samples) if options.get("audit") else None
    chosen = _chosen(data, options.get("conversations", ""))
    return LocomoSuite(data, chosen, choices_of(options, seed, audit))


def _nothing_to_ask(data: LocomoData, samples: Sequence[Sample], choices: Choices) -> str:
    names = ", ".join(sample.id for sample in samples)
    no = " and no ".join(choices.tasks)
    return f"{data.path}: nothing to ask: no {no} in {names}. See --ltm-locomo-tasks and --ltm-locomo-conversations"


def _tasks(choices: Choices) -> list[Task]:
    """Return the tasks that are played beside the questions."""
    dialogue = NextTurns(
        turns=choices.next_turns, seed=choices.seed, telling=choices.telling, embeddings=choices.embeddings
    )
    known: dict[str, Task] = {"events": EventSummaries(), "dialogue": dialogue}
    return [known[name] for name in choices.tasks if name in known]


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
