"""Invented languages: one word that nobody told, made of parts that were."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pytest_ltm._engine.score import Check, Scoring
from pytest_ltm._text.patterns import later
from pytest_ltm.evaluators._commitment import Mention, alternative, commitment, spoken
from pytest_ltm.evaluators._rules import Ruled, at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._engine.score import Score

_JOINED = later(r"(?<=[^\W_])[-\u2010\u2011\u00b7](?=[^\W_])")
_SUM = later(r"(?:[^\W_]+-?\s*\+\s*)+-?[^\W_]+")
_WORD = later(r"[^\W_]+")
_ALIKE = 4
"""A word that has so many letters in a row of the expected one is another form of it, or of a part of it."""


@dataclass(frozen=True, slots=True)
class SpeaksLanguage(Ruled):
    """The share of answers that settle on the expected form, written in one word or with hyphens between its parts.

    What was told, or is a part of the form, may be named on the way to it; any other form beside it is a second answer,
    and to name several is to choose none. There are no published results to agree with: every scoring has this rule.
    """

    family: ClassVar[str] = "speaks-language"
    expected: tuple[str, ...]
    """For each question the form that it asks for."""
    told: tuple[str, ...] = ()
    """The forms that were told: none of them is ever expected."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of the forms that are right; a missing answer counts as wrong."""
        checks = [
            Check(f"says {form!r}", self._says(at(answers, place), form)) for place, form in enumerate(self.expected)
        ]
        missed = next((at(answers, place) for place, check in enumerate(checks) if not check.ok), "")
        right = sum(check.ok for check in checks)
        return self.score(right / len(checks), f"{right} of {len(checks)} forms are right", missed, checks)

    def _says(self, answer: str, form: str) -> bool:
        text = _SUM.sub(" ", _JOINED.sub("", spoken(answer)))
        return commitment(text, partial(_forms, form=form.casefold(), told=frozenset(self.told))) == {form.casefold()}


def _forms(text: str, *, form: str, told: frozenset[str]) -> list[Mention]:
    """Return where a text has the form or others like it, without those that only lead to it."""
    found = [Mention(*one.span(), one[0].casefold()) for one in _WORD.finditer(text) if _alike(one[0].casefold(), form)]
    return [one for one in found if not _leads(one.value, form, told) or alternative(text, one)]


def _leads(word: str, form: str, told: frozenset[str]) -> bool:
    return word != form and (word in form or word in told)


def _alike(word: str, form: str) -> bool:
    return any(form[place : place + _ALIKE] in word for place in range(len(form) - _ALIKE + 1))
