"""LoCoMo as a suite: options, ways of asking, waits of each question, corrections."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from locomo_files import AUDIT, second, talk, written

from pytest_ltm.api.scenarios import Ask, Dataset, Definition, Questions, Wait
from pytest_ltm.api.storage import ConfigurationError, DatasetError
from pytest_ltm.datasets import CONVERTED, LOCOMO, LOGS, LONGMEMEVAL
from pytest_ltm.datasets.locomo.locomo_suite import LocomoSuite


def suite(
    tmp_path: Path, seed: int = 0, questions: Questions = "alone", **options: str
) -> LocomoSuite:
    data = written(tmp_path / "data.json", [talk(), second()])
    return cast(
        "LocomoSuite", LOCOMO.open(data, options, seed=seed, questions=questions)
    )


def question(played: LocomoSuite, entry: str, number: int) -> Definition:
    return played.definition(entry, "conv_1", str(number))


def asked(played: LocomoSuite, entry: str, number: int) -> str:
    (ask,) = question(played, entry, number).questions
    return ask.text


def test_an_entry_is_a_category_in_the_order_of_the_numbers(tmp_path: Path) -> None:
    played = suite(tmp_path)

    assert [entry.name for entry in played.suite.entries] == [
        "multi_hop",
        "temporal",
        "open_domain",
        "single_hop",
        "adversarial",
    ]
    assert (
        "1 multi_hop, 2 temporal, 3 open_domain, 4 single_hop, 5 adversarial"
        in played.legend[0]
    )
    assert "87.9" in played.legend[1]


@pytest.mark.parametrize("chosen", ["conv-2", "conv_2", "1", " conv-2 ,1"])
def test_conversations_are_chosen_by_id_or_place(tmp_path: Path, chosen: str) -> None:
    played = suite(tmp_path, conversations=chosen)

    assert [entry.name for entry in played.suite.entries] == ["single_hop"]
    assert (
        played.title == "data.json: 1 conversation, 1 question, asked the official way"
    )


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("conversations", "conv-3", "no conversation 'conv-3'"),
        ("asking", "offical", "Did you mean 'official'"),
        ("telling", "words", "not one of turns, sessions"),
        ("after", "soon", "expected a number of tokens"),
        ("after", "-5", "expected a number of tokens"),
    ],
)
def test_wrong_options_are_refused_with_the_way_out(
    tmp_path: Path, option: str, value: str, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told) as error:
        suite(tmp_path, 0, "alone", **{option: value})

    assert f"--ltm-suite=locomo?{option}" in str(error.value)


def test_without_a_file_the_user_is_told_to_bring_one() -> None:
    with pytest.raises(DatasetError, match=r"locomo\?data=PATH"):
        LOCOMO.open(None, {}, seed=0)


def test_by_default_a_question_waits_for_the_whole_history(tmp_path: Path) -> None:
    wait, ask = question(suite(tmp_path), "multi_hop", 0).steps

    assert wait == Wait(history=5)
    assert isinstance(ask, Ask)
    assert ask.about == ("D1:1", "D2:2")
    together = question(suite(tmp_path, questions="together"), "adversarial", 4)
    assert together.steps[0] == Wait(history=5, tokens=1)  # after all others


def test_alone_a_choice_is_asked_after_all_others_without_a_word_in_between(
    tmp_path: Path,
) -> None:
    second_later = Wait(time=timedelta(seconds=1))

    assert question(suite(tmp_path), "adversarial", 4).steps[:-1] == (
        Wait(history=5),
        second_later,
    )
    assert question(suite(tmp_path), "multi_hop", 0).steps[:-1] == (Wait(history=5),)
    assert question(suite(tmp_path, after="2k"), "adversarial", 4).steps[1] == replace(
        second_later, tokens=2000
    )


def test_interleaved_it_waits_for_its_evidence_and_some_tokens_more(
    tmp_path: Path,
) -> None:
    played = suite(tmp_path, after="2k", questions="together")

    assert question(played, "open_domain", 2).steps[:-1] == (
        Wait(history=4),
        Wait(tokens=2000),
    )
    # it has no evidence
    assert question(played, "single_hop", 5).steps[0] == Wait(history=5)
    assert question(played, "adversarial", 4).steps[:-1] == (
        Wait(history=5),
        Wait(tokens=2001),
    )


def test_the_official_way_asks_for_a_short_phrase_and_for_dates(tmp_path: Path) -> None:
    played = suite(tmp_path)

    assert "short phrase" in asked(played, "single_hop", 3)
    assert "date" not in asked(played, "single_hop", 3)
    assert "date of the session" in asked(played, "temporal", 1)


def test_the_free_way_asks_the_question_alone(tmp_path: Path) -> None:
    played = suite(tmp_path, asking="free")

    assert asked(played, "adversarial", 4).endswith(
        "you have read: What did Tomas sell to Marta?"
    )


def test_an_adversarial_question_is_a_choice_in_an_order_that_the_seed_draws(
    tmp_path: Path,
) -> None:
    orders = set()
    for seed in range(20):
        facts = question(suite(tmp_path, seed), "adversarial", 4).parameters
        text = asked(suite(tmp_path, seed), "adversarial", 4)
        assert f"(a) {facts['choices'][0]} (b) {facts['choices'][1]}" in text
        orders.add(tuple(facts["choices"]))

    assert orders == {
        ("Not mentioned in the conversation", "two quails"),
        ("two quails", "Not mentioned in the conversation"),
    }


def test_a_question_about_one_speaker_knows_who_the_other_is(tmp_path: Path) -> None:
    assert question(suite(tmp_path), "adversarial", 4).parameters["about"] == [
        "Tomas",
        "Ines",
    ]


def with_audit(tmp_path: Path, rows: Any = AUDIT) -> LocomoSuite:
    return suite(tmp_path, audit=str(written(tmp_path / "audit.json", rows)))


def test_corrections_stand_beside_the_published_answers(tmp_path: Path) -> None:
    definition = question(with_audit(tmp_path), "temporal", 1)

    assert definition.expected == "19 April 2024"
    assert definition.parameters["corrected"] == {
        "kind": "TEMPORAL_ERROR",
        "disputed": True,
        "answer": "12 April 2024",
        "evidence": ["D2:1"],
    }


def test_a_wrong_citation_disputes_no_answer(tmp_path: Path) -> None:
    corrected = question(with_audit(tmp_path), "multi_hop", 0).parameters["corrected"]

    assert not corrected["disputed"]
    assert corrected["evidence"] == ["D2:2"]


def test_corrections_that_fit_no_question_are_noted(tmp_path: Path) -> None:
    played = with_audit(tmp_path)

    assert (
        "corrections of the audit that fit no question of the file: 1" in played.notes
    )
    assert "7 questions, 1 of them disputed" in played.title


@pytest.mark.parametrize("rows", [{"a": 1}, [{"question": "Who?"}], [1]])
def test_a_file_that_is_no_audit_is_refused(tmp_path: Path, rows: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"audit\.json"):
        with_audit(tmp_path, rows)


def test_conversations_whose_ids_are_alike_in_node_ids_are_refused(
    tmp_path: Path,
) -> None:
    data = written(
        tmp_path / "data.json", [talk(sample_id="conv-1"), talk(sample_id="conv_1")]
    )

    with pytest.raises(DatasetError, match="'conv-1' and 'conv_1' both become"):
        LOCOMO.open(data, {}, seed=0)
    assert (
        len(LOCOMO.open(data, {"conversations": "0"}, seed=0).places("temporal")) == 1
    )


@pytest.mark.parametrize("tasks", ["questions", "events"])
def test_conversations_with_nothing_to_ask_are_refused(
    tmp_path: Path, tasks: str
) -> None:
    data = written(tmp_path / "data.json", [talk(qa=[], event_summary={})])

    with pytest.raises(
        DatasetError, match=rf"data\.json: nothing to ask: no {tasks} in conv-1"
    ):
        LOCOMO.open(data, {"tasks": tasks}, seed=0)


# --- Protocols.


def test_our_protocol_asks_freely_and_scores_by_strict_rules(tmp_path: Path) -> None:
    ours = suite(tmp_path, protocol="ours")
    official = suite(tmp_path, protocol="official")

    assert question(ours, "single_hop", 1).parameters["asking"] == "free"
    assert question(ours, "single_hop", 1).parameters["protocol"] == "ours"
    assert "strict rules" in ours.legend[1]
    assert question(official, "single_hop", 1) == question(
        suite(tmp_path), "single_hop", 1
    )


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ({"asking": "free"}, "asking=official"),
        ({"telling": "sessions"}, "telling=turns"),
        ({"after": "2k"}, "no after"),
        ({"questions": "together"}, "questions=alone"),
    ],
)
def test_an_option_that_contradicts_the_protocol_is_refused(
    tmp_path: Path, options: dict[str, Any], meant: str
) -> None:
    [(name, value)] = options.items()
    error = rf"locomo\?{name}={value}: protocol=official means {meant}\. Leave one"
    with pytest.raises(ConfigurationError, match=error):
        suite(tmp_path, protocol="official", **options)


@pytest.mark.parametrize("dataset", [LOCOMO, LONGMEMEVAL, LOGS, *CONVERTED])
def test_a_protocol_means_scorer_wording_and_order_in_every_data_set(
    dataset: Dataset,
) -> None:
    names = {option.name for option in dataset.options} | {"questions"}
    for protocol, settings in dataset.protocols.items():
        values = dataset.read({"protocol": protocol})
        assert settings.keys() <= names
        for name, text in settings.items():
            assert values.get(name, "alone") == (text or None)
    assert {*dataset.protocols} == {"ours", "official"}
    assert not dataset.read({"protocol": "official"})["after"]
    assert dataset.read({"after": "2k"})["after"] == 2000
