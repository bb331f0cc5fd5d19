"""What the options mean: parsed once, before anything runs; every wrong value is a UsageError with a cure."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from pytest_ltm import _suite
from pytest_ltm._errors import did_you_mean
from pytest_ltm._score import SCORINGS
from pytest_ltm._secrets import redacted
from pytest_ltm._tokens import counter
from pytest_ltm.datasets._published import DefinitionsFolder
from pytest_ltm.datasets._suites import NAMES
from pytest_ltm.plugin import _judging, _options, _time
from pytest_ltm.plugin._again import source_of
from pytest_ltm.plugin._agents import agents, fix_latest
from pytest_ltm.plugin._costs import CostSettings, cost_settings
from pytest_ltm.plugin._dataset import SPANS, dataset_of
from pytest_ltm.plugin._parameters import check_parameters
from pytest_ltm.plugin._shards import Shard, shard
from pytest_ltm.plugin._spans import spans
from pytest_ltm.plugin._values import base, choice, named, whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ltm._score import Scoring
    from pytest_ltm.datasets._suites import DatasetSuite
    from pytest_ltm.plugin._agents import AgentChoice


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of an LTM run."""

    agents: tuple[AgentChoice, ...]
    spans: Mapping[str, int | None]
    """Label -> tokens, or None where examples are isolated."""
    suite: _suite.Suite | None
    seed: int
    examples: int | None
    trials: int
    definitions: DefinitionsFolder | None
    filler: str
    tokenizer: str
    scoring: Scoring
    time: str
    reply_timeout: float | None
    ltm_dir: Path
    retries: int = 4
    """How often a message is sent again after a passing fault of the agent."""
    dataset: DatasetSuite | None = None
    """The data set that is played; its entries are the suite."""
    report: Path | None = None
    """The file that `--ltm-report` names."""
    worker_tries: int = 2
    """So many xdist workers may die at the same place of a conversation before it is given up."""
    shard: Shard | None = None
    """Which share of the conversations is played; None: all."""
    judge: str = "none"
    judge_votes: int = 1
    judge_cache: bool = True
    rescored: Path | None = None
    """The folder of the run that is scored again; None: agents are asked."""
    costs: CostSettings = field(default_factory=CostSettings)
    """Prices and budget."""

    def described(self) -> dict[str, object]:
        """Return what the run was made from, JSON values, for `summary.json`."""
        return {
            "agents": {agent.label: agent.spec for agent in self.agents},
            "spans": dict(self.spans),
            "suite": self.suite.name if self.suite else None,
            "examples": self.examples,
            "trials": self.trials,
            "definitions": str(self.definitions.path) if self.definitions else None,
            "filler": self.filler,
            "tokenizer": self.tokenizer,
            "scoring": self.scoring,
            "judge": redacted(self.judge),
            "time": self.time,
            **({} if self.shard is None else {"shard": str(self.shard)}),
            **({} if self.rescored is None else {"rescored": self.rescored.name}),
        }


def parse(config: pytest.Config, *, has_paths: bool) -> Settings:
    """Return the settings; `has_paths`: the command line names test files or folders."""
    definitions = named("--ltm-definitions", lambda: _definitions(config))
    seed = whole(config, "ltm_seed", least=None) or 0
    dataset = dataset_of(config, has_paths=has_paths, seed=seed, ltm_dir=_ltm_dir(config))
    tokenizer = named("--ltm-tokenizer", lambda: counter(_options.text(config, "ltm_tokenizer")).name)
    return Settings(
        agents=named("--ltm-agent", lambda: fix_latest(config, agents(config), _ltm_dir(config))),
        spans=SPANS if dataset else spans(config, definitions),
        suite=dataset.suite if dataset else named("--ltm-suite", lambda: _suite_of(config, seed, has_paths=has_paths)),
        seed=seed,
        examples=whole(config, "ltm_examples", least=1),
        trials=whole(config, "ltm_trials", least=1) or 1,
        definitions=definitions,
        filler=named("--ltm-filler", lambda: _filler(config)),
        tokenizer=tokenizer,
        scoring=cast("Scoring", choice(config, "ltm_scoring", SCORINGS)),
        time=_time_mode(config),
        reply_timeout=_timeout(config),
        retries=whole(config, "ltm_retries", least=0) or 0,
        ltm_dir=_ltm_dir(config),
        dataset=dataset,
        report=_report(config),
        worker_tries=whole(config, "ltm_worker_tries", least=1) or 2,
        shard=shard(config),
        judge=_judging.spec_of(config),
        judge_votes=_judging.votes_of(config),
        judge_cache=_judging.remembers(config),
        rescored=source_of(config),
        costs=cost_settings(config),
    )


def _suite_of(config: pytest.Config, seed: int, *, has_paths: bool) -> _suite.Suite | None:
    given = _options.given(config, "ltm_suite")
    if given == "none" or (given is None and has_paths):
        return None
    name = given or _options.BY_DEST["ltm_suite"].default
    known = _suite.scenario_names()
    if name in _suite.built_in_names():
        return _suite.built_in(name, known)
    path = base(config, "ltm_suite") / name
    if path.is_file():
        return check_parameters(_suite.load(path, known), seed)
    suites = [*_suite.built_in_names(), *NAMES, "none"]
    raise pytest.UsageError(
        f"--ltm-suite: there is no suite {name!r}.{did_you_mean(name, suites)} Built-in: {', '.join(suites)}; "
        "or name a *.ltm-suite.yml file"
    )


def _definitions(config: pytest.Config) -> DefinitionsFolder | None:
    given = _options.given(config, "ltm_definitions")
    return None if given is None else DefinitionsFolder(base(config, "ltm_definitions") / given)


def _filler(config: pytest.Config) -> str:
    from random import Random  # noqa: PLC0415 - nothing is imported before it is used

    from pytest_ltm.fillers import filler_from_spec  # noqa: PLC0415 - nothing is imported before it is used

    spec = _options.text(config, "ltm_filler")
    if spec.startswith("trivia:") and spec != "trivia:":
        spec = f"trivia:{os.path.relpath(base(config, 'ltm_filler') / spec.removeprefix('trivia:'))}"
    counts = counter(_options.text(config, "ltm_tokenizer"))
    if config.hook.pytest_ltm_make_filler(config=config, spec=spec, rng=Random(0), counter=counts) is None:
        filler_from_spec(spec, Random(0), counts)
    return spec


def _time_mode(config: pytest.Config) -> str:
    mode = choice(config, "ltm_time", _time.MODES)
    _time.check(mode)
    return mode


def _timeout(config: pytest.Config) -> float | None:
    given = _options.text(config, "ltm_reply_timeout")
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise pytest.UsageError(f"--ltm-reply-timeout: {given!r} is no number of seconds; 0 means no limit")
    debugging = config.getoption("usepdb", False) or config.getoption("trace", False)
    return None if debugging else seconds or None


def _report(config: pytest.Config) -> Path | None:
    given = _options.given(config, "ltm_report")
    return None if given is None else base(config, "ltm_report") / given


def _ltm_dir(config: pytest.Config) -> Path:
    given = _options.given(config, "ltm_dir")
    if given is None:
        return config.rootpath / _options.BY_DEST["ltm_dir"].default
    return base(config, "ltm_dir") / given
