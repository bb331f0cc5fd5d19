"""The consistency of a release: its changes, its metadata, its conda recipe."""

from __future__ import annotations

import re
from importlib.metadata import metadata, requires, version
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_the_changes_of_the_first_release_are_read_in_two_minutes() -> None:
    section = (
        (ROOT / "CHANGELOG.md")
        .read_text("utf-8")
        .partition("\n## 0.1.0 ")[2]
        .partition("\n## ")[0]
    )
    words = re.sub(r"\]\([^)]*\)", "]", section).split()
    assert 200 < len(words) <= 600


def test_the_metadata_have_what_the_list_of_pytest_plugins_reads() -> None:
    fields = metadata("pytest-ltm")
    assert fields["Name"].startswith("pytest-")
    assert fields["Summary"]
    assert "Framework :: Pytest" in fields.get_all("Classifier", [])
    assert any(
        one.startswith("Development Status :: ")
        for one in fields.get_all("Classifier", [])
    )
    assert any(
        re.match(r"pytest(?![-.\w])", requirement)
        for requirement in requires("pytest-ltm") or ()
    )


def test_the_citation_has_the_version_of_the_package() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))[
        "version"
    ] == version("pytest-ltm")


def test_the_conda_recipe_has_the_requirements_and_the_version_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / ".ci" / "conda" / "recipe.yaml").read_text("utf-8"))
    needed = [
        requirement.partition(";")[0].strip()
        for requirement in requires("pytest-ltm") or ()
        if "extra ==" not in requirement
    ]
    asked = [
        one.replace(" ", "")
        for one in recipe["requirements"]["run"]
        if not one.startswith("python ")
    ]
    assert sorted(asked) == sorted(re.sub(r"[ ()]", "", one).lower() for one in needed)
    assert recipe["context"]["version"] == version("pytest-ltm")
