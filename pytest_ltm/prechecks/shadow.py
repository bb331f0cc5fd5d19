"""Shadow plays: the project's own scenarios with agents without memory, before any agent is asked."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import Any

import pytest
from msgspec import Struct

from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import Definition, Ltm
from pytest_ltm.api.session import LTM_ITEM, LtmItem, LtmRun, is_built_in, plan_for
from pytest_ltm.api.storage import AgentFault, LtmError, one_line
from pytest_ltm.figures.text import wrap_text
from pytest_ltm.prechecks.plugin import is_strict

MOST_MESSAGES = 200
"""The number of messages after which a scenario that waits for a certain answer is abandoned."""
_CURE = (
    "Check what only a memory can know, or say what it earns without: "
    "@pytest.mark.ltm(floor=...)"
)


class Shadow:
    """An agent without memory, which repeats the message, says nothing, or repeats the previous message."""

    stateless = True

    def __init__(self, choose: Callable[[str, str], str]) -> None:
        self._choose = choose
        self._former_message = ""
        self._message_count = 0

    def reply(self, message: str, user: str = "") -> str:
        """Return its reply to a message; AgentFault if there are too many."""
        self._message_count += 1
        if self._message_count > MOST_MESSAGES:
            raise AgentFault("a shadow play was given up")
        text = self._choose(message, self._former_message)
        self._former_message = message
        return text


SHADOWS: dict[str, Callable[[str, str], str]] = {
    "echo": lambda message, _: message,
    "silent": lambda *_: "",
    "repeating the message before": lambda _, former_message: former_message,
}


class ShadowPlay(Struct, frozen=True):
    """The score of a scenario without memory."""

    scenario: str
    shadow: str
    value: float

    @property
    def sentence(self) -> str:
        """The sentence for the author of the scenario."""
        return (
            f"{self.scenario}: an agent without memory earns {self.value:.2f} here ({self.shadow}). "
            f"{_CURE}"
        )


class ShadowPlays:
    """Plays each own scenario once for each shadow, if a baseline is saved or pytest is strict."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report scenarios that need no memory; UsageError under --strict."""
        config = self._run.config
        run = self._run
        strict = is_strict(config)
        if run.is_worker or not run.plays or run.settings.rescored is not None:
            return
        if run.settings.dataset is not None:
            return
        items = [item.stash[LTM_ITEM] for item in session.items]
        found = find_giveaways(own_scenarios(items), run)
        if found and strict:
            lines = [one_line(play.sentence) for play in found]
            raise pytest.UsageError("\n".join(lines))
        terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        for play in found if terminal is not None else ():
            text = f"note: {one_line(play.sentence)}"
            terminal.ensure_newline()
            for line in wrap_text(text, config.get_terminal_writer().fullwidth, "  "):
                terminal.write_line(line)


def own_scenarios(items: Iterable[LtmItem]) -> list[LtmItem]:
    """Return the first example of each of the project's scenarios that takes only `ltm` and parameters."""
    first: dict[str, LtmItem] = {}
    for item in items:
        if not is_built_in(item.item) and _is_playable(item.item):
            first.setdefault(item.scenario, item)
    return list(first.values())


def _is_playable(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or inspect.iscoroutinefunction(item.obj):
        return False
    names = set(inspect.signature(item.obj).parameters)
    return names <= {"ltm", *_parameters(item)}


def _parameters(item: pytest.Function) -> dict[str, object]:
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else dict(callspec.params)


def find_giveaways(scenarios: Sequence[LtmItem], run: LtmRun) -> list[ShadowPlay]:
    """Return the scenarios that score above their floor without memory, each with its best shadow."""
    found: list[ShadowPlay] = []
    for scenario in scenarios:
        definition = _definition_of(scenario, run)
        plays = []
        for name, choose in SHADOWS.items():
            value = _earned(scenario, choose, definition, run)
            plays.append(ShadowPlay(scenario.scenario, name, value))
        best = max(plays, key=lambda play: play.value)
        if best.value > scenario.marks.floor:
            found.append(best)
    return found


def _definition_of(ltm_item: LtmItem, run: LtmRun) -> Definition | None:
    if ltm_item.marks.generate is None:
        return None
    examples = plan_for([ltm_item], run.settings).plan.examples
    return examples[0].definition if examples else None


def _earned(
    ltm_item: LtmItem,
    choose: Callable[[str, str], str],
    definition: Definition | None,
    run: LtmRun,
) -> float:
    """Return the score of a shadow; 0 if it has none."""
    from pytest_ltm.testing import run_scenario

    item = ltm_item.item
    assert isinstance(item, pytest.Function)
    own_names = set(inspect.signature(item.obj).parameters) - {"ltm"}
    keywords = {name: _parameters(item)[name] for name in own_names}

    def play(ltm: Ltm) -> object:
        return item.obj(ltm=ltm, **keywords)

    silently = io.StringIO()
    try:
        with redirect_stdout(silently), redirect_stderr(silently):
            ending = run_scenario(
                play,
                partial(Shadow, choose),
                definition=definition,
                seed=run.settings.seed.value,
                span=run.settings.spans[ltm_item.place.span],
                scoring=run.settings.scoring,
            )
    except LtmError:  # errors of a body are reported when it is played
        return 0.0
    if isinstance(ending.verdict, Score):
        return ending.verdict.value
    return 0.0
