"""`longmemeval-score`: rule-based verdicts on a file of answers."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._dataset_commands._rows import rows
from pytest_ltm._errors import DatasetError, did_you_mean
from pytest_ltm.datasets.longmemeval._aggregates import Accuracy, Judged, aggregate
from pytest_ltm.datasets.longmemeval._schema import TYPES
from pytest_ltm.datasets.longmemeval._verdict import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.datasets.longmemeval._aggregates import Aggregates
    from pytest_ltm.datasets.rulings._ruling import Ruling

FIELDS = ("question_id", "question_type", "question", "answer", "hypothesis")
_RIGHT = {"yes": True, "no": False, "unscored": None}


def main(argv: Sequence[str]) -> int:
    """Judge the file; print a table, or JSON with one verdict for each row in the order of the file."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm longmemeval-score",
        description="Verdicts on LongMemEval answers by rules, without any model; what no rule can tell is unscored.",
    )
    parser.add_argument("file", type=Path, help=f"JSON lines (or .gz) with {', '.join(FIELDS)}")
    parser.add_argument("--json", action="store_true", help="print JSON: every row's verdict and the sums")
    given = parser.parse_args(argv)
    ruled = [(row, _ruling(where, row)) for where, row in rows(given.file, FIELDS)]
    if not ruled:
        raise DatasetError(f"{given.file}: holds no rows")
    sums = aggregate([Judged(row["question_id"], row["question_type"], _RIGHT[one.verdict]) for row, one in ruled])
    sys.stdout.write(json.dumps(_as_json(ruled, sums), indent=2) + "\n" if given.json else table(sums))
    return 0


def _ruling(where: str, row: dict[str, Any]) -> Ruling:
    kind = row["question_type"]
    if kind not in TYPES:
        hint = did_you_mean(str(kind), TYPES)
        raise DatasetError(f"{where}: unknown question_type {kind!r}.{hint} Known are {', '.join(TYPES)}")
    for name in ("question_id", "question", "hypothesis"):
        if not isinstance(row[name], str):
            raise DatasetError(f"{where}: {name}: expected a text, got {row[name]!r}")
    return rule(**{name: row[name] for name in FIELDS})


def _as_json(ruled: Sequence[tuple[dict[str, Any], Ruling]], sums: Aggregates) -> dict[str, Any]:
    return {
        "rows": [
            {"question_id": row["question_id"], "verdict": one.verdict, "reason": one.reason} for row, one in ruled
        ],
        "by_type": {name: accuracy.as_json() for name, accuracy in sums.by_type.items()},
        "task_averaged": sums.task_averaged,
        "overall": sums.overall.as_json(),
        "abstention": sums.abstention.as_json(),
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
