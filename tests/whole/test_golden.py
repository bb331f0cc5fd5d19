"""A small project is played, resumed, scored again, played by two workers and rehearsed: every byte is as recorded.

The record, `tests/golden/recorded`, keeps a refactoring honest. A change that is not
meant to be seen leaves it equal. A change that only renames fields is written into
`tests/golden/renamed.yml`, old name: new name, and everything else stays equal.
Recording anew (`python tests/golden/refresh.py`) is legitimate when a change is meant
to be seen: a line that is printed, a field that is added, a text or a rule of one of
the two built-in scenarios, the order in which the scheduler lets scenarios speak. Then
the difference belongs into the same commit, is read line by line, and is named in the
changelog. It is not legitimate to get a failing test to pass, or while one does not
know why a line differs.
"""

from __future__ import annotations

import pytest
from golden_runs import (
    RECORDED,
    Written,
    names_of_now,
    numbered,
    played,
    recorded,
    renamed,
)

COMMANDS = ("play", "resume", "rescore", "xdist", "dry_run")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    return played(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_and_written_equals_the_record(
    written: dict[str, Written], command: str
) -> None:
    names = names_of_now()
    expected = renamed(recorded(command), names)
    found = numbered(written[command]) if any(names.values()) else written[command]
    assert sorted(found) == sorted(expected)
    for name, text in expected.items():
        assert found[name].splitlines() == text.splitlines(), f"{command}/{name}"


def test_an_interrupted_run_and_one_of_two_workers_leave_the_journals_and_results_of_the_first() -> (
    None
):
    again = [
        path.relative_to(RECORDED)
        for command in ("resume", "xdist")
        for path in (RECORDED / command).rglob("*")
    ]
    assert {path.name for path in again if path.suffix} <= {
        "printed.txt",
        "run.json",
        "timings.jsonl",
    }


def test_a_renaming_is_applied_to_fields_and_values_and_not_to_texts() -> None:
    record = {
        "a.json": '{"old": "was", "text": "\\"old\\": was", "is": "old"}',
        "b.csv": "first,old\nold,1\n",
        "timings.jsonl": "reply 1: event old\n",
    }
    assert renamed(record, {"fields": {"old": "new"}, "values": {"was": "is"}}) == {
        "a.json": '{"new": "is", "text": "\\"old\\": was", "is": "old"}',
        "b.csv": "first,new\nold,1\n",
        "timings.jsonl": "reply 1: event new\n",
    }
