"""Everything that this package adds, by hooks alone; large modules are imported on use."""

from __future__ import annotations

from pytest_ltm.api import AgentKind, lazy
from pytest_ltm.commands import Command
from pytest_ltm.figures.figure import Figure


def pytest_ltm_agents(register):
    make = lazy("ltm_diary.agent:make_reader")
    register(
        AgentKind(
            "last", make, "Replies with the last N messages.", takes="3", yardstick=True
        )
    )


def pytest_ltm_providers(register):
    register("listener", lazy("ltm_diary.provider:Listeners"))


def pytest_ltm_datasets(register):
    from ltm_diary.data import DIARY

    register(DIARY)


def pytest_ltm_figures(register):
    count = lazy("ltm_diary.figures:count_long_replies")
    register(
        Figure(
            "long_replies",
            "count",
            count,
            "long replies",
            definition="Replies of more than 50 tokens.",
        )
    )


def pytest_ltm_exporters(register):
    register("diary", lazy("ltm_diary.export:outputs"))


def pytest_ltm_commands(register):
    register(
        "diary", Command("ltm_diary.command", "show_diary", "print the days of a diary")
    )
