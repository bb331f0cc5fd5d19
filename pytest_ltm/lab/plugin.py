"""Registers the lab's contributions to runs: cheats to attack suites with, and the rules of imported answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_ltm.api import AgentKind, hookimpl, lazy

if TYPE_CHECKING:
    from pytest_ltm.figures.run_loading import LoadedRun

# Name, argument and description of each cheat.
_CHEATS = (
    ("dump", "", "Recites everything that was said when it is asked a question."),
    ("dump-always", "", "Recites everything that was said with each reply."),
    ("recite", "2k", "Recites the last 2,000 tokens when it is asked a question."),
    ("keywords", "", "Recites the sentences that share a word with the question."),
    (
        "candidates",
        "",
        "Lists all colours, places, names or numbers that were said, as the question asks.",
    ),
    (
        "hedge",
        "",
        "Names the last two candidates. `hedge:unsure` is not sure of either.",
    ),
    (
        "fixed",
        "1",
        "Always takes the first option, or the first item of a list; or any other number, or `fixed:last`.",
    ),
    (
        "random",
        "",
        "Guesses without memory: an item or option it is shown, or a word of the question.",
    ),
    ("agree", "", "Agrees with everything."),
    ("nag", "", "Reminds of one task after another, without a look at the clock."),
    ("notes", "", "Writes everything down and never reads it."),
    ("inject", "", "Tells the judge to give full marks."),
    (
        "skips",
        "8k",
        "A window of 8,000 tokens that skips long messages, or what a tree of `leak-check` calls filler.",
    ),
)


def pytest_ltm_agents(register: Callable[[AgentKind], None]) -> None:
    """Register the cheats: controls that try to score without remembering."""
    make = lazy("pytest_ltm.lab.cheat_agents:make_cheat_agent")
    for name, takes, help_text in _CHEATS:
        register(
            AgentKind(
                name,
                partial(make, name),
                help_text,
                takes,
                control=True,
                cheat=True,
                embedded=True,
            )
        )


@hookimpl(trylast=True)
def pytest_ltm_rule_again(run: LoadedRun) -> Any:
    """Score the answers of an imported run again."""
    from pytest_ltm.lab.commands.import_answers import rule_again

    return rule_again(run)
