"""Moves: which verdicts are others after a run was scored again, and why, as far as the record tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm._plan import Plan
    from pytest_ltm._result import Outcome, ScenarioResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A verdict of the rules."""

    score: float | None
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One verdict that is another one now."""

    nodeid: str
    scenario: str
    example: str
    agent: str
    span_label: str
    trial: str
    before: Said
    after: Said
    why: str
    """What has changed of that which decides a verdict; a few words."""
    amended: bool
    """A person has said something else, which counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What scoring a run again has come to."""

    run: str
    """The id of the run that was scored again."""
    same: int
    moves: tuple[Move, ...]
    kept: Mapping[str, str]
    """Why an example keeps its recorded verdict, by its conversation and name: `full-2k-0 colours/0`."""
    unknown: int = 0
    """Examples without a recorded verdict, because the run had not come to them."""
    left_out: int = 0
    """Recorded verdicts of examples that were not scored again."""
    without: int = 0
    """Examples that have no verdict, then or now: an error, or skipped."""

    def to_json(self) -> dict[str, Any]:
        """Return JSON values for `summary.json`."""
        return {
            "run": self.run, "same": self.same, "unknown": self.unknown, "left_out": self.left_out,
            "without": self.without, "kept": dict(self.kept), "moved": [_move_json(move) for move in self.moves],
        }  # fmt: skip


def compared(
    run: str,
    before: Iterable[ScenarioResult],
    after: Iterable[ScenarioResult],
    *,
    plans: Mapping[tuple[str, str, str], Sequence[Plan]],
    kept: Mapping[str, str],
) -> Rescored:
    """Return what moved between two scorings of one run.

    `plans`: the recorded plan and that of now by agent, span and trial; `kept`: as in `Rescored`.
    """
    then = {_place(row): row for row in before}
    now = {_place(row): row for row in after}
    pairs = [(then[place], row) for place, row in now.items() if place in then]
    moves = tuple(_move(one, other, plans) for one, other in pairs if _said(one) != _said(other))
    unmoved = [row for one, row in pairs if _said(one) == _said(row) and " ".join(_place(row)) not in kept]
    new = [row for place, row in now.items() if place not in then]
    same, unknown = sum(map(_has_verdict, unmoved)), sum(map(_has_verdict, new))
    return Rescored(
        run=run,
        same=same,
        moves=moves,
        kept=kept,
        unknown=unknown,
        left_out=len(then.keys() - now.keys()),
        without=len(unmoved) + len(new) - same - unknown,
    )


def by_rules(row: ScenarioResult) -> ScenarioResult:
    """Return a row as the rules left it, before a person amended it."""
    was = row.automatic
    return row if was is None else replace(row, score=was.score, outcome=was.outcome, reason=was.reason)


def reasons(before: ScenarioResult, after: ScenarioResult, plans: Sequence[Plan]) -> list[str]:
    """Return what differs of that which decides a verdict."""
    found = _contrast("evaluator", before.rule, after.rule)
    found += _contrast("pass mark", f"{before.pass_mark:g}", f"{after.pass_mark:g}")
    if len(plans) == 2:  # noqa: PLR2004 - then and now
        then, now = plans
        one, other = (_version(plan, before.id) for plan in plans)
        by_source = one.startswith("source:") and other.startswith("source:")  # a hash, which tells nobody anything
        found += ["the test's source has changed"] * (one != other) if by_source else _contrast("scenario", one, other)
        found += _contrast("scoring", then.scoring, now.scoring)
        if before.judge_calls or after.judge_calls:
            found += _judges(then.judge, now.judge)
            found += _contrast("votes", str(then.judge_votes), str(now.judge_votes))
    return found


def _move(before: ScenarioResult, after: ScenarioResult, plans: Mapping[tuple[str, str, str], Any]) -> Move:
    why = reasons(before, after, plans.get((after.agent, after.span_label, after.trial), ()))
    unversioned = "no version has changed: it is the code that the test uses, or the judge says something else"
    one, other = by_rules(before), by_rules(after)
    return Move(
        nodeid=after.nodeid,
        scenario=after.scenario,
        example=after.example,
        agent=after.agent,
        span_label=after.span_label,
        trial=after.trial,
        before=Said(score=one.score, outcome=one.outcome, reason=one.reason),
        after=Said(score=other.score, outcome=other.outcome, reason=other.reason),
        why="; ".join(why) or unversioned,
        amended=after.automatic is not None,
    )


def _place(row: ScenarioResult) -> tuple[str, str]:
    return f"{row.agent}-{row.span_label}-{row.trial}", row.id


def _has_verdict(row: ScenarioResult) -> bool:
    return row.scored or row.cause == "unscored"


def _said(row: ScenarioResult) -> tuple[object, ...]:
    plain = by_rules(row)
    return plain.outcome, plain.score


def _judges(before: str, after: str) -> list[str]:
    """Return which judge, or which of its prompts, is another one."""
    (one, prompts), (other, others) = ([*text.rstrip(")").split(" ("), ""][:2] for text in (before, after))
    if one != other:
        return _contrast("judge", one, other)
    then, now = prompts.split(", "), others.split(", ")
    old, new = [part for part in then if part not in now], [part for part in now if part not in then]
    return _contrast("prompt", ", ".join(old), ", ".join(new))


def _contrast(what: str, before: str, after: str) -> list[str]:
    return [] if before == after else [f"{what} {before or 'none'} -> {after or 'none'}"]


def _version(plan: Plan, key: str) -> str:
    return next((example.version for example in plan.examples if example.key == key), "")


def _move_json(move: Move) -> dict[str, Any]:
    sides = {
        name: {"score": said.score, "outcome": said.outcome, "reason": said.reason}
        for name, said in (("before", move.before), ("after", move.after))
    }
    return {"nodeid": move.nodeid, **sides, "why": move.why, "amended": move.amended}
