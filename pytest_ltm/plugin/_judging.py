"""The judge of a run: found once, before anything runs; a desk in each conversation at which its examples ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import LtmError, told
from pytest_ltm._journal import read
from pytest_ltm._plan import definition_rng
from pytest_ltm._secrets import redacted
from pytest_ltm.plugin import _options
from pytest_ltm.plugin._values import choice, whole

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ltm._costs._bill import Tariff
    from pytest_ltm._costs._budget import Account
    from pytest_ltm._journal import Journal, Timings
    from pytest_ltm._result import RunResult
    from pytest_ltm.agents._retry import Failed
    from pytest_ltm.judges._desk import Desk
    from pytest_ltm.judges._specs import NamedJudge
    from pytest_ltm.plugin._items import Place
    from pytest_ltm.plugin._retold import Retold
    from pytest_ltm.plugin._settings import Settings

NONE = "none"
CACHE = "judge-cache"
_JUDGE: pytest.StashKey[NamedJudge | None] = pytest.StashKey()


def spec_of(config: pytest.Config) -> str:
    """Return what `--ltm-judge` says; UsageError if it names no judge. The judge is made here, once."""
    spec = _options.text(config, "ltm_judge")
    if spec == NONE or config.option.collectonly or config.option.ltm_dry_run:
        return spec
    from pytest_ltm.judges._specs import find  # noqa: PLC0415 - most runs have no judge

    try:
        config.stash[_JUDGE] = find(spec, base=config.rootpath)
    except LtmError as error:
        raise pytest.UsageError(f"--ltm-judge: {error}") from error
    return spec


def votes_of(config: pytest.Config) -> int:
    """Return what `--ltm-judge-votes` says; UsageError for an even number, which may have no majority."""
    votes = whole(config, "ltm_judge_votes", least=1) or 1
    if votes % 2 == 0:
        raise pytest.UsageError(f"--ltm-judge-votes: {votes} votes may have no majority; take an odd number")
    return votes


def remembers(config: pytest.Config) -> bool:
    """Return what `--ltm-judge-cache` says."""
    return choice(config, "ltm_judge_cache", ("on", "off")) == "on"


def planned(config: pytest.Config, settings: Settings) -> tuple[str, int]:
    """Return what a plan says of the judge, and of its votes."""
    judge = config.stash.get(_JUDGE, None)
    return (NONE, 1) if judge is None else (judge.described, settings.judge_votes)


def said(result: RunResult, folder: Path) -> list[str]:
    """Return the line of the summary about the judge, none if nobody asked it."""
    if not any(row.judge_calls for row in result.scenarios):
        return []
    from pytest_ltm.reporting._judging import judge_lines  # noqa: PLC0415 - most runs have no judge

    events = [event for path in folder.glob("*/timings.jsonl") for event in read(path) if event["event"] == "judge"]
    return judge_lines(result, [event.get("cost_usd") for event in events if event["remembered"]])


def desk_for(
    config: pytest.Config,
    settings: Settings,
    place: Place,
    *,
    journal: Journal,
    timings: Timings,
    retold: Retold | None = None,
    tariff: Tariff | None = None,
    account: Account | None = None,
) -> Desk | None:
    """Return the desk of one conversation, None where the run has no judge."""
    judge = config.stash.get(_JUDGE, None)
    if judge is None:
        return None if retold is None else retold.desk(journal, timings, trial=str(place.trial))
    from pytest_ltm.agents._retry import Retries  # noqa: PLC0415
    from pytest_ltm.judges._cache import JudgeCache  # noqa: PLC0415 - most runs have no judge
    from pytest_ltm.judges._call import JudgeCall  # noqa: PLC0415
    from pytest_ltm.judges._desk import Desk  # noqa: PLC0415

    rng = definition_rng(settings.seed, place.trial, "judge retries", place.agent)

    def retried(failed: Failed) -> None:
        error = redacted(told(failed.error))
        timings.write("judge_retry", attempt=failed.attempt, wait=round(failed.wait, 3), error=error)

    return Desk(
        JudgeCall(
            judge.judge,
            timeout=settings.reply_timeout,
            fatal=(KeyboardInterrupt, pytest.exit.Exception),
            retries=Retries(most=settings.retries, rng=rng) if settings.retries else None,
            retried=retried,
        ),
        configuration=judge.configuration,
        cache=JudgeCache(settings.ltm_dir / CACHE) if settings.judge_cache else None,
        journal=journal,
        timings=timings,
        trial=str(place.trial),
        votes=settings.judge_votes,
        **({} if retold is None else {"recalled": retold.recalled}),
        tariff=tariff,
        account=account,
    )
