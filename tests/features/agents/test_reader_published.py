from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from _interleaving import play
from benchmark_data import GOODAI, lines_of

from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.scenarios import Ask, Definition, Say, Step, Wait
from pytest_ltm.api.storage import Field
from pytest_ltm.datasets.published import from_published

FOLDERS = {
    "Colours": "colours",
    "Jokes": "jokes",
    "Prospective Memory": "prospective_memory",
}
SCRIPT = ("script", "is_question", "waits", "expected_responses")
RESETS = {
    "prospective_memory": "Forget my instruction to append a quote to one of your replies."
}

pytestmark = pytest.mark.published


def definition(row: dict[str, Any], name: str) -> Definition:
    if "waits" in row:
        return from_published(
            Field({key: row[key] for key in SCRIPT}, row["path"]), name
        )
    steps: list[Step] = []  # in version 1 only waits of time matter here
    for text, asked, seconds in zip(  # noqa: B905 - see Jokes
        row["script"], row["is_question"], row["time_jumps"]
    ):
        steps += [
            Ask(text) if asked else Say(text),
            Wait(time=timedelta(seconds=seconds)),
        ]
    return Definition(steps=tuple(steps), expected=row["expected_responses"][0])


def published() -> dict[str, dict[str, list[Definition]]]:
    """Return the definitions of each benchmark by scenario; Prospective Memory of version 1 expects prose."""
    found: dict[str, dict[str, list[Definition]]] = {}
    for row in lines_of(GOODAI / "definitions.jsonl.gz"):
        *_, benchmark, _, folder, _ = row["path"].split("/")
        name = FOLDERS.get(folder)
        if name is None or (name == "prospective_memory" and "waits" not in row):
            continue
        if name == "jokes" and not row["is_temporal"]:
            continue
        found.setdefault(benchmark, {}).setdefault(name, []).append(
            definition(row, name)
        )
    return found


@pytest.mark.slow
def test_full_earns_full_marks_on_all_published_definitions_of_its_scenarios() -> None:
    benchmarks = published()
    lost = {
        (benchmark, name): values
        for seed, (benchmark, chains) in enumerate(benchmarks.items())
        for name, values in play(
            chains, make_reader("full")(), seed=seed, resets=RESETS
        ).items()
        if set(values) != {1.0}
    }
    assert (
        sum(len(chain) for chains in benchmarks.values() for chain in chains.values())
        > 100
    )
    assert lost == {}


@pytest.mark.parametrize(
    "log", ["master_log_1k_gpt4o.jsonl", "master_log_120k_gpt-4-turbo.jsonl.gz"]
)
def test_full_answers_published_trivia_with_one_answer_for_each_question(
    log: str,
) -> None:
    trivia = [
        event["data"]["message"]
        for event in lines_of(GOODAI / log)
        if event["type"] == 3
    ][1:]
    reader = make_reader("full")()
    for message in trivia:
        answers = json.loads(reader.reply(message))
        assert len(answers) == len(re.findall(r"^Q: ", message, re.MULTILINE))
        assert all(f"A: {answer}" in message for answer in answers)
    assert len(trivia) > 1


@pytest.mark.parametrize(
    "log", ["master_log_1k_gpt4o.jsonl", "master_log_120k_gpt-4-turbo.jsonl.gz"]
)
def test_full_just_agrees_to_the_published_opening_message(log: str) -> None:
    opening = next(
        event["data"]["message"]
        for event in lines_of(GOODAI / log)
        if event["type"] == 3
    )
    assert make_reader("full")().reply(opening) == "Understood."
