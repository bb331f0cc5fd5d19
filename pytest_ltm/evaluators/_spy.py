"""Spy Meeting: the answer decodes three messages, each recognised by one of its keywords."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Check, Score, Scoring
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import has_phrase, joined, snippet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class DecodesMessages:
    """(Keyword groups found - 1 if a keyword of another message appears) / groups, not below 0.

    Keywords match as whole words; under `v3.5` and `paper` with their case, under `current` whatever their case,
    the expected ones also in the plural.
    """

    expected: tuple[tuple[str, ...], ...]
    """One group of keywords for each message."""
    others: tuple[tuple[str, ...], ...] = ()
    """The groups of the messages that were not sent."""
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of messages decoded in the last answer."""
        answer = last(answers)
        current = self.scoring == "current"
        find = _Words(answer) if current else _Exact(answer)
        checks = tuple(Check(f"decodes {' / '.join(group)}", find.any(group)) for group in self.expected)
        ours = {keyword for group in self.expected for keyword in group}
        strange = [word for group in self.others for word in group if word not in ours and find.exactly(word)]
        found = sum(check.ok for check in checks)
        value = max(found - bool(strange), 0) / max(len(checks), 1)
        reason = f"{found} of {len(checks)} messages decoded"
        reason += f", and {strange[0]!r} of another message" if strange else ""
        rule = f"spy-meeting/{1 if current else self.scoring}"
        return Score(value, reason, checks=checks, rule=rule, evidence=snippet(answer))


class _Exact:
    """Keywords as the published evaluators find them: whole words, case-sensitive."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def exactly(self, keyword: str) -> bool:
        return self.any((keyword,))

    def any(self, keywords: Iterable[str]) -> bool:
        return any(re.search(rf"\b{re.escape(keyword)}\b", self.answer) for keyword in keywords)


class _Words:
    """Keywords as words in a row, whatever their case, also in the plural."""

    def __init__(self, answer: str) -> None:
        self.text = joined(answer)

    def exactly(self, keyword: str) -> bool:
        return has_phrase(self.text, keyword)

    def any(self, keywords: Iterable[str]) -> bool:
        return any(f"{form} " in self.text for keyword in keywords for form in _forms(keyword))


def _forms(keyword: str) -> tuple[str, ...]:
    """Return a keyword and what may be its plural."""
    one = joined(keyword).rstrip()
    plurals = (f"{one}s", f"{one}es", f"{one[:-1]}ies") if one else ()
    return (one, *plurals) if one else ()
