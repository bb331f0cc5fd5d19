"""Which items a run has: the built-in suite, anywhere; `*.ltm.yml` files; and a place for each example."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._secrets import redacted
from pytest_ltm.plugin import _options
from pytest_ltm.plugin._items import (
    LTM_ITEM,
    PARAMETERS,
    PLACE,
    SCENARIO_NAME,
    LtmItem,
    Marks,
    Place,
    is_ltm_item,
    label,
    marks_of,
)
from pytest_ltm.plugin._spans import ISOLATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ltm._suite import Suite, SuiteEntry
    from pytest_ltm.plugin._settings import Settings

BUILT_IN = "pytest_ltm.scenarios"
ROOT = "ltm"
"""What built-in node ids begin with."""


class BuiltInModule(pytest.Module):
    """A module of the built-in suite: collected alike in any project, whatever its configuration."""

    def __init__(self, *, entry: SuiteEntry, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._entry = entry
        self.stash[SCENARIO_NAME] = entry.name
        self.stash[PARAMETERS] = dict(entry.parameters)

    def _getobj(self) -> Any:
        return importlib.import_module(f"{BUILT_IN}.{self._entry.scenario}")

    def funcnamefilter(self, name: str) -> bool:
        """Ignore the project's python_functions."""
        return name.startswith("test_")

    def classnamefilter(self, name: str) -> bool:
        """Ignore the project's python_classes: built-in scenarios are functions."""
        return False


class BuiltInSuite(pytest.Collector):
    """The built-in scenarios of a suite; yields items, so that `--lf` keeps failed ones."""

    def __init__(self, *, suite: Suite, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._suite = suite

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect every entry's scenario."""
        for entry in self._suite.entries:
            spec = importlib.util.find_spec(f"{BUILT_IN}.{entry.scenario}")
            path = Path(spec.origin if spec and spec.origin else entry.scenario)
            module = BuiltInModule.from_parent(
                self, path=path, name=entry.name, nodeid=f"{ROOT}/{entry.name}", entry=entry
            )
            module.add_marker(_marker_of(entry))
            yield from module.collect()


def _marker_of(entry: SuiteEntry) -> pytest.MarkDecorator:
    said = {"examples": entry.examples, "span": entry.span, "pass_mark": entry.pass_mark}
    if entry.incompatible:
        said["incompatible"] = entry.incompatible  # type: ignore[assignment]
    return pytest.mark.ltm(**{name: value for name, value in said.items() if value is not None})


def places(settings: Settings, name: str, marks: Marks) -> list[Place]:
    """Return every place of a scenario in the run, in the order agent, span, trial, example."""
    return [
        Place(agent.label, span, trial, f"{label(name)}_{example}" if span == ISOLATED else "", example)
        for agent in settings.agents
        for span in settings.spans
        for trial in range(settings.trials)
        for example in _examples(settings, name, marks)
    ]


def _examples(settings: Settings, name: str, marks: Marks) -> Sequence[str]:
    if settings.definitions is not None:
        found = settings.definitions.examples.get(name)
        if found:
            return [label(example) for example in found]
    count = settings.examples or marks.examples or 1
    return [str(number) for number in range(count)]


def generate(metafunc: pytest.Metafunc, settings: Settings) -> None:
    """Give each LTM item its places; agent, span, trial and example come first in its id."""
    if PLACE not in metafunc.fixturenames:
        return
    if not hasattr(metafunc.definition, "_fixtureinfo") or not is_ltm_item(metafunc.definition):
        return
    found = places(settings, scenario_name(metafunc.definition), marks_of(metafunc.definition))
    metafunc.parametrize(PLACE, found, ids=[place.id for place in found], indirect=True)


def scenario_name(node: pytest.Item) -> str:
    """Return a scenario's name: its entry's in the suite, else the function's without `test_`."""
    module = node.getparent(pytest.Module)
    if module is not None and SCENARIO_NAME in module.stash:
        return module.stash[SCENARIO_NAME]
    name = str(getattr(node, "originalname", None) or node.name.partition("[")[0])
    return name.removeprefix("test_") or name


def ltm_items(items: Iterable[pytest.Item]) -> list[LtmItem]:
    """Return the LTM items with their scenarios' names: two equal names get their module, too."""
    found = [item for item in items if is_ltm_item(item) and place_of(item) is not None]
    sources: dict[str, set[str]] = {}
    for item in found:
        sources.setdefault(scenario_name(item), set()).add(_function_id(item))
    return [_ltm_item(item, shared=len(sources[scenario_name(item)]) > 1) for item in found]


def _ltm_item(item: pytest.Item, *, shared: bool) -> LtmItem:
    place = place_of(item)
    if place is None:
        raise pytest.UsageError(f"{item.nodeid}: has no place in the run")
    name = label(scenario_name(item) + _variant(item, place))
    built_in = _is_built_in(item)
    if shared and not built_in:
        name = f"{label(_module_name(item))}.{name}"
    known = item.stash[LTM_ITEM] = LtmItem(item=item, place=place, marks=marks_of(item), scenario=name)
    return known


def _is_built_in(item: pytest.Item) -> bool:
    module = item.getparent(pytest.Module)
    return module is not None and SCENARIO_NAME in module.stash


def _function_id(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _module_name(item: pytest.Item) -> str:
    parts = _function_id(item).replace("\\", "/").split("::")
    module = parts[0].removesuffix(".py").removesuffix(".ltm.yml")
    return ".".join([*module.split("/"), *parts[1:-1]])


def _variant(item: pytest.Item, place: Place) -> str:
    """Return the user's own parameters of an item, as a part of its scenario's name."""
    callspec = getattr(item, "callspec", None)
    own = str(callspec.id).removeprefix(place.id).strip("-") if callspec else ""
    return f".{own}" if own else ""


def place_of(item: pytest.Item) -> Place | None:
    """Return the item's place in the run."""
    callspec = getattr(item, "callspec", None)
    place: Place | None = callspec.params.get(PLACE) if callspec else None
    return place


def in_order(items: Iterable[LtmItem], settings: Settings) -> list[LtmItem]:
    """Return conversations in one piece each, in the order of the options, and examples in the order of the plan."""
    from pytest_ltm._plan import natural  # noqa: PLC0415 - nothing is imported before it is used

    agents = {agent.label: index for index, agent in enumerate(settings.agents)}
    spans = {span: index for index, span in enumerate(settings.spans)}

    def key(known: LtmItem) -> tuple[Any, ...]:
        place = known.place
        example = natural(place.example)
        return agents[place.agent], spans[place.span], place.trial, known.scenario, example, known.item.nodeid

    return sorted(items, key=key)


def version_of(known: LtmItem) -> str:
    """Return the version that the marker says; else one that changes with the test's source."""
    if known.marks.version:
        return known.marks.version
    function = getattr(known.item, "function", None)
    try:
        source = inspect.getsource(function) if function else str(known.item.nodeid)
    except (OSError, TypeError):
        return ""
    return f"source:{hashlib.sha256(source.encode()).hexdigest()[:12]}"


def wanted(items: Iterable[LtmItem], settings: Settings, *, everything: bool) -> Iterator[LtmItem]:
    """Yield the items that the run is to play: with a definitions folder only scenarios that have files there."""
    for known in items:
        if everything or settings.definitions is None or settings.definitions.examples.get(known.scenario):
            yield known


def refuse_duplicates(items: Iterable[LtmItem]) -> None:
    """Raise UsageError if two items of a conversation would be the same example."""
    seen: dict[tuple[str, ...], str] = {}
    for known in items:
        key = (*known.place.conversation, known.key)
        if key in seen:
            raise pytest.UsageError(
                f"{seen[key]} and {known.item.nodeid} are both example {known.key!r} of one conversation. "
                "Give one of the functions another name"
            )
        seen[key] = known.item.nodeid


class Selection:
    """What the command line selects: node ids of built-in items, taken out of it, and whether paths are left."""

    def __init__(self, config: pytest.Config) -> None:
        self.names_suite = _options.given(config, "ltm_suite") is not None
        self._built_in = [found for found in map(_built_in_id, config.args) if found is not None]
        rest = [argument for argument in config.args if _built_in_id(argument) is None]
        from_line = config.args_source is pytest.Config.ArgsSource.ARGS
        self.has_paths = from_line and bool(rest)
        self.has_ids = bool(self._built_in)
        alone = self.has_ids or (self.names_suite and _options.text(config, "ltm_suite") != "none")
        if from_line:
            config.args[:] = rest
        elif alone:
            # A suite alone imports nothing of the project: one broken test file must not abort it.
            config.args[:] = []

    def selects(self, item: pytest.Item) -> bool:
        """Return whether a collected item is to be run."""
        if not self._built_in or not item.nodeid.startswith(f"{ROOT}/"):
            return True
        return any(
            item.nodeid == wanted or item.nodeid.startswith((f"{wanted}::", f"{wanted}[")) for wanted in self._built_in
        )

    def check(self, items: Sequence[pytest.Item]) -> None:
        """Raise UsageError for a node id of the built-in suite that no item has."""
        from pytest_ltm._errors import did_you_mean  # noqa: PLC0415 - nothing is imported before it is used

        ids = [item.nodeid for item in items if item.nodeid.startswith(f"{ROOT}/")]
        known = {part for one in ids for part in (one, one.partition("[")[0], one.partition("::")[0])}
        for wanted in self._built_in:
            if wanted not in known:
                raise pytest.UsageError(
                    f"not found: {wanted}.{did_you_mean(wanted, sorted(known))} "
                    "An id names agent, span, trial and example of this run, and the run's suite must hold the scenario"
                )


def _built_in_id(argument: str) -> str | None:
    """Return the built-in node id that an argument gives, maybe with `../` from a subfolder; None: it is a path."""
    path, colons, rest = argument.partition("::")
    if Path(path).exists():
        return None
    parts = path.replace(os.sep, "/").split("/")
    while parts and parts[0] in {"..", "."}:
        parts.pop(0)
    if len(parts) != 2 or parts[0] != ROOT:  # noqa: PLR2004 - ltm/<scenario>
        return None
    return f"{ROOT}/{parts[1].removesuffix('.py')}{colons}{rest}"


def again(config: pytest.Config, settings: Settings, place: Place) -> str:
    """Return the command that has this conversation again."""
    agent = next(agent for agent in settings.agents if agent.label == place.agent)
    spec = agent.spec if label(redacted(agent.spec)) == agent.label else f"{agent.label}={agent.spec}"
    words = ["pytest", f"--ltm-agent={spec}", f"--ltm-span={place.span}"]
    for option in _options.OPTIONS:
        given = config.getoption(option.dest)
        if given is not None and option.dest not in {"ltm_span", "ltm_shard"}:
            words.append(f"{option.flag}={given}")
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [word for word in config.invocation_params.args if str(word) in config.option.file_or_dir]
    return shlex.join(redacted(str(word)) for word in words)
