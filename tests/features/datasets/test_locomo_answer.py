"""The score of one answer, and its additional figures."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import Ask, Definition
from pytest_ltm.datasets.locomo.answer import LocomoAnswer, evidence_recall
from pytest_ltm.testing import FakeJudge


def judge_of(category: int, gold: object, **facts: Any) -> LocomoAnswer:
    known: dict[str, Any] = {
        "category": category,
        "question": "What did Tomas sell?",
        "choices": [],
        "asking": "official",
        "evidence": [],
        "cited": [],
        "about": ["Tomas", "Ines"],
        "corrected": None,
    }
    return LocomoAnswer(
        Definition(
            steps=(Ask("What did Tomas sell?"),),
            expected=gold,
            parameters=known | facts,
        )
    )


def score_of(verdict: Score | Unscored) -> Score:
    assert isinstance(verdict, Score)
    return verdict


def corrected(
    answer: str, *, disputed: bool = True, evidence: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "kind": "AMBIGUOUS",
        "disputed": disputed,
        "answer": answer,
        "evidence": list(evidence),
    }


def test_the_score_is_the_official_f1() -> None:
    score = score_of(judge_of(4, "a green lamp")(["The lamp was green"]))

    assert (score.value, score.rule) == (0.8, "locomo-f1-official/1")


CHOICE = {"choices": ["two quails", "Not mentioned in the conversation"]}


@pytest.mark.parametrize(
    ("answer", "value"),
    [("b", 1.0), ("(a)", 0.0), ("It is not mentioned.", 1.0), ("(a) (b)", 0.0)],
)
def test_a_choice_is_scored_by_what_it_stands_for(answer: str, value: float) -> None:
    judged = judge_of(5, None, **CHOICE)

    assert score_of(judged([answer])).value == value
    assert judged.metrics(answer)["f1"] == value


def test_to_repeat_both_choices_earns_nothing_and_says_so() -> None:
    answers = ["(a) two quails (b) Not mentioned in the conversation"]
    score = score_of(judge_of(5, None, **CHOICE)(answers))

    assert (score.value, score.reason) == (0.0, "takes both of the two choices")


def test_a_free_refusal_scores_by_our_rule_and_the_official_one_stands_beside() -> None:
    judged = judge_of(5, None, asking="free")

    assert score_of(judged(["I do not know."])).value == 1.0
    assert judged.metrics("I do not know.") == {"f1": 0.0, "abstains": 1.0}


def test_the_rule_of_a_score_names_the_way_of_asking() -> None:
    rules = {judge_of(4, "x", asking=way)(["x"]).rule for way in ("official", "free")}

    assert rules == {"locomo-f1-official/1", "locomo-f1-free/1"}


def test_corrections_give_a_second_f1_and_the_ceiling() -> None:
    judged = judge_of(4, "red boat", corrected=corrected("blue boat"))

    assert judged.metrics("blue boat") == {
        "f1": 0.5,
        "f1_corrected": 1.0,
        "ceiling": 0.5,
    }
    assert "disputed, ambiguous: rather 'blue boat'" in judged(["blue boat"]).reason


def test_an_undisputed_answer_is_its_own_correction() -> None:
    judged = judge_of(
        3, "Yes; she is kind", corrected=corrected("Yes; she is kind", disputed=False)
    )

    assert judged.metrics("yes") == {"f1": 1.0, "f1_corrected": 1.0, "ceiling": 1.0}


def test_recall_is_there_only_if_the_agent_shows_what_it_retrieved() -> None:
    judged = judge_of(4, "x", evidence=["D1:1", "D2:2"], cited=["D1:1; D2:2"])

    assert "recall" not in judged.metrics("x")
    assert judged.metrics("x", ["D1:1", "D1:4"]) == {
        "f1": 1.0,
        "recall": 0.0,
        "recall_repaired": 0.5,
        "recall_sessions": 0.5,
        "retrieved": 2.0,
    }


def test_corrected_evidence_has_a_recall_of_its_own() -> None:
    audit = corrected("x", disputed=False, evidence=("D3:1",))
    judged = judge_of(4, "x", evidence=["D1:1"], cited=["D1:1"], corrected=audit)

    assert judged.metrics("x", ["D3:1"])["recall_corrected"] == 1.0


@pytest.mark.parametrize(
    ("retrieved", "cited", "evidence", "expected"),
    [
        (["D1:1"], ["D1:1"], ["D1:1"], (1.0, 1.0, 1.0)),
        (["D1:2"], ["D1:1"], ["D1:1"], (0.0, 0.0, 1.0)),
        ([], ["D1:1"], ["D1:1"], (0.0, 0.0, 0.0)),
        (["D1:1"], [], [], (1.0, None, None)),
        (["D30:5"], ["D30:05"], ["D30:5"], (0.0, 1.0, 1.0)),
        (["S1"], ["D1:1", "D2:1"], ["D1:1", "D2:1"], (0.5, 0.5, 0.5)),
        (["D1:1-D1:4"], ["D1:3"], ["D1:3"], (1.0, 1.0, 1.0)),
        (["something else"], ["D1:3"], ["D1:3"], (0.0, 0.0, 0.0)),
    ],
)
def test_official_recall_takes_ids_as_they_stand_and_ours_as_they_are_meant(
    retrieved: list[str],
    cited: list[str],
    evidence: list[str],
    expected: tuple[float | None, ...],
) -> None:
    names = ("recall", "recall_repaired", "recall_sessions")
    assert evidence_recall(retrieved, cited=cited, evidence=evidence) == dict(
        zip(names, expected, strict=True)
    )


def test_a_judge_stands_beside_the_f1_and_changes_no_score() -> None:
    judged = judge_of(4, "two quails")
    judge = FakeJudge({"locomo-answer": "GRADE: yes"})

    assert judged.metrics("a pair of them", judge=judge) == {"f1": 0.0, "judge": 1.0}
    assert score_of(judged(["a pair of them"])).value == 0.0
    assert "two quails" in judge.asked[0].text


def test_an_adversarial_answer_is_judged_as_a_refusal() -> None:
    judge = FakeJudge({"locomo-abstention": "GRADE: no", "locomo-answer": "GRADE: yes"})

    assert judge_of(5, None).metrics("two quails", judge=judge)["judge"] == 0.0


def test_a_judge_that_cannot_tell_leaves_no_figure() -> None:
    assert "judge" not in judge_of(4, "x").metrics(
        "y", judge=FakeJudge(otherwise="Well.")
    )


# --- The protocol `ours`.


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("It was a green lamp.", 1.0),
        ("I do not know.", 0.0),
        ("A lamp.", None),
    ],
)
def test_by_our_protocol_rules_prove_what_they_can(
    answer: str, value: float | None
) -> None:
    verdict = judge_of(4, "a green lamp", protocol="ours")([answer])

    assert (verdict.value if isinstance(verdict, Score) else None) == value


def test_by_our_protocol_a_judge_is_asked_about_the_rest_alone() -> None:
    judge = FakeJudge(otherwise="GRADE: yes")
    answers = judge_of(4, "a green lamp", protocol="ours")

    proven = answers(["A green lamp."], judge=judge)
    assert proven.rule == "locomo-strict/1"
    assert judge.asked == []
    verdict = answers(["A lamp."], judge=judge)
    assert isinstance(verdict, Score)
    assert verdict.value == 1.0
    assert len(judge.asked) == 1
    assert answers.metrics("A green lamp.", judge=judge).keys() == {"f1"}
