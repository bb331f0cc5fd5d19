"""Scenarios in one conversation: no scenario's messages contain the words that another waits for."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from pytest_ltm.scenarios.time_of_need import TASKS
from suite_texts import said

from pytest_ltm.api.scenarios import scenarios_folder
from pytest_ltm.language.small_talk import read_templates

SUITES = ("extended", "hygiene", "learning", "memory", "needle", "reasoning")
LONG = 3
"""Words in an answer from which it is no longer an everyday one, such as a colour or a number."""


@pytest.mark.parametrize("task", TASKS)
def test_the_word_by_which_a_task_is_known_is_in_no_other_scenario_and_in_no_filler(
    task: str,
) -> None:
    word = re.compile(rf"\b{task.rpartition(' ')[2]}s?\b", re.IGNORECASE)
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in scenarios_folder().glob("*.py")
    }
    texts["small talk"] = str(read_templates())
    others = [
        name
        for name, text in texts.items()
        if name != "time_of_need" and word.search(text)
    ]
    assert others == [], f"these have {word.pattern}, too"


@pytest.mark.nightly("three seeds of all suites are played")
def test_no_answer_of_a_scenario_stands_in_the_messages_of_another() -> None:
    messages, answers = (
        defaultdict[str, list[str]](list),
        defaultdict[str, set[str]](set),
    )
    for suite in SUITES:
        for seed in (1, 2, 3):
            for _, message, reply, scenario in said(suite, seed):
                messages[scenario].append(" ".join(message.lower().split()))
                answers[scenario].add(" ".join(reply.lower().strip(" .").split()))
    overlaps = [
        (scenario, other, answer)
        for scenario, wanted in answers.items()
        for answer in wanted
        if len(answer.split()) >= LONG
        for other, texts in messages.items()
        if other != scenario and any(answer in text for text in texts)
    ]
    assert overlaps == [], "(scenario, other scenario whose messages hold the answer)"
