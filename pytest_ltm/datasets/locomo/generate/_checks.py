"""Whether a question that a model wrote holds, as far as rules can tell; each check gives a reason or ""."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._dates import MONTHS
from pytest_ltm.datasets.locomo._metric import tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

LABELS = {category.label: category for category in Category}
_ENOUGH = 0.6
"""This share of a single-hop answer's words must stand in its evidence, of each part of a multi-hop answer as well."""
_DAY = re.compile(rf"((\d{{1,2}} )?({'|'.join(MONTHS)}) )?\d{{4}}|.*\b\d+ (day|week|month|year)s?\b.*|The .+ before .+")


def fault(one: Any, turns: Mapping[str, Mapping[str, Any]], speakers: Sequence[str], asked: Collection[str]) -> str:
    """Return what is wrong with the question, "" if nothing is. `turns`: by id; `asked`: the texts there are."""
    if not isinstance(one, dict) or one.get("category") not in LABELS:
        return f"has no category of {', '.join(LABELS)}"
    if not all(isinstance(one.get(name), str) and one[name].strip() for name in ("question", "answer")):
        return "lacks a question or an answer"
    if one["question"] in asked:
        return "has been asked"
    evidence = one.get("evidence")
    if not isinstance(evidence, list) or not evidence or any(cited not in turns for cited in evidence):
        return f"cites evidence that does not exist: {evidence!r:.60}"
    if not any(name in one["question"] for name in speakers):
        return "names neither speaker"
    return _content_fault(LABELS[one["category"]], one, turns, speakers)


def _content_fault(  # noqa: PLR0911 - one rule, one line
    category: Category, one: Mapping[str, Any], turns: Mapping[str, Mapping[str, Any]], speakers: Sequence[str]
) -> str:
    answer, cited = one["answer"], [turns[name] for name in dict.fromkeys(one["evidence"])]
    if category is Category.TEMPORAL:
        return "" if _DAY.fullmatch(answer) else f"has an answer that is no date: {answer!r:.60}"
    if category is Category.OPEN_DOMAIN:
        return ""
    if category is Category.MULTI_HOP and len(cited) < 2:  # noqa: PLR2004 - several
        return "is multi-hop with one turn of evidence"
    said = " ".join(map(_all_said, cited))
    parts = answer.split(",") if category is Category.MULTI_HOP else [answer]
    if not all(_holds(said, part) for part in parts):
        return f"has an answer that its evidence does not hold: {answer!r:.60}"
    if _share(one["question"], answer) == 1:
        return "gives its answer away"
    if category is Category.ADVERSARIAL:
        return _adversarial_fault(one, cited, turns, speakers)
    elsewhere = [name for name, turn in turns.items() if turn not in cited and _share(_all_said(turn), answer) == 1]
    return (
        f"is answered without its evidence, by {elsewhere[0]}" if elsewhere and category is Category.SINGLE_HOP else ""
    )


def _adversarial_fault(
    one: Mapping[str, Any],
    cited: Sequence[Mapping[str, Any]],
    turns: Mapping[str, Mapping[str, Any]],
    speakers: Sequence[str],
) -> str:
    """Return what is wrong if the person asked about may have said so themselves."""
    about = [name for name in speakers if name in one["question"]]
    if len(about) == 1 and any(turn["speaker"] == about[0] for turn in cited):
        return f"is adversarial, but its evidence is said by {about[0]}"
    own = [turn for turn in turns.values() if turn["speaker"] in about and _share(_all_said(turn), one["answer"]) == 1]
    return f"is adversarial, but {own[0]['dia_id']} may answer it" if own else ""


def _all_said(turn: Mapping[str, Any]) -> str:
    return f"{turn['text']} {turn.get('blip_caption', '')}"


def _holds(text: str, answer: str) -> bool:
    return _share(text, answer) >= _ENOUGH


def _share(text: str, answer: str) -> float:
    """Return the share of the answer's words that the text holds."""
    wanted, there = tokens(answer), set(tokens(text))
    return sum(word in there for word in wanted) / len(wanted) if wanted else 1.0
