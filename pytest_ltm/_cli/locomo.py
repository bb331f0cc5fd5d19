"""`data locomo-score`: the official F1 of a file of answers."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.arguments import add_json
from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.rows import read_json_rows
from pytest_ltm.datasets.locomo.metric import official_f1
from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.datasets.locomo.strict import strict_verdict

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from pytest_ltm._language.rulings.gold import Ruling


FIELDS = ("category", "answer", "prediction")


@dataclass(frozen=True, slots=True)
class Scored:
    """One row and its F1."""

    category: Category
    f1: float
    ruling: Ruling
    """What the strict rules say."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the file of answers."""
    rows = "JSON lines (or .gz) with category (1-5), answer and prediction; a question helps the verdict"
    parser.add_argument("file", type=Path, metavar="FILE", help=rows)
    add_json(parser, "print JSON: F1 and strict verdict of each row, and the means")


def score_locomo(given: Namespace) -> int:
    """Compute the official F1 of LoCoMo answers, without a model."""
    scored = [_score_row(where, row) for where, row in read_json_rows(given.file, FIELDS)]
    if not scored:
        raise DatasetError(f"{given.file}: holds no rows")
    sys.stdout.write(json.dumps(_as_json(scored), indent=2) + "\n" if given.json else _score_table(scored))
    return 0


def _score_row(where: str, row: dict[str, Any]) -> Scored:
    try:
        category = Category(row["category"])
    except ValueError:
        raise DatasetError(f"{where}: category: expected a number from 1 to 5, got {row['category']!r}") from None
    answer, prediction = row["answer"], row["prediction"]
    question, said = str(row.get("question") or ""), "" if prediction is None else str(prediction)
    ruling = strict_verdict(category=category, question=question, answer=answer, prediction=said)
    return Scored(category, official_f1(category, answer, prediction), ruling)


def _as_json(scored: Sequence[Scored]) -> dict[str, Any]:
    means = _category_means(scored)
    return {
        "rows": [
            {
                "f1": round(one.f1, 6), "category": one.category.label,
                "verdict": one.ruling.verdict, "reason": one.ruling.reason,
            }
            for one in scored
        ],
        "by_category": {
            category.label: {"number": category.value, "questions": count, "f1": f1}
            for category, (count, f1) in means.items()
        },
        "overall": {"questions": len(scored), "f1": _published_mean(scored)},
        "verdicts": dict(Counter(one.ruling.verdict for one in scored)),
    }  # fmt: skip


def _category_means(scored: Sequence[Scored]) -> dict[Category, tuple[int, float]]:
    """Return questions and mean F1 by category, in the order of their numbers."""
    by_category = {category: [one for one in scored if one.category is category] for category in Category}
    return {category: (len(mine), _published_mean(mine)) for category, mine in by_category.items() if mine}


def _published_mean(scored: Sequence[Scored]) -> float:
    """Return the mean F1 as the published evaluation gives it: each is rounded to three digits first."""
    return round(sum(round(one.f1, 3) for one in scored) / len(scored), 3)


def _score_table(scored: Sequence[Scored]) -> str:
    lines = [f"{'category':<16}{'questions':>10}{'F1':>8}"]
    lines += [f"{c.value} {c.label:<14}{count:>10}{f1:>8.3f}" for c, (count, f1) in _category_means(scored).items()]
    return "\n".join([*lines, f"{'overall':<16}{len(scored):>10}{_published_mean(scored):>8.3f}"]) + "\n"
