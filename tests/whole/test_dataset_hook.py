"""Data sets enter through a hook: a foreign plugin adds one with its options."""

from __future__ import annotations

import re

import pytest
from all_options import all_options
from conftest import Project

from pytest_ltm.api.session import OptionGroup

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
    """Return a project with the plugin installed."""
    pytester.syspathinsert()
    project.file(PLUGIN, "rivers.py")
    return project


def test_the_help_shows_common_options_in_groups_and_v_all(
    rivers: Project,
) -> None:
    shown = str(rivers.pytest("--help").stdout)
    begins = [
        shown.index(f"\nlong-term memory (pytest-ltm), {group.value}")
        for group in OptionGroup
        if group is not OptionGroup.ADVANCED
    ]
    assert begins == sorted(begins)
    common = [
        option for option in all_options() if option.group is not OptionGroup.ADVANCED
    ]
    assert len(common) <= 35
    assert all(f"\n  {option.flag}" in shown for option in common)
    assert "--ltm-scoring=RULES" not in shown
    assert "--ltm-rivers" not in shown


def test_a_data_set_that_a_plugin_brings_is_opened_with_its_parameters(
    rivers: Project,
) -> None:
    found = rivers.pytest(
        "-p", "rivers", "--ltm-agent=echo", "--ltm-suite=rivers?count=7"
    )
    assert "opened None with {'count': 7}" in str(found.stdout) + str(found.stderr)


def test_a_parameter_that_it_lacks_is_named_with_those_that_it_has(
    rivers: Project,
) -> None:
    found = rivers.pytest(
        "-p", "rivers", "--ltm-agent=echo", "--ltm-suite=rivers?cuont=7"
    )
    found.stderr.fnmatch_lines(
        [
            "*rivers has no parameter 'cuont'. Did you mean 'count'? It has data, questions, count"
        ]
    )


def test_two_data_sets_of_one_name_are_refused(
    project: Project, pytester: pytest.Pytester
) -> None:
    pytester.syspathinsert()
    project.file(PLUGIN.replace('"rivers"', '"locomo"'), "rivers.py")
    found = project.pytest("-p", "rivers", "--ltm-agent=echo", "--co")
    assert "two plugins have a data set 'locomo'" in str(found.stdout) + str(
        found.stderr
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "dataset: rivers\nparameters: {count: 7, data: rhine.txt}",
            r"opened .* with \{'count': 7\}",
        ),
        ("dataset: rivers\nparameters: {cuont: 7}", "*no parameter 'cuont'*"),
        ("dataset: river", "*own/r.yml: there is no data set 'river'. Did you mean*"),
        ("dataset: rivers\ncount: 7", "*r.yml*count*"),
    ],
)
def test_a_data_set_may_stand_in_a_file_with_its_parameters(
    rivers: Project, content: str, message: str
) -> None:
    folder = rivers.path / "own"
    folder.mkdir()
    (folder / "r.yml").write_text(content)
    found = rivers.pytest("-p", "rivers", "--ltm-agent=echo", "--ltm-suite=own/r.yml")
    printed = str(found.stdout) + str(found.stderr)
    assert re.search(message.replace("*", ".*"), printed), printed
    if "7" in message:
        assert str(folder / "rhine.txt") in printed
