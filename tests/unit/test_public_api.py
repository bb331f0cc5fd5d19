"""What is public is what `__all__` says: importable, documented, complete, and nothing that pytest would collect."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import get_origin

import pytest

import pytest_ltm

PACKAGE = Path(pytest_ltm.__file__).parent
PUBLIC = sorted(
    module.name
    for module in pkgutil.walk_packages([str(PACKAGE)], "pytest_ltm.")
    if not any(part.startswith("_") for part in module.name.split("."))
    and not module.name.startswith("pytest_ltm.scenarios")
)
"""The modules whose names have no underscore."""
WITH_ALL = ["pytest_ltm", *(name for name in PUBLIC if hasattr(importlib.import_module(name), "__all__"))]


def type_checked(module: str) -> dict[str, str]:
    """Return the names that a package imports for type checkers only, with the modules they come from."""
    tree = ast.parse(Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for branch in guarded for node in branch.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: node.module or "" for node in imports for alias in node.names}


@pytest.mark.parametrize("module", WITH_ALL)
def test_every_public_name_can_be_imported_and_listed(module: str) -> None:
    found = importlib.import_module(module)
    for name in found.__all__:
        assert getattr(found, name) is not None
        assert name in dir(found)
    assert len(set(found.__all__)) == len(found.__all__)


@pytest.mark.parametrize("module", WITH_ALL)
def test_every_public_name_has_a_docstring(module: str) -> None:
    found = importlib.import_module(module)
    for name in found.__all__:
        thing = getattr(found, name)
        if get_origin(thing) is None and (inspect.isclass(thing) or inspect.isroutine(thing)):
            assert inspect.getdoc(thing), f"{module}.{name} has no docstring"
            assert not (inspect.getdoc(thing) or "").startswith(f"{name}("), f"{name} has only a made docstring"


def test_lazy_names_and_type_checkers_agree() -> None:
    for module in [name for name in WITH_ALL if "__getattr__" in vars(importlib.import_module(name))]:
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
@pytest.mark.parametrize("module", ["pytest_ltm", *PUBLIC])
def test_no_public_class_looks_like_a_test(module: str) -> None:
    found = importlib.import_module(module)
    names = [*dir(found), *getattr(found, "__all__", ())]
    assert [name for name in names if name.startswith(("Test", "test_"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("module", ["pytest_ltm", *PUBLIC])
def test_every_public_module_has_a_docstring(module: str) -> None:
    assert importlib.import_module(module).__doc__


@pytest.mark.slow
def test_built_in_scenarios_use_the_public_api_only() -> None:
    for path in sorted((PACKAGE.parent / "scenarios").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            own = module.startswith("pytest_ltm.scenarios.")
            assert own or not module.startswith("pytest_ltm") or "._" not in module, f"{path.name}: from {module}"
