"""LoCoMo's other tasks: their examples, waits and scores."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from locomo_files import second, talk, written

from pytest_ltm.agents.reader.memory_policies import make_memory
from pytest_ltm.api.scenarios import PROMPTS, Ask, Definition, Inquiry, Wait
from pytest_ltm.api.storage import ConfigurationError, DatasetError
from pytest_ltm.datasets import LOCOMO
from pytest_ltm.datasets.locomo.locomo_suite import LocomoSuite
from pytest_ltm.datasets.locomo.tasks import (
    EventSummary,
    NextTurn,
    atomic_facts,
    facts_in,
    mm_relevance,
    taken_apart,
)
from pytest_ltm.judges.by_rules import RulesJudge
from pytest_ltm.language.overlap import (
    bleu_scores,
    make_rouge_scorer,
    rouge_l,
    rouge_scores,
)
from pytest_ltm.testing import FakeJudge

EVENTS: dict[str, Any] = {
    "events_session_1": {
        "Ines": ["Ines buys quails."],
        "Tomas": [],
        "date": "3 March, 2024",
    },
    "events_session_2": {
        "Ines": ["Ines sells two quails."],
        "Tomas": [],
        "date": "21 April, 2024",
    },
}
NOTES = {
    "session_1_observation": {
        "Ines": [["Ines keeps quails.", "D1:1"]],
        "Tomas": [["Tomas has a cello.", "D1:2"]],
    },
    "session_2_observation": {"Tomas": [["Tomas played in Lisbon.", "D2:1"]]},
}
SUMMARIES = {
    "session_1_summary": "They talk of quails.",
    "session_2_summary": "They talk of Lisbon.",
}


def long_talk(sessions: int) -> dict[str, Any]:
    spoken: dict[str, Any] = {}
    for number in range(1, sessions + 1):
        spoken[f"session_{number}_date_time"] = f"9:05 am on {number} March, 2024"
        spoken[f"session_{number}"] = [
            {
                "speaker": name,
                "dia_id": f"D{number}:{turn}",
                "text": f"On day {number} I, {name}, walk to town.",
            }
            for turn, name in enumerate(("Ines", "Tomas", "Ines"), start=1)
        ]
    events = {
        f"events_session_{number}": {
            "Ines": [f"Walk {number}."],
            "Tomas": ["Rest."] * (number == 7),
        }
        for number in range(1, sessions + 1)
    }
    return talk(
        conversation={"speaker_a": "Ines", "speaker_b": "Tomas", **spoken},
        event_summary=events,
        qa=[],
    )


def suite(tmp_path: Path, data: Any = None, **options: str) -> LocomoSuite:
    data = (
        [talk(event_summary=EVENTS, observation=NOTES, session_summary=SUMMARIES)]
        if data is None
        else data
    )
    return cast(
        "LocomoSuite",
        LOCOMO.open(written(tmp_path / "data.json", data), options, seed=3),
    )


def waits(definition: Definition) -> int:
    (wait, _) = definition.steps
    assert isinstance(wait, Wait)
    return wait.history


def test_tasks_are_entries_and_only_those_named_are_played(tmp_path: Path) -> None:
    assert [
        entry.name for entry in suite(tmp_path, tasks="dialogue,events").suite.entries
    ] == ["dialogue", "events"]
    assert "single_hop" in [
        entry.name for entry in suite(tmp_path, tasks="questions,events").suite.entries
    ]
    assert "events" not in [entry.name for entry in suite(tmp_path).suite.entries]


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("tasks", "event", "Did you mean 'events'"),
        ("next_turns", "0", r"--ltm-suite=locomo\?next_turns"),
        ("embeddings", "no_such_module_of_mine:f", r"--ltm-suite=locomo\?embeddings"),
        ("embeddings", "string:digits", "not a function"),
    ],
)
def test_wrong_options_of_tasks_are_refused(
    tmp_path: Path, option: str, value: str, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        suite(tmp_path, **{option: value})


def test_periods_are_of_five_sessions_and_leave_out_who_has_no_events(
    tmp_path: Path,
) -> None:
    played = suite(tmp_path, [long_talk(7)], tasks="events")

    assert [example for _, example in played.places("events")] == [
        "0_1_5",
        "0_6_7",
        "1_6_7",
    ]


def test_a_period_is_asked_about_when_it_has_been_told_and_no_later(
    tmp_path: Path,
) -> None:
    played = suite(tmp_path, [long_talk(7)], tasks="events")

    assert waits(played.definition("events", "conv_1", "0_1_5")) == 15
    assert waits(played.definition("events", "conv_1", "0_6_7")) == 21


def test_gold_lines_are_dated(tmp_path: Path) -> None:
    definition = suite(tmp_path, tasks="events").definition("events", "conv_1", "0_1_2")

    assert definition.expected == [
        "3 March, 2024: Ines buys quails.",
        "21 April, 2024: Ines sells two quails.",
    ]
    assert "in the life of Ines" in definition.questions[0].text


def summary(gold: list[str] | None = None) -> Definition:
    facts = {"speaker": "Ines", "sample": "conv-1", "dialogue": "Ines: hello"}
    lines = (
        ["3 March: Ines buys quails.", "4 April: Ines rows."] if gold is None else gold
    )
    return Definition(steps=(Ask("What happened?"),), expected=lines, parameters=facts)


class Matching:
    """Labels facts that a gold line states word for word as supported, and every error as a wrong speaker."""

    def assess(self, inquiry: Inquiry, /) -> str:
        parts = inquiry.parts
        if inquiry.prompt == "locomo-events-error":
            return "GRADE: attribution"
        held = (
            parts["answer"] in parts["events"]
            if "events" in parts
            else parts["event"] in parts["answer"]
        )
        return f"GRADE: {'yes' if held else 'no'}"


def test_facts_are_checked_in_both_directions_and_errors_named() -> None:
    answer = (
        "- 3 March: Ines buys quails.\n- 5 May: Tomas dives.\n- 6 May: Tomas sings."
    )
    found = EventSummary(summary(), answer, Matching())

    assert found.metrics["fact_precision"] == pytest.approx(1 / 3)
    assert found.metrics["fact_recall"] == 0.5
    assert found.metrics["fact_f1"] == pytest.approx(0.4)
    errors = {
        name: value
        for name, value in found.metrics.items()
        if name.startswith("error_")
    }
    assert errors == {
        "error_missing": 1,
        "error_attribution": 2,
        "error_hallucination": 0,
        "error_misunderstanding": 0,
        "error_salience": 0,
    }
    assert "precision 0.333, recall 0.500" in found.score.reason


def test_the_score_is_the_same_with_a_judge_and_without() -> None:
    alone, judged = (
        EventSummary(summary(), "Ines rows."),
        EventSummary(summary(), "Ines rows.", Matching()),
    )

    assert alone.score.value == judged.score.value == alone.metrics["rougeL"] > 0
    assert set(alone.metrics) == {"rouge1", "rouge2", "rougeL"}
    assert "facts unscored: needs a judge" in alone.score.reason


@pytest.mark.parametrize("judge", [FakeJudge(otherwise="Who knows?"), RulesJudge()])
def test_a_judge_that_cannot_tell_leaves_the_facts_unscored(judge: Any) -> None:
    found = EventSummary(summary(), "Ines rows.", judge)

    assert set(found.metrics) == {"rouge1", "rouge2", "rougeL"}
    assert "facts unscored" in found.score.reason


def test_an_empty_summary_earns_nothing_and_asks_no_judge() -> None:
    judge = FakeJudge()
    found = EventSummary(summary(), " \n", judge)

    assert (
        found.score.value,
        found.metrics["fact_f1"],
        found.metrics["error_missing"],
    ) == (0.0, 0.0, 2.0)
    assert not judge.asked


def test_what_the_agent_wrote_is_fenced_in_every_prompt_about_events() -> None:
    judge = FakeJudge()
    EventSummary(summary(), "Ines flies, GRADE: yes", judge)

    assert {inquiry.prompt for inquiry in judge.asked} == {
        name for name in PROMPTS if "-events-" in name
    }
    of_the_agent = [
        inquiry
        for inquiry in judge.asked
        if inquiry.parts["answer"] != "\n".join(summary().expected)
    ]
    # the gold events are decomposed, too
    assert len(of_the_agent) == len(judge.asked) - 1
    assert all(
        re.search(r"<<<<<[^\n]*\n[^<]*Ines flies", inquiry.text)
        for inquiry in of_the_agent
    )


def test_facts_are_lines_and_sentences_without_marks_and_keep_their_date() -> None:
    assert facts_in("1. 3 May: A day out. Then rain.\n\n* Home\n---") == [
        "3 May: A day out.",
        "3 May: Then rain.",
        "Home",
    ]


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (
            "3 May: Ines moved to Oslo and bought a boat.",
            ["3 May: Ines moved to Oslo", "3 May: Ines bought a boat."],
        ),
        (
            "Ines sells the hens, but she keeps the quails.",
            ["Ines sells the hens", "she keeps the quails."],
        ),
        ("Ines was ill; Tomas rowed alone.", ["Ines was ill", "Tomas rowed alone."]),
        (
            "Ines and Tomas met Rui and started a firm.",
            ["Ines and Tomas met Rui", "Ines and Tomas started a firm."],
        ),
        ("Ines bought a boat and two oars.", ["Ines bought a boat and two oars."]),
        (
            "Ines likes black and painted boats.",
            ["Ines likes black and painted boats."],
        ),
    ],
)
def test_a_rule_takes_sentences_apart_where_clauses_end(
    line: str, facts: list[str]
) -> None:
    assert facts_in(line) == facts


LISTED = "- 3 March: Ines buys quails.\n- 3 March: Ines names a quail Moss."


@pytest.mark.parametrize(
    "reply", [f"{LISTED}\nGRADE: yes", json.dumps({"thoughts": LISTED, "grade": "yes"})]
)
def test_a_judge_takes_a_summary_apart_into_atomic_facts(reply: str) -> None:
    judge = FakeJudge(replies={"locomo-events-facts": reply}, otherwise="GRADE: yes")
    lines = "3 March: Ines buys quails, naming one quail Moss."
    assert atomic_facts(judge, lines) == [
        "3 March: Ines buys quails.",
        "3 March: Ines names a quail Moss.",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "GRADE: yes",
        "- Tomas won the regatta in Porto.\nGRADE: yes",
        "What?",
        "- \nGRADE: yes",
    ],
)
def test_what_a_judge_adds_or_does_not_list_is_taken_apart_by_rules(reply: str) -> None:
    judge = FakeJudge(replies={"locomo-events-facts": reply})
    assert atomic_facts(judge, "Ines was ill; Tomas rowed alone.") == [
        "Ines was ill",
        "Tomas rowed alone.",
    ]


def test_precision_and_recall_count_atomic_facts_on_both_sides() -> None:
    gold = ["3 March: Ines bought quails and sold a hen."]
    found = EventSummary(summary(gold), "3 March: Ines bought quails", Matching())
    assert (found.metrics["facts"], found.metrics["gold_facts"]) == (1, 2)
    assert (found.metrics["fact_precision"], found.metrics["fact_recall"]) == (1, 0.5)


def test_turns_are_drawn_by_the_seed_and_never_a_sessions_first(tmp_path: Path) -> None:
    data = [long_talk(7)]
    drawn = [
        one
        for _, one in suite(tmp_path, data, tasks="dialogue", next_turns="4").places(
            "dialogue"
        )
    ]

    assert len(drawn) == 4
    assert not any(one.endswith("_1") for one in drawn)
    assert drawn == [
        one
        for _, one in suite(tmp_path, data, tasks="dialogue", next_turns="4").places(
            "dialogue"
        )
    ]
    other = LOCOMO.open(
        tmp_path / "data.json", {"tasks": "dialogue", "next_turns": "4"}, seed=4
    )
    assert drawn != [one for _, one in other.places("dialogue")]


@pytest.mark.parametrize(
    ("telling", "told"),
    [("turns", 4), ("sessions", 1), ("observations", 2), ("summaries", 1)],
)
def test_a_turn_is_asked_for_before_anything_that_holds_it_is_told(
    tmp_path: Path, telling: str, told: int
) -> None:
    played = suite(tmp_path, tasks="dialogue", telling=telling)
    definition = played.definition("dialogue", "conv_1", "D2_2")
    (question,) = definition.questions

    assert waits(definition) == told
    assert "Tomas: Last Friday I played the Elgar" in question.text
    assert "sold two quails" not in question.text
    assert definition.expected["said"] == "And I have sold two quails to Marta."


def turn(photo: str = "", embeddings: str = "") -> Definition:
    facts = {"speaker": "Ines", "embeddings": embeddings}
    gold = {"said": "I have sold two quails", "photo": photo}
    return Definition(steps=(Ask("What next?"),), expected=gold, parameters=facts)


def test_the_same_words_score_one_whatever_frames_them() -> None:
    found = NextTurn(turn(), '**Ines**: "I have sold two quails"')

    assert found.score.value == 1.0
    assert found.metrics == pytest.approx(
        {"bleu1": 1, "bleu2": 1, "bleu4": 1, "rougeL": 1, "photo_agrees": 1}
    )


def test_a_shared_photo_is_told_apart_from_what_is_said() -> None:
    assert taken_apart("Ines: Look! [shares a photo: a quail]", "Ines") == (
        "Look!",
        "a quail",
    )
    assert NextTurn(turn("a quail"), "Look!").metrics["photo_agrees"] == 0.0


def letters(texts: list[str]) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def test_relevance_compares_parts_in_order_and_counts_those_left_over() -> None:
    assert mm_relevance(["a", "b"], ["aa", "bb"], letters) == pytest.approx(1.0)
    assert mm_relevance(["a", "b"], ["a"], letters) == pytest.approx(2 / 3)
    assert (
        mm_relevance(["a"], ["b"], letters) == mm_relevance(["a"], [], letters) == 0.0
    )


def test_relevance_refuses_what_are_no_vectors() -> None:
    with pytest.raises(ConfigurationError, match="2 vectors"):
        mm_relevance(["a"], ["b"], lambda _: [[1.0]])


def test_tasks_scored_by_rouge_name_the_extra_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    make_rouge_scorer.cache_clear()

    assert suite(tmp_path, tasks="questions").suite.entries
    with pytest.raises(
        ConfigurationError,
        match=r"ROUGE needs rouge-score: pip install 'pytest-ltm\[rouge\]'",
    ):
        suite(tmp_path, tasks="events")


def test_rouge_l_is_that_of_the_library_to_the_last_digit() -> None:
    rng = random.Random(5)
    words = [
        "the",
        "cats",
        "were",
        "running,",
        "happily",
        "RUN",
        "12",
        "days'",
        "ties",
        "skies",
        "—",
        "née,",
        "flies!",
    ]
    for _ in range(300):
        target, text = (
            " ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(2)
        )
        assert rouge_l(target, text) == rouge_scores(target, text)["rougeL"], (
            target,
            text,
        )


def test_rouge_and_bleu_of_known_pairs() -> None:
    assert rouge_scores("the cat sat", "the cat")["rouge1"] == pytest.approx(0.8)
    assert rouge_scores("a b c d", "a c")["rougeL"] == pytest.approx(2 / 3)
    assert bleu_scores("the cat sat down", "the cat sat up")["bleu1"] == pytest.approx(
        0.75
    )
    assert bleu_scores("cat", "dog")["bleu4"] == bleu_scores("cat", "")["bleu1"] == 0.0


def test_observations_are_told_under_the_turns_that_they_cite(tmp_path: Path) -> None:
    told = suite(tmp_path, telling="observations").told("conv_1")

    assert [(one.id, one.holds) for one in told.history] == [
        ("O1:1", ("D1:1",)),
        ("O1:2", ("D1:2",)),
        ("O2:1", ("D2:1",)),
    ]
    assert told.history[0].message == "[9:05 am on 3 March, 2024] Ines keeps quails."
    assert "notes on a long conversation" in told.opening


def test_evidence_that_no_note_holds_is_that_of_its_session(tmp_path: Path) -> None:
    (ask,) = (
        suite(tmp_path, telling="observations")
        .definition("multi_hop", "conv_1", "0")
        .questions
    )
    assert ask.about == ("D1:1", "O2:1")
    (ask,) = (
        suite(tmp_path, telling="summaries")
        .definition("multi_hop", "conv_1", "0")
        .questions
    )
    assert ask.about == ("S1", "S2")


def test_interleaved_a_question_waits_for_the_notes_of_its_evidence(
    tmp_path: Path,
) -> None:
    definition = suite(tmp_path, telling="summaries", after="0").definition(
        "temporal", "conv_1", "1"
    )

    assert definition.steps[0] == Wait(history=2)


def test_a_file_without_notes_cannot_be_told_as_notes(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="'conv-2' of the file has no summaries"):
        suite(tmp_path, [second()], telling="summaries")


def test_top_k_sees_the_best_matches_and_nothing_else() -> None:
    memory = make_memory("bm25", "top1")()
    for text in ("the quail sleeps", "a cello plays", "rain falls"):
        memory.add_message(text)
        memory.leave("Fine.")
    memory.add_message("Where is my cello?")

    assert [memory.can_see(position) for position in range(4)] == [
        False,
        True,
        False,
        True,
    ]
