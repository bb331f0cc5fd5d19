"""What the options of the gate mean: rules, a baseline, names; every wrong value is a UsageError before the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._gate import _rules
from pytest_ltm._gate._baseline import FOLDER, check_name
from pytest_ltm._gate._refusal import Ways
from pytest_ltm._gate._side import one_agent
from pytest_ltm.plugin import _options
from pytest_ltm.plugin._values import base, choice, named
from pytest_ltm.reporting._baselines import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._gate._rules import Rule
    from pytest_ltm._gate._side import Side
    from pytest_ltm.plugin._settings import Settings

PLANS = ("equal", "overlapping")
WAYS = Ways(
    common="--ltm-compare-plans=overlapping",
    choose_agent="Name one as in --ltm-compare=RUN@AGENT",
    settings=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """The options of the gate."""

    rules: tuple[Rule, ...] = ()
    before: Side | None = None
    """What the run is compared with; it has one agent."""
    overlapping: bool = False
    """Examples that are equal in both are compared although the plans are not."""
    save: str = ""
    """The name of the baseline that is kept; "": none."""
    baselines: Path = Path(FOLDER)
    summary: Path | None = None
    """The file that `--ltm-summary` names."""


def parse(config: pytest.Config, settings: Settings, run_folder: Path) -> GateOptions:
    """Return the options; `run_folder` is this run's own, which cannot be compared with itself."""
    against = _parsed(config, "ltm_compare_fail", _rules.against, "mean:5%")
    under = _parsed(config, "ltm_fail_under", _rules.under, "0.8")
    baselines = config.rootpath / FOLDER
    given = _options.given(config, "ltm_summary")
    found = GateOptions(
        rules=(*against, *under),
        before=named("--ltm-compare", lambda: _before(config, settings, baselines, run_folder)),
        overlapping=choice(config, "ltm_compare_plans", PLANS) == "overlapping",
        save=named("--ltm-save", lambda: _name(config, settings)),
        baselines=baselines,
        summary=None if given is None else base(config, "ltm_summary") / given,
    )
    for rule in found.rules:
        _check(rule, found, settings)
    return found


def _parsed(config: pytest.Config, dest: str, parse_one: Callable[[str], Rule], example: str) -> list[Rule]:
    """Return the rules of an option; an empty one, as of a variable that is not set, is an error and no open gate."""
    flag = _options.BY_DEST[dest].flag
    if any(not str(text).strip() for text in config.getoption(dest) or ()):
        raise pytest.UsageError(f"{flag}: no rule is given. Write one, as in {flag}={example}, or leave the option out")
    return named(flag, lambda: list(map(parse_one, _options.lines(config, dest))))


def _before(config: pytest.Config, settings: Settings, baselines: Path, run_folder: Path) -> Side | None:
    given = _options.given(config, "ltm_compare")
    if given is None:
        return None
    side, name = find(given, baselines, settings.ltm_dir, base(config, "ltm_compare"))
    if name.partition("@")[0] == str(run_folder):
        raise pytest.UsageError(f"--ltm-compare: {given!r} is this very run. Name the one to compare it with")
    # workers, and whoever goes on with this run, must mean the same: 'latest' will be another run by then
    config.option.ltm_compare = name
    return one_agent(side, how=WAYS.choose_agent)


def _name(config: pytest.Config, settings: Settings) -> str:
    given = config.getoption("ltm_save")
    if given is None:
        return ""
    if len(settings.agents) > 1:
        labels = ", ".join(agent.label for agent in settings.agents)
        raise pytest.UsageError(f"--ltm-save: a baseline is of one agent, and this run has {labels}. Run one of them")
    if settings.shard is not None:
        raise pytest.UsageError("--ltm-save: a shard is not the whole run. Merge the shards and save nothing here")
    return check_name(given)


def _check(rule: Rule, options: GateOptions, settings: Settings) -> None:
    """Raise UsageError for a rule that this run can never be measured by."""
    flag = "--ltm-compare-fail" if rule.against else "--ltm-fail-under"

    def wrong(why: str) -> pytest.UsageError:
        return pytest.UsageError(f"{flag}: {rule.text!r}: {why}")

    if settings.shard is not None:
        raise wrong("a shard is not the whole run. Merge the shards, then: python -m pytest_ltm compare")
    if rule.metric.tries > settings.trials:
        raise wrong(f"{rule.metric.tries} trials of {settings.trials}. Add --ltm-trials={rule.metric.tries}")
    if rule.metric.name == "span":
        _check_span(rule, settings, wrong)
    if rule.against:
        _check_baseline(rule, options, settings, wrong)


def _check_span(rule: Rule, settings: Settings, wrong: Callable[[str], Exception]) -> None:
    longest = max((tokens for tokens in settings.spans.values() if tokens is not None), default=0)
    if None not in settings.spans.values() or not longest:
        raise wrong("an effective span needs isolated examples and memory spans: --ltm-span=isolated,2k,32k")
    if not rule.against and rule.limit > longest:
        raise wrong(f"no memory span of this run is that long: the longest is {longest:,} tokens")


def _check_baseline(rule: Rule, options: GateOptions, settings: Settings, wrong: Callable[[str], Exception]) -> None:
    if options.before is None:
        raise wrong("compared with what? Add --ltm-compare=NAME")
    missing = [span for span in settings.spans if span not in options.before.spans]
    if missing:
        raise wrong(
            f"{options.before.name} has no memory span {', '.join(missing)} (it has {', '.join(options.before.spans)})"
        )
    held = [each for each in options.before.result.conversations if each.span_label in settings.spans]
    if rule.metric.unit == "usd" and any(each.cost_usd is None for each in held):
        raise wrong(
            f"{options.before.name} holds no cost of all replies. Make it anew with an agent that tells its cost, or "
            "with --ltm-price"
        )
