"""Verdicts on LongMemEval's answers: rules first, a judge for the rest or for all; and retrieval figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from longmemeval_files import records, written

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import Judge
from pytest_ltm.datasets import LONGMEMEVAL
from pytest_ltm.datasets.longmemeval.evaluation import (
    LongMemEvalAnswer,
    prompt_for,
    retrieval_figures,
)
from pytest_ltm.testing import FakeJudge

ENTRIES = {
    "kiln": "knowledge_update",
    "moss_abs": "single_session_user",
    "room": "single_session_preference",
}


def answer(
    tmp_path: Path, name: str, judge: Judge | None = None, judges: str = "rest"
) -> LongMemEvalAnswer:
    suite = LONGMEMEVAL.open(
        written(tmp_path / "data.json", records()), {"judge": judges}, seed=0
    )
    return LongMemEvalAnswer(suite.definition(ENTRIES[name], name, "0"), judge)


def test_rules_decide_where_they_can_and_say_so(tmp_path: Path) -> None:
    judge = FakeJudge(otherwise="GRADE: no")
    verdict = answer(tmp_path, "kiln", judge)(["It has five shelves."])

    assert isinstance(verdict, Score)
    assert (verdict.value, verdict.rule, judge.asked) == (
        1.0,
        "longmemeval-rules/1",
        [],
    )


def test_without_a_judge_what_no_rule_can_tell_is_unscored(tmp_path: Path) -> None:
    assert isinstance(answer(tmp_path, "room")(["One above the courtyard."]), Unscored)


def test_a_judge_decides_the_rest_by_the_rule_of_the_type(tmp_path: Path) -> None:
    judge = FakeJudge({"longmemeval-preference": "It faces one. GRADE: yes"})
    verdict = answer(tmp_path, "room", judge)(["One above the courtyard."])

    assert isinstance(verdict, Score)
    assert (verdict.value, verdict.rule) == (1.0, "judge longmemeval-preference/1")
    (asked,) = judge.asked
    assert asked.parts == {
        "question": "Can you suggest a room for my stay?",
        "reference": "The user likes rooms that face a courtyard.",
        "answer": "One above the courtyard.",
    }


def test_a_judge_may_be_asked_about_all(tmp_path: Path) -> None:
    judge = FakeJudge({"longmemeval-update": "GRADE: no"})
    verdict = answer(tmp_path, "kiln", judge, judges="all")(["It has five shelves."])

    assert isinstance(verdict, Score)
    assert (verdict.value, verdict.rule) == (0.0, "judge longmemeval-update/1")


def test_a_judge_that_cannot_tell_leaves_it_unscored(tmp_path: Path) -> None:
    assert isinstance(
        answer(tmp_path, "room", FakeJudge(otherwise="Well."))(["Any."]), Unscored
    )


@pytest.mark.parametrize(
    ("name", "kind", "prompt"),
    [
        ("q_abs", "single-session-preference", "longmemeval-abstention"),
        ("q", "single-session-preference", "longmemeval-preference"),
        ("q", "temporal-reasoning", "longmemeval-temporal"),
        ("q", "knowledge-update", "longmemeval-update"),
        ("q", "multi-session", "longmemeval-answer"),
        ("q", "single-session-assistant", "longmemeval-answer"),
    ],
)
def test_the_suffix_decides_on_the_judging_rule_before_the_type_does(
    name: str, kind: str, prompt: str
) -> None:
    assert prompt_for(name, kind).name == prompt


def test_who_asks_for_the_facts_abstains(tmp_path: Path) -> None:
    verdict = answer(tmp_path, "moss_abs")(
        ["Please tell me more: when did you get to know that parrot of hers?"]
    )

    assert getattr(verdict, "value", None) == 1.0


def test_right_answers_and_abstentions_are_measures(tmp_path: Path) -> None:
    moss, kiln, room = (answer(tmp_path, name) for name in ("moss_abs", "kiln", "room"))

    assert moss.metrics(moss(["You never mentioned a parrot."])) == {
        "right": 1.0,
        "abstention": 1.0,
    }
    assert kiln.metrics(kiln(["Three."])) == {"right": 0.0}
    assert room.metrics(room(["This one."])) == {}


def test_an_undecided_answer_is_in_no_figure_over_all_questions(tmp_path: Path) -> None:
    kiln = answer(tmp_path, "kiln")
    undecided = kiln(["Five kilns, three shelves."])

    assert isinstance(undecided, Unscored)
    assert kiln.metrics(undecided) == {}


def test_what_was_retrieved_is_measured_where_there_is_something_to_find(
    tmp_path: Path,
) -> None:
    kiln, moss = answer(tmp_path, "kiln"), answer(tmp_path, "moss_abs")
    found: dict[str, Any] = kiln.metrics(
        kiln(["Five."]), ["answer_kiln_2_1", "answer_kiln_2_2", "filler_tea_1"]
    )

    assert (found["turn_recall_all_5"], found["session_recall_all_10"]) == (0.0, 0.0)
    assert 0 < found["turn_ndcg_any_10"] < 1
    assert moss.metrics(moss(["Moss."]), ["answer_moss_2"]).keys() == {
        "right",
        "abstention",
    }


def test_only_the_users_turns_are_ranked() -> None:
    ranked = [*(f"x_{number}" for number in range(2, 12, 2)), "g_1"]

    assert retrieval_figures(ranked, ["g_1"], {})["turn_recall_any_5"] == 1.0
    assert (
        retrieval_figures(ranked, ["g_1"], {"x": (2, 4, 6, 8, 10)})["turn_recall_any_5"]
        == 0.0
    )


def test_turns_of_evidence_sessions_that_hold_none_count_as_another_session() -> None:
    found = retrieval_figures(["g_1"], ["g_3"], {})

    assert found["session_recall_any_1"] == found["session_ndcg_any_50"] == 0.0
    assert retrieval_figures(["g_1", "g_3"], ["g_3"], {})["session_recall_any_3"] == 1.0


def test_the_figures_have_all_published_depths() -> None:
    assert {name.rpartition("_")[2] for name in retrieval_figures([], ["g_1"], {})} == {
        "1",
        "3",
        "5",
        "10",
        "30",
        "50",
    }
