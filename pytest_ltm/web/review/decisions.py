"""What reviewers said of answers, and the amendments that follow.

Each reviewer has a file `reviews/NAME.jsonl` in the run folder, to which lines are only
added: nobody's tab or process can lose what another has written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from pytest_ltm._core.journal import amendments, codec
from pytest_ltm._core.journal.amendments import Amendment
from pytest_ltm._core.journal.codec import JournalRecord, RecordCodec
from pytest_ltm._core.journal.result import ScenarioResult
from pytest_ltm._core.storage.clock import wall_time
from pytest_ltm._core.storage.disk import Appender, make_private
from pytest_ltm._core.storage.errors import ConfigurationError

FOLDER = "reviews"
# Scores that differ by less are one score: thirds are written with few digits.
SAME = 0.01
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")


class ReviewDecision(JournalRecord, frozen=True, kw_only=True, tag="decision"):
    """What one person says of one answer."""

    nodeid: str
    credit: float | None
    """The share of full marks that the answer deserves, 0 to 1; None: skipped."""
    reason: str
    """Why; what skips an answer has one."""
    now: datetime
    settles: bool = False
    """It was made in knowledge of what others had said, to settle it."""

    def __post_init__(self) -> None:
        if self.credit is not None and not 0 <= self.credit <= 1:
            raise ValueError(f"a credit lies between 0 and 1, not {self.credit!r}")


_LINES: RecordCodec[ReviewDecision] = RecordCodec((ReviewDecision,), "a review")


def reviewer_name(name: str) -> str:
    """Return a reviewer's name; ConfigurationError if no file could have it."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is not a reviewer's name: up to 32 letters of the English alphabet, digits, '-' and '_'"
        )
    return name


def read_decisions(run_folder: Path) -> dict[str, list[ReviewDecision]]:
    """Return what each reviewer said, in the order of writing, skipping unreadable lines."""
    files = sorted((run_folder / FOLDER).glob("*.jsonl"))
    return {
        file.stem: list(codec.iter_readable(file, _LINES.decode))
        for file in files
        if _NAME.fullmatch(file.stem)
    }


class Opinions:
    """What holds of all that was said: of each reviewer the last word on each answer.

    Args:
        said: By reviewer, as `read` returns it.
    """

    def __init__(self, said: Mapping[str, list[ReviewDecision]]) -> None:
        self.reviewers = tuple(said)
        self._blind: dict[str, dict[str, ReviewDecision]] = {}
        self._settled: dict[str, tuple[str, ReviewDecision]] = {}
        for name, decisions in said.items():
            for one in decisions:
                if not one.settles:
                    self._blind.setdefault(one.nodeid, {})[name] = one
                elif (
                    one.nodeid not in self._settled
                    or one.now >= self._settled[one.nodeid][1].now
                ):
                    self._settled[one.nodeid] = name, one

    def opinions_on(self, nodeid: str) -> Mapping[str, ReviewDecision]:
        """Return by reviewer what was said of an answer in ignorance of what others said."""
        return self._blind.get(nodeid, {})

    def opinions_by(self, reviewer: str) -> Mapping[str, ReviewDecision]:
        """Return by node id what one reviewer said."""
        return {
            nodeid: opinions[reviewer]
            for nodeid, opinions in self._blind.items()
            if reviewer in opinions
        }

    def credits(self, nodeid: str) -> list[float]:
        """Return the credits that reviewers gave an answer, without those who skipped it."""
        return [
            one.credit
            for one in self.opinions_on(nodeid).values()
            if one.credit is not None
        ]

    def is_disputed(self, nodeid: str) -> bool:
        """Return whether reviewers gave an answer different credits, and nobody has settled it."""
        given = self.credits(nodeid)
        return (
            nodeid not in self._settled
            and bool(given)
            and max(given) - min(given) > SAME
        )

    def disputed_answers(self) -> list[str]:
        """Return the node ids of all answers in dispute."""
        return [nodeid for nodeid in self._blind if self.is_disputed(nodeid)]

    def credit(self, nodeid: str) -> float | None:
        """Return the credit on which all agree who gave one, or that settled it; None where there is none."""
        if settled := self._settled.get(nodeid):
            return settled[1].credit
        given = self.credits(nodeid)
        return None if not given or self.is_disputed(nodeid) else given[0]

    def amendment(self, nodeid: str) -> Amendment | None:
        """Return the amendment that the reviewers' credit amounts to; None where there is none."""
        credit = self.credit(nodeid)
        if credit is None:
            return None
        if settled := self._settled.get(nodeid):
            fields = {settled[0]: settled[1]}
        else:
            fields = {
                name: one
                for name, one in self.opinions_on(nodeid).items()
                if one.credit is not None
            }
        reasons = "; ".join(
            dict.fromkeys(one.reason for one in fields.values() if one.reason.strip())
        )
        text = f"reviewed by {', '.join(fields)}"
        return Amendment(
            score=credit,
            reason=f"{reasons} ({text})" if reasons else text,
            by=tuple(fields),
        )


def record_decision(
    run_folder: Path, row: ScenarioResult, reviewer: str, decision: ReviewDecision
) -> None:
    """Write down what a reviewer says, and the amendment where reviewers give another score than the rules did.

    An amendment of reviewers who no longer agree is taken back; one that was made by
    `ltm amend` is not, but reviewers replace it. `row`: the example with its automatic
    verdict. ConfigurationError if a skip has no reason, LtmError if it cannot be
    written.
    """
    if decision.credit is None and not decision.reason.strip():
        raise ConfigurationError(
            "what is skipped needs a reason: readers of the figures will ask for it"
        )
    folder = run_folder / FOLDER
    make_private(folder, exist_ok=True)
    kept = msgspec.structs.replace(decision, reason=decision.reason[:2_000])
    file = Appender(folder / f"{reviewer_name(reviewer)}.jsonl", new=False)
    try:
        file.append(codec.encode_record(kept).encode(), lasting=True)
    finally:
        file.close()
    opinions = Opinions(read_decisions(run_folder))
    amendment = opinions.amendment(row.nodeid)
    before = amendments.read_amendments(run_folder).get(row.nodeid)
    if amendment and (
        row.score is None
        or abs(amendment.score - row.score) > SAME
        or (before and not before.by)
    ):
        amendments.write_amendment(run_folder, row.nodeid, amendment)
    elif before and before.by:
        amendments.write_amendment(run_folder, row.nodeid, None)


def new_decision(
    nodeid: str, credit: float | None, reason: str = "", *, settles: bool = False
) -> ReviewDecision:
    """Return a decision that is made now."""
    return ReviewDecision(
        nodeid=nodeid, credit=credit, reason=reason, now=wall_time(), settles=settles
    )
