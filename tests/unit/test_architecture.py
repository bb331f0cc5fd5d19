"""How classes of the package may use each other: by what is public, and from the front."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

import pytest_ltm

ROOT = Path(pytest_ltm.__file__).parent
PROJECT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Class: TypeAlias = "tuple[str, ast.ClassDef]"
"""A class with the name of its module."""
OF_PYTEST = frozenset({"runtest", "sendevent", "handle_command", "duration", "_request"})
"""What is put in place in objects of pytest and xdist (`plugin/internals`, `plugin/body.py`, `plugin/xdist`)."""


@cache
def modules() -> dict[str, ast.Module]:
    paths = [path for path in ROOT.rglob("*.py") if "scenarios" not in path.parts]
    return {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts): ast.parse(path.read_text()) for path in paths
    }


@cache
def classes() -> dict[str, list[Class]]:
    found: dict[str, list[Class]] = {}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append((module, node))
    return found


def methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {part.name: part for part in node.body if isinstance(part, FUNCTIONS)}


def bases(node: ast.ClassDef) -> list[Class]:
    """Return the classes of the package that a class may be derived from, told by name, and those behind them."""
    names = [base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in node.bases]
    direct = [known for name in names if name != node.name for known in classes().get(name, [])]
    return [*direct, *(further for _, base in direct for further in bases(base))]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.slow
def test_no_class_overrides_a_private_method_of_a_class_in_another_module() -> None:
    overrides = [
        f"{module}.{node.name}.{name} overrides that of {other}.{base.name}"
        for known in classes().values()
        for module, node in known
        for other, base in bases(node)
        if other != module
        for name in methods(node).keys() & methods(base).keys()
        if is_private(name)
    ]
    assert overrides == []


@pytest.mark.slow
def test_no_method_of_a_class_of_ours_is_replaced_from_outside() -> None:
    own = {
        name
        for known in classes().values()
        for _, node in known
        for name, method in methods(node).items()
        if not method.decorator_list
    }
    targets = [(module, target) for module, tree in modules().items() for target in _assigned(tree)]
    every = [part for known in classes().values() for _, node in known for part in node.body]
    fields = {part.target.id for part in every if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)}
    data = fields | {target.attr for _, target in targets if _is_self(target.value)}  # a method here, data there
    replaced = [
        f"{module}, line {target.lineno}: {ast.unparse(target)}"
        for module, target in targets
        if target.attr in own - data - OF_PYTEST
    ]
    assert replaced == []


@pytest.mark.slow
def test_chance_comes_from_generators_that_are_passed() -> None:
    """The module-level one belongs to whoever runs us; tests/conftest.py catches what libraries draw from it."""
    beside = [path for name in ("scenarios", "benchmarks") for path in (PROJECT / name).glob("*.py")]
    trees = {**modules(), **{path.name: ast.parse(path.read_text()) for path in beside}}
    drawn = [
        f"{module}, line {node.lineno}: {ast.unparse(node)}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and node.module == "random" and [n.name for n in node.names] != ["Random"])
        or (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "random"
            and node.attr != "Random"
        )
    ]
    assert drawn == []


def _assigned(tree: ast.Module) -> list[ast.Attribute]:
    """Return the attributes that are assigned to, those of `self` among them."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign))]
    wholes = [whole for node in nodes for whole in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    parts = [part for whole in wholes for part in (whole.elts if isinstance(whole, ast.Tuple) else [whole])]
    return [part for part in parts if isinstance(part, ast.Attribute)]


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}
