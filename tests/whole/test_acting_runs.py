"""Runs of agents that act and compact: resumed, rescored and verified as any other."""

from __future__ import annotations

from pathlib import Path

import pytest

HALF = 2


def cut_journals(pytester: pytest.Pytester) -> dict[str, bytes]:
    """Cut each journal of the only run by half; return by folder what it held."""
    whole: dict[str, bytes] = {}
    [run] = (pytester.path / ".ltm" / "runs").iterdir()
    for path in run.glob("*/journal.jsonl"):
        whole[path.parent.name] = path.read_bytes()
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: len(lines) // HALF]))
        (path.parent / "results.json").unlink()
    (run / "summary.json").unlink()
    return whole


def journals(path: Path) -> dict[str, bytes]:
    found = path.glob(".ltm/runs/*/*/journal.jsonl")
    return {journal.parent.name: journal.read_bytes() for journal in found}


@pytest.mark.parametrize(
    ("suite", "agent"),
    [("acting", "full"), ("long-work", "compactor"), ("standard", "full")],
)
def test_a_run_that_is_resumed_has_the_journal_of_an_undisturbed_one(
    pytester: pytest.Pytester, suite: str, agent: str
) -> None:
    names = ["-k", "colours"] if suite == "standard" else ["--ltm-examples=1"]
    pytester.runpytest(
        f"--ltm-suite={suite}", f"--ltm-agent={agent}", "--ltm-span=2k", *names
    )
    whole = cut_journals(pytester)
    result = pytester.runpytest("--ltm-resume=latest")
    assert result.ret == 0
    assert journals(pytester.path) == whole
    result = pytester.runpytest("--ltm-rescore=latest")
    result.stdout.fnmatch_lines(["*scored again: run *, 0 moved*"])


def test_the_header_of_a_run_without_tools_names_no_later_capability(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(
        "--ltm-suite=standard",
        "-k",
        "colours",
        "--ltm-agent=compactor",
        "--ltm-span=2k",
    )
    [journal] = journals(pytester.path).values()
    header = journal.splitlines()[0]
    assert b"TakesTools" not in header
    assert b"Compacts" not in header
