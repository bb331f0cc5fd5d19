"""Reads the settings of a run from its options; every invalid value is a UsageError with a cure."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import convert, structs

from pytest_ltm._core.calls.foreign_filler import admit_filler
from pytest_ltm._core.journal.cost import Limits, Prices, read_prices
from pytest_ltm._core.model.dataset import Definitions
from pytest_ltm._core.model.plan import Seed
from pytest_ltm._core.model.suite import Suite
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.model.transcript import RAW, Reading
from pytest_ltm._core.session import options as _options
from pytest_ltm._core.session import planning as _time
from pytest_ltm._core.session.conversation_setup import judge_of_run
from pytest_ltm._core.session.dataset import SPANS, dataset_of, questions_of
from pytest_ltm._core.session.hook_calls import ask_first
from pytest_ltm._core.session.options import (
    chosen_spans,
    name_option_in_errors,
    path_base,
    read_option,
    set_by_suite,
)
from pytest_ltm._core.session.recorded_run import recorded_settings, source_of
from pytest_ltm._core.session.settings import AgentChoice, RunSettings, in_languages
from pytest_ltm._core.session.suite_choice import choose_suite
from pytest_ltm._core.storage.secrets import erase_inherited_variable

# Settings whose value is the option of the same name.
_AS_WRITTEN = (
    "examples",
    "trials",
    "scoring",
    "count",
    "time",
    "retries",
    "worker_tries",
    "shard",
    "sessions",
    "compact",
    "latency",
)


def read_run_settings(config: pytest.Config, *, has_paths: bool) -> RunSettings:
    """Return the settings; `has_paths`: the command line names test files or folders."""
    definitions = _read_definitions(config)
    ltm_dir = _read_value(config, "dir")
    suite = read_option(
        config, "--ltm-suite", lambda: choose_suite(config, has_paths=has_paths)
    )
    seed = _read_seed(config, suite)
    questions = questions_of(config)
    dataset = dataset_of(
        config,
        has_paths=has_paths,
        seed=seed.value,
        ltm_dir=ltm_dir,
        questions=questions,
    )
    languages = _read_value(config, "language")
    tokenizer = _read_tokenizer(config)
    _time.check_installed(_read_value(config, "time"))
    played_suite = dataset.suite if dataset else suite
    if definitions is not None and played_suite is not None:
        played_suite = _leave_generated_out(played_suite, definitions)
    return RunSettings(
        agents=in_languages(_read_agents(config, ltm_dir), languages),
        spans=SPANS if dataset else chosen_spans(config, suite, definitions),
        suite=played_suite,
        seed=seed,
        opening=None if suite is None else suite.opening,
        **{name: _read_value(config, name) for name in _AS_WRITTEN},
        definitions=definitions,
        filler=_read_filler_spec(config, suite),
        tokenizer=tokenizer,
        reply_timeout=_read_timeout(config, "reply_timeout"),
        evaluator_timeout=_read_timeout(config, "evaluator_timeout"),
        ltm_dir=ltm_dir,
        dataset=dataset,
        concurrency=_read_concurrency(config),
        judge=judge_of_run(config),
        agent_process=_wants_agent_process(config),
        rescored=source_of(config),
        prices=_read_prices(config),
        limits=Limits(
            _read_value(config, "max_cost"), _read_value(config, "max_tokens")
        ),
        reading=_read_reading(config),
        questions=questions,
        assumed_reply=_read_value(config, "assume_reply"),
    )


def _read_value(config: pytest.Config, name: str) -> Any:
    return _options.option_value(config, f"ltm_{name}")


def _read_definitions(config: pytest.Config) -> Definitions | None:
    folder = _read_value(config, "definitions")
    if folder is None:
        return None
    definitions: Definitions = read_option(
        config,
        "--ltm-definitions",
        lambda: config.hook.pytest_ltm_read_definitions(folder=folder),
    )
    return definitions


def _leave_generated_out(suite: Suite, definitions: Definitions) -> Suite:
    """Return the suite with only the entries that have definition files: nothing is generated in addition to them."""
    entries = tuple(
        entry for entry in suite.entries if entry.name in definitions.examples
    )
    return structs.replace(suite, entries=entries)


def _read_agents(config: pytest.Config, ltm_dir: Path) -> tuple[AgentChoice, ...]:
    agents: tuple[AgentChoice, ...] = read_option(
        config,
        "--ltm-agent",
        lambda: config.hook.pytest_ltm_choose_agents(config=config, ltm_dir=ltm_dir),
    )
    return agents


def _read_tokenizer(config: pytest.Config) -> str:
    return read_option(
        config,
        "--ltm-tokenizer",
        lambda: token_counter(_read_value(config, "tokenizer")).name,
    )


def _read_timeout(config: pytest.Config, name: str) -> float | None:
    """Return the seconds; None for no limit, or if a debugger is requested."""
    if _wants_debugger(config):
        return None
    return _read_value(config, name) or None


def _wants_agent_process(config: pytest.Config) -> bool:
    name = "ltm_agent_process"
    return bool(config.getoption(name) or config.getini(name))


def _read_prices(config: pytest.Config) -> Prices:
    return read_option(
        config,
        "--ltm-price",
        lambda: read_prices(_options.option_lines(config, "ltm_price")),
    )


def _read_seed(config: pytest.Config, suite: Suite | None) -> Seed:
    """Return the seed, equal in all workers and on resume; a secret one is not inherited by agents."""
    if (
        suite is not None
        and suite.seed is not None
        and set_by_suite(config, suite, "seed")
    ):
        return Seed(value=suite.seed)
    worker: dict[str, str] = getattr(config, "workerinput", {})
    # The controller draws a new one.
    config.option.ltm_seed = worker.get("ltm_seed", config.option.ltm_seed)
    seed: Seed = _read_value(config, "seed")
    if seed.source:
        config.option.ltm_seed = seed.option
    if seed.variable:
        erase_inherited_variable(seed.variable)
        value = os.environ.pop(seed.variable)
        restore = partial(os.environ.__setitem__, seed.variable, value)
        # The workers inherit it from the controller's environment.
        if worker or not getattr(config.option, "tx", None):
            config.add_cleanup(restore)
        else:
            restore()
    return seed


def _read_reading(config: pytest.Config) -> Reading:
    """Return how replies are read: raw under published rules; as recorded if a run is resumed or rescored."""
    if _read_value(config, "scoring") != "current":
        return RAW
    recorded = recorded_settings(config)
    if recorded is None:
        thoughts = _read_value(config, "thoughts")
        tags = tuple(config.getini("ltm_thought_tags"))
    else:
        recorded_reading = convert(recorded.get("reading", {}), Reading)
        thoughts = config.getoption("ltm_thoughts") or recorded_reading.thoughts
        tags = recorded_reading.tags
    if thoughts != "strip":
        return RAW
    reading = Reading(thoughts=thoughts, tags=tags)
    # The feature that separates speech from thoughts may be missing: that is reported
    # before the first message.
    read_option(config, "--ltm-thoughts", partial(reading, ""))
    return reading


def _read_filler_spec(config: pytest.Config, suite: Suite | None) -> str:
    if (
        suite is not None
        and suite.filler is not None
        and set_by_suite(config, suite, "filler")
    ):
        spec = suite.filler
        folder = Path(suite.path).parent
        return name_option_in_errors(
            suite.place("filler"), lambda: _checked_filler(config, spec, folder)
        )
    spec = _options.option_text(config, "ltm_filler")
    folder = path_base(config, "ltm_filler")
    return read_option(
        config, "--ltm-filler", lambda: _checked_filler(config, spec, folder)
    )


def _checked_filler(config: pytest.Config, spec: str, folder: Path) -> str:
    """Return the spec of a filler after creating it as a check; a file in it is relative to `folder`."""
    if spec.startswith("trivia:") and spec != "trivia:":
        path = os.path.relpath(folder / spec.removeprefix("trivia:"))
        spec = f"trivia:{path}"
    counter = token_counter(_options.option_text(config, "ltm_tokenizer"))
    filler = ask_first(
        config,
        "pytest_ltm_make_filler",
        config=config,
        spec=spec,
        rng=Random(0),
        counter=counter,
        language="en",
    )
    admit_filler(filler).configuration()
    return spec


def _read_concurrency(config: pytest.Config) -> int | None:
    """Return the number of conversations played at once in each process; 1 if a debugger is requested."""
    concurrency: int | None = _read_value(config, "concurrency")
    is_played = not (config.option.ltm_dry_run or config.option.ltm_rescore)
    if _wants_debugger(config) or not is_played:
        return 1
    return concurrency


def _wants_debugger(config: pytest.Config) -> bool:
    return bool(config.getoption("usepdb", False) or config.getoption("trace", False))
