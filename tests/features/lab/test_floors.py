"""Declared floors equal the score of the best guess found by a search."""

from __future__ import annotations

import pytest

from pytest_ltm.api.scenarios import SuiteEntry, built_in, built_in_names
from pytest_ltm.lab.commands import cheats
from pytest_ltm.lab.commands.cheats import (
    MARGIN,
    FloorSearch,
    kind_of_question,
    options_in,
)

ENTRIES: dict[str, SuiteEntry] = {
    entry.name: entry
    for suite in built_in_names()
    if suite != "paper"
    for entry in built_in(suite).entries
}


KINDS: dict[str, list[SuiteEntry]] = {}
"""Entries of a suite that differ only in how a text arrives (`sale_by_tool`) count as one kind."""
for name, entry in ENTRIES.items():
    KINDS.setdefault(name.partition("_by_")[0], []).append(entry)


@pytest.mark.nightly(
    "a search over 80 examples of each scenario, half a minute for each", every=60
)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_reply_to_the_question_alone_earns_more_than_the_floor(kind: str) -> None:
    above = []
    for entry in KINDS[kind]:
        search = FloorSearch(entry)
        points, policy = search.best()
        if points > search.declared + MARGIN:
            above.append((entry.name, points, policy))
    assert above == []


@pytest.mark.slow
def test_guessing_one_of_two_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # enough to choose the guess; its points are those of the other examples
    monkeypatch.setattr(cheats, "LEARNED", 8)
    maxims = next(
        entry
        for entry in built_in("extended").entries
        if entry.name == "how_to_think_maxim"
    )
    search = FloorSearch(maxims)
    points, _ = search.best()
    assert search.declared == 0.5
    assert 0.35 < points < 0.65


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("I moved. Where do I live?", "where"),
        ("How many plums are on my list?", "how many"),
        ("Screws or glue?", "or"),
        ("Is it raining?", "yes or no"),
        ("Choose one.\n- Bude\n- Oban", "list"),
        ("I like teal.", ""),
    ],
)
def test_questions_have_a_kind(message: str, kind: str) -> None:
    assert kind_of_question(message) == kind


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("Which?\n- Bude\n- Oban\n- Hull", ["Bude", "Oban", "Hull"]),
        ("Take one.\nBude: 3 km\nOban: 4 km", ["Bude: 3 km", "Oban: 4 km"]),
        ("The shelf is loose. Screws, nails or glue?", ["Screws", "nails", "glue"]),
        ("I like teal.", []),
    ],
)
def test_options_are_lines_or_what_stands_around_or(
    message: str, options: list[str]
) -> None:
    assert options_in(message) == options
