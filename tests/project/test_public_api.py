"""The public API is what `__all__` lists: importable, documented, complete, and free of names that pytest collects."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any, get_origin

import pytest

import pytest_ltm

PACKAGE = Path(pytest_ltm.__file__).parent
PUBLIC = sorted(
    module.name
    for module in pkgutil.walk_packages([str(PACKAGE)], "pytest_ltm.")
    if not any(part.startswith("_") for part in module.name.split("."))
    and not module.name.startswith("pytest_ltm.scenarios")
)
"""The modules without an underscore in their names."""
WITH_ALL = [
    "pytest_ltm",
    *(name for name in PUBLIC if hasattr(importlib.import_module(name), "__all__")),
]


def type_checked(module: str) -> dict[str, str]:
    """Return the names that a package imports only for type checkers, with their modules."""
    tree = ast.parse(
        Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")
    )
    guarded = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imports = [
        node
        for branch in guarded
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
    ]
    return {
        alias.asname or alias.name: node.module or ""
        for node in imports
        for alias in node.names
    }


def public_names() -> dict[str, Any]:
    """Return all public objects by name, with their module's name."""
    modules = {name: importlib.import_module(name) for name in WITH_ALL}
    return {
        f"{path}.{name}": getattr(module, name, None)
        for path, module in modules.items()
        for name in module.__all__
    }


def test_every_public_name_can_be_imported_and_listed() -> None:
    missing = [name for name, value in public_names().items() if value is None]
    assert missing == [], "names in `__all__` that cannot be imported"
    for module in map(importlib.import_module, WITH_ALL):
        assert sorted(set(module.__all__) - set(dir(module))) == [], module.__name__
        assert len(set(module.__all__)) == len(module.__all__), module.__name__


def test_every_public_name_has_a_docstring() -> None:
    described = {
        name: inspect.getdoc(value) or ""
        for name, value in public_names().items()
        if get_origin(value) is None
        and (inspect.isclass(value) or inspect.isroutine(value))
    }
    without = [name for name, text in described.items() if not text]
    assert without == [], "public names without a docstring"
    made = [
        name
        for name, text in described.items()
        if text.startswith(f"{name.rpartition('.')[2]}(")
    ]
    assert made == [], "only what a dataclass makes itself"


def test_lazy_names_and_type_checkers_agree() -> None:
    for module in [
        name
        for name in WITH_ALL
        if "__getattr__" in vars(importlib.import_module(name))
    ]:
        found, seen = importlib.import_module(module), type_checked(module)
        lazy = set(found.__all__) - vars(found).keys()
        assert {name for name in seen if not name.startswith("_")} >= lazy
        for name in lazy:
            home = importlib.import_module(seen[name])
            assert getattr(found, name) is getattr(home, name)


def test_the_package_exports_all_that_type_checkers_see() -> None:
    assert set(type_checked("pytest_ltm")) == set(pytest_ltm.__all__)
    assert list(pytest_ltm.__all__) == sorted(pytest_ltm.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'pytest_ltm' has no attribute 'Tester'"):
        _ = pytest_ltm.Tester


@pytest.mark.slow
def test_no_public_class_looks_like_a_test() -> None:
    names = [
        f"{path}.{name}"
        for path in ["pytest_ltm", *PUBLIC]
        for module in [importlib.import_module(path)]
        for name in {*dir(module), *getattr(module, "__all__", ())}
        if name.startswith(("Test", "test_"))
    ]
    assert names == [], "pytest would collect these in a user's test file"


@pytest.mark.slow
def test_every_public_module_has_a_docstring() -> None:
    without = [
        name
        for name in ["pytest_ltm", *PUBLIC]
        if not importlib.import_module(name).__doc__
    ]
    assert without == [], "public modules without a docstring"


@pytest.mark.slow
def test_built_in_scenarios_use_the_public_api_only() -> None:
    private = []
    for path in sorted((PACKAGE.parent / "scenarios").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if (
                module.startswith("pytest_ltm")
                and "._" in module
                and not module.startswith("pytest_ltm.scenarios.")
            ):
                private.append(f"{path.name}: from {module}")
    assert private == [], "users copy scenarios: public names only"
