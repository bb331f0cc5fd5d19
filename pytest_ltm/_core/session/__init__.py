"""The pytest plugin `ltm`: options, fixtures and markers always; the rest only in an LTM run.

An installed plugin costs next to nothing until it is used: this module imports only
pytest and light modules without dataclasses, because creating a dataclass takes as long
as importing a module.
"""

# ruff: noqa: E402 - the imports below are found by _Ordinary

from __future__ import annotations

import functools
import sys
from collections.abc import Generator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


class _Ordinary:
    """Loads this package's modules from Python's own bytecode.

    pytest rewrites the assertions of a plugin's whole distribution and caches them as
    bytecode of its own. Where that cannot be written, each run would compile all our
    modules, none of which needs it: scenarios score, they do not assert.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, *_: object
    ) -> ModuleSpec | None:
        """Return the spec of a module of this package; None for all others."""
        if name.startswith("pytest_ltm."):
            return PathFinder.find_spec(name, path)
        return None


sys.meta_path.insert(0, _Ordinary)

from pytest_ltm import hookspec
from pytest_ltm._core.session import options
from pytest_ltm._core.session.fixtures import (
    _ltm_place,
    ltm,
    ltm_agent,
    ltm_clock,
    ltm_conversation,
    ltm_judge,
    ltm_scheduler,
)
from pytest_ltm._core.session.items import (
    HANDLE,
    MARKER,
    is_ltm_item,
    why_not_a_scenario,
)
from pytest_ltm._core.session.state import RUN_STATE

__all__ = [
    "_ltm_place",
    "ltm",
    "ltm_agent",
    "ltm_clock",
    "ltm_conversation",
    "ltm_judge",
    "ltm_scheduler",
]

SKIP_REASON = (
    "a long-term memory scenario: run it with --ltm-agent=SPEC (try --ltm-agent=full)"
)


def pytest_addoption(
    parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager
) -> None:
    """Declare the options, including those of data sets."""
    options.add_options(parser, pluginmanager)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Check the command line for misspelt options."""
    yield
    options.refuse_misspelt(early_config, parser, args)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks."""
    pluginmanager.add_hookspecs(hookspec)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; begin an LTM run if the command line asks for one."""
    config.addinivalue_line("markers", MARKER)
    if options.starts_ltm_run(config):
        from pytest_ltm._core.session.garbage import hold_back

        hold_back(config)
        from pytest_ltm._core.session.startup import start_run

        options.refuse_misspelt_keys(config)
        if (suite := options.own_suite(config)) is None:
            start_run(config)
        else:
            suite.begin(config)
    else:
        options.refuse_idle(config)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_ltm_start(config: pytest.Config) -> Generator[None, None, None]:
    """Create the run after features have prepared for it."""
    from pytest_ltm._core.session.startup import make_run, refuse_repeated_options

    refuse_repeated_options(config)
    yield
    # A feature's own suite plays no conversations, but needs the preparations, too.
    if options.own_suite(config) is None:
        make_run(config)


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Collect `*.ltm.yml` and `*.ltm.yaml` scenarios; other YAML files are ignored."""
    if not file_path.name.endswith((".ltm.yml", ".ltm.yaml")):
        return None
    from pytest_ltm._core.session.collection import YamlModule

    return YamlModule.from_parent(parent, path=file_path)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark LTM items, so that `-m ltm` selects them."""
    if is_ltm_item(item) and not any(item.iter_markers(HANDLE)):
        item.add_marker(_bare_marker())


@functools.cache
def _bare_marker() -> pytest.MarkDecorator:
    return pytest.mark.ltm


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Refuse items that cannot be scenarios at collection, so that only their own file or class fails."""
    report = yield
    reasons = [
        why_not_a_scenario(node)
        for node in report.result or ()
        if isinstance(node, pytest.Item)
    ]
    reason = next(filter(None, reasons), None)
    if reason is not None:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid}: {reason}"
        report.result = []
    return report


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Skip LTM items outside an LTM run; the reason says how to run them."""
    if RUN_STATE in config.stash:
        return
    for item in items:
        if is_ltm_item(item):
            item.add_marker(pytest.mark.skip(reason=SKIP_REASON))
