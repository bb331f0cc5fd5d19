"""The rule-based judge, a baseline that any judging model must beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_ltm.api.model import content_of, plain_words
from pytest_ltm.api.scenarios import Inquiry
from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.evaluators import Menu, RecallsJoke, orders_drink
from pytest_ltm.language.lexicon import Lexicon
from pytest_ltm.language.numbers import COUNTS

# The share of the right answer's own words that an answer must have.
_ENOUGH = 0.75
LEXICON = Lexicon(__package__)
RE = LEXICON.expressions("judges")


@dataclass(frozen=True, slots=True)
class RulesJudge:
    """Says yes if an answer has most words of the right one, denies nothing and does not decline."""

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return a grade for prompts whose parts can be compared; `unknown`, never a valid grade, for others."""
        parts = inquiry.parts
        prompt = inquiry.prompt
        match prompt:
            case "answer":
                passes = _grade_answer(parts)
            case "jokes":
                jokes = _listed_lines(parts["jokes"])
                other_facts = tuple(joke for joke in jokes if joke != parts["joke"])
                passes = (
                    getattr(
                        RecallsJoke(parts["joke"], other_facts)([parts["answer"]]),
                        "value",
                        0.0,
                    )
                    == 1.0
                )
            case "restaurant-drink":
                menu = Menu(
                    _listed_lines(parts["dishes"]), _listed_lines(parts["drinks"])
                )
                passes = bool(orders_drink(parts["answer"], menu).ok)
            # comparing words cannot decide on preferences, or on the support of one
            # fact by another
            case _ if prompt == "statement" or prompt.startswith(
                ("longmemeval-", "locomo-events-")
            ):
                return "Words alone do not tell. GRADE: unknown"
            case _ if prompt.startswith("locomo-"):
                reference = parts.get("reference", "")
                answer = parts["answer"]
                ruling = strict_verdict(
                    category=int(parts["category"]),
                    question=parts["question"],
                    answer=reference,
                    prediction=answer,
                )
                return f"It {ruling.reason}. GRADE: {'unknown' if ruling.verdict == 'unscored' else ruling.verdict}"
            case _:
                return f"The rules have found nothing. GRADE: {inquiry.fail}"
        return f"By its words. GRADE: {'yes' if passes else 'no'}"


def _grade_answer(parts: Mapping[str, str]) -> bool:
    reference = _content_stems(parts["reference"])
    answer = _content_stems(parts["answer"])
    # words of the question prove nothing, unless the right answer has no others
    own_words = (reference - _content_stems(parts["question"])) or reference
    declines = RE.declines.search(" ".join(plain_words(parts["answer"]))) is not None
    if RE.declines.search(" ".join(plain_words(parts["reference"]))):
        return declines
    answer_denials = _count_denials(parts["answer"])
    reference_denials = _count_denials(parts["reference"])
    # a wrong number makes the answer wrong, however many words are right
    numbers = {word for word in own_words if word.isdigit()}
    names_it = numbers <= answer and len(own_words & answer) >= len(own_words) * _ENOUGH
    return names_it and not declines and answer_denials <= reference_denials


def _count_denials(text: str) -> int:
    return len(RE.denies.findall(" ".join(plain_words(text))))


def _listed_lines(lines: str) -> tuple[str, ...]:
    return tuple(line.removeprefix("- ") for line in lines.splitlines())


def _content_stems(text: str) -> frozenset[str]:
    """Return the stems of the content words, with numbers as digits."""
    return content_of(str(COUNTS.get(word, word)) for word in plain_words(text))
