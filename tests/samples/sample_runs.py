"""Made-up results for the tests of the reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_ltm.api.journal import ConversationResult, RunResult, ScenarioResult

SCENARIOS = ("colours", "jokes", "prospective_memory")


def tokens_of(span_label: str) -> int | None:
    return None if span_label == "isolated" else int(span_label.rstrip("k")) * 1_000


def row(scenario: str, score: float | None, **changes: Any) -> ScenarioResult:
    values: dict[str, Any] = {
        "scenario": scenario,
        "example": "0",
        "agent": "full",
        "span_label": "2k",
        "span": 2_000,
        "trial": "0",
        "nodeid": f"ltm/{scenario}.py::test_{scenario}[full-2k-0-0]",
        "score": score,
        "outcome": "skipped" if score is None else "passed" if score == 1 else "failed",
        "reason": "because",
        "measured_span": 1_900,
        "tokens": 120,
        "skills": ("R",),
    }
    return ScenarioResult(**{**values, **changes})


def conversation(
    agent: str,
    span_label: str,
    scores: Mapping[str, Sequence[float | None]],
    **changes: Any,
) -> ConversationResult:
    span = tokens_of(span_label)
    rows = tuple(
        row(
            name,
            score,
            example=str(i),
            agent=agent,
            span_label=span_label,
            span=span,
            cause="unscored" if score is None else "",
            reason="no judge was given" if score is None else "r",
        )
        for name, column in scores.items()
        for i, score in enumerate(column)
    )
    length = (span or 900) * 11 // 10
    values: dict[str, Any] = {
        "agent": agent,
        "agent_spec": agent,
        "span_label": span_label,
        "span": span,
        "trial": "0",
        "plan_fingerprint": "sha256:" + "5" * 64,
        "agent_fingerprint": "sha256:" + "a" * 64,
        "scenarios": rows,
        "tokens": length,
        "filler_tokens": length - 800,
        "exchanges": length // 150,
        "simulated_seconds": 19_200.0,
    }
    return ConversationResult(**{**values, **changes})


def run(*conversations: ConversationResult, **changes: Any) -> RunResult:
    values: dict[str, Any] = {
        "run_id": "20240304-090000-1",
        "folder": ".ltm/runs/20240304-090000-1",
    }
    return RunResult(conversations=conversations, **{**values, **changes})


def one() -> RunResult:
    """One agent at one span, one example each."""
    return run(conversation("full", "2k", dict.fromkeys(SCENARIOS, (1.0,))))


def grid() -> RunResult:
    """Two agents at three spans; `window_8k` forgets at the longer ones."""
    spans = ("2k", "32k", "120k")
    keeps = {"2k": (1.0, 1.0, 1.0), "32k": (1 / 3, 0.0, 0.5), "120k": (0.0, 0.0, 0.0)}
    good = [
        conversation("full", span, dict.fromkeys(SCENARIOS, (1.0, 1.0, 1.0)))
        for span in spans
    ]
    bad = [
        conversation(
            "window_8k", span, dict.fromkeys(SCENARIOS, keeps[span]), cost_usd=0.25
        )
        for span in spans
    ]
    return run(*good, *bad)


def floors() -> RunResult:
    """Two agents at two spans where guessing scores; one does no better than guessing, and an example has no score."""
    guess = {"sally_anne": 1 / 3, "chapter_break": 1 / 6}
    kept: dict[str, tuple[float | None, ...]] = {
        "colours": (1.0, 0.5),
        "sally_anne": (1.0, 1.0),
        "chapter_break": (1.0, None),
    }
    lost: dict[str, tuple[float | None, ...]] = {
        "colours": (0.0, 0.0),
        "sally_anne": (1 / 3, 1 / 3),
        "chapter_break": (0.0, 1 / 6),
    }
    held = [
        conversation(agent, span, scores)
        for agent, of in (("full", (kept, kept)), ("window_8k", (kept, lost)))
        for span, scores in zip(("2k", "32k"), of, strict=True)
    ]
    return run(
        *(
            replace(
                each,
                scenarios=tuple(
                    replace(scenario, floor=guess.get(scenario.scenario, 0.0))
                    for scenario in each.scenarios
                ),
            )
            for each in held
        )
    )


def gaps() -> RunResult:
    """Errors, unscored rows, a truncated conversation, overruns and notices."""
    faults = tuple(
        row(
            name,
            None,
            agent="mybot",
            span_label="32k",
            outcome="error",
            cause="agent",
            reason="no reply within 300 s to #12",
        )
        for name in SCENARIOS[:2]
    )
    lost = row(
        "prospective_memory",
        None,
        agent="mybot",
        span_label="32k",
        cause="not reached",
        reason="the agent was gone after exchange 12",
    )
    over = row("colours", 1.0, agent="mybot", span_label="120k", overrun=True)
    cut: dict[str, tuple[float | None, ...]] = {
        "jokes": (0.5, None),
        "prospective_memory": (0.25,),
    }
    return run(
        conversation("mybot", "2k", cut, notices=("one \x1b[31m overran",)),
        conversation(
            "mybot",
            "32k",
            {},
            scenarios=(*faults, lost),
            ended="agent gone",
            tokens=0,
            filler_tokens=0,
        ),
        conversation("mybot", "120k", {}, scenarios=(over,)),
        notices=(
            "the journal of an earlier run had a torn last line, which was dropped",
        ),
    )


def crowd() -> RunResult:
    """Eight agents at five spans."""
    spans = ("2k", "10k", "32k", "120k", "500k")
    return run(
        *(
            conversation(
                f"agent_{'x' * n}{n}",
                span,
                {"colours": (n / 8,), "a_rather_long_name_" * 3: (1.0,)},
            )
            for n in range(8)
            for span in spans
        )
    )
