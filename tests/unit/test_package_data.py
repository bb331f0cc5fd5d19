"""What lies beside the modules is in the wheel: the table in pyproject.toml names it. Nightly tests build a wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

tomllib = pytest.importorskip(
    "tomllib", reason="the standard library reads TOML from Python 3.11 on"
)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def setuptools() -> dict[str, Any]:
    """The settings of the build."""
    read: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )
    return read["tool"]["setuptools"]


def folder_of(package: str) -> Path:
    return (
        ROOT / package.removeprefix("pytest_ltm.")
        if package.endswith(".scenarios")
        else ROOT.joinpath(*package.split("."))
    )


def test_every_data_file_is_packaged_and_every_pattern_names_one(
    setuptools: dict[str, Any],
) -> None:
    packaged = {
        (package, pattern): set(folder_of(package).glob(pattern))
        for package, patterns in setuptools["package-data"].items()
        for pattern in patterns
    }
    data = {
        path
        for folder in (ROOT / "pytest_ltm", ROOT / "scenarios")
        for path in folder.rglob("*")
        if path.suffix != ".py" and "__pycache__" not in path.parts and path.is_file()
    }
    assert data - set().union(*packaged.values()) == set()
    assert [key for key, files in packaged.items() if not files] == []


def test_every_package_is_packaged(setuptools: dict[str, Any]) -> None:
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "pytest_ltm").rglob("*.py")
    }
    assert set(setuptools["packages"]) == packages | {"pytest_ltm.scenarios"}
