"""Past run folders, as far as lists of runs read them: `summary.json` and `run.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import sample_runs

from pytest_ltm.api.journal import (
    ConversationResult,
    RunFile,
    SourceRevision,
    write_run_file,
)
from pytest_ltm.reports.summary import summary_json, write_summary

GOOD: dict[str, tuple[float | None, ...]] = {"colours": (1.0, 1.0), "jokes": (1.0, 0.5)}
BAD: dict[str, tuple[float | None, ...]] = {"colours": (0.0, 1.0), "jokes": (0.5, 0.5)}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def trials(
    scores: Mapping[str, Sequence[float | None]],
    *,
    agent: str = "bot",
    span: str = "2k",
    of: int = 1,
    **more: Any,
) -> list[ConversationResult]:
    """Return the conversations of `of` trials, each with its own plan."""
    plan = more.pop("plan", "p")
    conversations = [
        sample_runs.conversation(
            agent,
            span,
            scores,
            trial=str(trial),
            plan_fingerprint=f"{plan}{trial}",
            **more,
        )
        for trial in range(of)
    ]
    return [
        replace(
            conversation,
            scenarios=tuple(
                replace(row, trial=conversation.trial) for row in conversation.scenarios
            ),
        )
        for conversation in conversations
    ]


def run_folder(
    ltm_dir: Path,
    name: str,
    *conversations: ConversationResult,
    commit: str = COMMIT,
    branch: str = "main",
    **summary: Any,
) -> Path:
    """Write the folder of a finished run and return it; `summary` adds fields to `summary.json`."""
    folder = ltm_dir / "runs" / name
    folder.mkdir(parents=True)
    started = RunFile(
        run=name,
        options={},
        paths=(),
        folder=".",
        settings={},
        versions={},
        source=SourceRevision(commit, branch),
    )
    write_run_file(folder, started)
    run = sample_runs.run(*(conversations or trials(GOOD)), run_id=name)
    data = summary_json(run, pytest_ltm_version="0.1", seed=0, plan={})
    write_summary(folder / "summary.json", data | summary)
    return folder
