"""What evaluators of several parts share: the score, and the answer that is shown for it."""

from __future__ import annotations

from pytest_ltm._model.score import Check
from pytest_ltm.evaluators._rules import RuleCheck, product, share


def test_a_share_shows_the_first_answer_that_missed() -> None:
    parts = [
        RuleCheck("a", "It is teal.", ok=True),
        RuleCheck("b", "No idea.", ok=False),
        RuleCheck("c", "Hm.", ok=False),
    ]
    score = share(parts, rule="r/1", reason="{ok} of {of} right")

    assert (score.value, score.reason, score.evidence) == (1 / 3, "1 of 3 right", "No idea.")
    assert [(check.label, check.ok) for check in score.checks] == [("a", True), ("b", False), ("c", False)]


def test_a_share_of_nothing_is_nothing_and_full_marks_show_no_answer() -> None:
    assert share([], rule="r/1", reason="{ok} of {of}").value == 0
    assert share([RuleCheck("a", "Teal.", ok=True)], rule="r/1", reason="").evidence == ""


def test_a_product_needs_something_of_each_part() -> None:
    right, wrong = Check("a", ok=True), Check("b", ok=False)

    assert product({"one": [right, wrong], "other": [right, right, right, wrong]})[0] == 3 / 8
    assert product({"one": [right], "other": [wrong]})[0] == 0
