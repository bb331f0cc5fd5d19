"""`review RUN`: the verdicts that deserve a look, with the reasons."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct, structs

from pytest_ltm.api.journal import (
    ConversationResult,
    ScenarioResult,
    events,
    find_run,
    strip_checksum,
    whole_lines,
)
from pytest_ltm.api.model import Unscored
from pytest_ltm.api.scenarios import PROMPTS, parse_grade
from pytest_ltm.api.storage import LtmError, fields_of, one_line, pluralize
from pytest_ltm.commands.arguments import (
    add_baselines,
    add_json,
    add_option,
    add_run,
    positive_integer,
)
from pytest_ltm.figures.run_loading import results_in
from pytest_ltm.figures.text import clip_text, score_text, verdict_text
from pytest_ltm.gate.changes import GateSide, one_agent
from pytest_ltm.gate.sides import find_side
from pytest_ltm.judges.by_rules import RulesJudge
from pytest_ltm.reports.html.details import plan_definitions

_WIDTH = 100
# Scores that differ by less are equal: thirds are stored with few digits.
SAME = 0.01


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, the side to compare with, and the length of the list."""
    compare_help = (
        "a baseline or a run: verdicts that moved much against it are listed, too"
    )
    add_option(parser, "--compare", "BASELINE", compare_help)
    add_option(
        parser,
        "--most",
        "N",
        "number of verdicts to list (default: 10)",
        10,
        type=positive_integer,
    )
    add_json(parser)
    add_baselines(parser)
    add_run(parser)


def review_run(arguments: Namespace) -> int:
    """List the verdicts that deserve a look, with reasons, most often wrong first.

    `ltm show RUN ITEM` prints one as a chat, `ltm lab amend` corrects it.
    """
    path = find_run(arguments.run, arguments.ltm_dir)
    baseline = None
    if arguments.compare:
        baseline, _ = find_side(
            arguments.compare, arguments.baselines, arguments.ltm_dir
        )
    cases = read_cases(path, baseline)
    if arguments.json:
        print(json.dumps(_cases_json(cases), indent=1))
    else:
        print("\n".join(_queue_lines(cases, arguments.most)))
    return 0


def _queue_lines(cases: Cases, limit: int) -> Iterator[str]:
    """Yield the number of verdicts that deserve a look by reason, and the first of them."""
    yield f"{pluralize(len(cases.cases), 'verdict')} of run {cases.run_id}, {len(cases.queue):,} deserve a look"
    counts: Counter[Kind] = Counter()
    for case in cases.queue:
        counts.update({reason.kind for reason in case.why})
    for kind in KINDS:
        if counts[kind]:
            yield f"  {counts[kind]:>6,}  {kind}: {MEANING[kind]}"
    for case in cases.queue[:limit]:
        score = verdict_text(case.row, "none")
        yield clip_text(f"{score:>5}  {one_line(case.row.nodeid)}", _WIDTH)
        for reason in case.why:
            text = f"       {reason.kind}: {one_line(reason.text)}"
            yield clip_text(text, _WIDTH)
    if len(cases.queue) > limit:
        yield f"       … and {len(cases.queue) - limit:,} more"
    yield from (f"note: {one_line(notice)}" for notice in cases.notices)


def _cases_json(cases: Cases) -> dict[str, Any]:
    queue = []
    for case in cases.queue:
        reasons = list(map(structs.asdict, case.why))
        queue.append({**fields_of(case.row, "nodeid", "score"), "why": reasons})
    return {"run": cases.run_id, "verdicts": len(cases.cases), "queue": queue}


# --- The verdicts that deserve a look.


Kind = Literal[
    "unsure", "judge and rules", "split votes", "moved", "near the limit", "words"
]
# Reasons to look at a verdict, most often wrong first.
KINDS: tuple[Kind, ...] = get_args(Kind)
MEANING: Mapping[Kind, str] = {
    "unsure": "neither rules nor judge could tell",
    "judge and rules": "the judge says one thing, and the words of the answer another",
    "split votes": "the judge's votes differ",
    "moved": "another score than in the baseline, by half of full marks or more",
    "near the limit": "one check more or less, or a tenth of full marks, decides whether it passes",
    "words": "the rules say one thing, and a plain comparison of words another",
}
MOVED = 0.5
# Shares of full marks.
NEAR = 0.1


class Why(Struct, frozen=True):
    """One reason to look at a verdict."""

    kind: Kind
    text: str
    """A sentence for the reviewer."""


class Case(Struct, frozen=True, kw_only=True):
    """An example that has, or should have, a verdict."""

    row: ScenarioResult
    """With the automatic verdict, even if it was amended."""
    folder: Path
    """The folder of its conversation."""
    definition: Mapping[str, Any]
    """The "expected" and "parameters" of its definition; empty without a plan."""
    why: tuple[Why, ...] = ()
    """The reasons to look at its verdict; empty if there are none."""


class Cases(Struct, frozen=True, kw_only=True, dict=True):
    """All examples of a run that have, or should have, a verdict."""

    run_id: str
    path: Path
    cases: tuple[Case, ...]
    """In the order of the run."""
    notices: tuple[str, ...] = ()
    """Parts that could not be read."""

    @cached_property
    def queue(self) -> tuple[Case, ...]:
        """The cases to look at, by their first reason; scenarios alternate, so that none dominates."""
        turns: Counter[tuple[int, str]] = Counter()
        placed: list[tuple[int, int, int, Case]] = []
        for case in self.cases:
            if case.why:
                kind = min(KINDS.index(reason.kind) for reason in case.why)
                turns[kind, case.row.scenario] += 1
                placed.append(
                    (kind, turns[kind, case.row.scenario], -len(case.why), case)
                )
        return tuple(case for *_, case in sorted(placed, key=lambda entry: entry[:3]))


def read_cases(path: Path, baseline: GateSide | None = None) -> Cases:
    """Return the reviewable examples of a run folder, each with the reasons to look at it.

    `baseline`: the side that the run is compared with. LtmError without readable results.
    """
    result, notices = results_in(path)
    if not result:
        raise LtmError(
            f"{path}: no results to review"
            + "".join(f": {notice}" for notice in notices[:1])
        )
    earlier: dict[tuple[str, ...], float] = {}
    if baseline:
        agents = {conversation.result.agent for conversation in result}
        earlier = _earlier_scores(baseline, agents)
    cases: list[Case] = []
    for conversation in result:
        definitions = {
            name: definition
            for name, definition in plan_definitions(conversation.plan()).items()
            if isinstance(definition, dict)
        }
        votes = _split_votes(conversation.path / "journal.jsonl", conversation.result)
        for row in conversation.result.scenarios:
            if row.scored or row.cause in ("unscored", "ungraded"):
                case = Case(
                    row=row,
                    folder=conversation.path,
                    definition=definitions.get(row.id, {}),
                )
                reasons = tuple(
                    _review_reasons(
                        case, votes.get(row.id, ""), earlier.get(_case_key(row))
                    )
                )
                cases.append(structs.replace(case, why=reasons))
    return Cases(
        run_id=path.resolve().name,
        path=path,
        cases=tuple(cases),
        notices=tuple(notices),
    )


def _review_reasons(
    case: Case, votes: str, earlier_score: float | None
) -> Iterator[Why]:
    row = case.row
    if not row.scored:
        yield Why("unsure", row.reason)
    yield from _by_words(case)
    if votes:
        yield Why("split votes", votes)
    if (
        row.score is not None
        and earlier_score is not None
        and abs(row.score - earlier_score) >= MOVED
    ):
        yield Why(
            "moved", f"{score_text(earlier_score)} before, {score_text(row.score)} now"
        )
    if row.score is None or not SAME < row.score < 1 - SAME:
        return
    step = 1 / len(row.checks) if len(row.checks) > 1 else NEAR
    if abs(row.score - row.threshold) <= step + 1e-9:
        margin = "one check" if len(row.checks) > 1 else f"{NEAR:.0%} of full marks"
        outcome = "passes" if row.score >= row.threshold else "fails"
        yield Why(
            "near the limit",
            f"it {outcome} with {score_text(row.score)} by no more than {margin}",
        )


def _by_words(case: Case) -> Iterator[Why]:
    """Yield a reason if a plain word comparison of answer and expected text contradicts the verdict."""
    row = case.row
    reference = case.definition.get("expected")
    if (
        row.score is None
        or len(row.questions) != 1
        or not isinstance(reference, str)
        or not reference.strip()
    ):
        return
    [question] = row.questions
    # A longer answer shares its words with any text, so they prove nothing.
    if SAME < row.score < 1 - SAME or len(question.answer) > 20_000:
        return
    inquiry = PROMPTS["answer"].inquiry(
        question=question.text, reference=reference, answer=question.answer
    )
    says_yes = parse_grade(_BY_WORDS.assess(inquiry), inquiry.grades) == "yes"
    if says_yes == (row.score > SAME):
        return
    finding = f"its words are{'' if says_yes else ' not'} those of {reference[:80]!r}"
    if row.judge_calls:
        yield Why(
            "judge and rules",
            f"the judge {'fails' if says_yes else 'passes'} it, and {finding}",
        )
    else:
        yield Why("words", f"the rules give {score_text(row.score)}, and {finding}")


_BY_WORDS = RulesJudge()


def _split_votes(journal: Path, conversation: ConversationResult) -> dict[str, str]:
    """Return by example how the judge's votes on one question disagree, as far as the journal is readable."""
    votes: dict[tuple[str, str], Counter[str]] = {}
    asked_often = any(row.judge_calls > 1 for row in conversation.scenarios)
    for _, line in whole_lines(journal) if asked_often and journal.is_file() else ():
        # Most lines are other events: decoding those as well would dominate the run
        # time.
        if not line.startswith(b'{"event":"judge"'):
            continue
        with suppress(LtmError):
            event = events.decode_event(strip_checksum(line), "")
            if not isinstance(event, events.JudgeAsked) or event.reply is None:
                continue
            prompt = PROMPTS.get(event.name)
            if prompt is not None:
                grade = parse_grade(event.reply, prompt.grades)
                vote = "no grade" if isinstance(grade, Unscored) else grade
                votes.setdefault((event.example, event.prompt), Counter())[vote] += 1
    sentences = {}
    for (example, _), tally in votes.items():
        if len(tally) > 1:
            counts = [f"{count} x {grade}" for grade, count in tally.most_common()]
            sentences[example] = f"the judge's votes: {', '.join(counts)}"
    return sentences


def _earlier_scores(
    baseline: GateSide, agents: Iterable[str]
) -> dict[tuple[str, ...], float]:
    """Return the scores of a baseline by case; its only agent matches under any name."""
    scores: dict[tuple[str, ...], float] = {}
    for agent in agents:
        if agent in baseline.agents:
            side = one_agent(baseline, agent)
        elif len(baseline.agents) == 1:
            side = one_agent(baseline)
        else:
            continue
        for row in side.result.scenarios:
            if row.score is not None:
                case = (agent, *_case_key(row)[1:])
                scores[case] = row.score
    return scores


def _case_key(row: ScenarioResult) -> tuple[str, ...]:
    return row.agent, row.scenario, row.example, row.span_label, row.trial
