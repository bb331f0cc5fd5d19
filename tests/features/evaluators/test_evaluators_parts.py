"""Evaluators of several parts: the common score, and the answer shown as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_ltm.api.model import Check, Replies, Score, Scoring
from pytest_ltm.evaluators import NamesUser
from pytest_ltm.evaluators._rules import RuleCheck, Ruled


def test_a_share_shows_the_first_answer_that_missed() -> None:
    parts = [
        RuleCheck("a", "It is teal.", ok=True),
        RuleCheck("b", "No idea.", ok=False),
        RuleCheck("c", "Hm.", ok=False),
    ]
    score = Brief("current").share(parts, "{ok} of {of} right")

    assert (score.value, score.reason, score.evidence) == (
        1 / 3,
        "1 of 3 right",
        "No idea.",
    )
    assert [(check.label, check.ok) for check in score.checks] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]


def test_a_share_of_nothing_is_nothing_and_full_marks_show_no_answer() -> None:
    assert Brief("current").share([], "{ok} of {of}").value == 0
    assert Brief("current").share([RuleCheck("a", "Teal.", ok=True)], "").evidence == ""


def test_a_product_needs_something_of_each_part() -> None:
    right, wrong = RuleCheck("a", "Hm.", ok=True), RuleCheck("b", "Hm.", ok=False)

    assert _product({"one": [right, wrong], "other": [right, right, right, wrong]}) == (
        3 / 8,
        3 / 8,
    )
    assert _product({"one": [right], "other": [wrong]}) == (0, 0)


def test_open_parts_of_a_product_count_as_missed_below_and_as_passed_above() -> None:
    right, wrong, unproven = (
        RuleCheck("a", "Hm.", ok=ok) for ok in (True, False, None)
    )

    assert _product({"one": [right, unproven], "other": [right, wrong]}) == (
        1 / 4,
        1 / 2,
    )
    assert _product({"one": [unproven], "other": [wrong]}) == (0, 0)


def test_open_parts_of_a_share_count_as_missed_below_and_as_passed_above() -> None:
    parts = [
        RuleCheck("a", "Teal.", ok=True),
        RuleCheck("b", "Hm.", ok=None),
        RuleCheck("c", "No.", ok=False),
    ]
    score = Brief("current").share(parts, "{ok} of {of} right")

    assert (score.value, score.upper) == (1 / 3, 2 / 3)
    assert [check.state for check in score.checks] == ["passed", "open", "failed"]
    assert score.reason == "1 of 3 right, 1 neither proven nor refuted"


def _product(parts: Mapping[str, Sequence[RuleCheck]]) -> tuple[float, float]:
    score = Brief("current").score_product(
        [*parts], [(name, row) for name, rows in parts.items() for row in rows]
    )
    return score.value, score.upper


@dataclass(frozen=True)
class Brief(Ruled):
    """An evaluator without answers."""

    scoring: Scoring
    family: ClassVar[str] = "brief"


def test_published_rules_leave_nothing_open() -> None:
    parts = [RuleCheck("a", "Teal.", ok=True), RuleCheck("b", "Hm.", ok=None)]
    unproven = Check("c", ok=False, open=True)
    for scoring in ("v3.5", "paper"):
        published = Brief(scoring)
        for score in (
            published.share(parts, "{ok} of {of} right"),
            published.score_product(["one"], [("one", RuleCheck("c", "Hm.", ok=None))]),
            published.standing_in(Score(0.0, "", (unproven,), left_open=1.0)),
        ):
            assert isinstance(score, Score)
            assert score.upper == score.value


def test_what_a_verdict_holds_is_plain_text_also_where_it_is_known_what_was_told() -> (
    None
):
    score = NamesUser("Ada")(Replies(["Bea."], ("My name is Ada.",)))
    assert type(score.evidence) is str
