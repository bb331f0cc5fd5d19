"""A recorded conversation of ours as the agent: the same conversation again, byte for byte."""

from __future__ import annotations

import pytest


def _journal(pytester: pytest.Pytester, label: str) -> list[str]:
    (path,) = pytester.path.glob(f".ltm/runs/*/{label}~2k~0/journal.jsonl")
    header, *events = path.read_text(encoding="utf-8").splitlines()
    assert '"event":"header"' in header
    return events


def test_a_replayed_run_has_the_journal_of_the_recorded_one(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess("--ltm-agent=full", "--ltm-suite=standard", "--ltm-examples=1")
    (folder,) = pytester.path.glob(".ltm/runs/*/full~2k~0")
    result = pytester.runpytest_subprocess(
        f"--ltm-agent=again=replay:{folder}", "--ltm-suite=standard", "--ltm-examples=1"
    )
    assert result.ret == pytest.ExitCode.OK
    assert _journal(pytester, "again") == _journal(pytester, "full")


def test_another_seed_is_not_in_the_recording(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess("--ltm-agent=full", "--ltm-suite=standard", "--ltm-examples=1")
    (folder,) = pytester.path.glob(".ltm/runs/*/full~2k~0")
    result = pytester.runpytest_subprocess(
        f"--ltm-agent=again=replay:{folder}", "--ltm-suite=standard", "--ltm-examples=1", "--ltm-seed=1"
    )
    result.stdout.fnmatch_lines(["*the recording does not hold this message*"])
    assert result.ret == 75
