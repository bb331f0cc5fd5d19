"""The evaluators' verdicts on thousands of replies equal the record: the effect of a changed rule shows in its diff.

The record does not decide what is right; labelled replies do
(`test_verdict_limits.py`). If a rule is meant to change, record anew with `python
tests/golden/refresh.py verdicts`, and read the difference.
"""

from __future__ import annotations

import pytest
import recorded_verdicts
from recorded_verdicts import Case, differing, judged, near

CASES = recorded_verdicts.cases()
PARTS = [
    pytest.param(name, slice(start, start + size), id=f"{name}-{start}")
    for name, cases in CASES.items()
    for size in (max(1, 4_000 // recorded_verdicts.neighbours(cases)),)
    for start in range(0, len(cases), size)
]


def test_all_that_is_recorded_is_compared() -> None:
    for name, cases in CASES.items():
        assert list(recorded_verdicts.recorded(name)) == [case.id for case in cases]


@pytest.mark.nightly("118,000 replies: all of them where a rule is touched", every=16)
@pytest.mark.slow
@pytest.mark.recorded
@pytest.mark.parametrize(("name", "part"), PARTS)
def test_verdicts_are_as_recorded(name: str, part: slice, everything: bool) -> None:
    """Compare all replies; before a merge every fourth of each evaluator, with all its neighbours."""
    cases = CASES[name][part][:: 1 if everything else 4]
    then, count = (
        recorded_verdicts.recorded(name),
        recorded_verdicts.neighbours(CASES[name]),
    )
    changed = [
        line
        for case in cases
        for line in differing(case, count, judged(case, count), then[case.id])
    ]
    assert "\n".join(changed) == ""


def test_what_has_changed_is_told_with_the_reply() -> None:
    case = Case("x", "NamesColour", {"expected": "teal"}, ["It is teal."], ["Red."])
    now = judged(case, 3)
    then = now._replace(marks="0" + now.marks[1:-1] + "-", reason="another")
    reply = list(near(case, 3))[-1]
    assert differing(case, 3, now, now) == []
    assert differing(case, 3, now, then) == [
        "NamesColour, x: '0' is '1': ['It is teal.']",
        f"NamesColour, x: '-' is {now.marks[-1]!r}: {reply}",
        "NamesColour, x: 'another' is \"colours/2: settles on 'teal' << It is teal.\"",
    ]


def test_neighbours_differ_from_the_reply_and_are_the_same_each_time() -> None:
    case = Case(
        "x",
        "NamesColour",
        {"expected": "teal"},
        ["", "It is teal, as you said."],
        ["Red."],
    )
    made = list(near(case, 40))
    assert made == list(near(case, 40))
    assert len({answers[1] for answers in made}) > 30
    assert {answers[0] for answers in made} == {""}
    assert list(near(case._replace(answers=["", " "], cue="not"), 40)) == []


def test_a_cue_moves_away_from_the_right_answer_letter_by_letter() -> None:
    case = Case(
        "x", "NamesColour", {"expected": "teal"}, ["It is teal."], [], cue="not"
    )
    (near_by, *_, far) = near(case, 0)
    assert near_by[0].count("not") == far[0].count("not") == 1
    assert len(far[0]) - len(near_by[0]) == recorded_verdicts.REACH - 1
    assert abs(near_by[0].index("not") - near_by[0].index("teal")) <= len("teal  ")
