"""Data sets in a run: which one the options name, and what is told in each of its conversations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

from pytest_ltm._core.model.dataset import (
    SPAN,
    SPAN_TOKENS,
    Dataset,
    DatasetSuite,
    ToldConversation,
)
from pytest_ltm._core.model.plan import Questions
from pytest_ltm._core.session import options as _options
from pytest_ltm._core.session.items import ItemPlace
from pytest_ltm._core.session.options import path_base, value_source
from pytest_ltm._core.session.resume_command_line import recorded_settings
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage.clock import START
from pytest_ltm._core.storage.errors import ConfigurationError, LtmError
from pytest_ltm._core.storage.wording import one_line

# The only span of a data set.
SPANS: Mapping[str, int | None] = {SPAN: SPAN_TOKENS}
_WRITES_NOTHING = ("collectonly", "setuponly", "setupplan", "ltm_dry_run")


def questions_of(config: pytest.Config) -> Questions:
    """Return how questions are asked: as the options say or, of a run that is taken up again, as recorded."""
    dataset = _options.option_table(config).datasets.get(
        _options.option_or_ini(config, "ltm_suite") or ""
    )
    if dataset is None:
        return "together"
    recorded = recorded_settings(config)
    if recorded is not None and config.getoption("ltm_questions") is None:
        return cast("Questions", recorded.get("questions", "together"))
    return cast(
        "Questions", _options.option_value(config, "ltm_questions") or dataset.questions
    )


def dataset_of(
    config: pytest.Config,
    *,
    has_paths: bool,
    seed: int,
    ltm_dir: Path,
    questions: Questions,
) -> DatasetSuite | None:
    """Return the data set that `--ltm-suite` names, None if it names another suite; UsageError for what cannot be."""
    known = _options.option_table(config).datasets
    dataset = known.get(_options.option_or_ini(config, "ltm_suite") or "")
    # Nothing would read the options of a data set that is not the suite.
    others = [
        one
        for one in known.values()
        if dataset is None or dataset.flag("") != one.flag("")
    ]
    for other, option in ((one, option) for one in others for option in one.options):
        if config.getoption(other.dest(option.name)) is not None:
            raise pytest.UsageError(
                f"{other.flag(option.name)}: needs --ltm-suite={other.name}"
            )
    if dataset is None:
        given = [
            name
            for name in ("data", "questions")
            if config.getoption(f"ltm_{name}") is not None
        ]
        if given:
            raise pytest.UsageError(
                f"--ltm-{given[0]}: needs a data set. Add --ltm-suite={' or '.join(known)}"
            )
        return None
    _check_dataset_options(config, dataset, has_paths=has_paths)
    path = _options.option_or_ini(config, "ltm_data")
    where = None if path is None else path_base(config, "ltm_data") / path
    cache = (
        None
        if any(getattr(config.option, one, False) for one in _WRITES_NOTHING)
        else ltm_dir
    )
    # What the options of a data set say, by name; without what is not given.
    options = {}
    for option in dataset.options:
        dest = dataset.dest(option.name)
        if text := _options.option_or_ini(config, dest):
            options[option.name] = (
                str(path_base(config, dest) / text) if option.is_path else text
            )
    try:
        return dataset.open(where, options, seed=seed, cache=cache, questions=questions)
    except ConfigurationError as error:  # it names its own option
        raise pytest.UsageError(str(error)) from error
    except LtmError as error:
        raise pytest.UsageError(
            f"{value_source(config, '--ltm-data')}: {error}"
        ) from error


def dataset_header(dataset: DatasetSuite, verbosity: int) -> list[str]:
    """Return what the report's header says of a data set: one line, and with -v one for each oddity."""
    noted = len(dataset.notes)
    where = "" if verbosity > 0 else " (-v lists them)"
    oddities = f"; {noted:,} oddit{'y' if noted == 1 else 'ies'} noted{where}" * bool(
        noted
    )
    shown = dataset.notes if verbosity > 0 else ()
    return [
        f"ltm: data: {dataset.title}{oddities}",
        *(f"ltm:   {one_line(note)}" for note in shown),
    ]


def _check_dataset_options(
    config: pytest.Config, dataset: Dataset, *, has_paths: bool
) -> None:
    name = dataset.name
    if has_paths:
        raise pytest.UsageError(
            f"--ltm-suite={name}: a data set runs alone. Remove the paths"
        )
    for setting in ("span", "definitions"):
        if config.getoption(f"ltm_{setting}"):
            raise pytest.UsageError(
                f"--ltm-{setting}: the histories of {name} have their own lengths. Leave it out"
            )
    if config.getoption("ltm_examples") is not None:
        fewer = dataset.flag(dataset.fewer)
        raise pytest.UsageError(
            f"--ltm-examples: the examples of {name} are its questions. {fewer} selects among them"
        )
    if _options.option_text(config, "ltm_time") == "sleep":
        raise pytest.UsageError(
            f"--ltm-time=sleep: the dates of {name} are months apart. Use jump or signal"
        )


def dataset_places(
    settings: RunSettings, dataset: DatasetSuite, entry: str
) -> list[ItemPlace]:
    """Return every place of a kind of question, in the order agent, trial, thread, example."""
    result = dataset.places(entry)
    return [
        ItemPlace(agent.label, SPAN, trial, thread, example)
        for agent in settings.agents
        for trial in range(settings.trials)
        for thread, example in result
    ]


def thread_options(dataset: DatasetSuite, thread: str) -> dict[str, str]:
    """Return the options of a run, by dest, with which a data set has the conversation of one thread alone."""
    family = getattr(dataset, "family", dataset.suite.name)
    return {
        f"ltm_{family}_{name}": text for name, text in dataset.alone(thread).items()
    }


def told_in(settings: RunSettings, place: ItemPlace) -> ToldConversation | None:
    """Return what is told in a conversation, None where there is no data set."""
    return None if settings.dataset is None else settings.dataset.told(place.thread)


def conversation_start(told_conversation: ToldConversation | None) -> datetime:
    """Return when a conversation's time begins."""
    return (
        told_conversation.history[0].at
        if told_conversation is not None and told_conversation.history
        else START
    )
