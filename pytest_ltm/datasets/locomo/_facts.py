"""Facts of a summary, checked one by one by a judge: after FactScore (Min et al., 2023), in both directions.

A fact is a sentence: the gold events are one each, and so is what an agent writes as it is asked to. Each fact of the
summary is supported by the gold events or not (precision), each gold event is in the summary or not (recall).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pytest_ltm._judge import PROMPTS, ask_judge
from pytest_ltm._score import Unscored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._judge import Judge

MOST = 60
"""So many facts of an answer are checked; the rest of a longer one is not looked at."""
KINDS = ("hallucination", "misunderstanding", "attribution", "salience")
"""What may be wrong with a fact that the gold events do not support; a gold event left out is `missing`."""
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_WORDED = re.compile(r"[^\W\d_]{2}")


def facts_in(text: str) -> list[str]:
    """Return the facts of a summary: its lines, without list marks, taken apart where sentences end."""
    lines = (_MARK.sub("", line).strip() for line in text.splitlines())
    return [part.strip() for line in lines for part in _SENTENCE.split(line) if _WORDED.search(part)]


def checked(
    judge: Judge, *, speaker: str, gold: Sequence[str], answer: str, dialogue: str
) -> dict[str, float] | Unscored:
    """Return the figures of a summary; Unscored where the judge could not tell of some fact.

    `fact_precision`, `fact_recall`, `fact_f1`, `facts` (how many the answer has); the paper's five kinds of error as
    counts: `error_missing` and an `error_` for each of KINDS, whose sum are the facts without support. The kinds are
    left out where the judge could not name one.
    """
    facts, events = facts_in(answer)[:MOST], "\n".join(gold)
    supported = _all(judge, "locomo-events-support", facts, speaker=speaker, events=events)
    if isinstance(supported, Unscored):
        return supported
    covered = _covered(judge, gold, answer, speaker) if facts else ["no"] * len(gold)
    if isinstance(covered, Unscored):
        return covered
    precision, recall = _share(supported), _share(covered)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    wrong = [fact for fact, grade in zip(facts, supported, strict=True) if grade == "no"]
    return {
        "fact_precision": precision, "fact_recall": recall, "fact_f1": f1, "facts": float(len(facts)),
        "error_missing": float(covered.count("no")),
        **_kinds(_all(judge, "locomo-events-error", wrong, speaker=speaker, dialogue=dialogue)),
    }  # fmt: skip


def _all(judge: Judge, prompt: str, facts: Iterable[str], **parts: str) -> list[str] | Unscored:
    """Return the grade of each of the answer's facts."""
    grades = []
    for fact in facts:
        decision = ask_judge(judge, PROMPTS[prompt], answer=fact, **parts)
        if isinstance(decision, Unscored):
            return decision
        grades.append(decision.grade)
    return grades


def _covered(judge: Judge, gold: Sequence[str], answer: str, speaker: str) -> list[str] | Unscored:
    grades = []
    for event in gold:
        decision = ask_judge(judge, PROMPTS["locomo-events-covered"], answer=answer, event=event, speaker=speaker)
        if isinstance(decision, Unscored):
            return decision
        grades.append(decision.grade)
    return grades


def _kinds(grades: list[str] | Unscored) -> dict[str, float]:
    if isinstance(grades, Unscored):
        return {}
    counts = Counter(grades)
    return {f"error_{kind}": float(counts[kind]) for kind in KINDS}


def _share(grades: Sequence[str]) -> float:
    return list(grades).count("yes") / len(grades) if grades else 0.0
