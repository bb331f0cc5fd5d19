"""Private names of pytest and other packages that we use are all listed, and exist in each supported pytest."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from alone import alone

import pytest_ltm

PACKAGE = Path(pytest_ltm.__file__).parent
PLUGIN = PACKAGE / "_core"
RECIPE = PACKAGE.parent / "conftest_examples" / "many_items"
LISTED = {
    name
    for part in yaml.safe_load(
        (PLUGIN / "internals" / "names.yml").read_text("utf-8")
    ).values()
    for name in part
}
ABSENT = {
    "item._rerun_condition_excinfos",
    "stepwise.lastfailed | stepwise.cached_info",
}
ABSENT |= (
    {"python.asyncio.tasks._swap_current_task"} if sys.version_info < (3, 12) else set()
)
"""Set by other plugins or under an option while tests run, or missing in this Python."""


def package_nodes() -> Iterator[ast.AST]:
    """Yield the nodes of every module lazily: there are hundreds of thousands."""
    for path in PACKAGE.rglob("*.py"):
        yield from ast.walk(ast.parse(path.read_text("utf-8")))


def is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


def used_names() -> set[str]:
    """Return the names imported from `_pytest`, and the foreign private attributes that the package reads or sets.

    Foreign are those that the package gives to no function, class, variable or
    attribute of `self`.
    """
    used: set[str] = set()
    own: set[str] = set()
    for node in package_nodes():
        if isinstance(node, ast.Attribute) and not is_own(node.value):
            used.update(private_names([node.attr]))
        elif isinstance(node, ast.Call):
            used.update(private_names(names_asked_for(node)))
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith(
            "_pytest"
        ):
            used.update(alias.name for alias in node.names)
        else:
            own.update(names_given(node))
    of_named_tuples = {"_asdict", "_fields", "_replace"}
    return used - (own - {"_file", "_request"}) - of_named_tuples


def names_given(node: ast.AST) -> list[str]:
    """Return the name that this node gives to a function, class, variable or attribute."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    return []


def private_names(names: list[str]) -> list[str]:
    return [name for name in names if re.match("_[a-z]", name)]


def names_asked_for(call: ast.Call) -> list[str]:
    """Return the literal name passed to `getattr`, `setattr` or `hasattr`."""
    if getattr(call.func, "id", "") not in {"getattr", "setattr", "hasattr"}:
        return []
    words = [word.value for word in call.args[1:2] if isinstance(word, ast.Constant)]
    return [str(word) for word in words]


def test_the_package_uses_the_private_names_that_are_listed_and_no_others() -> None:
    listed = {word for name in LISTED for word in re.split(r"[. |]+", name)}
    assert used_names() - listed == set()
    words: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        words.update(re.findall(r"\w+", path.read_text("utf-8")))
    assert {name for name in LISTED if name.rpartition(".")[2] not in words} == set()


def test_the_page_for_pytest_says_how_many_there_are() -> None:
    assert f"working: {len(LISTED)} entries" in (
        PACKAGE.parent / "docs" / "upstream.md"
    ).read_text("utf-8")


@pytest.mark.parametrize("name", sorted(LISTED - ABSENT))
def test_each_listed_name_is_in_the_pytest_that_is_installed(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name.startswith(("xdist.", "dsession.")):
        pytest.importorskip("xdist")
    if name.startswith("httpx."):
        pytest.importorskip("httpx")
    assert any(is_found(way, request) for way in name.split(" | ")), f"{name} is gone"


def is_found(name: str, request: pytest.FixtureRequest) -> bool:
    root, *path = name.removeprefix("python.").split(".")
    thing: Any = (
        roots(request)[root]()
        if root in roots(request)
        else importlib.import_module(root)
    )
    where = root
    for word in path:
        where = f"{where}.{word}"
        if not hasattr(thing, word) and inspect.ismodule(thing):
            with suppress(ModuleNotFoundError):
                importlib.import_module(where)
        if not hasattr(thing, word):
            # An instance attribute: found in its class's source, in a file that this
            # process may have run under another name.
            module = inspect.isclass(thing) and importlib.import_module(
                thing.__module__
            )
            return bool(
                module and word in Path(str(module.__file__)).read_text("utf-8")
            )
        thing = getattr(thing, word)
    return True


def roots(request: pytest.FixtureRequest) -> dict[str, Any]:
    config, manager, item = request.config, request.config.pluginmanager, request.node
    return {
        "session": lambda: request.session,
        "config": lambda: config,
        "item": lambda: item,
        "fixturedef": lambda: next(iter(item._fixtureinfo.name2fixturedefs.values()))[
            -1
        ],
        "capture": lambda: manager.get_plugin("capturemanager"),
        "logging": lambda: manager.get_plugin("logging-plugin"),
        "writer": config.get_terminal_writer
        if manager.get_plugin("terminalreporter")
        else lambda: terminal(config)._tw,
        "reporter": lambda: terminal(config),
        "dsession": lambda: importlib.import_module("xdist.dsession").DSession,
    }


def terminal(config: pytest.Config) -> Any:
    """Return a terminal reporter; xdist's workers have none."""
    return importlib.import_module("_pytest.terminal").TerminalReporter(config)


@pytest.mark.slow
def test_the_small_plugin_sets_up_several_items_with_its_own_list_of_names() -> None:
    options = [
        "-q",
        "-p",
        "no:ltm",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", RECIPE, RECIPE],
        cwd=RECIPE,
        env=alone(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 6 passed" in done.stdout
    assert "FAILED test_turns.py::test_a_failure_is_its_own" in done.stdout
    source = (RECIPE / "conftest.py").read_text("utf-8")
    names = set(re.findall(r'^        "([^"]+)",$', source, re.MULTILINE))
    assert len(names) == 12
    used = set(
        re.findall(
            r"\._([a-z]\w*)",
            re.sub(r"PRIVATE = \{.*?^\}", "", source, flags=re.MULTILINE | re.DOTALL),
        )
    )
    assert used == {
        word.removeprefix("_")
        for name in names
        for word in name.split(".")[1:]
        if word.startswith("_")
    }
