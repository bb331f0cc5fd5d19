"""Data sets come in by a hook: a plugin of somebody else's brings one with its options."""

from __future__ import annotations

import pytest
from conftest import Project

from pytest_ltm._core.session.options import ADVANCED, DATA_SETS, GROUPS, OPTIONS, PLAIN

PLUGIN = """
from pytest_ltm.datasets import Dataset, DatasetOption


def opened(path, values, seed, cache):
    raise ValueError(f"opened {path} with {values}")


RIVERS = Dataset(
    name="rivers", metric="share of rivers named", fewer="count", opener=opened,
    options=(DatasetOption(name="count", metavar="N", help="how many rivers", default="3", parse=int),),
)


def pytest_ltm_datasets(register):
    register(RIVERS)
"""


@pytest.fixture
def rivers(project: Project, pytester: pytest.Pytester) -> Project:
    """Return a project beside which the plugin is installed."""
    pytester.syspathinsert()
    project.file(PLUGIN, "rivers.py")
    return project


def test_the_options_of_a_data_set_that_a_plugin_brings_are_known(
    rivers: Project,
) -> None:
    found = rivers.pytest("-p", "rivers", "--help")
    assert "--ltm-rivers-count=N" in str(found.stdout)
    assert "how many rivers (default 3)" in str(found.stdout)


def test_the_help_shows_the_options_in_groups(rivers: Project) -> None:
    shown = str(rivers.pytest("-p", "rivers", "--help").stdout)
    begins = [
        shown.index(f"\nlong-term memory (pytest-ltm), {name}:\n") for name in GROUPS
    ]
    assert begins == sorted(begins)
    groups = dict(zip(GROUPS, map(slice, begins, [*begins[1:], None]), strict=True))
    assert all(
        f"\n  {option.flag}" in shown[groups[option.group]]
        for option in (*OPTIONS, *PLAIN)
    )
    assert "--ltm-rivers-count=N" in shown[groups[DATA_SETS]]
    assert "--ltm-scoring=RULES" in shown[groups[ADVANCED]]


def test_a_data_set_that_a_plugin_brings_is_opened_with_its_options(
    rivers: Project,
) -> None:
    found = rivers.pytest(
        "-p", "rivers", "--ltm-agent=echo", "--ltm-suite=rivers", "--ltm-rivers-count=7"
    )
    assert "opened None with {'count': 7}" in str(found.stdout) + str(found.stderr)


def test_its_options_go_with_its_suite(rivers: Project) -> None:
    found = rivers.pytest("-p", "rivers", "--ltm-agent=echo", "--ltm-rivers-count=7")
    found.stderr.fnmatch_lines(["*--ltm-rivers-count: needs --ltm-suite=rivers"])


def test_two_data_sets_of_one_name_are_refused(
    project: Project, pytester: pytest.Pytester
) -> None:
    pytester.syspathinsert()
    project.file(PLUGIN.replace('"rivers"', '"locomo"'), "rivers.py")
    found = project.pytest("-p", "rivers", "--co")
    assert "two plugins have a data set 'locomo'" in str(found.stdout) + str(
        found.stderr
    )
