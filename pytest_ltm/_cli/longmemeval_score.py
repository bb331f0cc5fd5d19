"""`longmemeval-score`: verdicts on a file of answers, by rules, by a judge, or those that a judge gave before."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._model.ltm_judge import JudgeDecision, decide
from pytest_ltm._storage.errors import DatasetError, did_you_mean
from pytest_ltm._storage.rows import rows
from pytest_ltm.datasets.longmemeval.evaluation import Accuracy, QuestionVerdict, aggregate, prompt_for, rule
from pytest_ltm.datasets.longmemeval.options import TYPES
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile, is_abstention
from pytest_ltm.datasets.rulings.gold import Ruling
from pytest_ltm.judges._registry import asking

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ltm._model.ltm_judge import AnsweredBy
    from pytest_ltm.datasets.longmemeval.evaluation import Aggregates


def run(given: Namespace) -> int:
    """Judge the file; print a table, or JSON with one verdict for each row in the order of the file."""
    answers, missing = read_answers(given.file, given.data)
    if not answers:
        raise DatasetError(f"{given.file}: holds no rows")
    if given.agreement:
        found = agreement([(one, _label_of(one, given.file), one.ruled) for one in answers])
        sys.stdout.write(json.dumps(found, indent=2) + "\n" if given.json else agreement_table(found))
        return 0
    ruled = _verdicts(answers, given)
    sums = aggregate([QuestionVerdict(one.question_id, one.question_type, _RIGHT[said.verdict]) for one, said in ruled])
    text = json.dumps(_as_json(ruled, sums, missing), indent=2) + "\n" if given.json else table(sums) + _gaps(missing)
    sys.stdout.write(text)
    return 0


def _verdicts(answered: Sequence[Answered], given: Namespace) -> list[tuple[Answered, Ruling]]:
    if given.labels:
        return [
            (one, Ruling("yes" if _label_of(one, given.file) else "no", f"as {one.judge or 'its judge'} said"))
            for one in answered
        ]
    ruled = [(one, one.ruled) for one in answered]
    if given.judge is None:
        return ruled
    with asking(given.judge) as ask:
        return [
            (one, _judged(one, ask) if given.judge_all or said.verdict == "unscored" else said) for one, said in ruled
        ]


def _label_of(one: Answered, path: Path) -> bool:
    if one.label is None:
        raise DatasetError(f"{one.where}: no {LABELS[0]}: {path} holds no judge's verdicts. Leave out the option")
    return one.label


def _judged(one: Answered, ask: AnsweredBy) -> Ruling:
    prompt = prompt_for(one.question_id, one.question_type)
    inquiry = prompt.inquiry(question=one.question, reference=str(one.answer), answer=one.hypothesis)
    decision = decide(ask, inquiry, votes=1)
    if isinstance(decision, JudgeDecision):
        return Ruling("yes" if decision.grade == "yes" else "no", str(decision))
    return Ruling("unscored", decision.reason)


_RIGHT = {"yes": True, "no": False, "unscored": None}
_SHOWN = 5


# --- what is printed


def _as_json(ruled: Sequence[tuple[Answered, Ruling]], sums: Aggregates, missing: Sequence[str]) -> dict[str, Any]:
    return {
        "rows": [
            {"question_id": one.question_id, "verdict": said.verdict, "reason": said.reason} for one, said in ruled
        ],
        "by_type": {name: accuracy.as_json() for name, accuracy in sums.by_type.items()},
        "task_averaged": sums.task_averaged,
        "overall": sums.overall.as_json(),
        "abstention": sums.abstention.as_json(),
        "missing": missing,
    }


def table(sums: Aggregates) -> str:
    """Return the sums as text, one line for each type."""
    lines = [f"{'type':<28}{'accuracy':>9}{'judged':>8}{'unscored':>10}"]
    lines += [_line(name, accuracy) for name, accuracy in sums.by_type.items()]
    average = "-" if sums.task_averaged is None else f"{sums.task_averaged:.4f}"
    lines.append(f"{'task-averaged':<28}{average:>9}")
    return "\n".join([*lines, _line("overall", sums.overall), _line("abstention", sums.abstention)]) + "\n"


def _line(name: str, accuracy: Accuracy) -> str:
    value = "-" if accuracy.value is None else f"{accuracy.value:.4f}"
    return f"{name:<28}{value:>9}{accuracy.judged:>8}{accuracy.unscored:>10}"


def _gaps(missing: Sequence[str]) -> str:
    """Return a line on the questions that have no answer: as in the published script, no mean has them."""
    if not missing:
        return ""
    more = len(missing) - _SHOWN
    names = ", ".join(missing[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return f"{len(missing):,} missing, left out of the means: {names}\n"


# --- how often the rules decide, and how often they say what a judge said, by question type and by judge


def agreement(rows: Sequence[tuple[Answered, bool, Ruling]]) -> dict[str, Any]:
    """Return the tallies by kind (type; abstention apart), by judge, and of all; and the rows that disagree."""
    kinds: dict[str, list[tuple[bool, Ruling]]] = {kind: [] for kind in (*TYPES, "abstention")}
    judges: dict[str, list[tuple[bool, Ruling]]] = {}
    for one, label, ruling in rows:
        kinds["abstention" if is_abstention(one.question_id) else one.question_type].append((label, ruling))
        judges.setdefault(one.judge or "unknown", []).append((label, ruling))
    return {
        "by_kind": {kind: _tally(mine) for kind, mine in kinds.items() if mine},
        "by_judge": {judge: _tally(mine) for judge, mine in judges.items()},
        "all": _tally([(label, ruling) for _, label, ruling in rows]),
        "disagree": [
            {
                "question_id": one.question_id, "question_type": one.question_type, "judge": one.judge, "label": label,
                "verdict": ruling.verdict, "reason": ruling.reason, "answer": one.answer, "hypothesis": one.hypothesis,
            }
            for one, label, ruling in rows
            if ruling.verdict != "unscored" and (ruling.verdict == "yes") != label
        ],
    }  # fmt: skip


def _tally(rows: Sequence[tuple[bool, Ruling]]) -> dict[str, Any]:
    """Return how many rows the rules decide, and how many as their judge did; a share of nothing is None."""
    agree = [(ruling.verdict == "yes") == label for label, ruling in rows if ruling.verdict != "unscored"]
    return {
        "rows": len(rows),
        "decided": len(agree),
        "decided_share": len(agree) / len(rows) if rows else None,
        "agree": sum(agree),
        "agree_share": sum(agree) / len(agree) if agree else None,
    }


def agreement_table(found: dict[str, Any]) -> str:
    """Return the tallies as text."""
    lines = [f"{'':<28}{'rows':>7}{'decided':>9}{'agree':>8}"]
    lines += [_tally_line(name, tally) for name, tally in found["by_kind"].items()]
    lines += [_tally_line(f"judge {name}", tally) for name, tally in found["by_judge"].items()]
    return "\n".join([*lines, _tally_line("all", found["all"])]) + "\n"


def _tally_line(name: str, tally: dict[str, Any]) -> str:
    shares = (tally["decided_share"], tally["agree_share"])
    decided, agree = ("-" if share is None else f"{100 * share:.1f}%" for share in shares)
    return f"{name[:28]:<28}{tally['rows']:>7,}{decided:>9}{agree:>8}"


# --- rows of answers: complete ones, or the official hypotheses joined with the questions that they answer

HYPOTHESIS = ("question_id", "hypothesis")
"""The fields of the official format."""
COMPLETE = ("question_id", "question_type", "question", "answer", "hypothesis")
LABELS = ("autoeval_label", "label")
"""Fields in which a row may carry a judge's verdict: the official log's, and a plain one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question and what was answered."""

    where: str
    question_id: str
    question_type: str
    question: str
    answer: object
    """The gold answer."""
    hypothesis: str
    label: bool | None
    """What the row says that a judge decided; None if it says nothing."""
    judge: str
    """Who that was; "" where the row does not tell."""

    @property
    def ruled(self) -> Ruling:
        """What the rules say."""
        return rule(
            question_id=self.question_id, question_type=self.question_type, question=self.question,
            answer=self.answer, hypothesis=self.hypothesis,
        )  # fmt: skip


def read_answers(path: Path, data: Path | None) -> tuple[list[Answered], list[str]]:
    """Return the answers of a file, and the ids of questions in `data`, if it is given, that have none.

    Raises DatasetError for a row that is none, an id that `data` does not have, and one that is there twice.
    """
    if data is None:
        return [_answered(where, _complete(where, row), row) for where, row in rows(path, HYPOTHESIS)], []
    file = LongMemEvalFile(data)
    known = {entry.id: entry for entry in file.entries}
    given: dict[str, Answered] = {}
    for where, row in rows(path, HYPOTHESIS):
        name = row["question_id"]
        if not isinstance(name, str) or name not in known:
            raise DatasetError(f"{where}: {data} has no question {name!r}.{did_you_mean(str(name), known)}")
        if name in given:
            raise DatasetError(f"{where}: a second answer to {name!r}; the first is at {given[name].where}")
        record = file.record(name)
        about = {"question_id": name, "question_type": record.type, "question": record.question}
        given[name] = _answered(where, about | {"answer": record.answer}, row)
    return list(given.values()), [name for name in known if name not in given]


def _complete(where: str, row: dict[str, Any]) -> dict[str, Any]:
    for name in COMPLETE:
        if name not in row:
            raise DatasetError(
                f"{where}: the field {name!r} is missing. Answers alone need their questions: --data FILE, the file "
                "that was asked"
            )
    return row


def _answered(where: str, about: dict[str, Any], row: dict[str, Any]) -> Answered:
    kind = about["question_type"]
    if kind not in TYPES:
        hint = did_you_mean(str(kind), TYPES)
        raise DatasetError(f"{where}: unknown question_type {kind!r}.{hint} Known are {', '.join(TYPES)}")
    fields = {name: about[name] for name in COMPLETE if name in about} | {"hypothesis": row["hypothesis"]}
    for name in ("question_id", "question", "hypothesis"):
        if not isinstance(fields[name], str):
            raise DatasetError(f"{where}: {name}: expected a text, got {fields[name]!r}")
    label, judge = _label(where, row)
    return Answered(where=where, label=label, judge=judge, **fields)


def _label(where: str, row: dict[str, Any]) -> tuple[bool | None, str]:
    """Return a judge's verdict that the row carries, and who the judge was.

    A text is a judge's whole reply: by the official rule it says yes if "yes" is in it.
    """
    name = next((name for name in LABELS if name in row), None)
    if name is None:
        return None, ""
    value: Any = row[name]
    judge = row.get("judge_model", "")
    if isinstance(value, dict):
        value, judge = value.get("label"), value.get("model", judge)
    if isinstance(value, str):
        value = "yes" in value.lower()
    if not isinstance(value, bool):
        raise DatasetError(f"{where}: {name}: expected true, false or the judge's reply, got {value!r}")
    return value, str(judge)
