"""The changes by rescoring a run: which verdicts differ and why, and what may change between the two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct

from pytest_ltm.api.journal import Automatic, ConversationName, ScenarioResult
from pytest_ltm.api.scenarios import Plan, is_of_source
from pytest_ltm.api.storage import first_and_rest, one_line, pluralize, to_record
from pytest_ltm.figures.text import verdict_text, wrap_text
from pytest_ltm.records.recording import value_changes


class Move(Struct, frozen=True):
    """A verdict that changed."""

    row: ScenarioResult
    """The example's current row."""
    before: Automatic
    why: str
    """The changed inputs of the verdict, in a few words."""

    @property
    def after(self) -> Automatic:
        """The current verdict of the rules."""
        return by_rules(self.row)

    @property
    def amended(self) -> bool:
        """Whether a reviewer's amendment counts instead."""
        return self.row.automatic is not None


class Rescored(Struct, frozen=True, kw_only=True):
    """The outcome of rescoring a run."""

    run: str
    """The id of the rescored run."""
    same: int
    moves: tuple[Move, ...]
    kept: Mapping[str, str]
    """Why an example keeps its recorded verdict, by its conversation and name: `full-2k-0 colours/0`."""
    unknown: int = 0
    """Examples without a recorded verdict, because the run had not reached them."""
    left_out: int = 0
    """Recorded verdicts of examples that were not rescored."""
    without: int = 0
    """Examples without a verdict, then or now: an error, or skipped."""
    definitions: Mapping[str, str] = {}
    """The sentence about a definition that is generated differently now, by conversation and example, as in `kept`."""

    def sentences(self) -> list[str]:
        """Return the outcome, then each changed verdict, a sentence each."""
        return [rescored_sentence(self), *rescored_details(self)]

    def to_json(self) -> dict[str, Any]:
        """Return JSON values for `summary.json`."""
        moved: list[dict[str, Any]] = []
        for move in self.moves:
            record = {
                "nodeid": move.row.nodeid,
                "before": to_record(move.before),
                "after": to_record(move.after),
                "why": move.why,
                "amended": move.amended,
            }
            moved.append(record)
        return {
            "run": self.run,
            "same": self.same,
            "unknown": self.unknown,
            "left_out": self.left_out,
            "without": self.without,
            "kept": dict(self.kept),
            "moved": moved,
            **({"definitions": dict(self.definitions)} if self.definitions else {}),
        }


def compare_scorings(
    run: str,
    before: Iterable[ScenarioResult],
    after: Iterable[ScenarioResult],
    *,
    plans: Mapping[ConversationName, Sequence[Plan]],
    kept: Mapping[str, str],
) -> Rescored:
    """Return the changes between two scorings of one run.

    `plans`: the recorded and the current plan by conversation; `kept`: as in
    `Rescored`.
    """
    old_rows = _rows_by_place(before)
    new_rows = _rows_by_place(after)
    moves = list[Move]()
    unmoved = list[ScenarioResult]()
    new = list[ScenarioResult]()
    for place, row in new_rows.items():
        former = old_rows.get(place)
        if former is None:
            new.append(row)
        elif _compared(former) != _compared(row):
            plans_of_row = plans.get(row.conversation, ())
            reason = "; ".join(verdict_differences(former, row, plans_of_row))
            moves.append(Move(row, by_rules(former), reason or _UNVERSIONED))
        elif " ".join(place) not in kept:
            # Kept verdicts have an entry of their own.
            unmoved.append(row)
    same = _count_judged(unmoved)
    unknown = _count_judged(new)
    without = len(unmoved) + len(new) - same - unknown
    left_out = len(old_rows.keys() - new_rows.keys())
    return Rescored(
        run=run,
        same=same,
        moves=tuple(moves),
        kept=kept,
        unknown=unknown,
        left_out=left_out,
        without=without,
    )


def _rows_by_place(
    rows: Iterable[ScenarioResult],
) -> dict[tuple[str, str], ScenarioResult]:
    return {(str(row.conversation), row.id): row for row in rows}


def _count_judged(rows: Iterable[ScenarioResult]) -> int:
    return sum(row.scored or row.cause in ("unscored", "ungraded") for row in rows)


_UNVERSIONED = "no version has changed: the code that the test uses has, or the judge answered differently"


def by_rules(row: ScenarioResult) -> Automatic:
    """Return the verdict of the rules, before a reviewer amended it."""
    return row.automatic or row.verdict


def verdict_differences(
    before: ScenarioResult, after: ScenarioResult, plans: Sequence[Plan]
) -> list[str]:
    """Return the differences in the inputs of a verdict."""
    texts = _version_difference("evaluator", before.rule, after.rule)
    texts += _version_difference(
        "threshold", f"{before.threshold:g}", f"{after.threshold:g}"
    )
    if len(plans) == 2:
        old, new = plans
        old_version = _version_in(old, before.id)
        new_version = _version_in(new, before.id)
        if is_of_source(old_version) and is_of_source(new_version):
            # Hashes, which mean nothing to a reader.
            if old_version != new_version:
                texts.append("the test's source has changed")
        else:
            texts += _version_difference("scenario", old_version, new_version)
        texts += _version_difference("scoring", old.scoring, new.scoring)
        texts += _version_difference("reading", str(old.reading), str(new.reading))
        # A different judge explains nothing if no judge was asked.
        if before.judge_calls or after.judge_calls:
            texts += _judge_differences(old.judge, new.judge)
            texts += _version_difference(
                "votes", str(old.judge_votes), str(new.judge_votes)
            )
    return texts


def _version_in(plan: Plan, key: str) -> str:
    """Return the version of an example; "" if the plan has no example of that name."""
    versions = (example.version for example in plan.examples if example.key == key)
    return next(versions, "")


def _compared(row: ScenarioResult) -> tuple[object, ...]:
    """Return the compared parts of a verdict: a judge may give a different reason for the same score."""
    plain = by_rules(row)
    return plain.outcome, plain.score, plain.upper


def _judge_differences(old: str, new: str) -> list[str]:
    """Return the difference between the judges or their prompts."""
    old_judge, old_text, *_ = [*old.rstrip(")").split(" ("), ""]
    new_judge, new_text, *_ = [*new.rstrip(")").split(" ("), ""]
    if old_judge != new_judge:
        return _version_difference("judge", old_judge, new_judge)
    old_prompts = old_text.split(", ")
    new_prompts = new_text.split(", ")
    return _version_difference(
        "prompt",
        ", ".join(prompt for prompt in old_prompts if prompt not in new_prompts),
        ", ".join(prompt for prompt in new_prompts if prompt not in old_prompts),
    )


def _version_difference(name: str, old: str, new: str) -> list[str]:
    if old == new:
        return []
    return [f"{name} {old or 'none'} -> {new or 'none'}"]


# --- Settings that may, and that may not, change when a run is rescored.

# Settings of a run that decide only how it is scored, not what is sent.
FREE = frozenset({"scoring", "judge", "reading", "rescored"})
_FIXED = ("seed", "trial", "span", "tokenizer", "time", "history")


def setting_differences(
    recorded: Mapping[str, Any], current: Mapping[str, Any]
) -> list[str]:
    """Return a sentence for each changed setting that affects what is sent."""
    fixed_recorded = {name: recorded[name] for name in recorded if name not in FREE}
    fixed_current = {name: current[name] for name in current if name not in FREE}
    return value_changes(fixed_recorded, fixed_current)


def plan_differences(recorded: Plan, current: Plan) -> list[str]:
    """Return a sentence for each difference that prevents a conversation from being rescored."""
    recorded_fields = recorded.to_json()
    current_fields = current.to_json()
    changes = value_changes(
        {name: recorded_fields[name] for name in _FIXED},
        {name: current_fields[name] for name in _FIXED},
        "The plan's {}",
    )
    recorded_keys = {example.key for example in recorded.examples}
    for example in current.examples:
        if example.key not in recorded_keys:
            changes.append(f"{example.key} was not recorded.")
    return changes


def rescored_plan(recorded: Plan, current: Plan, *, same_judge: bool) -> Plan:
    """Return the recorded plan with the current examples and rules.

    `same_judge`: only the original judge is used.
    """
    today = {example.key: example for example in current.examples}
    judge: dict[str, Any] = {}
    if not same_judge:
        judge = {"judge": current.judge, "judge_votes": current.judge_votes}
    examples = []
    for example in recorded.examples:
        new = today.get(example.key)
        if new is not None:
            rescored = replace(
                example, version=new.version, skills=new.skills, threshold=new.threshold
            )
            examples.append(rescored)
    return replace(
        recorded,
        examples=tuple(examples),
        scoring=current.scoring,
        reading=current.reading,
        **judge,
    )


# --- The sentences about the changes.


def rescored_lines(rescored: Rescored, width: int) -> list[str]:
    """Return the counts, then a line for each changed or kept verdict."""
    lines = [*wrap_text(rescored_sentence(rescored), width, "  ")]
    for text in rescored_details(rescored):
        lines += wrap_text(f"  {text}", width, "    ")
    return lines


def rescored_sentence(rescored: Rescored) -> str:
    """Return the counts in a sentence."""
    counts = [
        f"{pluralize(rescored.same, 'verdict')} unchanged",
        f"{len(rescored.moves):,} moved",
    ]
    if rescored.kept:
        counts.append(f"{len(rescored.kept):,} kept because their scripts changed")
    if rescored.unknown:
        counts.append(f"{rescored.unknown:,} scored for the first time")
    if rescored.left_out:
        counts.append(f"{rescored.left_out:,} recorded ones left out")
    if rescored.without:
        counts.append(f"{pluralize(rescored.without, 'example')} without a verdict")
    return one_line(f"scored again: run {rescored.run}: {', '.join(counts)}")


def rescored_details(rescored: Rescored) -> list[str]:
    """Return a sentence for each changed or kept verdict."""
    texts = []
    for move in rescored.moves:
        place = f"{move.row.conversation} {move.row.id}"
        old = verdict_text(move.before, f"{move.before.outcome}, no score")
        new = verdict_text(move.after, f"{move.after.outcome}, no score")
        amended = " (amended by hand: the amendment counts)" if move.amended else ""
        texts.append(one_line(f"{place}: {old} -> {new}{amended}: {move.why}"))
    for name, reason in rescored.kept.items():
        texts.append(f"{name}: kept: {one_line(reason)}")
    # A new rule may change thousands of verdicts.
    return first_and_rest(texts, 60, "… and {:,} more: see summary.json")
