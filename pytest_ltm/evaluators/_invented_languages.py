"""Invented languages: one word that nobody told, made of parts that were."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from pytest_ltm._language.clauses import normalize_text
from pytest_ltm._language.commitment import Mention, is_alternative
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.proof import prove, tells_nothing_new
from pytest_ltm._model.score import Check, Scoring
from pytest_ltm.evaluators._rules import Ruled, answer_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._model.score import Score

_JOINED = lazy_pattern(r"(?<=[^\W_])[-\u2010\u2011\u00b7](?=[^\W_])")
_SUM = lazy_pattern(r"(?<![^\W_])(?:[^\W_]{1,60}-?\s{0,4}\+\s{0,4})+-?[^\W_]+")
_WORD = lazy_pattern(r"(?<![^\W_])[^\W_]{1,60}(?![^\W_])")
# A word that has so many letters in a row of the expected one is another form of it, or of a part of it.
_ALIKE = 5


class SpeaksLanguage(Ruled, Struct, frozen=True):
    """The share of the expected forms that answers settle on, written in one word or with hyphens between their parts.

    What was told, or is a part of the form, may be named on the way to it; any other form beside it is a second answer,
    and to name several is to choose none. Where questions expect no form, it is times the share of these that are left
    without an answer, so that nothing is earned by always answering, nor by never. There are no published results to
    agree with: every scoring has this rule.
    """

    family: ClassVar[str] = "speaks-language"
    expected: tuple[str, ...]
    """For each question the form that it asks for; "" if nothing that was told says it."""
    told: tuple[str, ...] = ()
    """The forms that were told: no question expects one of them. What others expect may be named, too."""
    forms: tuple[str, ...] = ()
    """For each question the expected form, or what a mistaken one would be; only needed where some expect none."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share, or the product of both; a missing answer counts as wrong."""
        answers = self.read(answers)
        said, left = list[Check](), list[Check]()
        missed = ""
        for place, form in enumerate(self.expected):
            answer = answer_at(answers, place)
            ok = self.settles_on(answer, form) if form else self._leaves(answer, self.forms[place])
            label = f"says {form!r}" if form else f"has nothing to say in answer {place + 1}"
            (said if form else left).append(Check(label, ok is True, ok is None))
            missed = missed if ok else missed or answer
        return self.score_product({"forms are right": said, "rightly left open": left}, missed)

    def settles_on(self, answer: str, form: str) -> bool | None:
        """Tell whether an answer settles on a form."""
        known = (*self.told, *self.expected)
        return prove(_join_parts(answer), partial(_form_mentions, form=form.casefold(), told=known)).answers(
            form.casefold()
        )

    def _leaves(self, answer: str, form: str) -> bool | None:
        text = normalize_text(_join_parts(answer))
        if _form_mentions(text, form=form.casefold(), told=self.told):
            return False
        return tells_nothing_new(text)


def _join_parts(answer: str) -> str:
    return _SUM.sub(" ", _JOINED.sub("", answer))


def _form_mentions(text: str, *, form: str, told: Sequence[str]) -> list[Mention]:
    """Return where a text has the form or others like it, without those that only lead to it."""
    mentions = [
        Mention(*one.span(), one[0].casefold()) for one in _WORD.finditer(text) if _is_alike(one[0].casefold(), form)
    ]
    return [one for one in mentions if not _leads_to_form(one.value, form, told) or is_alternative(text, one)]


def _leads_to_form(word: str, form: str, texts: Sequence[str]) -> bool:
    """Tell whether a word is only on the way to the form: it was told, or is the form without some of its parts."""
    shorter = any(form.startswith(word[:cut]) and form.endswith(word[cut:]) for cut in range(len(word) + 1))
    return word != form and (word in texts or (shorter and len(word) < len(form)))


def _is_alike(word: str, form: str) -> bool:
    return any(form[place : place + _ALIKE] in word for place in range(len(form) - _ALIKE + 1))
