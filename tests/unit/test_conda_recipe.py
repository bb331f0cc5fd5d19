"""The conda recipe asks for what pyproject.toml asks for."""

from __future__ import annotations

import re
from importlib.metadata import requires, version
from pathlib import Path

import yaml

RECIPE = Path(__file__).resolve().parents[2] / ".ci" / "conda" / "recipe.yaml"


def test_the_conda_recipe_has_the_requirements_and_the_version_of_the_package() -> None:
    recipe = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    needed = [one.partition(";")[0].strip() for one in requires("pytest-ltm") or () if "extra ==" not in one]
    asked = [one.replace(" ", "") for one in recipe["requirements"]["run"] if not one.startswith("python ")]
    assert sorted(asked) == sorted(re.sub(r"[ ()]", "", one).lower() for one in needed)
    assert recipe["context"]["version"] == version("pytest-ltm")
