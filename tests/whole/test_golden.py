"""A small project is played, resumed, rescored, played by two workers and dry-run: every byte equals the record.

The record, `tests/golden/recorded`, guards refactorings. A change without visible
effects leaves it equal. A change that only renames fields goes into
`tests/golden/renamed.yml` as old name: new name, and everything else stays equal.
Recording anew (`python tests/golden/refresh.py`) is legitimate for a change with
visible effects: a printed line, a new field, a text or a rule of one of the two
built-in scenarios, the order in which the scheduler lets scenarios speak. The
difference then belongs in the same commit, is read line by line, and is named in the
changelog. It is not legitimate as a way to make a failing test pass, or while the cause
of a differing line is unknown.
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
