"""What a review comes to: how well reviewers agree, and how often the automatic verdict is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._core.storage.secrets import dump_json_redacted
from pytest_ltm.figures.statistics.counts import (
    Interval,
    Kappa,
    cohen_kappa,
    wilson_interval,
)
from pytest_ltm.web.review.decisions import SAME, Opinions

if TYPE_CHECKING:
    from pytest_ltm.web.review.queue import Case, Cases


GRADES = ("wrong", "partly", "right")


def credit_grade(credit: float) -> str:
    """Return the word for a credit: one of GRADES."""
    return "wrong" if credit <= SAME else "right" if credit >= 1 - SAME else "partly"


class ReviewerAgreement(Struct, frozen=True, kw_only=True):
    """How well two reviewers agree who did not know what the other said."""

    reviewers: tuple[str, str]
    kappa: Kappa
    """Of the grades right, partly and wrong, over all answers to which both gave one."""


def reviewer_agreements(opinions: Opinions) -> list[ReviewerAgreement]:
    """Return the agreement of each pair of reviewers."""
    result = []
    for one, other in combinations(opinions.reviewers, 2):
        table = [[0] * len(GRADES) for _ in GRADES]
        theirs = opinions.opinions_by(other)
        for nodeid, said in opinions.opinions_by(one).items():
            mine, yours = (
                said.credit,
                theirs[nodeid].credit if nodeid in theirs else None,
            )
            if mine is not None and yours is not None:
                table[GRADES.index(credit_grade(mine))][
                    GRADES.index(credit_grade(yours))
                ] += 1
        result.append(
            ReviewerAgreement(reviewers=(one, other), kappa=cohen_kappa(table))
        )
    return result


class ErrorRateEstimate(Struct, frozen=True, kw_only=True):
    """How often the automatic verdict is wrong, from a random sample."""

    asked: int
    """The size of the sample."""
    reviewed: int = 0
    """Of those, the ones with an automatic score on whose credit reviewers agree."""
    too_much: int = 0
    """Of those reviewed, the ones to which the rules or the judge gave more than reviewers do."""
    too_little: int = 0
    unsure: int = 0
    """Of those asked, the ones that have no automatic score: not errors, but no verdicts either."""
    skipped: int = 0
    disputed: int = 0

    @property
    def wrong(self) -> int:
        """How many verdicts are wrong."""
        return self.too_much + self.too_little

    @property
    def open(self) -> int:
        """How many have not been looked at."""
        return self.asked - self.reviewed - self.unsure - self.skipped - self.disputed

    @property
    def rate(self) -> float | None:
        """The share of wrong verdicts; None of nothing."""
        return self.wrong / self.reviewed if self.reviewed else None

    @property
    def interval(self) -> Interval:
        """Where the share of all verdicts lies (Wilson, 95 %), verdicts taken for independent of each other."""
        return wilson_interval(self.wrong, self.reviewed)


def estimate_error_rates(
    sample: Iterable[Case], opinions: Opinions
) -> ErrorRateEstimate:
    """Return what the reviewers' credits say of the verdicts of a random sample."""
    counts = dict.fromkeys(ErrorRateEstimate.__struct_fields__, 0)
    for case in sample:
        counts["asked"] += 1
        if kind := _estimate_field(case, opinions):
            counts[kind] += 1
            counts["reviewed"] += kind in ("too_much", "too_little")
    return ErrorRateEstimate(**counts)


def _estimate_field(case: Case, opinions: Opinions) -> str:
    """Return the field of an Estimate to which a case counts; "" if nobody has looked at it."""
    nodeid, score = case.row.nodeid, case.row.score
    if score is None:
        return "unsure"
    if opinions.is_disputed(nodeid):
        return "disputed"
    credit = opinions.credit(nodeid)
    if credit is None:
        return "skipped" if opinions.opinions_on(nodeid) else ""
    if abs(score - credit) <= SAME:
        return "reviewed"
    return "too_much" if score > credit else "too_little"


# --- Reviewed verdicts as labelled rows.


def verdict_rows(cases: Cases, opinions: Opinions) -> str:
    """Return a JSON line for each answer on whose credit reviewers agree, for `verdict-check`.

    A question of a data set has what its rules need to be run again. Any other row says
    what was decided when it was played ("automatic").
    """
    lines = []
    for case, credit in _labelled_cases(cases, opinions):
        row, asked = case.row, {}
        # What the rules of a data set go by; other definitions have no such parameters.
        parameters = case.definition.get("parameters") or {}
        if {"category", "sample", "choices"} <= parameters.keys() and not parameters[
            "choices"
        ]:
            asked = {"set": "locomo", "type": str(parameters["category"])}
        elif {"ability", "wanted_turns", "type"} <= parameters.keys():
            abstains = "abstention:" * ("_abs" in str(parameters.get("id")))
            asked = {"set": "longmemeval", "type": f"{abstains}{parameters['type']}"}
        labelled: dict[str, Any] = {"id": f"{cases.run_id} {row.nodeid}"}
        if asked and len(row.questions) == 1 and not SAME < credit < 1 - SAME:
            labelled |= {
                **asked,
                "question": parameters.get("question"),
                "answer": case.expected,
            }
            labelled |= {"hypothesis": row.questions[0].answer, "label": credit > SAME}
        else:
            labelled |= {
                "scenario": row.scenario,
                "rule": row.rule,
                "questions": [each.text for each in row.questions],
            }
            labelled |= {
                "answers": [each.answer for each in row.questions],
                "expected": case.expected,
            }
            labelled |= {
                "evidence": row.evidence,
                "automatic": row.score,
                "reason": row.reason,
                "credit": credit,
            }
        lines.append(dump_json_redacted(labelled, json.dumps) + "\n")
    return "".join(lines)


def judge_rows(cases: Cases, opinions: Opinions) -> tuple[str, int]:
    """Return a file for `judge-check`, and how many labelled answers it cannot hold.

    It holds right and wrong answers to single questions whose expected answer is one
    text.
    """
    asked: dict[tuple[str, str], dict[str, list[str]]] = {}
    left_out = 0
    for case, credit in _labelled_cases(cases, opinions):
        questions, reference = case.row.questions, case.definition.get("expected")
        is_text = isinstance(reference, str) and bool(reference.strip())
        if (
            len(questions) != 1
            or not is_text
            or SAME < credit < 1 - SAME
            or not questions[0].answer.strip()
        ):
            left_out += 1
            continue
        group = asked.setdefault((questions[0].text, str(reference)), {})
        answers = group.setdefault("right" if credit > SAME else "wrong", [])
        answers += [questions[0].answer] * (questions[0].answer not in answers)
    import yaml

    told = [
        {"question": question, "reference": reference, **kinds}
        for (question, reference), kinds in asked.items()
    ]
    # A line for each text, however long: reviewers read and edit the file.
    how: dict[str, Any] = {
        "sort_keys": False,
        "allow_unicode": False,
        "width": 1_000_000,
    }
    file: dict[str, Any] = {"version": 1, "questions": told}
    return dump_json_redacted(
        file, lambda data: str(yaml.safe_dump(data, **how))
    ), left_out


def _labelled_cases(cases: Cases, opinions: Opinions) -> Iterator[tuple[Case, float]]:
    for case in cases.cases:
        credit = opinions.credit(case.row.nodeid)
        if credit is not None:
            yield case, credit
