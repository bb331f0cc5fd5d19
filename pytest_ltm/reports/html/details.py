"""What is shown of one example when it is opened: verdict, questions with their needles, its own exchanges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pytest_ltm._core.journal.fold import ConversationRecord, Example
from pytest_ltm._core.journal.result import (
    ExampleMetric,
    QuestionResult,
    ScenarioResult,
)
from pytest_ltm._core.model.transcript import Exchange
from pytest_ltm._core.storage.clock import describe_duration
from pytest_ltm._core.storage.patterns import lazy_pattern
from pytest_ltm._core.storage.wording import pluralize
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_distance, text_of, verdict_text
from pytest_ltm.reports.failure import distance_text
from pytest_ltm.reports.html.charts import shade_class

if TYPE_CHECKING:
    from pytest_ltm.reports.html.report_data import ExampleEntry


NO_EXCHANGES = (
    "It has a score, but the journal has none of its exchanges: they are missing here."
)


def example_details(
    result: ScenarioResult,
    record: ConversationRecord | None,
    expected: str,
    damage: str = "",
    unanswered: Iterable[Exchange] = (),
) -> dict[str, Any]:
    """Return JSON values for the page.

    `expected`: what the definition says of right answers; `damage`: what is wrong with
    the journal; `unanswered`: the conversation's messages without a reply.
    """
    talk = _talk_json(result, record, unanswered) if record else []
    lost = NO_EXCHANGES if result.scored and not talk else ""
    if record is None:
        lost = f"The run folder has no readable journal, so the exchanges are missing here. {damage}".rstrip()
    automatic, span = result.automatic, ""
    if result.measured_span is not None:
        over = ", longer than its memory span" if result.overrun else ""
        span = f"{pluralize(result.measured_span, 'token')} from its start to its last question{over}"
    facts = {
        "score": verdict_text(result, "none")
        + f" (passes at {result.threshold:.2f})" * result.scored,
        "why": result.reason,
        "before it was amended": f"{verdict_text(automatic)}: {automatic.reason}"
        if automatic
        else "",
        "rule": result.rule,
        "decided by": result.evidence,
        "expected": expected,
        "span": span,
        "item": result.nodeid,
    }
    return {
        "facts": [[name, text] for name, text in facts.items() if text],
        "checks": [[check.label, check.state] for check in result.checks],
        "curves": [[name, points] for name, points in metric_curves(result.metrics)],
        "questions": [_question_json(question) for question in result.questions],
        "evidence": result.evidence,
        "talk": talk,
        "missing": lost,
    }


_POINT = lazy_pattern(r"(?P<curve>\w+)_(?P<place>[1-9]\d*)")


def metric_curves(
    metrics: Sequence[ExampleMetric],
) -> Iterator[tuple[str, list[float]]]:
    """Yield name and values of each row of shares that are numbered from 1 on, as `lesson_1` and `lesson_2`."""
    pairs = [
        (match["curve"], int(match["place"]), metric.value)
        for metric in metrics
        if (match := _POINT.fullmatch(metric.name))
    ]
    for name, points in group_by(pairs, itemgetter(0)).items():
        values = {place: value for _, place, value in points if 0 <= value <= 1}
        if len(values) > 1 and sorted(values) == [*range(1, len(points) + 1)]:
            yield name, [values[place] for place in sorted(values)]


def _question_json(question: QuestionResult) -> dict[str, Any]:
    needles: list[dict[str, Any]] = []
    for needle in question.needles:
        parts = [
            f"{format_distance(needle.gap, timedelta(seconds=needle.seconds_passed))} before the question"
        ]
        told = f"{pluralize(needle.told_gap, 'token')} without the agent's replies"
        parts += [told] * (needle.told_gap < needle.gap)
        rank = {} if needle.rank is None else {"rank": needle.rank}
        parts += [
            f"retrieved at rank {needle.rank}" if needle.rank else "not retrieved"
        ] * bool(rank)
        needles.append(
            {"n": needle.number, "text": needle.text, "gap": "; ".join(parts), **rank}
        )
    fields = {"n": question.number, "q": question.text, "a": question.answer}
    return {**fields, **retrieval_json(question.retrieved), "needles": needles}


def own_exchanges(
    result: ScenarioResult, record: ConversationRecord, unanswered: Iterable[Exchange]
) -> list[Exchange]:
    """Return what an example said, was asked for credit and got no reply to, in order.

    `unanswered`: those of the record, which makes them anew whenever it is asked for
    them.
    """
    asked = filter(
        None, (record.exchange(question.number) for question in result.questions)
    )
    # By number, as most of what was asked for credit is an exchange of its own.
    own = [
        *record.transcript.exchanges_of(result.id),
        *(one for one in unanswered if one.by == result.id),
        *asked,
    ]
    return [one for _, one in sorted({one.number: one for one in own}.items())]


def _talk_json(
    result: ScenarioResult, record: ConversationRecord, unanswered: Iterable[Exchange]
) -> list[dict[str, Any]]:
    kinds = {
        needle.number: "needle"
        for question in result.questions
        for needle in question.needles
    }
    kinds |= {question.number: "question" for question in result.questions}
    ordered = own_exchanges(result, record, unanswered)
    return [
        {
            "n": exchange.number,
            "kind": kinds.get(exchange.number, exchange.kind),
            "at": f"at {pluralize(exchange.start, 'token')}, {exchange.now:%Y-%m-%d %H:%M}",
            "gap": distance_text(before, exchange, record.transcript) if before else "",
            "user": exchange.user or "you",
            "m": exchange.message,
            "r": exchange.acted_reply,
            "fault": record.fault(exchange.number),
            **retrieval_json(exchange.retrieved),
        }
        for before, exchange in zip([None, *ordered], ordered, strict=False)
    ]


def retrieval_json(retrieved: tuple[str, ...] | None) -> dict[str, list[str]]:
    """Return what an agent retrieved, where it says so, for the page."""
    return {} if retrieved is None else {"found": list(retrieved)}


def plan_definitions(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return each example's definition, by example (`colours/0`), from a plan's JSON values."""
    listed = plan.get("examples")
    result = (
        [each for each in listed if isinstance(each, dict)]
        if isinstance(listed, list)
        else []
    )
    return {
        f"{each.get('scenario')}/{each.get('example')}": each.get("definition")
        for each in result
    }


def expected_answers(definitions: Mapping[str, Any]) -> dict[str, str]:
    """Return what each example's definition says of right answers, as text; "" where it says nothing."""
    said = {
        name: one.get("expected")
        for name, one in definitions.items()
        if isinstance(one, dict)
    }
    return {name: "" if one is None else text_of(one) for name, one in said.items()}


# --- A conversation as a time line: a lane for each example, marks at their tokens,
# needles joined to questions.

# Characters of a filler's message.
FILLER_SHOWN = 600
# The lane of opening message and filler.
OTHERS = -1


def timeline_json(
    rows: Sequence[ExampleEntry], record: ConversationRecord
) -> dict[str, Any]:
    """Return JSON values for the page; lanes in the order in which their examples began."""
    examples = {row.key: record.examples.get(row.result.id, Example()) for row in rows}
    # An example that never began stands below all others.
    begins = {
        key: inf if example.begin is None else example.begin
        for key, example in examples.items()
    }
    ordered = sorted(rows, key=lambda row: (begins[row.key], row.key))
    lanes = {row.result.id: number for number, row in enumerate(ordered)}
    asked = {
        (row.result.id, question.number)
        for row in rows
        for question in row.result.questions
    }
    exchanges = sorted(
        (*record.transcript, *record.unanswered.values()), key=lambda each: each.number
    )
    marks, texts = [], {}
    for each in exchanges:
        # What no example said is nowhere else in the page; the journal has all of a
        # long filler.
        if each.by not in lanes:
            more = len(each.message) - FILLER_SHOWN if each.kind == "filler" else 0
            cut = f"{each.message[:FILLER_SHOWN]}\n… and {more:,} more characters, in journal.jsonl"
            retrieved = retrieval_json(each.retrieved).values()
            text = cut if more > 0 else each.message
            texts[str(each.number)] = [
                text,
                each.reply,
                record.fault(each.number),
                *retrieved,
            ]
        kind = "question" if (each.by, each.number) in asked else each.kind
        place = each.number, lanes.get(each.by, OTHERS), kind, each.start
        marks.append(
            [
                *place,
                each.message_tokens,
                each.reply_tokens,
                f"{each.now:%Y-%m-%d %H:%M}",
            ]
        )
    return {
        "tokens": record.transcript.position,
        "lanes": [_lane_json(row, examples[row.key]) for row in ordered],
        "marks": marks,
        # Jumps with no token between them are one.
        "jumps": [
            [
                position,
                f"+{describe_duration(jumps[-1].to - jumps[0].before)}",
                f"{jumps[-1].to:%Y-%m-%d %H:%M}",
            ]
            for position, jumps in group_by(
                record.jumps, lambda jump: jump.position
            ).items()
        ],
        "links": [
            [needle.number, question.number, needle.rank]
            for row in ordered
            for question in row.result.questions
            for needle in question.needles
        ],
        "texts": texts,
    }


def _lane_json(row: ExampleEntry, example: Example) -> dict[str, Any]:
    result = row.result
    fields = {
        "k": row.key,
        "name": result.id,
        "score": result.score,
        "shade": shade_class(result.score),
    }
    end = None if example.begin is None else example.end
    return fields | {"outcome": result.outcome, "from": example.begin, "to": end}
