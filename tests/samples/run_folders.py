"""Run folders on disk for the tests of the report file: results, plan and journal, as a run writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import journals
from journals import filler

from pytest_ltm.api.journal import (
    ConversationResult,
    NeedleRef,
    QuestionResult,
    ScenarioResult,
    events,
    write_results,
)
from pytest_ltm.api.model import Check, Kind
from pytest_ltm.api.storage import json_text
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.reports.summary import rewrite_summary

NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)


def latest_run(project: Path) -> Path:
    """Return the folder of a project's latest run."""
    return (
        project
        / ".ltm"
        / "runs"
        / (project / ".ltm" / "latest").read_text(encoding="utf-8").strip()
    )


def played(
    scenario: str = "colours",
    score: float | None = 1.0,
    *,
    example: str = "0",
    first: int = 1,
    **changes: Any,
) -> ScenarioResult:
    """Return an example of two exchanges: number `first` is the needle, number `first` + 2 its question."""
    needle = NeedleRef(
        number=first,
        text=f"I like ochre best, says {scenario}.",
        gap=900,
        told_gap=700,
        seconds_passed=3_600.0,
    )
    question = QuestionResult(
        number=first + 2,
        text="Which colour do I like?",
        answer="Teal, I think.",
        gap=900,
        needles=(needle,),
    )
    values: dict[str, Any] = {
        "scenario": scenario,
        "example": example,
        "agent": "full",
        "span_label": "2k",
        "span": 2_000,
        "trial": "0",
        "nodeid": f"ltm/{scenario}::test_{scenario}[full-2k-0-{example}]",
        "score": score,
        "outcome": "skipped" if score is None else "passed" if score == 1 else "failed",
        "reason": "names 'ochre'",
        "rule": "colours/1",
        "evidence": "Teal",
        "measured_span": 1_900,
        "tokens": 40,
        "skills": ("R",),
        "gap": 900,
        "questions": (question,),
        "checks": (Check("names the colour", score == 1),),
    }
    return ScenarioResult(**{**values, **changes})


def held(rows: Sequence[ScenarioResult], **changes: Any) -> ConversationResult:
    """Return the conversation of these rows, with the agent, span and trial of the first."""
    values: dict[str, Any] = {
        "agent": rows[0].agent,
        "agent_spec": rows[0].agent,
        "span_label": rows[0].span_label,
        "span": rows[0].span,
        "trial": rows[0].trial,
        "plan_fingerprint": "sha256:1111",
        "agent_fingerprint": "sha256:2222",
        "scenarios": tuple(rows),
        "tokens": 2_000,
        "filler_tokens": 1_500,
        "exchanges": 5,
        "simulated_seconds": 3_600.0,
    }
    return ConversationResult(**{**values, **changes})


def place_of(conversation: ConversationResult, number: int) -> str:
    """Return a conversation's folder name as a run chooses it, or `<number>~talk` for labels that no run has."""
    name = f"{conversation.agent}~{conversation.span_label}~{conversation.trial}"
    return (
        name
        if re.fullmatch(r"[\w.]+~[\w.]+~\d[\d.]*", name, re.ASCII)
        else f"{number}~talk"
    )


def write_run(
    folder: Path,
    *conversations: ConversationResult,
    journals: bool = True,
    **summary: Any,
) -> Path:
    """Write a run folder and return it; `summary` sets fields of `summary.json`."""
    for number, conversation in enumerate(conversations):
        place = folder / place_of(conversation, number)
        place.mkdir(parents=True)
        write_results(place / "results.json", conversation)
        (place / "plan.json").write_text(
            json_text({"examples": [_planned(row) for row in conversation.scenarios]})
        )
        if journals:
            (place / "journal.jsonl").write_text(
                "".join(journal(conversation.scenarios)), encoding="utf-8"
            )
    agents = {each.agent: each.agent_spec for each in conversations}
    plan = {
        "agents": agents,
        "spans": {each.span_label: each.span for each in conversations},
        "scoring": "current",
    }
    said = {
        "pytest_ltm_version": "0.1.0",
        "seed": 0,
        "plan": plan,
        "wall_seconds": 1.5,
        "notices": [],
        **summary,
    }
    (folder / "summary.json").write_text(json_text(said))
    whole = rewrite_summary(read_run(folder).result, said)
    (folder / "summary.json").write_text(json_text(whole | summary))
    return folder


def journal(
    rows: Sequence[ScenarioResult],
    texts: Mapping[int, tuple[str, str]] | None = None,
    retrieved: Mapping[int, tuple[str, ...]] | None = None,
) -> list[str]:
    """Return journal lines: an opening, then for each row needle, filler, an hour's wait, and the question."""
    said: list[events.Event] = [
        events.Header(plan={}, plan_fingerprint="", agent_fingerprint="")
    ]
    exchanges: dict[int, tuple[str, Kind, str, str]] = {
        0: ("", "opening", "Hello.", "Hello to you.")
    }
    for row in rows:
        said.append(events.Begin(example=row.id, position=0, now=NOON))
        for question in row.questions:
            for needle in question.needles:
                exchanges[needle.number] = (row.id, "say", needle.text, "Noted.")
            exchanges[question.number] = (row.id, "ask", question.text, question.answer)
    last = max(exchanges)
    position, now = 0, NOON
    for number in range(last + 1):
        by, kind, message, reply = exchanges.get(
            number, ("", "filler", "Count to ten. " * 100, "Done.")
        )
        message, reply = (texts or {}).get(number, (message, reply))
        if kind == "filler":
            now += timedelta(hours=1)
            said += [
                filler(number, message, reply, message_tokens=400, reply_tokens=2),
                events.TimeJumped(to=now),
            ]
            position += 402
            continue
        said.append(
            journals.message(
                number, by, kind, message, tokens=10, position=position, now=now
            )
        )
        said.append(
            journals.reply(
                number, reply, tokens=3, retrieved=(retrieved or {}).get(number)
            )
        )
        position += 13
    said += [events.End(example=row.id) for row in rows]
    return journals.sealed(*said, events.End(reason="complete"))


def _planned(row: ScenarioResult) -> dict[str, Any]:
    definition = {"steps": [], "expected": {"colour": "ochre"}, "parameters": {}}
    return {
        "scenario": row.scenario,
        "example": row.example,
        "definition": json.loads(json.dumps(definition)),
    }


HOSTILE = {
    "script": "<script>window.pwned=1</script>",
    "end of script": "</script><script>window.pwned=1</script>",
    "open comment": "<!--<script>",
    "image": '"><img src=x onerror="window.pwned=1">',
    "attribute, single": "' onmouseover='window.pwned=1' autofocus onfocus='window.pwned=1",
    "attribute, double": '" onclick="window.pwned=1" x="',
    "svg": "<svg/onload=window.pwned=1>",
    "javascript url": "javascript:window.pwned=1",
    "link": '<a href="javascript:window.pwned=1">here</a>',
    "frame": '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
    "style": "</style><style>*{background:url(http://evil.invalid/x)}</style>",
    "css": "red;background:url(http://evil.invalid/css);x:expression(window.pwned=1)",
    "sheet": '<link rel="stylesheet" href="http://evil.invalid/x.css">',
    "refresh": '<meta http-equiv="refresh" content="0;url=http://evil.invalid/">',
    "base": '<base href="http://evil.invalid/">',
    "form": '<form action="http://evil.invalid/"><button>x</button></form>',
    "title": "</title></textarea></select><script>window.pwned=1</script>",
    "template": "{{ 7 * 7 }}{% include 'x' %}{# gone #}",
    "template literal": "${window.pwned=1}`+(window.pwned=1)+`",
    "entity": "&lt;script&gt;window.pwned=1&lt;/script&gt; &#x3c;img&#x3e; &amp;",
    "cdata": "]]><![CDATA[<script>window.pwned=1</script>",
    "json": '"}];window.pwned=1;[{"x":"\\',
    "line separators": "a\u2028window.pwned=1\u2029b",
    "control": "a\x00b\x07\x1b[31m\x1b]0;title\x07\x9b2J\rc\x7f",
    "bidi": "abc\u202egnp.exe\u2066x\u2069",
    "half a surrogate": "half \ud83d",
    "prototype": "__proto__",
    "selector": 'x"] , * [y="',
    "format": "%s%n%(x)s {0} {x!r}",
    "endless word": "W" * 20_000,
}
"""Texts that must have no effect wherever a report shows them."""


def hostile_run(folder: Path, text: str) -> Path:
    """Write a run with the text in every field that a report shows."""
    needle = NeedleRef(number=1, text=text, gap=900, told_gap=700, seconds_passed=60.0)
    asked = QuestionResult(number=3, text=text, answer=text, gap=900, needles=(needle,))
    values: dict[str, Any] = dict.fromkeys(
        ("agent", "span_label", "trial", "nodeid", "reason", "rule", "evidence"), text
    )
    values |= {
        "scenario": text,
        "example": text,
        "skills": (text,),
        "questions": (asked,),
        "checks": (Check(text, False),),
    }
    row = played(
        score=0.5,
        **{name: value for name, value in values.items() if name != "scenario"},
        scenario=text,
    )
    lost = played(score=None, **{**values, "example": f"{text} 2", "questions": ()})
    conversation = held(
        [row, lost],
        agent_spec=text,
        plan_fingerprint=text,
        agent_fingerprint=text,
        notices=(text,),
    )
    other = held(
        [played("calm", 0.25, agent="other", span_label="32k", span=32_000, first=1)],
        cost_usd=1.0,
    )
    plan = {
        "agents": {text: text},
        "spans": {text: 5},
        "filler": text,
        text: text,
        "scoring": {text: [text]},
    }
    return write_run(
        folder,
        conversation,
        other,
        seed=text,
        plan=plan,
        notices=[text],
        pytest_ltm_version=text,
    )
