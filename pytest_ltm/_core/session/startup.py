"""The beginning of an LTM run: everything is checked here, before anything runs."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import convert, structs

from pytest_ltm._core.features import use_session_hooks
from pytest_ltm._core.journal.cost import Limits, read_prices
from pytest_ltm._core.model import suite as _suite
from pytest_ltm._core.model.plan import Seed
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.model.transcript import RAW, Reading
from pytest_ltm._core.session import options as _options
from pytest_ltm._core.session import planning as _time
from pytest_ltm._core.session.collection import (
    LanguageFilter,
    Selection,
    check_parameters,
)
from pytest_ltm._core.session.conversation_setup import (
    judge_of_run,
)
from pytest_ltm._core.session.dataset import (
    SPANS,
    chosen_dataset,
    dataset_of,
    questions_of,
)
from pytest_ltm._core.session.options import (
    chosen_spans,
    name_option_in_errors,
    path_base,
    read_option,
    set_by_suite,
    value_source,
)
from pytest_ltm._core.session.resume_command_line import recorded_settings, source_of
from pytest_ltm._core.session.safe_output import Boundary, EarlyBoundary, show_sanitized
from pytest_ltm._core.session.session import LtmRun
from pytest_ltm._core.session.settings import RunSettings, in_languages
from pytest_ltm._core.session.state import RUN
from pytest_ltm._core.storage.errors import did_you_mean
from pytest_ltm._core.storage.sanitize import fit_for, for_screen
from pytest_ltm._core.storage.wording import join_words


def start_run(config: pytest.Config) -> None:
    """Parse and check the options, and register the plugins of an LTM run."""
    if config.option.help or getattr(config.option, "version", 0):
        return
    try:
        with show_sanitized(config):
            _register_plugins(config)
    except pytest.UsageError as error:
        raise pytest.UsageError(
            *(fit_for(sys.stderr, for_screen(str(word))) for word in error.args)
        ) from error


def _refuse_repeated_options(config: pytest.Config) -> None:
    """Raise UsageError for an option that is given twice and of which the last one alone would count."""
    values: dict[str, list[str]] = {}
    for word in config.invocation_params.args:
        flag, equals, value = str(word).partition("=")
        if flag.startswith("--ltm-") and equals:
            values.setdefault(flag, []).append(value)
    for flag, given in values.items():
        dest = flag.removeprefix("--").replace("-", "_")
        is_list = isinstance(getattr(config.option, dest, []), list)
        if len({*given}) > 1 and not is_list:
            both = f", or both at once: {flag}={','.join(given)}" * (flag in _SEVERAL)
            raise pytest.UsageError(
                f"{flag} is given {len(given)} times: {' and '.join(given)}. Give one{both}"
            )


# Options whose value may be a list with commas.
_SEVERAL = frozenset({"--ltm-span", "--ltm-language"})


def _register_plugins(config: pytest.Config) -> None:
    config.add_cleanup(use_session_hooks(config.hook))
    if not hasattr(config, "workerinput"):
        _refuse_repeated_options(config)
    config.hook.pytest_ltm_start(config=config)
    selection = Selection(config)
    settings = _run_settings(config, has_paths=selection.has_paths)
    run = config.stash[RUN] = LtmRun(config, settings, selection)
    manager = config.pluginmanager
    manager.register(Boundary(config), "ltm-boundary")
    manager.register(EarlyBoundary(), "ltm-early-boundary")
    if any(agent.language != "en" for agent in settings.agents):
        manager.register(LanguageFilter(settings), "ltm-written")
    if not manager.hasplugin("ltm-run"):
        manager.register(run, "ltm-run")
    config.hook.pytest_ltm_begin(run=run)


# --- What the options mean: every wrong value is a UsageError with a cure.


# Settings that are just what the option of this name says.
_AS_SAID = (
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


def _run_settings(config: pytest.Config, *, has_paths: bool) -> RunSettings:
    """Return the settings; `has_paths`: the command line names test files or folders."""

    def said(name: str) -> Any:
        return _options.option_value(config, f"ltm_{name}")

    folder = said("definitions")
    definitions = (
        None
        if folder is None
        else read_option(
            config,
            "--ltm-definitions",
            lambda: config.hook.pytest_ltm_read_definitions(folder=folder),
        )
    )
    ltm_dir, own = (
        said("dir"),
        read_option(
            config, "--ltm-suite", lambda: _suite_of(config, has_paths=has_paths)
        ),
    )
    seed = _settled_seed(config, own)
    questions = questions_of(config)
    dataset = dataset_of(
        config,
        has_paths=has_paths,
        seed=seed.value,
        ltm_dir=ltm_dir,
        questions=questions,
    )
    languages = said("language")
    tokenizer = read_option(
        config, "--ltm-tokenizer", lambda: token_counter(said("tokenizer")).name
    )
    _time.check_installed(said("time"))
    suite = dataset.suite if dataset else own
    if (
        definitions is not None and suite is not None
    ):  # nothing is generated beside the files
        suite = structs.replace(
            suite,
            entries=tuple(
                entry for entry in suite.entries if entry.name in definitions.examples
            ),
        )
    return RunSettings(
        agents=in_languages(
            read_option(
                config,
                "--ltm-agent",
                lambda: config.hook.pytest_ltm_choose_agents(
                    config=config, ltm_dir=ltm_dir
                ),
            ),
            languages,
        ),
        spans=SPANS if dataset else chosen_spans(config, own, definitions),
        suite=suite,
        seed=seed,
        opening=None if own is None else own.opening,
        **{name: said(name) for name in _AS_SAID},
        definitions=definitions,
        filler=_filler_spec(config, own),
        tokenizer=tokenizer,
        reply_timeout=None
        if _wants_debugger(config)
        else said("reply_timeout") or None,
        evaluator_timeout=None
        if _wants_debugger(config)
        else said("evaluator_timeout") or None,
        ltm_dir=ltm_dir,
        dataset=dataset,
        concurrency=_chosen_concurrency(config),
        judge=judge_of_run(config),
        agent_process=bool(
            config.getoption("ltm_agent_process") or config.getini("ltm_agent_process")
        ),
        rescored=source_of(config),
        prices=read_option(
            config,
            "--ltm-price",
            lambda: read_prices(_options.option_lines(config, "ltm_price")),
        ),
        limits=Limits(said("max_cost"), said("max_tokens")),
        reading=_reading(config),
        questions=questions,
        assumed_reply=said("assume_reply"),
    )


def _settled_seed(config: pytest.Config, suite: _suite.Suite | None) -> Seed:
    """Return the seed: the same in all workers and when resumed. Agents do not inherit a secret one."""
    if (
        suite is not None
        and suite.seed is not None
        and set_by_suite(config, suite, "seed")
    ):
        return Seed(value=suite.seed)
    worker: dict[str, str] = getattr(config, "workerinput", {})
    config.option.ltm_seed = worker.get(
        "ltm_seed", config.option.ltm_seed
    )  # a fresh one is drawn by the controller
    seed: Seed = _options.option_value(config, "ltm_seed")
    if seed.source:
        config.option.ltm_seed = seed.option
    # The workers of a controller take it from its environment.
    if seed.variable and (worker or not getattr(config.option, "tx", None)):
        config.add_cleanup(
            partial(
                os.environ.__setitem__, seed.variable, os.environ.pop(seed.variable)
            )
        )
    return seed


def _reading(config: pytest.Config) -> Reading:
    """Return what is read of replies: raw under published rules, and as recorded where a run is taken up again."""
    if _options.option_value(config, "ltm_scoring") != "current":
        return RAW
    recorded = recorded_settings(config)
    if recorded is None:
        thoughts, tags = (
            _options.option_value(config, "ltm_thoughts"),
            tuple(config.getini("ltm_thought_tags")),
        )
    else:
        was = convert(recorded.get("reading", {}), Reading)
        thoughts, tags = config.getoption("ltm_thoughts") or was.thoughts, was.tags
    if thoughts != "strip":
        return RAW
    reading = Reading(thoughts=thoughts, tags=tags)
    # A feature that tells speech from thoughts may have been left out: that is said
    # before the first message.
    read_option(config, "--ltm-thoughts", partial(reading, ""))
    return reading


# The suite that definition files are played by, with the scenarios of all others: they
# may be of any.
DEFINITION_SUITE = "extended"


def _suite_of(config: pytest.Config, *, has_paths: bool) -> _suite.Suite | None:
    """Return the suite of scenarios; None where there is none, or a data set."""
    # Raise UsageError where the command line itself names two suites, of which the
    # first would be lost.
    words = [str(word) for word in config.invocation_params.args]
    sources = [
        (*word.split("=", 1), *words[n:])[1]
        for n, word in enumerate(words, start=1)
        if word.split("=")[0] == "--ltm-suite"
    ]
    if len(set(sources)) > 1:
        raise pytest.UsageError(
            f"--ltm-suite: a run has one suite, and its settings are those of the run; here are {join_words(sources)}. "
            "Write the entries into one file, or start a run for each"
        )
    given = _options.option_or_ini(config, "ltm_suite")
    datasets = _options.option_table(config).datasets
    is_other = given == "none" or chosen_dataset(config) is not None
    if is_other or (given is None and has_paths):
        return None
    known = _suite.scenario_names()
    if given is None and _options.option_value(config, "ltm_definitions"):
        suite = _suite.built_in(DEFINITION_SUITE, known)
        for other in (_suite.built_in(name, known) for name in _suite.built_in_names()):
            names = {entry.name for entry in suite.entries}
            further = tuple(entry for entry in other.entries if entry.name not in names)
            suite = structs.replace(suite, entries=(*suite.entries, *further))
        return suite
    name = given or _options.DEFAULTS["ltm_suite"]
    if name in _suite.built_in_names():
        return _suite.built_in(name, known)
    path = path_base(config, "ltm_suite") / name
    if path.is_file():
        suite = config.hook.pytest_ltm_read_suite(path=path, scenarios=known)
        return check_parameters(suite)
    own = _options.option_table(config).own_suites
    suites = [*_suite.built_in_names(), *datasets, *own, "none"]
    raise pytest.UsageError(
        f"{value_source(config, '--ltm-suite')}: there is no suite {name!r}.{did_you_mean(name, suites)} "
        f"Built-in: {', '.join(suites)}; or name a *.ltm-suite.yml file, or a published configuration"
    )


def _filler_spec(config: pytest.Config, suite: _suite.Suite | None) -> str:
    if (
        suite is not None
        and suite.filler is not None
        and set_by_suite(config, suite, "filler")
    ):
        spec, folder = suite.filler, Path(suite.path).parent
        return name_option_in_errors(
            suite.place("filler"), lambda: _checked_filler(config, spec, folder)
        )
    return read_option(
        config,
        "--ltm-filler",
        lambda: _checked_filler(
            config,
            _options.option_text(config, "ltm_filler"),
            path_base(config, "ltm_filler"),
        ),
    )


def _checked_filler(config: pytest.Config, spec: str, folder: Path) -> str:
    """Return the spec of a filler that can be made; a file in it is relative to `folder`."""
    if spec.startswith("trivia:") and spec != "trivia:":
        spec = f"trivia:{os.path.relpath(folder / spec.removeprefix('trivia:'))}"
    counts = token_counter(_options.option_text(config, "ltm_tokenizer"))
    config.hook.pytest_ltm_make_filler(
        config=config, spec=spec, rng=Random(0), counter=counts, language="en"
    )
    return spec


def _chosen_concurrency(config: pytest.Config) -> int | None:
    """Return how many conversations are played at once, in each worker: one where a debugger has the process."""
    wanted: int | None = _options.option_value(config, "ltm_concurrency")
    option = config.option
    if (
        wanted == 1
        or _wants_debugger(config)
        or option.ltm_dry_run
        or option.ltm_rescore
    ):
        return 1
    return wanted


def _wants_debugger(config: pytest.Config) -> bool:
    return bool(config.getoption("usepdb", False) or config.getoption("trace", False))
