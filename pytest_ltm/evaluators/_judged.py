"""Parts of a score that a judge decides where the rules find nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm._judge import PROMPTS, Judge, ask_judge
from pytest_ltm._score import Check, Score, Unscored
from pytest_ltm.evaluators._words import snippet

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Part:
    """One check: what the rule says, and where it is not sure what a judge may be asked."""

    label: str
    answer: str
    ok: bool
    prompt: str = ""
    """The name of the prompt; "": the rule is sure."""
    parts: tuple[tuple[str, str], ...] = ()
    """What is put into it beside the answer."""


def decided(parts: Sequence[Part], judge: Judge | None) -> tuple[list[Check], tuple[str, ...], Unscored | None]:
    """Return the checks, the prompts by which a judge decided, and the first part that nobody could tell."""
    checks: list[Check] = []
    used: list[str] = []
    for part in parts:
        ok = part.ok
        if judge is not None and part.prompt:
            prompt = PROMPTS[part.prompt]
            said = ask_judge(judge, prompt, answer=part.answer, **dict(part.parts))
            used.append(prompt.id)
            if isinstance(said, Unscored):
                return checks, tuple(used), replace(said, evidence=snippet(part.answer))
            ok = said.grade != prompt.fail
        checks.append(Check(part.label, ok))
    return checks, tuple(dict.fromkeys(used)), None


def share(parts: Sequence[Part], judge: Judge | None, *, rule: str, reason: str) -> Score | Unscored:
    """Return the share of the parts that are true; `reason` names `{ok}` of `{of}`."""
    checks, used, unscored = decided(parts, judge)
    rule = "+judge/".join([rule, *used])
    if unscored is not None:
        return replace(unscored, rule=rule)
    ok = sum(check.ok for check in checks)
    missed = next((part.answer for part, check in zip(parts, checks, strict=True) if not check.ok), "")
    return Score(
        ok / max(len(checks), 1),
        reason.replace("{ok}", str(ok)).replace("{of}", str(len(checks))),
        checks=tuple(checks),
        rule=rule,
        evidence=snippet(missed),
    )
