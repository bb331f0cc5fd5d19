"""What a published definition leaves to the files beside it: other examples, and the menu."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._definition import read_json
from pytest_ltm._errors import DefinitionError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ltm._fields import Field
    from pytest_ltm._scenario import Definition

MENU = "restaurant_menu.json"
"""The file that holds the menu of the published Restaurant: dishes by section, `{"Section": ["dish", …]}`."""
_LEVELS = 4
"""How many folders upwards the menu is looked for: the scenario's, the benchmark's, `definitions`, the one above."""


def completed(definition: Definition, path: Path, scenario: str) -> Definition:
    """Return a published definition with what its scenario needs from the files around `path`."""
    extra: dict[str, Any] = {}
    if scenario == "spy_meeting":
        extra = {"other_messages": _other_groups(definition.expected, path)}
    elif scenario == "restaurant":
        extra = _menu_above(path)
    return replace(definition, parameters={**definition.parameters, **extra}) if extra else definition


def keyword_groups(expected: Field) -> list[list[str]]:
    """Return the keyword groups of Spy Meeting, one for each message."""
    groups = [[word.text() for word in group.items("words")] for group in expected.items("lists of words")]
    if not groups or not all(groups):
        raise expected.error("a list of words for each message")
    return groups


def _other_groups(expected: list[list[str]], path: Path) -> list[list[str]]:
    """Return the groups of the folder's other examples; not those that share a word with the expected ones."""
    ours = {word for group in expected for word in group}
    others: list[list[str]] = []
    for file in sorted(path.parent.glob("*.def.json")):
        with suppress(DefinitionError):  # what is wrong with that file is said where its own example is read
            groups = keyword_groups(read_json(file).mapping(required=["expected_responses"])["expected_responses"])
            others += [group for group in groups if group not in others and not ours.intersection(group)]
    return others


def _menu_above(path: Path) -> dict[str, Any]:
    for folder in path.absolute().parents[:_LEVELS]:
        if (folder / MENU).is_file():
            sections = read_json(folder / MENU).mapping()
            return {
                "menu": {name: [dish.text() for dish in dishes.items("dishes")] for name, dishes in sections.items()}
            }
    return {}
