"""The plugin's data about each LTM item: its marker, its place in the run, its scenario."""

from __future__ import annotations

import inspect
import os
import types
import unittest
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_ltm._core.session.state import RUN_STATE, is_ours

if TYPE_CHECKING:
    from pytest_ltm._core.journal.result import ConversationName
    from pytest_ltm._core.model.scenario import Definition


# The fixture that makes an item an LTM item.
HANDLE = "ltm"
# The fixture that carries an item's parameter: its ItemPlace.
PLACE = "_ltm_place"


class ItemPlace(NamedTuple):
    """The place where an item is played: its conversation, and the example within it."""

    agent: str
    span: str
    trial: int
    thread: str
    """The name of the conversation if a trial has several; "" if it has one."""
    example: str

    @property
    def conversation(self) -> ConversationName:
        """The name of its conversation, as in node ids."""
        from pytest_ltm._core.journal.result import ConversationName

        trial = f"{self.trial}.{self.thread}" if self.thread else str(self.trial)
        return ConversationName(self.agent, self.span, trial)

    @property
    def id(self) -> str:
        """The item's labels in its node id."""
        return f"{self.conversation}-{self.example}"


class Marks(NamedTuple):
    """The values of an item's `ltm` markers; for each keyword the nearest marker wins."""

    generate: Callable[..., Definition] | None = None
    """`f(rng, parameters) -> Definition`, called for each example before the run."""
    examples: int | None = None
    """The number of examples in a conversation."""
    span: int | str | None = None
    """This scenario's own memory span, within the conversation in which it runs."""
    skills: str | tuple[str, ...] = ()
    """The memory skills that it needs, such as "R,C"."""
    threshold: float = 1.0
    """The lowest score that passes."""
    floor: float = 0.0
    """The score that an agent without memory may reach, by chance or from the questions alone."""
    pass_k: int | None = None
    """The number of trials that must reach the threshold."""
    incompatible: tuple[str, ...] | list[str] = ()
    """Scenarios that must not overlap with it."""
    requires: tuple[str, ...] | list[str] = ()
    """Capabilities that the agent must have."""
    version: str = ""
    """Must be raised when the texts or the scoring change; part of the plan's fingerprint."""
    reset: str = ""
    """A message sent after an example has ended."""
    languages: tuple[str, ...] | list[str] = ("en",)
    """The languages that it supports: its `generate` uses the parameter `language`."""

    @property
    def skill_letters(self) -> tuple[str, ...]:
        """The skills as a tuple."""
        parts = self.skills.split(",") if isinstance(self.skills, str) else self.skills
        return tuple(part.strip() for part in parts if part.strip())


KEYWORDS = Marks._fields
KINDS: dict[str, tuple[type, ...]] = {
    "examples": (int,),
    "span": (int, str),
    "skills": (str, list, tuple),
    "threshold": (int, float),
    "floor": (int, float),
    "pass_k": (int,),
    "incompatible": (list, tuple),
    "requires": (list, tuple),
    "version": (str, int),
    "reset": (str,),
    "languages": (list, tuple),
}
MARKER = (
    f"ltm({', '.join(f'{name}=' for name in KEYWORDS)}): a long-term memory scenario: how its examples are "
    "generated, how many, its own span, the skills it needs, the score that passes, what it must not overlap with, "
    "what the agent must be able to do. Keywords only; the nearest marker wins for each."
)


def marks_of(node: pytest.Item | pytest.Collector) -> Marks:
    """Return the values of the markers; CollectError at the marker's line for invalid ones."""
    from pytest_ltm._core.storage.errors import did_you_mean

    fields: dict[str, Any] = {}
    for mark in node.iter_markers(HANDLE):
        if mark.args:
            raise _marker_error(
                node,
                None,
                f"@pytest.mark.ltm takes keywords only, not {mark.args[0]!r}",
            )
        for name, value in mark.kwargs.items():
            if name not in KEYWORDS:
                near = did_you_mean(name, KEYWORDS)
                keyword_list = f"It has: {', '.join(KEYWORDS)}."
                raise _marker_error(
                    node,
                    name,
                    f"@pytest.mark.ltm has no keyword {name!r}.{near} {keyword_list}",
                )
            expected = _expected_value(name, value)
            if expected:
                raise _marker_error(
                    node,
                    name,
                    f"@pytest.mark.ltm({name}={value!r}): expected {expected}",
                )
            fields.setdefault(name, str(value) if name == "version" else value)
    return Marks(**fields)


def _expected_value(name: str, value: Any) -> str:
    """Return a description of the values that a keyword accepts; "" if this value is valid."""
    from pytest_ltm._core.model.agent import CAPABILITIES

    if name == "generate":
        return "" if callable(value) else "a function (rng, parameters) -> Definition"
    fits = isinstance(value, KINDS[name]) and not isinstance(value, bool)
    if not fits:
        return " or ".join(kind.__name__ for kind in KINDS[name])
    if name in {"examples", "pass_k"} and value < 1:
        return "at least 1"
    if name in {"threshold", "floor"} and not 0 <= value <= 1:
        return "a score from 0 to 1"
    if name == "requires" and not set(value) <= set(CAPABILITIES):
        return f"capabilities among {', '.join(CAPABILITIES)}"
    return ""


def _marker_error(
    node: pytest.Item | pytest.Collector, keyword: str | None, text: str
) -> pytest.Collector.CollectError:
    """Return the error for the nearest marker with that keyword, or with a positional argument."""
    import ast

    where = node.nodeid
    code: Any = getattr(getattr(node, "obj", None), "__code__", None)
    with suppress(OSError, SyntaxError, ValueError, AttributeError):
        first = code.co_firstlineno  # the line of its decorators
        tree: list[Any] = list(
            ast.walk(ast.parse(node.path.read_text(encoding="utf-8")))
        )
        calls = [
            call
            for call in tree
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == HANDLE
        ]
        items: list[Any] = []
        for call in calls:
            items += call.keywords if keyword else call.args
        lines = [item.lineno for item in items if not keyword or item.arg == keyword]
        functions = [
            function.lineno
            for function in tree
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        own_line = min((line for line in functions if line >= first), default=first)
        where = f"{os.path.relpath(node.path)}:{max((line for line in lines if line <= own_line), default=own_line)}"
    return pytest.Collector.CollectError(f"{where}: {text}")


class LtmItem(NamedTuple):
    """One LTM item of an LTM run."""

    item: pytest.Item
    place: ItemPlace
    marks: Marks
    scenario: str
    """The scenario's name in this run."""

    @property
    def conversation(self) -> ConversationName:
        """The conversation in which it is played; each isolated variant of a scenario has its own."""
        variant = self.scenario if self.place.thread and "." in self.scenario else ""
        from msgspec.structs import replace

        return replace(self.place.conversation, variant=variant)

    @property
    def key(self) -> str:
        """The example's name in its conversation."""
        return f"{self.scenario}/{self.place.example}"


def items_by_conversation(
    ltm_items: Iterable[LtmItem],
) -> dict[ConversationName, list[LtmItem]]:
    """Return the items of each conversation, in order."""
    groups: dict[ConversationName, list[LtmItem]] = {}
    for ltm_item in ltm_items:
        groups.setdefault(ltm_item.conversation, []).append(ltm_item)
    return groups


LTM_ITEM = pytest.StashKey[LtmItem]()
# Set if an item is left out because it does not exist in the language.
UNWRITTEN = pytest.StashKey[bool]()
# The parameters of a suite's entry, stashed on its module's node.
PARAMETERS = pytest.StashKey[dict[str, Any]]()
# The name of a built-in scenario, stashed on its module's node.
SCENARIO_NAME = pytest.StashKey[str]()


def is_built_in(item: pytest.Item) -> bool:
    """Return whether an item belongs to the built-in suite."""
    module = item.getparent(pytest.Module)
    return module is not None and SCENARIO_NAME in module.stash


def is_ltm_item(item: pytest.Item | pytest.Collector) -> bool:
    """Return whether the item's `ltm` is the plugin's fixture, not the project's own."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        definitions: Sequence[Any] = ()
    else:
        definitions = info.name2fixturedefs.get(HANDLE, ())
    return bool(definitions) and is_ours(definitions[-1])


def why_not_a_scenario(item: pytest.Item) -> str | None:
    """Return why an item that uses `ltm` cannot be a scenario, with a remedy; None if it can."""
    owner = getattr(item, "cls", None)
    is_case = isinstance(owner, type) and issubclass(owner, unittest.TestCase)
    if not is_ltm_item(item) and not (is_case and _lacks_handle(item)):
        return _why_left_out(item)
    if is_case and owner is not None:
        return (
            f"{owner.__name__} is a unittest.TestCase, and its methods cannot be scenarios: pytest gives them no "
            f"parameters, so no agent either. Make it a plain class (class {owner.__name__}:) whose methods take "
            "'ltm', or a function"
        )
    agents = definitions_of(item, "ltm_agent")
    if agents and not is_ours(agents[-1]):
        return (
            f"the fixture 'ltm_agent' is overridden in {agents[-1].func.__module__}, and built-in scenarios would not "
            "see it. Implement the hook pytest_ltm_make_agent(config, spec) in a conftest instead"
        )
    return None


def _lacks_handle(item: pytest.Item) -> bool:
    """Return whether a TestCase method takes `ltm`, which neither pytest nor a decorator supplies."""
    if RUN_STATE not in item.config.stash:
        return False
    try:
        parameters = inspect.signature(
            getattr(item, "function", None) or object, follow_wrapped=False
        ).parameters
    except (TypeError, ValueError):
        return False
    return (
        HANDLE in parameters and parameters[HANDLE].default is inspect.Parameter.empty
    )


def _why_left_out(item: pytest.Item) -> str | None:
    """Return why a built-in scenario, or a test with a scenario's marker or fixtures, is not a scenario."""
    definitions = definitions_of(item, HANDLE)
    if is_built_in(item) and definitions:  # the project's own `ltm` hides ours
        return (
            f"the fixture {HANDLE!r} is overridden in {definitions[-1].func.__module__}, and built-in scenarios need "
            "the plugin's. Give yours another name, keep it out of the root folder's conftest, or run with "
            "--ltm-suite=none"
        )
    info: Any = getattr(item, "_fixtureinfo", None)
    if (
        info is None
        or RUN_STATE not in item.config.stash
        or HANDLE in info.name2fixturedefs
    ):
        return None
    theirs = ""
    for name, definitions in info.name2fixturedefs.items():
        if name.startswith("ltm_") and is_ours(definitions[-1]):
            theirs = name
            break
    if not theirs and all(mark.name != HANDLE for mark in item.own_markers):
        return None
    sign = f"uses {theirs!r}" if theirs else "is marked with @pytest.mark.ltm"
    name = getattr(item, "originalname", None) or item.name
    return f"{name} {sign} and does not take {HANDLE!r}, so it is not a scenario. Add {HANDLE!r} to its arguments"


def fixture_names(item: pytest.Item) -> set[str]:
    """Return the names of all fixtures that an item uses, directly or through others.

    Fixtures that installed plugins add to every test, as pytest-django does, are not
    included.
    """
    info: Any = getattr(item, "_fixtureinfo", None)
    if info is None:
        return set()
    requested = set(info.argnames)
    for mark in item.iter_markers("usefixtures"):
        requested.update(mark.args)
    plugins = [plugin for plugin, _ in item.config.pluginmanager.list_plugin_distinfo()]
    modules = [plugin for plugin in plugins if isinstance(plugin, types.ModuleType)]
    installed = {_top_package(module.__name__) for module in modules}
    texts: set[str] = set()
    names = list(info.initialnames)
    while names:
        name = names.pop()
        definitions = info.name2fixturedefs.get(name, ())
        packages = {
            _top_package(definition.func.__module__) for definition in definitions
        }
        unasked = name not in requested and not packages.isdisjoint(installed)
        if name not in texts and not unasked:
            texts.add(name)
            for definition in definitions:
                requested.update(definition.argnames)
                names += definition.argnames
    return texts


def _top_package(module: str) -> str:
    return module.partition(".")[0]


def definitions_of(item: pytest.Item, name: str) -> Sequence[Any]:
    """Return the fixture definitions of a name visible to this item, nearest last."""
    manager: Any = item.session._fixturemanager
    return (
        manager.getfixturedefs(
            name, item if pytest.version_tuple >= (8, 1) else item.nodeid
        )
        or ()
    )
