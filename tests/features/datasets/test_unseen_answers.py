"""Rule-based verdicts on invented answers that no rule was fitted to: those decided are right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.language.rulings.gold import Ruling

FOLDER = Path(__file__).parents[2] / "labelled" / "unseen_answers"
SETS = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Row:
    """An answer with its label: `+` right, `-` wrong, `?` undecidable by rules, `~` arguable."""

    kind: str
    question: str
    gold: str
    answer: str
    label: str

    def ruling(self) -> Ruling:
        if self.kind.startswith("locomo"):
            return strict_verdict(
                category=int(self.kind[-1]),
                question=self.question,
                answer=self.gold,
                prediction=self.answer,
            )
        return rule_on_hypothesis(
            question_id="q_abs" if self.kind.startswith("abs ") else "q",
            question_type=self.kind.removeprefix("abs "),
            question=self.question,
            answer=self.gold,
            hypothesis=self.answer,
        )


def rows(name: str) -> Iterator[Row]:
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind, question, gold = line[3:].split(" | ", 2)
        elif line:
            yield Row(kind, question, gold, line[2:].replace("\\n", "\n"), line[0])


def wrong(name: str) -> list[str]:
    """Return the answers that a rule decides wrongly."""
    return [
        row.answer
        for row in rows(name)
        if row.label in "+-"
        and row.ruling().verdict == {"+": "no", "-": "yes"}[row.label]
    ]


def test_there_are_answers_of_every_type_and_category() -> None:
    kinds = {row.kind for name in SETS for row in rows(name)}

    assert len([row for name in SETS for row in rows(name)]) > 1_100
    assert {f"locomo{number}" for number in range(1, 6)} < kinds
    assert len([kind for kind in kinds if kind.startswith("abs ")]) == 5
    assert len([kind for kind in kinds if not kind.startswith(("abs ", "locomo"))]) == 6


@pytest.mark.slow
def test_few_answers_are_known_to_mislead_the_rules() -> None:
    assert {name: wrong(name) for name in SETS} == {
        "first": ["You said that your sourdough starter bubbles a lot."],
        "second": [],
        "third": [],
        "fourth": [],
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_most_answers_are_decided(name: str) -> None:
    for is_locomo, least in ((False, 0.75), (True, 0.59)):
        found = [
            row.ruling()
            for row in rows(name)
            if row.label in "+-" and row.kind.startswith("locomo") == is_locomo
        ]
        decided = [ruling for ruling in found if ruling.verdict != "unscored"]
        assert len(decided) / len(found) >= least


def test_what_no_rule_can_tell_stays_unscored() -> None:
    assert {
        row.ruling().verdict for name in SETS for row in rows(name) if row.label == "?"
    } == {"unscored"}
