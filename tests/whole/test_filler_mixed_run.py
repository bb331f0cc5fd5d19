"""--ltm-filler=mixed: keeping only the shortest messages no longer keeps all needles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from run_folders import latest_run

NEEDLES = """
import pytest

@pytest.mark.parametrize(("thing", "place"), [
    ("grandmother's teapot", "in the second drawer of the kitchen dresser"),
    ("spare key of the boat", "under the third flower pot beside the shed"),
    ("letter from the insurance", "between the last pages of the telephone book"),
])
def test_where(ltm, thing, place):
    ltm.say(f"One thing about the house: the {thing} is {place}, where nobody looks.")
    ltm.wait(span=0.9)
    ltm.check("knows the place", place in ltm.ask(f"Where did I say that the {thing} is?"))
"""
AGENTS = "full,length-bias:shortest:500"


def scores(project: Any) -> dict[str, list[float]]:
    return {
        label: [row["score"] for row in found["scenarios"]]
        for label, found in results(project)
    }


def results(project: Any) -> Iterator[tuple[str, Any]]:
    for path in sorted(latest_run(project.path).glob("*/results.json")):
        yield (
            path.parent.name.partition("~")[0],
            json.loads(path.read_text(encoding="utf-8")),
        )


@pytest.mark.parametrize(
    ("filler", "kept"), [("trivia", [1.0] * 3), ("mixed", [0.0] * 3)]
)
def test_an_agent_that_goes_by_length_loses_its_needles_among_filler_of_mixed_lengths(
    project: Any, filler: str, kept: list[float]
) -> None:
    project.file(NEEDLES)
    project.ltm(f"--ltm-filler={filler}", agent=AGENTS, span="6k")
    assert scores(project) == {"full": [1.0] * 3, "length_bias_shortest_500": kept}


def test_a_dry_run_foresees_as_many_exchanges_as_there_will_be(project: Any) -> None:
    project.file(NEEDLES)
    foreseen = project.ltm(
        "--ltm-filler=mixed", "--ltm-dry-run", agent="full", span="6k"
    )
    project.ltm("--ltm-filler=mixed", agent="full", span="6k").assert_outcomes(passed=3)
    [path] = latest_run(project.path).glob("*/journal.jsonl")
    events = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
    ]
    told = sum(event["event"] == "filler" for event in events)
    assert told > 80
    foreseen.stdout.re_match_lines([rf"told, not answered +{told}$"])
