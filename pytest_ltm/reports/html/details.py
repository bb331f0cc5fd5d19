"""The opened view of one example: verdict, questions with their needles, its own exchanges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pytest_ltm.api.journal import (
    ConversationRecord,
    Example,
    ExampleMetric,
    NeedleRef,
    QuestionResult,
    ScenarioResult,
)
from pytest_ltm.api.model import Exchange
from pytest_ltm.api.storage import describe_duration, lazy_pattern, pluralize
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
    damage: str,
    unanswered: Iterable[Exchange],
) -> dict[str, Any]:
    """Return the details as JSON values for the page.

    `expected`: the right answers by the definition; `damage`: the journal's damage, if any; `unanswered`: the
    conversation's messages without a reply.
    """
    exchanges: list[dict[str, Any]] = []
    missing = ""
    if record is None:
        missing = f"The run folder has no readable journal, so the exchanges are missing here. {damage}".rstrip()
    else:
        exchanges = _exchanges_json(result, record, unanswered)
        if result.scored and not exchanges:
            missing = NO_EXCHANGES
    facts = {
        "score": verdict_text(result, "none"),
        "why": result.reason,
        "before it was amended": "",
        "rule": result.rule,
        "decided by": result.evidence,
        "expected": expected,
        "span": _span_text(result),
        "item": result.nodeid,
    }
    if result.scored:
        facts["score"] += f" (passes at {result.threshold:.2f})"
    if result.automatic:
        former = result.automatic
        facts["before it was amended"] = f"{verdict_text(former)}: {former.reason}"
    return {
        "facts": [[name, text] for name, text in facts.items() if text],
        "checks": [[check.label, check.state] for check in result.checks],
        "curves": [[name, points] for name, points in metric_curves(result.metrics)],
        "questions": [_question_json(question) for question in result.questions],
        "evidence": result.evidence,
        "talk": exchanges,
        "missing": missing,
    }


def _span_text(result: ScenarioResult) -> str:
    """Return the distance that an example was stretched over, or "" if unknown."""
    if result.measured_span is None:
        return ""
    tokens = pluralize(result.measured_span, "token")
    text = f"{tokens} from its start to its last question"
    if result.overrun:
        text += ", longer than its memory span"
    return text


_POINT = lazy_pattern(r"(?P<curve>\w+)_(?P<place>[1-9]\d*)")


def metric_curves(
    metrics: Sequence[ExampleMetric],
) -> Iterator[tuple[str, list[float]]]:
    """Yield name and values of each series of metrics numbered from 1, such as `lesson_1` and `lesson_2`."""
    pairs: list[tuple[str, int, float]] = []
    for metric in metrics:
        if match := _POINT.fullmatch(metric.name):
            pairs.append((match["curve"], int(match["place"]), metric.value))
    for name, points in group_by(pairs, itemgetter(0)).items():
        values = {place: value for _, place, value in points if 0 <= value <= 1}
        if len(values) > 1 and sorted(values) == [*range(1, len(points) + 1)]:
            yield name, [values[place] for place in sorted(values)]


def _question_json(question: QuestionResult) -> dict[str, Any]:
    """Return a question with its answer and needles."""
    return {
        "n": question.number,
        "q": question.text,
        "a": question.answer,
        **retrieval_json(question.retrieved),
        "needles": [_needle_json(needle) for needle in question.needles],
    }


def _needle_json(needle: NeedleRef) -> dict[str, Any]:
    """Return a needle of a question, and how far back it was sent."""
    distance = format_distance(needle.gap, timedelta(seconds=needle.seconds_passed))
    parts = [f"{distance} before the question"]
    if needle.told_gap < needle.gap:
        tokens = pluralize(needle.told_gap, "token")
        parts.append(f"{tokens} without the agent's replies")
    fields: dict[str, Any] = {"n": needle.number, "text": needle.text}
    rank = needle.rank
    if rank is not None:
        parts.append(f"retrieved at rank {rank}" if rank else "not retrieved")
    fields["gap"] = "; ".join(parts)
    if rank is not None:
        fields["rank"] = rank
    return fields


def own_exchanges(
    result: ScenarioResult, record: ConversationRecord, unanswered: Iterable[Exchange]
) -> list[Exchange]:
    """Return an example's exchanges in order: its messages, its questions and those without a reply.

    `unanswered`: those of the record, which builds them on every access.
    """
    own = record.transcript.exchanges_of(result.id)
    by_number = {exchange.number: exchange for exchange in own}
    for exchange in unanswered:
        if exchange.by == result.id:
            by_number[exchange.number] = exchange
    # Most questions asked for credit are exchanges of the example itself.
    for question in result.questions:
        question_exchange = record.exchange(question.number)
        if question_exchange:
            by_number[question_exchange.number] = question_exchange
    return [exchange for _, exchange in sorted(by_number.items())]


def _exchanges_json(
    result: ScenarioResult, record: ConversationRecord, unanswered: Iterable[Exchange]
) -> list[dict[str, Any]]:
    """Return an example's own exchanges, each with its distance from the previous one."""
    kinds: dict[int, str] = {}
    for question in result.questions:
        kinds |= {needle.number: "needle" for needle in question.needles}
    kinds |= {question.number: "question" for question in result.questions}
    entries = []
    previous = None
    for exchange in own_exchanges(result, record, unanswered):
        gap = ""
        if previous:
            gap = distance_text(previous, exchange, record.transcript)
        tokens = pluralize(exchange.start, "token")
        fields = {
            "n": exchange.number,
            "kind": kinds.get(exchange.number, exchange.kind),
            "at": f"at {tokens}, {exchange.now:%Y-%m-%d %H:%M}",
            "gap": gap,
            "user": exchange.user or "you",
            "m": exchange.message,
            "r": exchange.acted_reply,
            "fault": record.fault(exchange.number),
            **retrieval_json(exchange.retrieved),
        }
        entries.append(fields)
        previous = exchange
    return entries


def retrieval_json(retrieved: tuple[str, ...] | None) -> dict[str, list[str]]:
    """Return the texts that an agent retrieved, if it reports them, for the page."""
    return {} if retrieved is None else {"found": list(retrieved)}


def plan_definitions(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return each example's definition, keyed by example (`colours/0`), from a plan's JSON values."""
    examples = plan.get("examples")
    if not isinstance(examples, list):
        return {}
    definitions: dict[str, Any] = {}
    for example in examples:
        if isinstance(example, dict):
            key = f"{example.get('scenario')}/{example.get('example')}"
            definitions[key] = example.get("definition")
    return definitions


def expected_answers(definitions: Mapping[str, Any]) -> dict[str, str]:
    """Return the right answers by each example's definition, as text; "" if it has none."""
    texts = {}
    for name, definition in definitions.items():
        if isinstance(definition, dict):
            expected = definition.get("expected")
            texts[name] = "" if expected is None else text_of(expected)
    return texts


# --- A conversation as a time line: a lane per example, marks at their token positions,
# needles linked to questions.

# The most characters shown of a filler message.
FILLER_SHOWN = 600
# The lane of the opening message and filler.
OTHERS = -1


def timeline_json(
    rows: Sequence[ExampleEntry], record: ConversationRecord
) -> dict[str, Any]:
    """Return the time line as JSON values; lanes are in the order in which their examples began."""
    examples = {row.key: record.examples.get(row.result.id, Example()) for row in rows}

    def order_of(row: ExampleEntry) -> tuple[float, int]:
        begin = examples[row.key].begin
        # An example that never began is placed below all others.
        return inf if begin is None else begin, row.key

    ordered = sorted(rows, key=order_of)
    lanes = {row.result.id: number for number, row in enumerate(ordered)}
    questions = set()
    for row in rows:
        for question in row.result.questions:
            questions.add((row.result.id, question.number))
    exchanges = [*record.transcript, *record.unanswered.values()]
    exchanges.sort(key=lambda exchange: exchange.number)
    marks = []
    texts = {}
    for exchange in exchanges:
        # Texts outside examples appear nowhere else in the page.
        if exchange.by not in lanes:
            texts[str(exchange.number)] = [
                _filler_text(exchange),
                exchange.reply,
                record.fault(exchange.number),
                *retrieval_json(exchange.retrieved).values(),
            ]
        is_question = (exchange.by, exchange.number) in questions
        mark = [
            exchange.number,
            lanes.get(exchange.by, OTHERS),
            "question" if is_question else exchange.kind,
            exchange.start,
            exchange.message_tokens,
            exchange.reply_tokens,
            f"{exchange.now:%Y-%m-%d %H:%M}",
        ]
        marks.append(mark)
    return {
        "tokens": record.transcript.position,
        "lanes": [_lane_json(row, examples[row.key]) for row in ordered],
        "marks": marks,
        "jumps": list(_jumps_json(record)),
        "links": list(_links_json(ordered)),
        "texts": texts,
    }


def _jumps_json(record: ConversationRecord) -> Iterator[list[Any]]:
    """Yield the jumps in conversation time; jumps with no token between them are merged."""
    by_position = group_by(record.jumps, lambda jump: jump.position)
    for position, jumps in by_position.items():
        end = jumps[-1].to
        duration = describe_duration(end - jumps[0].before)
        yield [position, f"+{duration}", f"{end:%Y-%m-%d %H:%M}"]


def _links_json(rows: Iterable[ExampleEntry]) -> Iterator[list[Any]]:
    """Yield each needle with its question, and its rank among the retrieved texts."""
    for row in rows:
        for question in row.result.questions:
            for needle in question.needles:
                yield [needle.number, question.number, needle.rank]


def _filler_text(exchange: Exchange) -> str:
    """Return a message outside examples; long filler is shortened, as the journal has the full text."""
    message = exchange.message
    more = len(message) - FILLER_SHOWN
    if exchange.kind != "filler" or more <= 0:
        return message
    return f"{message[:FILLER_SHOWN]}\n… and {more:,} more characters, in journal.jsonl"


def _lane_json(row: ExampleEntry, example: Example) -> dict[str, Any]:
    """Return the lane of an example: its score, begin and end."""
    result = row.result
    fields = {
        "k": row.key,
        "name": result.id,
        "score": result.score,
        "shade": shade_class(result.score),
    }
    end = None if example.begin is None else example.end
    return fields | {"outcome": result.outcome, "from": example.begin, "to": end}
