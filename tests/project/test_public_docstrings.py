"""Every public name is documented: its examples run, and its parameters and fields are described."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("pytest_ltm", "pytest_ltm.agents", "pytest_ltm.testing")


def exported() -> dict[str, Any]:
    """Return the exported classes and functions by the name of their public module."""
    found = {}
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{value.__module__}.{name}"] = value
    return dict(sorted(found.items()))


EXPORTED = exported()


def members(name: str, value: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield the name, the callable and the docstring of a function, or of a class's constructor and public methods."""
    if inspect.isfunction(value):
        yield name, value, value.__doc__ or ""
        return
    if (
        "__init__" in vars(value)
        and not is_dataclass(value)
        and not getattr(value, "_is_protocol", False)
    ):
        yield name, value.__init__, value.__doc__ or ""
    for method, function in vars(value).items():
        if not method.startswith("_") and inspect.isfunction(function):
            yield f"{name}.{method}", function, function.__doc__ or ""


def undocumented(function: Any, docstring: str) -> list[str]:
    """Return the parameters that a docstring neither lists nor mentions."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return [
        name
        for name in names
        if not re.search(rf"^\s*\**{name}:|`{name}\b", docstring, re.MULTILINE)
    ]


def fields_without_words(value: type) -> list[str]:
    """Return the fields of a dataclass without a docstring after them."""
    (body,) = (
        node.body
        for node in ast.parse(textwrap.dedent(inspect.getsource(value))).body
        if isinstance(node, ast.ClassDef)
    )
    documented = {
        node.target.id
        for node, after in itertools.pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
    }
    own = vars(value).get("__annotations__", {})
    return [
        each.name
        for each in fields(value)
        if each.name in own and each.name not in documented
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_name_documents_its_parameters_and_fields(name: str) -> None:
    value = EXPORTED[name]
    assert inspect.getdoc(value), f"{name} has no docstring"
    lacking = [
        f"{member}: {parameter}"
        for member, function, docstring in members(name, value)
        for parameter in undocumented(function, docstring)
    ]
    if inspect.isclass(value) and is_dataclass(value):
        lacking += [f"{name}.{word}" for word in fields_without_words(value)]
    assert lacking == [], "parameters and fields of which the docstring does not tell"


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTED)
def test_the_examples_of_an_exported_name_run(name: str) -> None:
    value = EXPORTED[name]
    module = importlib.import_module(value.__module__)
    for test in doctest.DocTestFinder(recurse=True).find(
        value, name, module=module, globs=dict(vars(module))
    ):
        outcome: list[str] = []
        doctest.DocTestRunner(verbose=False).run(test, out=outcome.append)
        assert outcome == [], "".join(outcome)


MODULES_WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "pytest_ltm").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES_WITH_EXAMPLES)
def test_the_examples_of_private_modules_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert results.attempted
    assert results.failed == 0


def test_examples_are_found() -> None:
    finder = doctest.DocTestFinder()
    with_examples = {
        name
        for name, value in EXPORTED.items()
        if any(test.examples for test in finder.find(value, name))
    }
    assert {name.rpartition(".")[2] for name in with_examples} >= {
        "Definition",
        "Score",
        "duration",
        "run_scenario",
    }


@pytest.mark.parametrize("package", [*PACKAGES, "pytest_ltm.evaluators"])
def test_the_signature_of_a_public_class_can_be_shown(package: str) -> None:
    module = importlib.import_module(package)
    classes = [
        value
        for value in (getattr(module, name) for name in module.__all__)
        if inspect.isclass(value)
    ]
    assert classes
    for value in classes:
        # annotations of structs must exist at run time
        assert "(" in str(inspect.signature(value))
