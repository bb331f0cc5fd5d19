"""Published results as our results: rows of one benchmark and agent -> ConversationResult, plan and talk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError
from pytest_ltm._plan import Plan, PlannedExample, agent_fingerprint, natural
from pytest_ltm._published._names import MEMORY_SPANS_SINCE, Benchmark, benchmark, label
from pytest_ltm._published._talk import Talk, talk
from pytest_ltm._result import Automatic, ConversationResult, QuestionResult, ScenarioResult
from pytest_ltm._statistics import FULL_MARKS
from pytest_ltm.datasets._published import scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ltm._published._rows import Row
    from pytest_ltm._result import Outcome

TOKENIZER = "cl100k_base"
PUBLISHED = "published"
"""Stands for what a published run does not tell in our terms: who judged, by which rules."""
NO_TRANSCRIPT = "its transcript is missing"
_SKIPPED = "the verdict of the rules is not published"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One published conversation."""

    result: ConversationResult
    plan: Plan
    talk: Talk


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a conversation's rows stand."""

    agent: str
    benchmark: Benchmark

    def nodeid(self, scenario: str, example: str) -> str:
        """Return the node id that a run of ours would have given."""
        bench = self.benchmark
        return f"ltm/{scenario}.py::test_{scenario}[{self.agent}-{bench.span_label}-{bench.trial}-{label(example)}]"


def by_conversation(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows by benchmark and agent, both as published, in the order of their names."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.benchmark, row.agent), []).append(row)
    return {pair: found[pair] for pair in sorted(found)}


def held(rows: Sequence[Row], agent: str, count: Callable[[str], int]) -> Held:
    """Return one conversation; `agent`: its label, `count`: the tokens of a text.

    DatasetError if its benchmark's name says neither span nor isolated.
    """
    first = rows[0]
    named = benchmark(first.benchmark)
    if named is None:
        raise DatasetError(
            f"benchmark {first.benchmark!r} names no memory span. Expected a name such as 'Benchmark 3 - 32k'"
        )
    examples = {f"{scenario(row)}/{label(row.example)}": row for row in sorted(rows, key=_order)}
    place = Place(agent=agent, benchmark=named)
    plan = _plan(first.benchmark, named, examples)
    said = talk(examples, count)
    return Held(result=_conversation(place, first.agent, plan, examples, said), plan=plan, talk=said)


def scenario(row: Row) -> str:
    """Return our name of a row's data set."""
    return label(scenario_of(row.dataset)).lower()


def _order(row: Row) -> tuple[str, list[tuple[int, int, str]]]:
    return scenario(row), natural(row.example)


def _plan(name: str, named: Benchmark, examples: Mapping[str, Row]) -> Plan:
    """Return a plan that is equal for all agents of one benchmark, so that they may be compared."""
    return Plan(
        examples=tuple(
            PlannedExample(scenario=scenario(row), example=label(row.example), version=PUBLISHED)
            for row in examples.values()
        ),
        seed=0,
        trial=int(named.trial),
        span=named.span,
        tokenizer=TOKENIZER,
        filler={PUBLISHED: name},
        scoring=PUBLISHED,
        judge=PUBLISHED,
        judge_votes=0,
        time=PUBLISHED,
        opening="",
    )


def _conversation(
    place: Place, published_agent: str, plan: Plan, examples: Mapping[str, Row], said: Talk
) -> ConversationResult:
    spec = f"{PUBLISHED}: {published_agent}"
    exchanges = said.exchanges
    fillers = [each for each in exchanges if each.kind == "filler"]
    return ConversationResult(
        agent=place.agent,
        agent_spec=spec,
        span_label=place.benchmark.span_label,
        span=place.benchmark.span,
        trial=place.benchmark.trial,
        plan_fingerprint=plan.fingerprint,
        agent_fingerprint=agent_fingerprint(spec, None),
        scenarios=tuple(_example(place, name, row, said) for name, row in examples.items()),
        tokens=exchanges[-1].end if exchanges else 0,
        filler_tokens=sum(each.message_tokens + each.reply_tokens for each in fillers),
        reply_tokens=sum(each.reply_tokens for each in exchanges),
        exchanges=len(exchanges),
        simulated_seconds=(exchanges[-1].now - exchanges[0].now).total_seconds() if exchanges else 0.0,
    )


def _example(place: Place, name: str, row: Row, said: Talk) -> ScenarioResult:
    bench = place.benchmark
    own = [each for each in said.exchanges if each.by == name]
    spanned = bench.version >= MEMORY_SPANS_SINCE and bench.span is not None and row.span is not None
    score = 1.0 if row.score >= FULL_MARKS else row.score
    return ScenarioResult(
        scenario=scenario(row),
        example=label(row.example),
        agent=place.agent,
        span_label=bench.span_label,
        span=bench.span,
        trial=bench.trial,
        nodeid=place.nodeid(scenario(row), row.example),
        outcome=_outcome(score),
        score=score,
        reason=_reason(row),
        rule=" ".join(part for part in (PUBLISHED, row.code or row.ref) if part),
        measured_span=row.span,
        overrun=spanned and (row.span or 0) > (bench.span or 0),
        tokens=sum(each.message_tokens + each.reply_tokens for each in own),
        questions=tuple(
            QuestionResult(number=at, text=said.exchanges[at].message, answer=said.exchanges[at].reply)
            for at in said.questions.get(name, ())
        ),
        automatic=_automatic(row),
    )


def _outcome(score: float) -> Outcome:
    return "passed" if score >= 1 else "failed"


def _reason(row: Row) -> str:
    why = [row.reason or "the published score has no reason"] + [NO_TRANSCRIPT] * (not row.log)
    return ("amended by hand: " if row.manual else "") + "; ".join(why)


def _automatic(row: Row) -> Automatic | None:
    """Return the verdict before somebody corrected it; without a score where that is not published."""
    if not row.manual:
        return None
    if row.before is None or row.before.score is None:
        return Automatic(score=None, reason=_SKIPPED, outcome="skipped")
    return Automatic(score=row.before.score, reason=row.before.reason, outcome=_outcome(row.before.score))
