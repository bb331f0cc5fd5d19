"""Data sets in a run: which one the options name, and what is told in each of its conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ltm._clock import START
from pytest_ltm._errors import ConfigurationError
from pytest_ltm.datasets._suites import NAMES, SPAN, SPAN_TOKENS, DatasetSuite, open_dataset
from pytest_ltm.plugin import _options
from pytest_ltm.plugin._items import Place
from pytest_ltm.plugin._values import base, named
from pytest_ltm.reporting._text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from pytest_ltm.datasets._suites import ToldConversation
    from pytest_ltm.plugin._settings import Settings

SPANS: Mapping[str, int | None] = {SPAN: SPAN_TOKENS}
"""The only span of a data set."""
_WRITES_NOTHING = ("collectonly", "setuponly", "setupplan", "ltm_dry_run")
_FEWER = {"locomo": "conversations", "longmemeval": "sample"}
"""The option by which fewer questions are asked."""
PATHS = ("ltm_locomo_audit", "ltm_locomo_images")
"""Options of data sets that name a file: looked for where the command line is, or the ini file."""


def dataset_of(config: pytest.Config, *, has_paths: bool, seed: int, ltm_dir: Path) -> DatasetSuite | None:
    """Return the data set that `--ltm-suite` names, None if it names another suite; UsageError for what cannot be."""
    name = _options.given(config, "ltm_suite")
    _refuse_others(config, name)
    path = _options.given(config, "ltm_data")
    if name not in NAMES:
        if config.getoption("ltm_data") is not None:
            raise pytest.UsageError(f"--ltm-data: goes with a data set. Add --ltm-suite={NAMES[0]} or {NAMES[1]}")
        return None
    _check(config, name, has_paths=has_paths)
    where = None if path is None else base(config, "ltm_data") / path
    cache = None if any(getattr(config.option, one, False) for one in _WRITES_NOTHING) else ltm_dir
    options = _options_of(config, name)
    try:
        return named("--ltm-data", lambda: open_dataset(name, where, options, seed=seed, cache=cache))
    except pytest.UsageError as error:
        if isinstance(error.__cause__, ConfigurationError):  # it names its own option
            raise pytest.UsageError(str(error.__cause__)) from error
        raise


def header(dataset: DatasetSuite, verbosity: int) -> list[str]:
    """Return what the report's header says of a data set: one line, and with -v one for each oddity."""
    noted = len(dataset.notes)
    where = "" if verbosity > 0 else " (-v lists them)"
    oddities = f"; {noted:,} oddit{'y' if noted == 1 else 'ies'} noted{where}" * bool(noted)
    shown = dataset.notes if verbosity > 0 else ()
    return [f"ltm: data: {dataset.title}{oddities}", *(f"ltm:   {one_line(note)}" for note in shown)]


def _refuse_others(config: pytest.Config, name: str | None) -> None:
    """Refuse options on the command line of a data set that is not the suite: nothing would read them."""
    for option in _options.OPTIONS:
        home = next((one for one in NAMES if option.dest.startswith(f"ltm_{one}_")), name)
        if home != name and config.getoption(option.dest) is not None:
            raise pytest.UsageError(f"{option.flag}: goes with --ltm-suite={home}")


def _check(config: pytest.Config, name: str, *, has_paths: bool) -> None:
    if has_paths:
        raise pytest.UsageError(f"--ltm-suite={name}: a data set runs alone. Leave out the paths")
    for dest in ("ltm_span", "ltm_isolated", "ltm_definitions"):
        if config.getoption(dest):
            flag = "--" + dest.replace("_", "-")
            raise pytest.UsageError(f"{flag}: the histories of {name} have their own lengths. Leave it out")
    if config.getoption("ltm_examples") is not None:
        fewer = f"--ltm-{name}-{_FEWER[name]}"
        raise pytest.UsageError(f"--ltm-examples: the examples of {name} are its questions. {fewer} chooses among them")
    if _options.text(config, "ltm_time") == "sleep":
        raise pytest.UsageError(f"--ltm-time=sleep: the dates of {name} lie months apart. Use jump or signal")


def _options_of(config: pytest.Config, name: str) -> dict[str, str]:
    """Return what the options of a data set say, by name without its name in front; without what is not given."""
    front = f"ltm_{name}_"
    given = {option.dest: _options.given(config, option.dest) for option in _options.OPTIONS}
    found = {dest: text for dest, text in given.items() if dest.startswith(front) and text}
    located = {dest: str(base(config, dest) / found[dest]) for dest in PATHS if dest in found}
    return {dest.removeprefix(front): text for dest, text in (found | located).items()}


def places(settings: Settings, dataset: DatasetSuite, entry: str) -> list[Place]:
    """Return every place of a kind of question, in the order agent, trial, thread, example."""
    found = dataset.places(entry)
    return [
        Place(agent.label, SPAN, trial, thread, example)
        for agent in settings.agents
        for trial in range(settings.trials)
        for thread, example in found
    ]


def only(dataset: DatasetSuite, thread: str) -> dict[str, str]:
    """Return the options of a run, by dest, with which a data set has the conversation of one thread alone."""
    return {f"ltm_{dataset.suite.name}_{name}": text for name, text in dataset.alone(thread).items()}


def told_in(settings: Settings, place: Place) -> ToldConversation | None:
    """Return what is told in a conversation, None where there is no data set."""
    return None if settings.dataset is None else settings.dataset.told(place.thread)


def begins(told: ToldConversation | None) -> datetime:
    """Return when a conversation's time begins."""
    return told.history[0].at if told is not None and told.history else START
