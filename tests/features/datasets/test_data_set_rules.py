"""The rules of both data sets on labelled answers, and on wrong answers derived from correct ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import LOCOMO, LONGMEMEVAL, lines_of

from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.lab.verdict_mutants import answer_mutants, invented_answers

LABELLED = [
    Path(__file__).parents[2] / "labelled" / f"answers.{half}.jsonl"
    for half in ("first", "second")
]
ROWS = [
    json.loads(line)
    for file in LABELLED
    for line in file.read_text(encoding="utf-8").splitlines()
]
GOLDS = list({(row["set"], row["question"]): row for row in ROWS}.values())


def said(row: dict[str, Any], answer: str) -> str:
    if row["set"] == "locomo":
        given = {
            "category": int(row["type"]),
            "question": row["question"],
            "answer": row["answer"],
        }
        return strict_verdict(**given, prediction=answer).verdict
    abstains, _, kind = row["type"].rpartition(":")
    return rule_on_hypothesis(
        question_id="q_abs" if abstains else "q",
        question_type=kind,
        question=row["question"],
        answer=row["answer"],
        hypothesis=answer,
    ).verdict


def wrong_answers(
    row: dict[str, Any], rows: list[dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    if row["type"] == "5" or row["type"].startswith("abstention"):
        yield from invented_answers("Turku")
    elif row["type"] != "single-session-preference":
        others = [
            one["answer"]
            for one in rows
            if one["type"] == row["type"] and one["answer"] != row["answer"]
        ]
        yield from answer_mutants(
            row["question"], row["answer"], others[0] if others else "a green kettle"
        )


def passing(rows: list[dict[str, Any]]) -> tuple[Counter[str], list[str]]:
    """Return the number of wrong answers tried of each kind, and those that passed."""
    tried, passed = Counter[str](), []
    for row in rows:
        for way, answer in wrong_answers(row, rows):
            tried[way] += 1
            if said(row, answer) == "yes":
                passed.append(f"{way}: {row['question']} {answer}")
    return tried, passed


@pytest.mark.slow
def test_labelled_answers_are_mostly_decided_and_decided_rightly() -> None:
    found = Counter((said(row, row["hypothesis"]), row["label"]) for row in ROWS)
    decided = found.total() - found["unscored", True] - found["unscored", False]
    false_passes = found["yes", False]

    assert found.total() == 647
    # a yes needs a clause that asserts it, a no an amount in a known form or another
    # name; 52 are preferences, which rules leave open
    assert decided >= 0.72 * found.total()
    assert found["yes", True] + found["no", False] >= 0.99 * decided
    assert false_passes <= 0.01 * sum(not row["label"] for row in ROWS)


@pytest.mark.slow
def test_no_wrong_answer_made_from_a_right_one_passes() -> None:
    tried, passed = passing(GOLDS)

    assert passed == []
    assert tried.total() > 900
    assert set(tried) >= {
        "denied",
        "either-or",
        "swapped",
        "quoted in a refusal",
        "another subject",
        "changed amount",
        "changed unit",
        "changed month",
        "answered what was never said",
    }


def published() -> Iterable[dict[str, Any]]:
    for one in lines_of(LONGMEMEVAL / "questions_500.jsonl"):
        kind = (
            "abstention:" * one["question_id"].endswith("_abs") + one["question_type"]
        )
        yield {
            "set": "longmemeval",
            "type": kind,
            "question": one["question"],
            "answer": str(one["answer"]),
        }
    for one in lines_of(LOCOMO / "questions.jsonl"):
        gold = str(one.get("answer") or "")
        yield {
            "set": "locomo",
            "type": str(one["category"]),
            "question": one["question"],
            "answer": gold,
        }


@pytest.mark.slow
@pytest.mark.published
def test_hardly_a_wrong_answer_made_from_a_published_one_passes(
    everything: bool,
) -> None:
    """Derive wrong answers from every eighth published one; before a merge, from every 32nd."""
    step = 8 if everything else 32

    tried, passed = passing(list(published())[::step])

    assert tried.total() > 20_000 / step
    assert len(passed) <= 0.005 * tried.total(), passed


@pytest.mark.parametrize(
    ("question", "gold", "reply", "verdict"),
    [
        ("Wie heißt meine Katze?", "Pim", "Pim", "yes"),
        ("Wie heißt meine Katze?", "Pim", "Pim heißt die Katze von Olga.", "unscored"),
        ("Combien pèse le colis ?", "un demi-kilo", "deux kilos et demi", "unscored"),
        ("Combien pèse le colis ?", "2 kg", "2000 g", "yes"),
        ("Combien pèse le colis ?", "2 kg", "3 kg", "no"),
        ("¿Hasta cuándo?", "hasta el lunes", "desde el lunes", "unscored"),
        ("Quando parte il treno?", "alle sette di sera", "19:00", "unscored"),
        ("Где он живёт?", "Казань", "Не в Казани, а в Рязани.", "unscored"),
    ],
)
def test_in_other_languages_only_values_decide(
    question: str, gold: str, reply: str, verdict: str
) -> None:
    for kind in (
        {"set": "locomo", "type": "4"},
        {"set": "longmemeval", "type": "single-session-user"},
    ):
        row = {**kind, "question": question, "answer": gold}
        assert said(row, reply) == verdict
