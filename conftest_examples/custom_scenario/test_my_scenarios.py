"""Ordinary tests of the scenario itself: no agent, no filler, milliseconds."""

from test_new_flat import test_new_flat as new_flat

from pytest_ltm import Score
from pytest_ltm.testing import ScriptedAgent, run_scenario


def test_the_new_city_earns_full_marks():
    ending = run_scenario(
        new_flat, ScriptedAgent("Noted.", "Noted.", "In Tartu."), span=None
    )
    assert isinstance(ending.verdict, Score)
    assert (ending.verdict.value, ending.verdict.reason) == (1.0, "all 2 checks passed")


def test_naming_all_cities_earns_half():
    ending = run_scenario(
        new_flat, ScriptedAgent("", "", "Bergen, Ghent or Tartu."), span=None
    )
    assert isinstance(ending.verdict, Score)
    assert (ending.verdict.value, ending.verdict.reason) == (
        0.5,
        "failed: names no former city",
    )
