"""What is shown of one example when it is opened: verdict, questions with their needles, its own exchanges."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pytest_ltm._clock import describe
from pytest_ltm._transcript import gap
from pytest_ltm.reporting._text import counted, score_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_ltm._result import QuestionResult, ScenarioResult
    from pytest_ltm._transcript import Exchange
    from pytest_ltm.reporting._journal_log import Log

NO_JOURNAL = "The run folder holds no journal that can be read, so the exchanges are missing here."
NO_EXCHANGES = "It has a score, and the journal holds none of its exchanges: they are missing here."


def details(result: ScenarioResult, log: Log | None, expected: object) -> dict[str, Any]:
    """Return JSON values for the page; `expected`: what the definition says, None if it says nothing."""
    talk = _talk(result, log) if log else []
    lost = NO_EXCHANGES if result.scored and not talk else ""
    return {
        "facts": [[name, text] for name, text in _facts(result, expected).items() if text],
        "checks": [[check.label, check.ok] for check in result.checks],
        "questions": [_question(each) for each in result.questions],
        "evidence": result.evidence,
        "talk": talk,
        "missing": lost if log else NO_JOURNAL,
    }


def _facts(result: ScenarioResult, expected: object) -> dict[str, str]:
    return {
        "score": "none" if result.score is None else f"{score_text(result.score)} (passes at {result.pass_mark:.2f})",
        "why": result.reason,
        "before it was amended": _automatic(result),
        "rule": result.rule,
        "decided by": result.evidence,
        "expected": "" if expected is None else _shown(expected),
        "span": _span(result),
        "item": result.nodeid,
    }


def _automatic(result: ScenarioResult) -> str:
    if result.automatic is None:
        return ""
    score = "no score" if result.automatic.score is None else score_text(result.automatic.score)
    return f"{score}: {result.automatic.reason}"


def _span(result: ScenarioResult) -> str:
    if result.measured_span is None:
        return ""
    over = ", longer than its memory span" if result.overrun else ""
    return f"{counted(result.measured_span, 'token')} from its start to its last question{over}"


def _question(question: QuestionResult) -> dict[str, Any]:
    return {
        "n": question.number,
        "q": question.text,
        "a": question.answer,
        "needles": [
            {
                "n": needle.number,
                "text": needle.text,
                "gap": f"{counted(needle.gap, 'token')}{_later(needle.seconds_passed)} before the question",
            }
            for needle in question.needles
        ],
    }


def _talk(result: ScenarioResult, log: Log) -> list[dict[str, Any]]:
    asked = {question.number for question in result.questions}
    needles = {needle.number for question in result.questions for needle in question.needles}
    own = {each.number: each for each in log.of(result.id)} | {n: log.numbered[n] for n in asked if n in log.numbered}
    talk: list[dict[str, Any]] = []
    before: Exchange | None = None
    for _, exchange in sorted(own.items()):
        talk.append(
            {
                "n": exchange.number,
                "kind": _kind(exchange, asked, needles),
                "at": place(exchange),
                "gap": _distance(before, exchange, log) if before else "",
                "m": exchange.message,
                "r": exchange.reply,
                "fault": log.faults.get(exchange.number, ""),
            }
        )
        before = exchange
    return talk


def place(exchange: Exchange) -> str:
    """Return where an exchange stands in its conversation, in tokens and time."""
    return f"at {counted(exchange.start, 'token')}, {exchange.now:%Y-%m-%d %H:%M}"


def _kind(exchange: Exchange, asked: Iterable[int], needles: Iterable[int]) -> str:
    if exchange.number in asked:
        return "question"
    return "needle" if exchange.number in needles else exchange.kind


def _distance(before: Exchange, after: Exchange, log: Log) -> str:
    between = log.between(before.number, after.number)
    if not between:
        return ""
    passed = counted(gap(before, after), "token") + _passed(after.now - before.now)
    others = len({each.by.rpartition("/")[0] for each in between if each.by and each.by != before.by})
    fillers = sum(each.kind == "filler" for each in between)
    inside = [counted(others, "other scenario")] * bool(others) + [counted(fillers, "filler")] * bool(fillers)
    return f"{passed} later" + (f" ({', '.join(inside)})" if inside else "")


def _passed(time: timedelta) -> str:
    return f" and {describe(time)}" if time else ""


def _later(seconds: float) -> str:
    return _passed(timedelta(seconds=seconds))


def _shown(expected: object) -> str:
    return expected if isinstance(expected, str) else json.dumps(expected, ensure_ascii=False)


def expected_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return what each example's definition expects, by example (`colours/0`), from a plan's JSON values."""
    found: dict[str, Any] = {}
    for example in _objects(plan.get("examples")):
        definition = example.get("definition")
        if isinstance(definition, dict):
            found[f"{example.get('scenario')}/{example.get('example')}"] = definition.get("expected")
    return found


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
