"""Reviewed answers as labelled rows: what `ltm verdict-check` and `ltm judge-check` read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.secrets import written
from pytest_ltm.web.review.decisions import SAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ltm.web.review.decisions import Opinions
    from pytest_ltm.web.review.queue import Case, Cases


def verdict_rows(cases: Cases, opinions: Opinions) -> str:
    """Return a JSON line for each answer on whose credit reviewers agree, for `verdict-check`.

    A question of a data set has what its rules need to be run again. Any other row says what was decided when it was
    played ("automatic").
    """
    rows = [_row(f"{cases.run_id} {case.row.nodeid}", case, credit) for case, credit in _labelled(cases, opinions)]
    return "".join(written(row, _compact) + "\n" for row in rows)


def judge_rows(cases: Cases, opinions: Opinions) -> tuple[str, int]:
    """Return a file for `judge-check`, and how many labelled answers it cannot hold.

    It holds right and wrong answers to single questions whose expected answer is one text.
    """
    asked: dict[tuple[str, str], dict[str, list[str]]] = {}
    left_out = 0
    for case, credit in _labelled(cases, opinions):
        questions, reference = case.row.questions, case.definition.get("expected")
        is_text = isinstance(reference, str) and bool(reference.strip())
        if len(questions) != 1 or not is_text or SAME < credit < 1 - SAME or not questions[0].answer.strip():
            left_out += 1
            continue
        group = asked.setdefault((questions[0].text, str(reference)), {})
        answers = group.setdefault("right" if credit > SAME else "wrong", [])
        answers += [questions[0].answer] * (questions[0].answer not in answers)
    told = [{"question": question, "reference": reference, **kinds} for (question, reference), kinds in asked.items()]
    return written({"version": 1, "questions": told}, _yaml), left_out


def _labelled(cases: Cases, opinions: Opinions) -> Iterator[tuple[Case, float]]:
    for case in cases.cases:
        credit = opinions.credit(case.row.nodeid)
        if credit is not None:
            yield case, credit


def _row(name: str, case: Case, credit: float) -> dict[str, Any]:
    row = case.row
    asked = _of_data_set(case.definition.get("parameters") or {}, case.expected)
    if asked and len(row.questions) == 1 and not SAME < credit < 1 - SAME:
        return {"id": name, **asked, "hypothesis": row.questions[0].answer, "label": credit > SAME}
    return {
        "id": name, "scenario": row.scenario, "rule": row.rule, "questions": [each.text for each in row.questions],
        "answers": [each.answer for each in row.questions], "expected": case.expected, "evidence": row.evidence,
        "automatic": row.score, "reason": row.reason, "credit": credit,
    }  # fmt: skip


def _of_data_set(parameters: Mapping[str, Any], expected: str) -> dict[str, Any]:
    """Return what the rules of a data set go by, from the parameters of a question's definition; empty for others."""
    said = {"question": parameters.get("question"), "answer": expected}
    if {"category", "sample", "choices"} <= parameters.keys() and not parameters["choices"]:
        return {"set": "locomo", "type": str(parameters["category"]), **said}
    if {"ability", "wanted_turns", "type"} <= parameters.keys():
        abstains = "abstention:" * ("_abs" in str(parameters.get("id")))
        return {"set": "longmemeval", "type": f"{abstains}{parameters['type']}", **said}
    return {}


def _compact(row: object) -> str:
    return json.dumps(row, ensure_ascii=True)


def _yaml(data: object) -> str:
    import yaml

    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=False, width=1_000_000)
    return text
