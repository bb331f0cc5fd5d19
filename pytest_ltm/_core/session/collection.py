"""The items of a run: the built-in suite, `*.ltm.yml` files, one place per example; and their selection."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import shlex
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from pytest_ltm._core.model import scenario as _model
from pytest_ltm._core.model.dataset import label_of
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.plan import natural_sort_key, source_version
from pytest_ltm._core.model.suite import SuiteEntry, import_scenario
from pytest_ltm._core.session import dataset as _dataset
from pytest_ltm._core.session import items as _items
from pytest_ltm._core.session import options as _options
from pytest_ltm._core.session.options import ISOLATED
from pytest_ltm._core.session.recorded_run import SELECTING
from pytest_ltm._core.session.settings import RunSettings, Shard
from pytest_ltm._core.storage.errors import (
    ConfigurationError,
    DefinitionError,
    did_you_mean,
)
from pytest_ltm._core.storage.secrets import redact_secrets


def parametrize_places(metafunc: pytest.Metafunc, settings: RunSettings) -> None:
    """Parametrize an LTM item by its places; agent, span, trial and example, in this order, begin its id."""
    function = metafunc.definition
    if _items.PLACE not in metafunc.fixturenames or not _items.is_ltm_item(function):
        return
    name = scenario_name(function)
    marks = _items.marks_of(function)
    if settings.dataset is not None:
        places = _dataset.dataset_places(settings, settings.dataset, name)
    else:
        short = settings.spans_too_short(name)
        count = settings.examples or marks.examples or 1
        if settings.definitions is not None:
            files = settings.definitions.examples.get(name)
        else:
            files = None
        places = [
            # Isolated examples share nothing: each has a conversation of its own.
            _items.ItemPlace(
                label,
                span,
                trial,
                f"{label_of(name)}_{example}" if span == ISOLATED else "",
                example,
            )
            for label in (agent.label for agent in settings.agents)
            for span in settings.spans
            if span not in short
            for trial in range(settings.trials)
            for example in files or map(str, range(count))
        ]
    metafunc.parametrize(
        _items.PLACE, places, ids=[place.id for place in places], indirect=True
    )


def scenario_name(node: pytest.Item) -> str:
    """Return a scenario's name: from its suite entry, else the function's name without `test_`."""
    module = node.getparent(pytest.Module)
    if module is not None and _items.SCENARIO_NAME in module.stash:
        return module.stash[_items.SCENARIO_NAME]
    name = str(getattr(node, "originalname", None) or node.name.partition("[")[0])
    return name.removeprefix("test_") or name


def ltm_items(items: Iterable[pytest.Item]) -> list[_items.LtmItem]:
    """Return the LTM items with their scenarios' names; equal names are qualified by their modules."""
    result: list[pytest.Item] = []
    sources: dict[str, set[str]] = {}
    for item in filter(_items.is_ltm_item, items):
        if _items.PLACE in getattr(getattr(item, "callspec", None), "params", ()):
            result.append(item)
            sources.setdefault(scenario_name(item), set()).add(_function_id(item))
    # Examples of a scenario have the same markers, which are read once for all of them.
    read: dict[tuple[int, ...], _items.Marks] = {}
    items_of_run = []
    for item in result:
        callspec: Any = item.callspec  # type: ignore[attr-defined]
        place: _items.ItemPlace = callspec.params[_items.PLACE]
        # The user's own parameters are part of the name.
        parameters_id = str(callspec.id).removeprefix(place.id).strip("-")
        plain = scenario_name(item)
        name = label_of(f"{plain}.{parameters_id}" if parameters_id else plain)
        if len(sources[plain]) > 1 and not _items.is_built_in(item):
            path, *classes = _function_id(item).replace("\\", "/").split("::")
            folders = re.sub(r"\.py$|\.ltm\.ya?ml$", "", path).split("/")
            name = f"{label_of('.'.join([*folders, *classes[:-1]]))}.{name}"
        markers = tuple(map(id, item.iter_markers(_items.HANDLE)))
        if markers not in read:
            try:
                read[markers] = _items.marks_of(item)
            except pytest.Collector.CollectError as error:
                # A parameter's mark: all files have been collected.
                raise pytest.UsageError(str(error)) from None
        ltm_item = _items.LtmItem(
            item=item, place=place, marks=read[markers], scenario=sys.intern(name)
        )
        item.stash[_items.LTM_ITEM] = ltm_item
        items_of_run.append(ltm_item)
    return items_of_run


def _function_id(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def in_order(
    items: Iterable[_items.LtmItem], settings: RunSettings
) -> list[_items.LtmItem]:
    """Return the items with each conversation contiguous, ordered by the options, and examples in plan order."""
    agents = {agent.label: index for index, agent in enumerate(settings.agents)}
    spans = {span: index for index, span in enumerate(settings.spans)}

    def key(ltm_item: _items.LtmItem) -> tuple[Any, ...]:
        place = ltm_item.place
        # A thread has questions of several scenarios.
        thread = [] if settings.dataset is None else natural_sort_key(place.thread)
        start = agents[place.agent], spans[place.span], place.trial, thread
        return (
            *start,
            ltm_item.scenario,
            natural_sort_key(place.example),
            ltm_item.item.nodeid,
        )

    return sorted(items, key=key)


# Trials and memory spans ask for the same functions repeatedly. The keys are weak,
# because a function refers to its module, and so to its whole session.
_versions: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()


def version_of(ltm_item: _items.LtmItem) -> str:
    """Return the version that the marker gives, else one derived from the test's source."""
    if ltm_item.marks.version:
        return ltm_item.marks.version
    function = getattr(ltm_item.item, "function", None)
    if not function:
        return source_version(str(ltm_item.item.nodeid))
    if not inspect.isfunction(function):
        return _read_version(function)  # may be unhashable
    version = _versions.get(function)
    if version is None:
        version = _versions[function] = _read_version(function)
    return version


def _read_version(function: Callable[..., Any]) -> str:
    """Return a version derived from a callable's source; "" if the source cannot be read."""
    try:
        return source_version(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def refuse_duplicates(items: Iterable[_items.LtmItem]) -> None:
    """Raise UsageError if two items of a conversation are the same example."""
    node_ids: dict[tuple[object, ...], str] = {}
    for item in items:
        key = (item.place.conversation, item.key)
        if key in node_ids:
            conflict = f"{node_ids[key]} and {item.item.nodeid} are both example {item.key!r} of one conversation"
            raise pytest.UsageError(
                f"{conflict}. Give one of the functions another name"
            )
        node_ids[key] = item.item.nodeid


# --- The built-in suite, collected alike in every project, whatever its configuration.

BUILT_IN = "pytest_ltm.scenarios"
# The beginning of built-in node ids.
ROOT = "ltm"


class OwnModule(pytest.Module):
    """A module of this package, independent of the project's `python_functions`."""

    def funcnamefilter(self, name: str) -> bool:
        """Ignore the project's python_functions."""
        return name.startswith("test_")


class BuiltInModule(OwnModule):
    """A module of the built-in suite, collected alike in every project, whatever its configuration."""

    def __init__(self, *, entry: SuiteEntry, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._entry = entry
        self.stash[_items.SCENARIO_NAME] = entry.name
        self.stash[_items.PARAMETERS] = dict(entry.parameters)

    def _getobj(self) -> Any:
        return import_scenario(self._entry.scenario)

    def classnamefilter(self, name: str) -> bool:
        """Ignore the project's python_classes: built-in scenarios are functions."""
        return False


class BuiltInSuite(pytest.Collector):
    """The built-in scenarios of a suite; it yields items, so that `--lf` keeps failed ones."""

    def __init__(self, *, settings: RunSettings, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._settings = settings

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect each entry's scenario that is played at one of the spans."""
        settings = self._settings
        for entry in settings.suite.entries if settings.suite else ():
            if len(settings.spans_too_short(entry.name)) == len(settings.spans):
                continue
            spec = importlib.util.find_spec(f"{BUILT_IN}.{entry.scenario}")
            path = Path(spec.origin if spec and spec.origin else entry.scenario)
            module = BuiltInModule.from_parent(
                self,
                path=path,
                name=entry.name,
                nodeid=f"{ROOT}/{entry.name}",
                entry=entry,
            )
            if entry.examples is not None:  # read before the items exist
                module.add_marker(pytest.mark.ltm(examples=entry.examples))
            for item in module.collect():
                # The entry's values, in a marker that overrides the function's; its
                # rivals are added to the function's.
                names = ("span", "threshold", "floor", "pass_k", "reset")
                fields = {name: getattr(entry, name) for name in names}
                fields = {
                    name: value for name, value in fields.items() if value is not None
                }
                if entry.incompatible:
                    fields["incompatible"] = tuple(
                        dict.fromkeys(
                            [*_items.marks_of(item).incompatible, *entry.incompatible]
                        )
                    )
                item.add_marker(pytest.mark.ltm.with_args(**fields), append=False)
                yield item


# --- `*.ltm.yml` files as pytest modules with one function: ids, marks, `--lf` and
# xdist treat them like any test file.


class YamlModule(OwnModule):
    """A scenario file."""

    def _getobj(self) -> types.ModuleType:
        try:
            scenario = _model.load_yaml_scenario(self.path)
        except DefinitionError as error:
            raise self.CollectError(str(error)) from None
        module = types.ModuleType(scenario.name, scenario.description)
        name = f"test_{scenario.name}"
        definition = scenario.definition

        def test(ltm: Ltm) -> None:
            _model.play_yaml_scenario(scenario, ltm)

        function: Any = pytest.mark.ltm(
            generate=lambda *_: definition, **scenario.marker
        )(test)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = scenario.description
        vars(module)[name] = function
        self._line = scenario.steps[0].line - 1
        module.__file__ = str(self.path)
        return module

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect the scenario, reported at the line of its first step."""
        for node in super().collect():
            if isinstance(node, pytest.Function):
                node.reportinfo = lambda node=node: (self.path, self._line, node.name)  # type: ignore[method-assign,misc]
            yield node


# --- The selection on the command line, and the command line that repeats a
# conversation.

# pytest's own options that decide which scenarios share a conversation, by dest.
_SELECTING = {**SELECTING, "ignore_glob": "--ignore-glob"}


def parse_concurrency(text: str) -> int | None:
    """Return the number of conversations played at once, None for `auto`; ConfigurationError for any other text."""
    if text == "auto":
        return None
    if not text.removeprefix("-").isdigit():
        raise ConfigurationError(
            f"{text!r} is not a number of conversations. Write one, or auto"
        )
    return _options.IntegerParser(1)(text)


class Selection:
    """The selection on the command line: removes node ids of built-in items from it, and notes remaining paths."""

    def __init__(self, config: pytest.Config) -> None:
        self.names_suite = _options.option_or_ini(config, "ltm_suite") is not None
        self._built_in = [
            result for result in map(_built_in_id, config.args) if result is not None
        ]
        other_arguments = [
            argument for argument in config.args if _built_in_id(argument) is None
        ]
        from_line = config.args_source is pytest.Config.ArgsSource.ARGS
        self.has_paths = from_line and bool(other_arguments)
        if from_line:
            config.args[:] = other_arguments
        elif self._built_in or (
            self.names_suite and _options.option_text(config, "ltm_suite") != "none"
        ):
            # A suite alone imports nothing of the project: one broken test file must
            # not abort it.
            config.args[:] = []

    def is_selected(self, item: pytest.Item) -> bool:
        """Return whether a collected item runs."""
        if not self._built_in or not _items.is_built_in(item):
            return True
        starts = tuple(map("".join, product(self._built_in, ("::", "["))))
        return item.nodeid in self._built_in or item.nodeid.startswith(starts)

    def check(self, items: Sequence[pytest.Item]) -> None:
        """Raise UsageError for a built-in node id that no item has."""
        known_ids = set[str]()
        for item in filter(_items.is_built_in, items):
            function, _, _ = item.nodeid.partition("[")
            module, _, _ = item.nodeid.partition("::")
            known_ids |= {item.nodeid, function, module}
        for selected_id in self._built_in:
            if selected_id not in known_ids:
                raise pytest.UsageError(
                    f"not found: {selected_id}.{did_you_mean(selected_id, sorted(known_ids))} "
                    "An id names agent, span, trial and example of this run, and the run's suite must hold the scenario"
                )


def _built_in_id(argument: str) -> str | None:
    """Return the built-in node id in an argument, even with `../` from a subfolder; None for a path."""
    path, colons, function = argument.partition("::")
    if Path(path).exists():
        return None
    parts = path.replace(os.sep, "/").split("/")
    while parts and parts[0] in {"..", "."}:
        parts.pop(0)
    if len(parts) != 2 or parts[0] != ROOT:
        return None
    return f"{ROOT}/{parts[1].removesuffix('.py')}{colons}{function}"


def repeat_command(
    config: pytest.Config, settings: RunSettings, place: _items.ItemPlace
) -> str:
    """Return the command that repeats this conversation."""
    agent = next(agent for agent in settings.agents if agent.label == place.agent)
    label = agent.own_label
    spec = agent.typed_spec
    if label_of(redact_secrets(spec)) != label:
        spec = f"{label}={spec}"
    words = ["pytest", f"--ltm-agent={spec}"]
    words += [] if settings.dataset else [f"--ltm-span={place.span}"]
    alone = {}
    if settings.dataset is not None:
        suite = _dataset.thread_suite(config, settings.dataset, place.thread)
        alone = {"ltm_suite": suite}
    for option in _options.option_table(config).rows.values():
        text = alone.get(option.dest, config.getoption(option.dest))
        if text is None or not option.repeats:
            continue
        if option.dest == "ltm_language":
            text = agent.language
        texts = text if option.many else [text]
        words += [f"{option.flag}={text}" for text in texts]
    for name, flag in _SELECTING.items():
        value = getattr(config.option, name, None) or []
        for text in [value] if isinstance(value, str) else value:
            words += [flag, text]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [
            word
            for word in config.invocation_params.args
            if str(word) in config.option.file_or_dir
        ]
    return shlex.join(redact_secrets(str(word)) for word in words)


def deselect(
    config: pytest.Config, items: list[pytest.Item], unwanted: Iterable[pytest.Item]
) -> None:
    """Remove items from a session's, and report those that were among them as deselected."""
    unwanted = set(unwanted)
    if dropped := [item for item in items if item in unwanted]:
        items[:] = [item for item in items if item not in unwanted]
        config.hook.pytest_deselected(items=dropped)


def parse_shard(text: str) -> Shard:
    """Parse a shard `I/N`; ConfigurationError for any other text."""
    match = re.fullmatch(r"\s*([0-9]+)\s*/\s*([0-9]+)\s*", text)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise ConfigurationError(
            f"{text!r} is not a shard. Write I/N, counted from 1: 1/4, 2/4, 3/4, 4/4"
        )
    return Shard(number, of)
