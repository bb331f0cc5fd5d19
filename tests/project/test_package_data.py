"""All data files next to modules are in the wheel, by file type. Nightly tests build a wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

tomllib = pytest.importorskip(
    "tomllib", reason="the standard library reads TOML from Python 3.11 on"
)
ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "pytest_ltm", ROOT / "scenarios")


def package_of(path: Path) -> Path:
    """Return the folder of the package that a file belongs to: the nearest one with modules."""
    return next(folder for folder in path.parents if (folder / "__init__.py").exists())


def test_every_data_file_is_packaged_and_every_pattern_names_one() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["*"]
    data = {
        path
        for folder in FOLDERS
        for path in folder.rglob("*")
        if path.suffix != ".py" and "__pycache__" not in path.parts and path.is_file()
    }
    packages = {package_of(path) for path in data}
    packaged = {
        pattern: {path for package in packages for path in package.glob(pattern)}
        for pattern in patterns
    }
    left_out = data - set().union(*packaged.values())
    assert left_out == set(), "add a pattern to package-data in pyproject.toml"
    unused = [pattern for pattern, files in packaged.items() if not files]
    assert unused == [], "patterns of pyproject.toml that no file fits"


def test_every_folder_with_modules_is_a_package_that_setuptools_finds() -> None:
    folders = {path.parent for folder in FOLDERS for path in folder.rglob("*.py")}
    plain = [folder for folder in folders if not (folder / "__init__.py").exists()]
    assert plain == [], "folders with modules and without __init__.py"
