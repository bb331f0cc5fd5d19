"""LoCoMo as a suite: a conversation per sample, an example per question, an entry per category."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pytest_ltm.api.model import PastExchange
from pytest_ltm.api.scenarios import (
    Ask,
    Definition,
    KeptHistory,
    Questions,
    Suite,
    SuiteEntry,
    ToldConversation,
    Wait,
    label_of,
    told_after,
)
from pytest_ltm.api.storage import (
    ConfigurationError,
    DatasetError,
    did_you_mean,
    pluralize,
)
from pytest_ltm.datasets.dataset_registry import NOTE_KINDS
from pytest_ltm.datasets.locomo.answer import Audit, load_audit
from pytest_ltm.datasets.locomo.samples import (
    Category,
    LocomoData,
    LocomoQuestion,
    Sample,
    held_by,
    history_exchanges,
    load_locomo,
    opening_message,
    photos_in,
)
from pytest_ltm.datasets.locomo.tasks import EventSummaries, NextTurns, load_embedding
from pytest_ltm.datasets.prompt_file import PromptFile, load_prompts
from pytest_ltm.datasets.rows import by_unique_label
from pytest_ltm.language.overlap import make_rouge_scorer

THRESHOLD = 0.5
"""The passing F1: a right answer in other words rarely reaches 1."""
PEOPLE = (
    "people: 87.9 F1 over all categories of the published file (Maharana et al., 2024)"
)
"""The human scores reported in the paper."""
SCORED_STRICTLY = "protocol=ours: strict rules decide, and what they cannot prove is open; the F1 is shown as a metric"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoOptions:
    """Values of the suite's options: questions, history format, timing and additional metrics."""

    conversations: tuple[str, ...]
    """Ids or positions, from 0; empty for all."""
    asking: str
    telling: str
    tasks: tuple[str, ...]
    next_turns: int
    """Number of turns to ask for per conversation."""
    embeddings: str
    """The dotted path of a function that embeds texts; "" for none."""
    after: int | None
    """Tokens between the evidence and a question; None to ask after the whole history."""
    audit: str
    """A file of corrections to show in addition to the published answers; "" for none."""
    images: str
    """A folder of photos; "" for none."""
    protocol: str
    """`official`: the authors' F1 is the score; `ours`: strict rules, and a judge for what they leave open."""
    prompts: str
    """A file with wordings of questions and judge prompts; "" for ours."""
    questions: Questions
    """Whether each question is asked of the history alone."""


@contextmanager
def _errors_of(option: str) -> Iterator[None]:
    """Convert a DatasetError to a ConfigurationError that names the option, instead of --ltm-suite."""
    try:
        yield
    except DatasetError as error:
        raise ConfigurationError(f"--ltm-suite=locomo?{option}: {error}") from error


class LocomoSuite:
    """The questions of a LoCoMo file."""

    def __init__(self, data: LocomoData, choices: LocomoOptions, seed: int) -> None:
        self._data = data
        self._choices = choices
        self._seed = seed
        samples = _chosen_samples(data, choices.conversations)
        self._samples = by_unique_label(
            {sample.id: sample for sample in samples},
            ids="sample_ids",
            way_out="Rename one, or name one with conversations=ID",
        )
        missing_photos = self._load_files()
        self._past = KeptHistory(self._tell_history)
        self._check_choices()
        self._tasks = _chosen_tasks(choices, seed)
        self._kinds = _asked_kinds(choices, samples)
        self.notes: Sequence[str] = self._collect_notes(missing_photos)
        self.suite = Suite(
            name="locomo", path=str(data.path), entries=self._make_entries()
        )
        self.title = self._title()
        self.legend: Sequence[str] = self._make_legend() if self._kinds else ()

    def _load_files(self) -> str:
        """Read the files named by options; return a note about missing photos."""
        choices = self._choices
        self._audit: Audit | None = None
        self._photos: Mapping[str, str] = {}
        missing_photos = ""
        if choices.audit:
            with _errors_of("audit"):
                self._audit = load_audit(Path(choices.audit), self._data.samples)
        with _errors_of("prompts"):
            self._prompts = _load_prompts(choices)
        if choices.images:
            with _errors_of("images"):
                self._photos, missing_photos = photos_in(
                    Path(choices.images), [*self._samples.values()]
                )
        return missing_photos

    def _tell_history(self, name: str) -> Sequence[PastExchange]:
        return history_exchanges(
            self._samples[name], self._choices.telling, self._photos
        )

    def _check_choices(self) -> None:
        """Raise for problems that would only show when used: a bad embedding, a missing library or missing notes."""
        if self._choices.embeddings:
            load_embedding(self._choices.embeddings)
        if self._choices.telling in NOTE_KINDS:
            for sample in self._samples.values():
                history_exchanges(sample, self._choices.telling)

    def _collect_notes(self, missing_photos: str) -> list[str]:
        notes = [*self._data.notes]
        if self._prompts is not None:
            notes.insert(0, self._prompts.note)
        if missing_photos:
            notes.append(missing_photos)
        if self._audit is not None:
            notes.extend(self._audit.notes)
        return notes

    def _make_entries(self) -> tuple[SuiteEntry, ...]:
        """Return an entry per category and task; DatasetError if no entry has anything to ask."""
        entries = []
        for name, kind in self._kinds.items():
            entry = SuiteEntry(
                scenario="_locomo_question",
                name=name,
                threshold=THRESHOLD,
                parameters={"category": kind.value},
            )
            entries.append(entry)
        for name, task in self._tasks.items():
            if self.places(name):
                entries.append(task.entry)
        if not entries:
            tasks = " and no ".join(self._choices.tasks)
            names = ", ".join(sample.id for sample in self._samples.values())
            raise DatasetError(
                f"{self._data.path}: nothing to ask: no {tasks} in {names}. See tasks and conversations"
            )
        return tuple(entries)

    def _make_legend(self) -> tuple[str, str]:
        numbered = [f"{kind.value} {name}" for name, kind in self._kinds.items()]
        setting = "all questions in one talk"
        if self._choices.questions == "alone":
            setting = "each question alone"
        scoring = SCORED_STRICTLY if self._choices.protocol == "ours" else PEOPLE
        return (
            f"LoCoMo, asked the {self._choices.asking} way, {setting}; categories by number: {', '.join(numbered)}",
            scoring,
        )

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return sample and index of a category's questions, or sample and label of a task's examples."""
        places = []
        task = self._tasks.get(entry)
        for thread, sample in self._samples.items():
            if task:
                places += [(thread, example) for example in task.examples(sample)]
                continue
            for question in sample.questions:
                if question.category is self._kinds[entry]:
                    places.append((thread, str(question.index)))
        return places

    def told(self, thread: str) -> ToldConversation:
        """Return the sample's sessions."""
        sample = self._samples[thread]
        choices = self._choices
        return ToldConversation(
            history=self._past(thread),
            opening=(self._prompts and self._prompts.opening)
            or opening_message(sample, choices.telling),
            described={
                "data": "locomo",
                "sha256": self._data.sha256,
                "sample": sample.id,
                "telling": choices.telling,
                "asking": choices.asking,
                "wording": WORDING,
                "after": choices.after,
                **({"images": sorted(self._photos)} if self._photos else {}),
                **({"prompts": self._prompts.sha256} if self._prompts else {}),
            },
        )

    def alone(self, thread: str) -> Mapping[str, str]:
        """Return the option that names the sample."""
        return {"conversations": self._samples[thread].id}

    def definition(self, entry: str, thread: str, example: str) -> Definition:
        """Return one question."""
        sample = self._samples[thread]
        past = self._past(thread)
        if task := self._tasks.get(entry):
            return task.definition(sample, past, example)
        question = sample.questions[int(example)]
        about = []
        for speaker in sample.speakers:
            if re.search(rf"\b{re.escape(speaker)}\b", question.text):
                about.append(speaker)
        # seeded per question: the order of its choices does not depend on which others
        # are asked
        rng = random.Random(f"{self._seed} {sample.id} {question.index}")
        text, choices = phrase_question(question, self._choices.asking, rng)
        text = self._reword_question(question, choices) or text
        corrected: dict[str, Any] | None = None
        if self._audit is not None:
            correction = self._audit.correction_for(sample, question)
            corrected = {
                "kind": correction.kind,
                "disputed": correction.gold_is_wrong,
                "answer": correction.answer,
                "evidence": list(correction.evidence),
            }
        return Definition(
            steps=(
                *self._waits(past, question),
                Ask(text, held_by(past, question.evidence)),
            ),
            expected=question.answer,
            parameters={
                "category": question.category.value,
                "sample": sample.id,
                "question": question.text,
                "choices": choices,
                "adversarial_answer": question.adversarial_answer,
                "evidence": list(question.evidence),
                "cited": list(question.cited),
                "asking": self._choices.asking,
                "kind": entry,
                "corrected": corrected,
                "about": [
                    about[0],
                    *(speaker for speaker in sample.speakers if speaker != about[0]),
                ]
                if len(about) == 1
                else [],
                **({"protocol": "ours"} if self._choices.protocol == "ours" else {}),
                **(self._prompts.facts_of(entry) if self._prompts else {}),
            },
        )

    def _reword_question(self, question: LocomoQuestion, choices: Sequence[str]) -> str:
        """Return a question in the wording of the file, "" if it has none for its category."""
        if self._prompts is None:
            return ""
        parts = dict(zip("ab", choices, strict=False))
        kind = question.category.label.replace("-", "_")
        return self._prompts.ask(kind, question=question.text, **parts)

    def _title(self) -> str:
        conversations = pluralize(len(self._samples), "conversation")
        title = f"{self._data.known_as or self._data.path.name}: {conversations}"
        if self._kinds:
            count = 0
            disputed = 0
            for sample in self._samples.values():
                count += len(sample.questions)
                if self._audit:
                    for question in sample.questions:
                        correction = self._audit.correction_for(sample, question)
                        disputed += correction.gold_is_wrong
            title += f", {pluralize(count, 'question')}"
            if self._audit:
                title += f", {disputed} of them disputed"
            title += f", asked the {self._choices.asking} way"
        return ", ".join([title, *self._tasks])

    def _waits(
        self, past: Sequence[PastExchange], question: LocomoQuestion
    ) -> tuple[Wait, ...]:
        """Return the wait before a question; a choice waits longer than others due at the same moment.

        In three of ten choices, the wrong answer is verbatim the right one of another question. So it waits for one
        more token or, if questions are asked alone and no tokens may be added, for a second.
        """
        last = int(question.category is Category.ADVERSARIAL)
        after = self._choices.after
        number = len(past)
        if after is not None:
            number = told_after(past, set(held_by(past, question.evidence)))
        if self._choices.questions == "alone":
            due = Wait(tokens=after or 0, time=timedelta(seconds=last))
            return (Wait(history=number), *([due] if due != Wait() else []))
        if after:
            return (Wait(history=number), Wait(tokens=after + last))
        return (Wait(history=number, tokens=last),)


def _chosen_tasks(
    choices: LocomoOptions, seed: int
) -> dict[str, EventSummaries | NextTurns]:
    """Return the tasks other than questions; ConfigurationError if the library that scores them is missing."""
    known: dict[str, EventSummaries | NextTurns] = {
        "events": EventSummaries(),
        "dialogue": NextTurns(
            choices.next_turns, seed, choices.telling, choices.embeddings
        ),
    }
    tasks = {name: known[name] for name in choices.tasks if name in known}
    if tasks:
        make_rouge_scorer()
    return tasks


def _asked_kinds(
    choices: LocomoOptions, samples: Sequence[Sample]
) -> dict[str, Category]:
    """Return the categories that have questions, by the name of their entry."""
    if "questions" not in choices.tasks:
        return {}
    asked: set[Category] = set()
    for sample in samples:
        asked.update(question.category for question in sample.questions)
    return {kind.label.replace("-", "_"): kind for kind in Category if kind in asked}


def _load_prompts(choices: LocomoOptions) -> PromptFile | None:
    """Return the prompts of the file; adversarial questions may refer to both choices."""
    if not choices.prompts:
        return None
    kinds: dict[str, tuple[str, ...]] = {}
    for kind in Category:
        kinds[kind.label.replace("-", "_")] = ()
    if choices.asking == "official":
        kinds[Category.ADVERSARIAL.label] = ("a", "b")
    return load_prompts(Path(choices.prompts), kinds)


def open_suite(
    path: Path | None, values: Mapping[str, Any], seed: int, _cache: Path | None
) -> LocomoSuite:
    """Open the suite of a file or folder; DatasetError or ConfigurationError for unusable values."""
    if path is None:
        raise DatasetError(
            "LoCoMo is not shipped: download locomo10.json, or make conversations with ltm data locomo-generate, "
            "and give --ltm-suite='locomo?data=PATH'"
        )
    return LocomoSuite(load_locomo(path), LocomoOptions(**values), seed)


def _chosen_samples(data: LocomoData, names: Sequence[str]) -> Sequence[Sample]:
    """Return the samples with the given ids or positions; all if none are given."""
    by_name = {}
    for i, sample in enumerate(data.samples):
        for key in (sample.id, label_of(sample.id), str(i)):
            by_name[key] = sample
    for name in names:
        if name not in by_name:
            raise ConfigurationError(
                f"--ltm-suite=locomo?conversations: no conversation {name!r}.{did_you_mean(name, by_name)} "
                f"Choose from {', '.join(sample.id for sample in data.samples)}"
            )
    if not names:
        return data.samples
    chosen = {by_name[name].id: by_name[name] for name in names}
    return tuple(chosen.values())


# --- Wordings of questions: as in the published evaluation (in our own words), or free.

NOT_MENTIONED = "Not mentioned in the conversation"
"""The text of an adversarial question's right choice; contains the official phrase."""
WORDING = 1
"""The version of the wordings of questions."""

_SHORT = "Answer with a short phrase, in words of the conversation where you can."
_DATED = (
    "Say when, as a date; the date of the session gives at least an approximate one."
)


def phrase_question(
    question: LocomoQuestion, asking: str, rng: random.Random
) -> tuple[str, list[str]]:
    """Return the question in the chosen wording, and its choices (a) and (b), if any.

    `rng` orders the choices.
    """
    text = f"About the conversation that you have read: {question.text}"
    if asking == "free":
        return text, []
    if question.category is Category.TEMPORAL:
        return f"{text} {_SHORT} {_DATED}", []
    if question.category is not Category.ADVERSARIAL:
        return f"{text} {_SHORT}", []
    choices = [
        NOT_MENTIONED,
        question.adversarial_answer or question.answer or "Something else",
    ]
    rng.shuffle(choices)
    pairs = zip("ab", choices, strict=True)
    listed = " ".join(f"({letter}) {choice}" for letter, choice in pairs)
    return f"{text} Choose one of the two: {listed}", choices
