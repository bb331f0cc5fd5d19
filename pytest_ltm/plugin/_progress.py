"""What is shown while conversations run: a line for each that rewrites itself, or every exchange with -vv -s."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest  # noqa: TC002

from pytest_ltm._clock import stopwatch
from pytest_ltm.plugin._board import Board
from pytest_ltm.plugin._expected import expected_tokens
from pytest_ltm.plugin._internals import worker_interactor
from pytest_ltm.reporting._failure import live_line
from pytest_ltm.reporting._progress import progress_line
from pytest_ltm.reporting._text import counted

if TYPE_CHECKING:
    from pytest_ltm._transcript import Exchange
    from pytest_ltm.plugin._played import PlayedConversation

INTERVAL = 0.1
"""Seconds between two states of a line: it must not cost more than the conversation."""
EVERY_EXCHANGE = 2
"""From this verbosity on each exchange is shown, if nothing is captured."""
ROOM = 4
"""So many lines of the screen are left to pytest."""


class Progress:
    """Shows how far the conversations are, those of other processes, too.

    Writes past pytest's capture: the terminal writer keeps the real screen. In an xdist worker the state goes to the
    controller.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._last = float("-inf")
        self._states: dict[str, dict[str, Any]] = {}
        self._left = 0
        """Conversations that nobody plays yet."""
        self._board: Board | None = None
        self._worker: dict[str, Any] = getattr(config, "workerinput", {})

    @property
    def is_live(self) -> bool:
        """Whether anybody can see lines that rewrite themselves."""
        if self._worker:
            return bool(self._worker.get("ltm_live"))
        writer = self._writer
        return writer is not None and bool(writer.hasmarkup) and self._config.get_verbosity() >= 0

    @property
    def _writer(self) -> Any:
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        return None if reporter is None else reporter._tw

    def heard(self, played: PlayedConversation, exchange: Exchange) -> None:
        """Show that a conversation of this process has moved on."""
        shown = not self._worker and self._config.option.capture == "no"  # whatever is printed would run into lines
        if shown and (writer := self._writer):
            if self._config.get_verbosity() >= EVERY_EXCHANGE:
                writer.line()
                writer.write(live_line(exchange, exchange.by, exchange.start, played.place.span) + "\n")
        elif stopwatch() - self._last > INTERVAL:
            self._last = stopwatch()
            if self.is_live:
                self._pass_on("-".join(played.place.conversation), _state(played))

    def _pass_on(self, name: str, state: dict[str, Any]) -> None:
        if self._worker:
            worker_interactor(self._config).sendevent("ltm", kind="progress", unit=name, state=state)
        else:
            self._states.clear()
            self.show(name, state)

    def show(self, name: str, state: dict[str, Any]) -> None:
        """Show the state of a conversation; `state`: the arguments of `progress_line`, without its width."""
        self._states[name] = state
        self.draw()

    def gone(self, name: str, *, left: int) -> None:
        """Show a conversation no more; `left`: so many are still to be begun."""
        self._left = left
        if self._states.pop(name, None) is not None:
            self.draw()

    def draw(self) -> None:
        """Show all lines (again): whatever pytest writes takes them away."""
        if not self.is_live:
            return
        board = self._board = self._board or Board(self._writer)
        most = max(shutil.get_terminal_size().lines - ROOM, 1)
        lines = [progress_line(**state, width=board.width) for _, state in sorted(self._states.items())]
        further = len(lines) - most + self._left if len(lines) > most else self._left
        rest = [f"and {counted(further, 'further conversation')}"] if further else []
        board.draw([*lines[:most], *rest])

    def clear(self) -> None:
        """Take the lines away before something else is written."""
        if self._board is not None:
            self._board.clear()


def _state(played: PlayedConversation) -> dict[str, Any]:
    scores = [result.score for result in played.results.values() if result.score is not None]
    lanes, place = played.conversation.lanes, played.place
    known = [body.known for body in played.bodies.values()]
    return {
        "agent": place.agent,
        "span_label": place.span,
        "trial": "" if place.conversation[2] == "0" else place.conversation[2],
        "tokens": played.conversation.channel.transcript.position,
        "target_tokens": expected_tokens(known, {place.span: played.span}) if played.span else 0,
        "in_progress": sum(lane.start is not None and not lane.ended for lane in lanes),
        "done": len(played.results),
        "total": len(lanes),
        "score_sum": sum(scores),
        "scored": len(scores),
    }
