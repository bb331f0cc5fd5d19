"""The suite of a run: a built-in one, a file, or the one needed by a folder of definitions."""

from __future__ import annotations

from collections.abc import Collection
from itertools import zip_longest

import pytest
from msgspec import structs

from pytest_ltm._core.model import suite as _suite
from pytest_ltm._core.model.suite import Suite
from pytest_ltm._core.session import options as _options
from pytest_ltm._core.session.dataset import chosen_dataset
from pytest_ltm._core.session.options import path_base, value_source
from pytest_ltm._core.storage.errors import did_you_mean
from pytest_ltm._core.storage.wording import join_words

# The suite for definition files, extended by the scenarios of all others, since files
# may belong to any.
DEFINITION_SUITE = "extended"


def choose_suite(config: pytest.Config, *, has_paths: bool) -> Suite | None:
    """Return the suite of scenarios; None without one, or for a data set.

    `has_paths`: the command line names test files or folders.
    """
    _refuse_two_suites(config)
    text = _options.option_or_ini(config, "ltm_suite")
    is_other = text == "none" or chosen_dataset(config) is not None
    if is_other or (text is None and has_paths):
        return None
    scenarios = _suite.scenario_names()
    if text is None and _options.option_value(config, "ltm_definitions"):
        return _suite_of_definitions(scenarios)
    name = text or _options.DEFAULTS["ltm_suite"]
    if name in _suite.built_in_names():
        return _suite.built_in(name, scenarios)
    path = path_base(config, "ltm_suite") / name
    if path.is_file():
        suite: Suite | None = config.hook.pytest_ltm_read_suite(
            path=path, scenarios=scenarios
        )
        return suite
    table = _options.option_table(config)
    names = [*_suite.built_in_names(), *table.datasets, *table.own_suites, "none"]
    raise pytest.UsageError(
        f"{value_source(config, '--ltm-suite')}: there is no suite {name!r}.{did_you_mean(name, names)} "
        f"Built-in: {', '.join(names)}; or name a *.ltm-suite.yml file, or a published configuration"
    )


def _refuse_two_suites(config: pytest.Config) -> None:
    """Raise UsageError if the command line names two suites: the first would be lost."""
    words = [str(word) for word in config.invocation_params.args]
    texts = []
    for word, next_word in zip_longest(words, words[1:], fillvalue=""):
        flag, equals, text = word.partition("=")
        if flag == "--ltm-suite":
            texts.append(text if equals else next_word)
    if len(set(texts)) > 1:
        raise pytest.UsageError(
            f"--ltm-suite: a run has one suite, and its settings are those of the run; here are {join_words(texts)}. "
            "Write the entries into one file, or start a run for each"
        )


def _suite_of_definitions(scenarios: Collection[str]) -> Suite:
    """Return a suite with the scenarios of all built-in ones: definition files may belong to any."""
    suite = _suite.built_in(DEFINITION_SUITE, scenarios)
    for name in _suite.built_in_names():
        names = {entry.name for entry in suite.entries}
        further_entries = tuple(
            entry
            for entry in _suite.built_in(name, scenarios).entries
            if entry.name not in names
        )
        suite = structs.replace(suite, entries=(*suite.entries, *further_entries))
    return suite
