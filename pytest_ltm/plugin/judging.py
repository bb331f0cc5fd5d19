"""The judge of a run: found once, before anything runs; a connection in each conversation at which its examples ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ltm._journal.timings import JudgeTime, iter_timings
from pytest_ltm.plugin import options as _options

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ltm._journal.result import RunResult
    from pytest_ltm.judges._judge_registry import NamedJudge
    from pytest_ltm.plugin.settings import RunSettings


NONE = "none"
CACHE = "judge-cache"
_JUDGE: pytest.StashKey[NamedJudge | None] = pytest.StashKey()


def spec_of(config: pytest.Config) -> str:
    """Return what `--ltm-judge` says; UsageError if it names no judge. The judge is made here, once."""
    spec = _options.option_text(config, "ltm_judge")
    if spec == NONE or config.option.collectonly or config.option.ltm_dry_run:
        return spec
    from pytest_ltm.judges._judge_registry import find_judge

    config.stash[_JUDGE] = _options.read_option(config, "--ltm-judge", lambda: find_judge(spec, base=config.rootpath))
    return spec


def planned_judge(config: pytest.Config, settings: RunSettings) -> tuple[str, int]:
    """Return what a plan says of the judge, and of its votes."""
    judge = run_judge(config)
    return (NONE, 1) if judge is None else (judge.plan_entry, settings.judge_votes)


def judge_summary_lines(result: RunResult, folder: Path) -> list[str]:
    """Return the lines of the summary about the judge, none if it was not asked."""
    if not any(row.judge_calls for row in result.scenarios):
        return []
    from pytest_ltm.reporting.terminal import judge_lines

    asked = [one for path in folder.glob("*/timings.jsonl") for one in iter_timings(path, JudgeTime)]
    return judge_lines(result, [one.cost_usd for one in asked if one.remembered])


def run_judge(config: pytest.Config) -> NamedJudge | None:
    """Return the run's judge, None where it has none."""
    return config.stash.get(_JUDGE, None)
