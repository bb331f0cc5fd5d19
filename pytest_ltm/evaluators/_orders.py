"""Standing orders: which of them a text obeys, and which that do not hold it obeys as well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pytest_ltm._language.clauses import text_nearby
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.words import plain_words, word_stem
from pytest_ltm._model.score import Check, Scoring
from pytest_ltm.evaluators._rules import LEXICON, Ruled, answer_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._model.score import Score

# Stands where a text has the word of an order.
_HERE = "\0"
_VERBS = r"(?:begin|start|open|end|clos|finish|work|slip|us|put|writ|set|add|attach|includ)(?:e|s|es|ed|t?ing)?"
_LABEL = r"the (?:opening|closing) word|the tag|the word (?:to be worked in|in brackets|in capitals|between asterisks)"
# A word that is only named in what an order, or its end, says.
_ORDER = LEXICON.expression(r"{orders order}", re.IGNORECASE)
# A sentence in which the agent speaks of orders instead of obeying them.
_COMMENT = LEXICON.expression(r"{orders comment}", re.IGNORECASE)
_FIRST = LEXICON.expression(r"^(?:[^\n]*\b{orders first}\b[^\n]*:|\W*\d+[.)])?(?:[^\w#]|#\w+)*$", re.IGNORECASE)
_LAST = lazy_pattern(r"^(?:[^\w#\n]|#\w+)*(?:\n|$)")
_WAYS = {
    "mentions": lazy_pattern(_HERE),
    "tag": lazy_pattern(rf"#{_HERE}"),
    "brackets": lazy_pattern(rf"\[[^][\n]*{_HERE}[^][\n]*\]"),
    "stars": lazy_pattern(rf"\*[^\w\n]*{_HERE}[^\w\n]*\*"),
}


@dataclass(frozen=True, slots=True)
class ObeysOrders(Ruled):
    """Of each text the share of orders obeyed, times the share of words left out that no order has; the mean of all.

    So nothing is earned by obeying everything that was ever ordered, nor by obeying nothing. Every order has a word of
    its own: a text may begin with it ("opens") or end with it ("closes"), have it somewhere ("mentions"), as a #tag
    ("tag"), in square brackets ("brackets"), in capital letters ("capitals") or between asterisks ("stars"). What
    stands before or after the text, in lines of its own, is passed over, and so are sentences about the orders
    themselves: to repeat an order is neither to obey it nor to break its end. There are no published results to agree
    with: every scoring has this rule.
    """

    family: ClassVar[str] = "obeys-orders"
    holding: tuple[tuple[tuple[str, str], ...], ...]
    """For each text the orders that hold: their kinds and words."""
    lapsed: tuple[tuple[str, ...], ...] = ()
    """For each text the words of orders that do not hold."""
    about: tuple[str, ...] = ()
    """What each text has to be about, in a word; a text that does not name it obeys nothing."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the mean of the products; a missing text obeys nothing."""
        answers = self.read(answers)
        checks: list[Check] = []
        earned = 0.0
        missed = ""
        for place, orders in enumerate(self.holding):
            answer, lapsed = answer_at(answers, place), self.lapsed[place] if place < len(self.lapsed) else ()
            thing = answer_at(self.about, place)
            written = not thing or word_stem(thing) in map(word_stem, plain_words(answer))
            new = [
                Check(f"text {place + 1}: {kind} {word!r}", written and obeys_order(answer, kind, word))
                for kind, word in orders
            ]
            old = [
                Check(f"text {place + 1}: not {word!r}", not obeys_order(answer, "mentions", word)) for word in lapsed
            ]
            earned += _share_of_checks(new) * _share_of_checks(old)
            missed = missed or ("" if all(check.ok for check in (*new, *old)) else answer)
            checks += [*new, *old]
        reason = f"{sum(check.ok for check in checks)} of {len(checks)} orders obeyed, or rightly not obeyed"
        return self.score(earned / max(len(self.holding), 1), reason, missed, checks)


def _share_of_checks(checks: Sequence[Check]) -> float:
    return sum(check.ok for check in checks) / len(checks) if checks else 1.0


def obeys_order(text: str, kind: str, word: str) -> bool:
    """Return whether a text carries out an order: its kind, and its word."""
    return any(_carried_out(text, kind, *result.span()) for result in _uses_of_word(text, word))


def _carried_out(text: str, kind: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - _LINE) : start].rpartition("\n")[2], text[end : end + _LINE]
    if kind == "opens":
        return _FIRST.search(before) is not None
    if kind == "closes":
        return _LAST.search(after) is not None
    if kind == "capitals":
        return text[start:end].isupper()
    return _WAYS[kind].search(f"{before}{_HERE}{after.partition(chr(10))[0]}") is not None


def _uses_of_word(text: str, word: str) -> Iterator[re.Match[str]]:
    """Yield where a text has a word other than in a sentence about orders."""
    for match in re.finditer(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text, re.IGNORECASE):
        start, end = match.span()
        around = f"{text[max(0, start - _NEAR) : start]}{_HERE}{text[end : end + _NEAR]}"
        if not (_ORDER.search(around) or _COMMENT.search(text_nearby(text, start, end))):
            yield match


# Characters before or after a word that may be of its line: a text of any length is read in linear time.
_LINE = 2_000
# Characters around a word that tell whether it is only named.
_NEAR = 60
