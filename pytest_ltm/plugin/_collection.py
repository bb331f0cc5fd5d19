"""Which items a run has: the built-in suite, anywhere; `*.ltm.yml` files; and a place for each example."""

from __future__ import annotations

import hashlib
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.plugin import _dataset
from pytest_ltm.plugin._items import (
    LTM_ITEM,
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

    from pytest_ltm.plugin._settings import Settings


def places(settings: Settings, name: str, marks: Marks) -> list[Place]:
    """Return every place of a scenario in the run, in the order agent, span, trial, example."""
    if settings.dataset is not None:
        return _dataset.places(settings, settings.dataset, name)
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
        thread = [] if settings.dataset is None else natural(place.thread)  # whose questions are of several scenarios
        start = agents[place.agent], spans[place.span], place.trial, thread
        return (*start, known.scenario, natural(place.example), known.item.nodeid)

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
