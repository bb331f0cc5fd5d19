"""The verdict on one answer to a LoCoMo question, with additional metrics."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_ltm.api.model import UNDECIDED, Score, Unscored
from pytest_ltm.api.scenarios import (
    PROMPTS,
    Definition,
    Judge,
    JudgeDecision,
    JudgePrompt,
    ask_judge,
)
from pytest_ltm.api.storage import Field
from pytest_ltm.datasets.locomo.samples import (
    Category,
    LocomoQuestion,
    Sample,
    repair_citations,
)
from pytest_ltm.datasets.locomo.strict import (
    abstains_from_answer,
    chosen_choice,
    official_f1,
    strict_verdict,
)
from pytest_ltm.datasets.longmemeval.evaluation import ask_for_verdict
from pytest_ltm.datasets.prompt_file import limited_answer, verbatim_prompt
from pytest_ltm.datasets.rows import faults_of_data, load_json

_TURN = re.compile(r"D(\d+):(\d+)")
_PART = re.compile(r"D(\d+):(\d+)-D\1:(\d+)")
_SESSION = re.compile(r"(?:S|D|session_)(\d+)")


def evidence_recall(
    retrieved: Sequence[str], *, cited: Sequence[str], evidence: Sequence[str]
) -> dict[str, float | None]:
    """Return the shares of the evidence, 0 to 1, in the retrieved ids; None if there is no evidence.

    `retrieved`: ids of turns, of parts (`D1:1-D1:9`) or of sessions (`S1`). `cited`: the evidence as written in the
    file; `evidence`: the turn ids it refers to. `recall`, the official one, uses `cited`, of which malformed entries
    are never found, and is 1 if there is none; `recall_repaired` uses `evidence`, and `recall_sessions` its sessions.
    """
    turns = {reference for reference in retrieved if _TURN.fullmatch(reference)}
    for part in filter(None, map(_PART.fullmatch, retrieved)):
        for turn in range(int(part[2]), int(part[3]) + 1):
            turns.add(f"D{part[1]}:{turn}")
    sessions = set()
    for reference in retrieved:
        if match := _SESSION.match(reference):
            sessions.add(match[1])
    # for sessions, the published evaluation compares the numbers
    whole = bool(retrieved) and not turns
    if whole:
        hits = [reference.partition(":")[0][1:] in sessions for reference in cited]
    else:
        hits = [reference in turns for reference in cited]
    meant = dict.fromkeys(map(_session_of, evidence))
    by_session = set()
    for reference in evidence:
        if _session_of(reference) in sessions:
            by_session.add(reference)
    return {
        "recall": sum(hits) / len(hits) if hits else 1.0,
        "recall_repaired": _share_of(evidence, by_session if whole else turns),
        "recall_sessions": _share_of(list(meant), sessions),
    }


def _session_of(turn: str) -> str:
    return turn.partition(":")[0].removeprefix("D")


def _share_of(wanted: Sequence[str], there: Collection[str]) -> float | None:
    if wanted:
        return sum(reference in there for reference in wanted) / len(wanted)
    return None


_SHOWN = 300
_STRICT_RULE = "locomo-strict/1"


class LocomoAnswer:
    """Scores answers to a definition's question."""

    def __init__(self, definition: Definition) -> None:
        self._gold = definition.expected
        self._facts = definition.parameters
        self._category = Category(self._facts["category"])
        self._corrected = self._facts.get("corrected")
        self._is_ours = self._facts.get("protocol") == "ours"

    @property
    def full_marks(self) -> str:
        """An answer that earns full marks."""
        if self._category is Category.ADVERSARIAL:
            return "Not mentioned in the conversation"
        return self._first(str(self._gold))

    def __call__(
        self, answers: Sequence[str], raw: str | None = None, judge: Judge | None = None
    ) -> Score | Unscored:
        """Return the verdict on the last answer: by default the official F1 of the `raw` reply.

        Freely asked adversarial questions are scored by whether the answer declines, by our rule for free text. With
        the protocol `ours`, strict rules decide what they can prove, and a `judge` the rest.
        """
        if self._is_ours:
            return self._strict_score(answers[-1], judge)
        way = self._facts["asking"]
        free = way == "free" and self._category is Category.ADVERSARIAL
        said = self._said(answers[-1] if free or raw is None else raw)
        if self._category is not Category.ADVERSARIAL:
            f1 = self._f1(said)
            reason = ""
            if (audited := self._corrected) and audited["disputed"]:
                reason = f" (disputed, {audited['kind'].lower()}: rather {audited['answer']!r})"
            reason = f"F1 {f1:.3f} of {self._gold!r}{reason}"
            return Score(f1, reason, rule=f"locomo-f1-{way}/1", evidence=said[:_SHOWN])
        declines = self._abstains(said) if free else self._f1(said) > 0
        if declines:
            reason = "declines, as nobody said it"
        else:
            reason = "answers what nobody said"
        if not said and answers[-1].strip():
            reason = "takes both of the two choices"
        shown = (said or answers[-1])[:_SHOWN]
        return Score(
            float(declines), reason, rule=f"locomo-adversarial-{way}/1", evidence=shown
        )

    def _strict_score(self, answer: str, judge: Judge | None) -> Score | Unscored:
        ruling = strict_verdict(
            category=self._category.value,
            question=str(self._facts["question"]),
            answer=self._first(str(self._gold or "")),
            prediction=self._said(answer),
        )
        shown = answer[:_SHOWN]
        if ruling.verdict != "unscored":
            value = float(ruling.verdict == "yes")
            return Score(value, ruling.reason, rule=_STRICT_RULE, evidence=shown)
        if not judge:
            reason = f"no rule can tell: {ruling.reason}"
            return Unscored(reason, _STRICT_RULE, shown, cause=UNDECIDED)
        prompt, parts = self._judge_prompt(answer)
        return replace(ask_for_verdict(judge, prompt, **parts), evidence=shown)

    def _judge_prompt(self, answer: str) -> tuple[JudgePrompt, dict[str, str]]:
        """Return the judge's prompt for an answer, and the parts that it is filled with."""
        parts = {"category": str(self._category.value)}
        prompt = "locomo-abstention"
        if self._category is not Category.ADVERSARIAL:
            parts = {**parts, "reference": str(self._gold or "")}
            prompt = "locomo-answer"
        if own := verbatim_prompt(self._facts):
            parts = {"reference": str(self._gold or "")}
        parts["question"] = str(self._facts["question"])
        parts["answer"] = self._said(answer) or answer
        return own or PROMPTS[prompt], parts

    def metrics(
        self,
        answer: str,
        retrieved: Sequence[str] | None = None,
        judge: Judge | None = None,
        *,
        raw: str | None = None,
    ) -> dict[str, float]:
        """Return metrics in addition to the score, by name.

        `f1`: the official one, of the `raw` reply; `abstains`: for adversarial questions, by the rule for free text;
        with corrections, `f1_corrected` and `ceiling` (the F1 of the corrected answer); `judge`; for `retrieved` ids,
        the recalls and their number. Missing ones are omitted.
        """
        said = self._said(answer)
        published = self._said(answer if raw is None else raw)
        values: dict[str, float | None] = {"f1": self._f1(published)}
        if self._category is Category.ADVERSARIAL:
            values["abstains"] = float(self._abstains(said))
        if self._corrected is not None:
            # the ceiling: the score of the corrected answer against the published one
            wrong = self._corrected["disputed"]
            answer_is = self._corrected["answer"]
            values["f1_corrected"] = self._f1(published, answer_is if wrong else None)
            values["ceiling"] = self._f1(self._first(answer_is)) if wrong else 1.0
        if judge and not self._is_ours:
            # in addition to the F1, never instead of it; None if the judge is undecided
            prompt, parts = self._judge_prompt(answer)
            decision = ask_judge(judge, prompt, **parts)
            if isinstance(decision, JudgeDecision):
                values["judge"] = float(decision.grade == "yes")
            else:
                values["judge"] = None
        if retrieved is not None:
            cited = self._facts["cited"]
            evidence = self._facts["evidence"]
            values |= evidence_recall(retrieved, cited=cited, evidence=evidence)
            values["retrieved"] = float(len(retrieved))
            if self._corrected is not None:
                meant = self._corrected["evidence"] or evidence
                values["recall_corrected"] = evidence_recall(
                    retrieved, cited=(), evidence=meant
                )["recall_repaired"]
        return {name: value for name, value in values.items() if value is not None}

    def _first(self, gold: str) -> str:
        if self._category is Category.OPEN_DOMAIN:
            return gold.partition(";")[0]
        return gold

    def _said(self, answer: str) -> str:
        answer = limited_answer(self._facts, answer)
        return chosen_choice(answer, tuple(self._facts["choices"]))

    def _f1(self, text: str, gold: object = None) -> float:
        return round(
            official_f1(self._category, self._gold if gold is None else gold, text), 3
        )

    def _abstains(self, text: str) -> bool:
        asked, other = (*self._facts.get("about", ()), "", "")[:2]
        return abstains_from_answer(text, asked=asked, other=other)


# --- Corrections of gold answers and evidence from an audit's file, shown in addition
# to the published ones.

CITATION = "WRONG_CITATION"
"""The kind of error that leaves the gold answer valid."""
_ID = re.compile(r"locomo_(\d+)_qa(\d+)")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_NEEDED = (
    "question_id",
    "question",
    "error_type",
    "correct_answer",
    "correct_evidence",
)


@dataclass(frozen=True, slots=True)
class Correction:
    """The audit's finding on one question."""

    kind: str
    """`HALLUCINATION`, `TEMPORAL_ERROR`, `WRONG_CITATION`, ...; "" for none."""
    answer: str | None
    """The corrected gold answer, without the auditor's remarks in brackets."""
    evidence: tuple[str, ...]
    """Ids of turns, repaired."""

    @property
    def gold_is_wrong(self) -> bool:
        """Whether the published gold answer itself is wrong, not only its citation."""
        return self.kind not in {"", CITATION}


@dataclass(frozen=True, slots=True)
class Audit:
    """All corrections in a file."""

    corrections: Mapping[tuple[str, int], Correction]
    """By sample and index of the question."""
    notes: tuple[str, ...]

    def correction_for(self, sample: Sample, question: LocomoQuestion) -> Correction:
        """Return the correction of a question, or its published answer if the audit has no objection."""
        same = Correction("", question.answer, question.evidence)
        return self.corrections.get((sample.id, question.index), same)


def load_audit(path: Path, samples: Sequence[Sample]) -> Audit:
    """Load the corrections that fit the samples; DatasetError for an unusable file.

    A row is identified by its id `locomo_<conversation>_qa<question>`, both from 0, and by the question's text.
    """
    entries: dict[tuple[str, int], Correction] = {}
    by_place = {}
    for number, sample in enumerate(samples):
        for index, question in enumerate(sample.questions):
            by_place[number, index] = (sample, question)
    strangers = 0
    with faults_of_data():
        for row in Field(load_json(path), str(path)).items("corrections"):
            fields = row.mapping(required=_NEEDED)
            named = _ID.fullmatch(fields["question_id"].text())
            place = by_place.get((int(named[1]), int(named[2]))) if named else None
            # compare the text as well: positions alone would match questions of any
            # file
            if place is None or place[1].text != fields["question"].text():
                strangers += 1
                continue
            sample, question = place
            kind = fields["error_type"].text()
            answer = question.answer or ""
            if kind != CITATION:
                said = str(fields["correct_answer"].value)
                answer = _ASIDE.sub("", said).strip() or said
            evidence, _ = repair_citations(
                fields["correct_evidence"].texts(), {turn.id for turn in sample.turns}
            )
            entries[sample.id, question.index] = Correction(kind, answer, evidence)
    lost = f"corrections of the audit that fit no question of the file: {strangers}"
    return Audit(entries, (lost,) if strangers else ())
