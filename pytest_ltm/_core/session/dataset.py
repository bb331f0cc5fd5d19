"""Data sets in a run: the one that the options name, and what each of its conversations tells."""

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
from pytest_ltm._core.model.spec_files import SpecFile, is_yaml_path, read_spec_file
from pytest_ltm._core.model.suite_spec import DATA, QUESTIONS, SuiteSpec
from pytest_ltm._core.session import options as _options
from pytest_ltm._core.session.items import ItemPlace
from pytest_ltm._core.session.options import path_base, value_source
from pytest_ltm._core.session.recorded_run import recorded_settings
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage.choices import one_of
from pytest_ltm._core.storage.clock import START
from pytest_ltm._core.storage.errors import ConfigurationError, LtmError, did_you_mean
from pytest_ltm._core.storage.schema import load_yaml
from pytest_ltm._core.storage.wording import one_line

# The only span of a data set.
SPANS: Mapping[str, int | None] = {SPAN: SPAN_TOKENS}


def chosen_dataset(config: pytest.Config) -> tuple[Dataset, SuiteSpec] | None:
    """Return the data set that `--ltm-suite` or a YAML file names, with its parameters; None for another suite.

    UsageError for an unknown parameter. Files in parameters are relative to the place
    of the option: the command line's folder or the ini file's.
    """
    text = _options.option_or_ini(config, "ltm_suite") or ""
    datasets = _options.option_table(config).datasets
    file = _options.read_option(
        config, "--ltm-suite", lambda: _dataset_file(config, text)
    )
    name = text.partition("?")[0] if file is None else file.name
    dataset = datasets.get(name)
    if dataset is None and file is not None:
        where = value_source(config, "--ltm-suite")
        raise pytest.UsageError(
            f"{where}: {text}: there is no data set {name!r}."
            f"{did_you_mean(name, datasets)} Choose from {', '.join(datasets)}"
        )
    if dataset is None:
        return None
    if file is None:
        spec = _options.read_option(
            config, "--ltm-suite", lambda: SuiteSpec.parse(text)
        )
    else:
        spec = SuiteSpec(name, _beside(Path(text), file.parameters, dataset))
    parameter_names = [DATA, QUESTIONS, *(option.name for option in dataset.options)]
    for name in spec.parameters:
        if name not in parameter_names:
            where = value_source(config, "--ltm-suite")
            raise pytest.UsageError(
                f"{where}: {dataset.name} has no parameter {name!r}."
                f"{did_you_mean(name, parameter_names)} It has {', '.join(parameter_names)}"
            )
    return dataset, spec


def _dataset_file(config: pytest.Config, text: str) -> SpecFile | None:
    """Read a data set's YAML file; None for anything else: a suite has a different form."""
    path = path_base(config, "ltm_suite") / text
    if not (is_yaml_path(text) and path.is_file()):
        return None
    content = load_yaml(path).value
    if not isinstance(content, dict) or "dataset" not in content:
        return None
    return read_spec_file(path, "dataset")


def _beside(
    file: Path, parameters: Mapping[str, str], dataset: Dataset
) -> dict[str, str]:
    """Return the parameters of a file; paths among them are relative to its folder."""
    paths = {DATA, *(option.name for option in dataset.options if option.is_path)}
    placed = dict(parameters)
    for name in paths & parameters.keys():
        placed[name] = str(file.parent / parameters[name])
    return placed


def questions_of(config: pytest.Config) -> Questions:
    """Return how questions are asked: as the parameter says, or as recorded if a run is resumed or rescored."""
    chosen = chosen_dataset(config)
    if chosen is None:
        return "together"
    dataset, spec = chosen
    text = spec.parameters.get(QUESTIONS)
    recorded = recorded_settings(config)
    if recorded is not None and text is None:
        return cast("Questions", recorded.get("questions", "together"))
    if text is None:
        return dataset.questions
    read = one_of("alone", "together")
    return cast(
        "Questions",
        _options.name_option_in_errors(dataset.flag(QUESTIONS), lambda: read(text)),
    )


def dataset_of(
    config: pytest.Config,
    *,
    has_paths: bool,
    seed: int,
    ltm_dir: Path,
    questions: Questions,
) -> DatasetSuite | None:
    """Open the data set that `--ltm-suite` names; None for another suite, UsageError for an impossible one."""
    chosen = chosen_dataset(config)
    if chosen is None:
        return None
    dataset, spec = chosen
    if config.option.ltm_suite is not None:
        config.option.ltm_suite = str(spec)  # resume uses the file's content
    _check_dataset_options(config, dataset, has_paths=has_paths)
    base = path_base(config, "ltm_suite")
    path = spec.parameters.get(DATA)
    where = None if path is None else base / path
    writes_nothing = _options.only_shows(config) or config.option.ltm_dry_run
    cache = None if writes_nothing else ltm_dir
    options = {}
    for option in dataset.options:
        if text := spec.parameters.get(option.name):
            options[option.name] = str(base / text) if option.is_path else text
    try:
        return dataset.open(where, options, seed=seed, cache=cache, questions=questions)
    except ConfigurationError as error:  # it names its own parameter
        raise pytest.UsageError(str(error)) from error
    except LtmError as error:
        raise pytest.UsageError(
            f"{value_source(config, '--ltm-suite')}: {error}"
        ) from error


def dataset_header(dataset: DatasetSuite, verbosity: int) -> list[str]:
    """Return the report header's lines about a data set: one line, and with -v one for each oddity."""
    noted = len(dataset.notes)
    where = "" if verbosity > 0 else " (-v lists them)"
    if noted:
        oddities = f"; {noted:,} oddit{'y' if noted == 1 else 'ies'} noted{where}"
    else:
        oddities = ""
    notes = dataset.notes if verbosity > 0 else ()
    return [
        f"ltm: data: {dataset.title}{oddities}",
        *(f"ltm:   {one_line(note)}" for note in notes),
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


def thread_suite(config: pytest.Config, dataset: DatasetSuite, thread: str) -> str:
    """Return the value of `--ltm-suite` that selects one thread's conversation of a data set."""
    chosen = chosen_dataset(config)
    assert chosen is not None
    return str(chosen[1].replace_parameters(**dataset.alone(thread)))


def told_in(settings: RunSettings, place: ItemPlace) -> ToldConversation | None:
    """Return the history and questions of a conversation; None without a data set."""
    if settings.dataset is None:
        return None
    return settings.dataset.told(place.thread)


def conversation_start(told_conversation: ToldConversation | None) -> datetime:
    """Return the time at which a conversation begins."""
    if told_conversation is not None and told_conversation.history:
        return told_conversation.history[0].at
    return START
