"""What scoring a run again comes to: which verdicts differ and why, and what may change between the two."""

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
    """One verdict that is another one now."""

    row: ScenarioResult
    """The example's row now."""
    before: Automatic
    why: str
    """What has changed of that which decides a verdict; a few words."""

    @property
    def after(self) -> Automatic:
        """The verdict of the rules now."""
        return by_rules(self.row)

    @property
    def amended(self) -> bool:
        """Whether a person has said something else, which counts."""
        return self.row.automatic is not None


class Rescored(Struct, frozen=True, kw_only=True):
    """The outcome of scoring a run again."""

    run: str
    """The id of the run that was scored again."""
    same: int
    moves: tuple[Move, ...]
    kept: Mapping[str, str]
    """Why an example keeps its recorded verdict, by its conversation and name: `full-2k-0 colours/0`."""
    unknown: int = 0
    """Examples without a recorded verdict, because the run had not reached them."""
    left_out: int = 0
    """Recorded verdicts of examples that were not scored again."""
    without: int = 0
    """Examples that have no verdict, then or now: an error, or skipped."""
    definitions: Mapping[str, str] = {}
    """What is said of a definition that is not generated as recorded, by conversation and example, as in `kept`."""

    def sentences(self) -> list[str]:
        """Return what it came to, then each verdict that moved, a sentence each."""
        return [rescored_sentence(self), *rescored_details(self)]

    def to_json(self) -> dict[str, Any]:
        """Return JSON values for `summary.json`."""
        moved = [
            {
                "nodeid": move.row.nodeid,
                "before": to_record(move.before),
                "after": to_record(move.after),
            }
            | {"why": move.why, "amended": move.amended}
            for move in self.moves
        ]
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
    """Return what moved between two scorings of one run.

    `plans`: the recorded and the current plan by conversation; `kept`: as in
    `Rescored`.
    """
    then, new_rows = (
        {(str(row.conversation), row.id): row for row in rows}
        for rows in (before, after)
    )
    moves = list[Move]()
    unmoved = list[ScenarioResult]()
    new = [row for place, row in new_rows.items() if place not in then]
    for place, row in new_rows.items():
        if place in then and _compared(then[place]) != _compared(row):
            reason = "; ".join(
                verdict_differences(then[place], row, plans.get(row.conversation, ()))
            )
            moves.append(Move(row, by_rules(then[place]), reason or _UNVERSIONED))
        elif place in then and " ".join(place) not in kept:
            # what is kept has an entry of its own
            unmoved.append(row)
    same, unknown = (
        sum(row.scored or row.cause in ("unscored", "ungraded") for row in rows)
        for rows in (unmoved, new)
    )
    without = len(unmoved) + len(new) - same - unknown
    left_out = len(then.keys() - new_rows.keys())
    return Rescored(
        run=run,
        same=same,
        moves=tuple(moves),
        kept=kept,
        unknown=unknown,
        left_out=left_out,
        without=without,
    )


_UNVERSIONED = "no version has changed: the code that the test uses has, or the judge answered differently"


def by_rules(row: ScenarioResult) -> Automatic:
    """Return the verdict of the rules, before a person amended it."""
    return row.automatic or row.verdict


def verdict_differences(
    before: ScenarioResult, after: ScenarioResult, plans: Sequence[Plan]
) -> list[str]:
    """Return what differs of that which decides a verdict."""
    texts = _version_difference("evaluator", before.rule, after.rule)
    texts += _version_difference(
        "threshold", f"{before.threshold:g}", f"{after.threshold:g}"
    )
    if len(plans) == 2:
        then, new_plan = plans
        then_version, now_version = (
            next(
                (
                    example.version
                    for example in plan.examples
                    if example.key == before.id
                ),
                "",
            )
            for plan in plans
        )
        if is_of_source(then_version) and is_of_source(now_version):
            # hashes, which mean nothing to a reader
            if then_version != now_version:
                texts.append("the test's source has changed")
        else:
            texts += _version_difference("scenario", then_version, now_version)
        texts += _version_difference("scoring", then.scoring, new_plan.scoring)
        texts += _version_difference(
            "reading", str(then.reading), str(new_plan.reading)
        )
        # Another judge explains nothing where no judge was asked.
        if before.judge_calls or after.judge_calls:
            texts += _judge_differences(then.judge, new_plan.judge)
            texts += _version_difference(
                "votes", str(then.judge_votes), str(new_plan.judge_votes)
            )
    return texts


def _compared(row: ScenarioResult) -> tuple[object, ...]:
    """Return what makes a verdict another one: a judge may give another reason for the same score."""
    plain = by_rules(row)
    return plain.outcome, plain.score, plain.upper


def _judge_differences(before: str, after: str) -> list[str]:
    """Return which judge, or which of its prompts, is another one."""
    (then_judge, prompts), (now_judge, now_prompts) = (
        [*text.rstrip(")").split(" ("), ""][:2] for text in (before, after)
    )
    if then_judge != now_judge:
        return _version_difference("judge", then_judge, now_judge)
    then = prompts.split(", ")
    new_parts = now_prompts.split(", ")
    old = [part for part in then if part not in new_parts]
    new = [part for part in new_parts if part not in then]
    return _version_difference("prompt", ", ".join(old), ", ".join(new))


def _version_difference(name: str, before: str, after: str) -> list[str]:
    if before == after:
        return []
    return [f"{name} {before or 'none'} -> {after or 'none'}"]


# --- What may be another one when a run is re-scored, and what may not.

# Settings of a run that decide only how it is scored, not what is said.
FREE = frozenset({"scoring", "judge", "reading", "rescored"})
_FIXED = ("seed", "trial", "span", "tokenizer", "time", "history")


def setting_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each changed setting that decides what is said."""
    recorded, today = (
        {name: value for name, value in settings.items() if name not in FREE}
        for settings in (then, now)
    )
    return value_changes(recorded, today)


def plan_differences(recorded: Plan, now: Plan) -> list[str]:
    """Return a sentence for each difference that keeps a conversation from being scored again."""
    then, today = (
        {name: plan[name] for name in _FIXED}
        for plan in (recorded.to_json(), now.to_json())
    )
    recorded_keys = {example.key for example in recorded.examples}
    missing = [
        f"{example.key} was not recorded."
        for example in now.examples
        if example.key not in recorded_keys
    ]
    return value_changes(then, today, "The plan's {}") + missing


def rescored_plan(recorded: Plan, now: Plan, *, same_judge: bool) -> Plan:
    """Return the recorded plan, of today's examples, with the rules of today.

    `same_judge`: only the original judge is used.
    """
    today = {example.key: example for example in now.examples}
    judge = {} if same_judge else {"judge": now.judge, "judge_votes": now.judge_votes}
    examples = tuple(
        replace(
            example, version=new.version, skills=new.skills, threshold=new.threshold
        )
        for example in recorded.examples
        if (new := today.get(example.key)) is not None
    )
    return replace(
        recorded,
        examples=examples,
        scoring=now.scoring,
        reading=now.reading,
        **judge,  # type: ignore[arg-type]
    )


# --- The verdicts that a recorded conversation came to, from its results or, where it
# died before them, its journal.


def rescored_lines(rescored: Rescored, width: int) -> list[str]:
    """Return the counts, then a line for each verdict that moved or was kept."""
    lines = [
        line
        for text in rescored_details(rescored)
        for line in wrap_text(f"  {text}", width, "    ")
    ]
    return [*wrap_text(rescored_sentence(rescored), width, "  "), *lines]


def rescored_sentence(rescored: Rescored) -> str:
    """Return the counts."""
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
    """Return a sentence for each verdict that moved or was kept."""
    texts = []
    for move in rescored.moves:
        place = f"{move.row.conversation} {move.row.id}"
        before, after = (
            verdict_text(row, f"{row.outcome}, no score")
            for row in (move.before, move.after)
        )
        amended = " (amended by hand: the amendment counts)" if move.amended else ""
        texts.append(one_line(f"{place}: {before} -> {after}{amended}: {move.why}"))
    texts += [
        f"{name}: kept: {one_line(reason)}" for name, reason in rescored.kept.items()
    ]
    # A new rule may move thousands of verdicts.
    return first_and_rest(texts, 60, "… and {:,} more: see summary.json")
