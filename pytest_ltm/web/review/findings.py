"""What a review comes to: how well reviewers agree, and how often the automatic verdict is wrong."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from pytest_ltm._results.statistics import Interval, Kappa, kappa, wilson
from pytest_ltm.web.review.decisions import SAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ltm.web.review.decisions import Opinions
    from pytest_ltm.web.review.queue import Case


GRADES = ("wrong", "partly", "right")


def grade(credit: float) -> str:
    """Return the word for a credit: one of GRADES."""
    return "wrong" if credit <= SAME else "right" if credit >= 1 - SAME else "partly"


class ReviewerAgreement(Struct, frozen=True, kw_only=True):
    """How well two reviewers agree who did not know what the other said."""

    reviewers: tuple[str, str]
    kappa: Kappa
    """Of the grades right, partly and wrong, over all answers to which both gave one."""


def agreements(opinions: Opinions) -> list[ReviewerAgreement]:
    """Return the agreement of each pair of reviewers."""
    found = []
    for one, other in combinations(opinions.reviewers, 2):
        table = [[0] * len(GRADES) for _ in GRADES]
        theirs = opinions.by(other)
        for nodeid, said in opinions.by(one).items():
            mine, yours = said.credit, theirs[nodeid].credit if nodeid in theirs else None
            if mine is not None and yours is not None:
                table[GRADES.index(grade(mine))][GRADES.index(grade(yours))] += 1
        found.append(ReviewerAgreement(reviewers=(one, other), kappa=kappa(table)))
    return found


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
        return wilson(self.wrong, self.reviewed)


def estimate(sample: Iterable[Case], opinions: Opinions) -> ErrorRateEstimate:
    """Return what the reviewers' credits say of the verdicts of a random sample."""
    counts = dict.fromkeys(ErrorRateEstimate.__struct_fields__, 0)
    for case in sample:
        counts["asked"] += 1
        if kind := _compared(case, opinions):
            counts[kind] += 1
            counts["reviewed"] += kind in ("too_much", "too_little")
    return ErrorRateEstimate(**counts)


def _compared(case: Case, opinions: Opinions) -> str:
    """Return the field of an Estimate to which a case counts; "" if nobody has looked at it."""
    nodeid, score = case.row.nodeid, case.row.score
    if score is None:
        return "unsure"
    if opinions.disputed(nodeid):
        return "disputed"
    credit = opinions.credit(nodeid)
    if credit is None:
        return "skipped" if opinions.of(nodeid) else ""
    if abs(score - credit) <= SAME:
        return "reviewed"
    return "too_much" if score > credit else "too_little"
