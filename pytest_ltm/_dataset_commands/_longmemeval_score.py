"""`longmemeval-score`: verdicts on a file of answers, by rules, by a judge, or those that a judge gave before."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._dataset_commands._longmemeval_agreement import agreement, agreement_table
from pytest_ltm._dataset_commands._longmemeval_rows import COMPLETE, HYPOTHESIS, labelled, read_answers
from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets.longmemeval._aggregates import Accuracy, Judged, aggregate
from pytest_ltm.datasets.longmemeval._verdict import rule
from pytest_ltm.datasets.rulings._ruling import Ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._dataset_commands._longmemeval_rows import Answered, Answers
    from pytest_ltm.datasets.longmemeval._aggregates import Aggregates

_RIGHT = {"yes": True, "no": False, "unscored": None}
_SHOWN = 5


def main(argv: Sequence[str]) -> int:
    """Judge the file; print a table, or JSON with one verdict for each row in the order of the file."""
    given = _parser().parse_args(argv)
    answers = read_answers(given.file, given.data)
    if not answers.given:
        raise DatasetError(f"{given.file}: holds no rows")
    if given.agreement:
        found = agreement([(one, label, _ruled(one)) for one, label in labelled(answers.given, given.file)])
        sys.stdout.write(json.dumps(found, indent=2) + "\n" if given.json else agreement_table(found))
        return 0
    ruled = _verdicts(answers.given, given)
    sums = aggregate([Judged(one.question_id, one.question_type, _RIGHT[said.verdict]) for one, said in ruled])
    text = json.dumps(_as_json(ruled, sums, answers), indent=2) + "\n" if given.json else table(sums) + _gaps(answers)
    sys.stdout.write(text)
    return 0


def _verdicts(answered: Sequence[Answered], given: argparse.Namespace) -> list[tuple[Answered, Ruling]]:
    if given.labels:
        return [(one, _labelled(one, given.file)) for one in answered]
    ruled = [(one, _ruled(one)) for one in answered]
    if given.judge is None:
        return ruled
    from pytest_ltm._dataset_commands._longmemeval_judging import judging  # noqa: PLC0415 - few ask a judge

    with judging(given.judge) as judge:
        return [(one, judge(one) if given.judge_all or said.verdict == "unscored" else said) for one, said in ruled]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm longmemeval-score",
        description="Verdicts on LongMemEval answers by rules; the rest is a judge's, or unscored.",
    )
    parser.add_argument(
        "file",
        type=Path,
        help=f"JSON lines (or .gz) with {', '.join(COMPLETE)}; with --data {' and '.join(HYPOTHESIS)}",
    )
    parser.add_argument("--data", type=Path, help="the LongMemEval file that was asked: oracle, S or M")
    parser.add_argument("--json", action="store_true", help="print JSON: every row's verdict and the sums")
    parser.add_argument("--judge-all", action="store_true", help="the judge decides all, not what no rule can tell")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--labels", action="store_true", help="take the verdicts of a judge that the rows carry (autoeval_label)"
    )
    which.add_argument(
        "--agreement", action="store_true", help="compare the rules with the verdicts of a judge that the rows carry"
    )
    which.add_argument("--ltm-judge", dest="judge", metavar="SPEC", help="who decides what no rule can tell")
    return parser


def _ruled(one: Answered) -> Ruling:
    return rule(
        question_id=one.question_id,
        question_type=one.question_type,
        question=one.question,
        answer=one.answer,
        hypothesis=one.hypothesis,
    )


def _labelled(one: Answered, path: Path) -> Ruling:
    ((_, label),) = labelled((one,), path)
    return Ruling("yes" if label else "no", f"as {one.judge or 'its judge'} said")


def _as_json(ruled: Sequence[tuple[Answered, Ruling]], sums: Aggregates, answers: Answers) -> dict[str, Any]:
    return {
        "rows": [
            {"question_id": one.question_id, "verdict": said.verdict, "reason": said.reason} for one, said in ruled
        ],
        "by_type": {name: accuracy.as_json() for name, accuracy in sums.by_type.items()},
        "task_averaged": sums.task_averaged,
        "overall": sums.overall.as_json(),
        "abstention": sums.abstention.as_json(),
        "missing": list(answers.missing),
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


def _gaps(answers: Answers) -> str:
    """Return a line on the questions that have no answer: as in the published script they are in no mean."""
    if not answers.missing:
        return ""
    more = len(answers.missing) - _SHOWN
    names = ", ".join(answers.missing[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return f"{len(answers.missing):,} missing, in no mean: {names}\n"
