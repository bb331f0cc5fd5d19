"""The display of running conversations: a self-updating line for each, or every exchange with -vv -s."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_ltm.api.calls import own_thread
from pytest_ltm.api.internals import worker_interactor
from pytest_ltm.api.model import Exchange
from pytest_ltm.api.session import PlayedConversation
from pytest_ltm.api.storage import fit_for, pluralize, stopwatch_seconds
from pytest_ltm.figures.text import clip_text
from pytest_ltm.reports.expected_length import expected_tokens
from pytest_ltm.reports.failure import live_line, progress_line
from pytest_ltm.reports.safe_output import underlying_file

# Erases from the cursor to the end of the screen.
ERASE = "\x1b[J"


class Board:
    """A block of lines below the cursor.

    pytest's writer keeps its position, even in the middle of a line of dots: the block is drawn below it, the cursor is
    moved back, and the next write by anyone erases the block.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._file = underlying_file(writer._file)
        self._shown = False
        writer._file = _Watched(writer._file, self.clear)

    @property
    def width(self) -> int:
        """The maximum width of a line, in columns."""
        return int(self._writer.fullwidth) - 1

    def draw(self, lines: Sequence[str]) -> None:
        """Replace the displayed lines by these, each at most `width` columns."""
        if not lines:
            self.clear()
            return
        column = min(self._writer.width_of_current_line, self.width)
        erase = ERASE if self._shown else ""
        block = fit_for(self._file, "".join(f"\n{line}" for line in lines))
        self._file.write(
            f"{erase}{block}\x1b[{len(lines)}A\r"
            + (f"\x1b[{column}C" if column else "")
        )
        self._file.flush()
        self._shown = True

    def clear(self) -> None:
        """Erase the displayed lines."""
        if self._shown:
            self._shown = False
            self._file.write(ERASE)
            self._file.flush()


class _Watched:
    """A file wrapper that calls a function before each write."""

    def __init__(self, file: Any, prepare: Callable[[], None]) -> None:
        """`prepare` is called before each write."""
        self._file = file
        self._prepare = prepare

    def write(self, text: str) -> Any:
        self._prepare()
        return self._file.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


# Minimum seconds between two updates of a line: they must not cost more than the
# conversation.
INTERVAL = 0.1
# From this verbosity on each exchange is shown, if output is not captured.
EVERY_EXCHANGE = 2
# Screen lines that are left to pytest.
ROOM = 4


class Progress:
    """Shows the progress of conversations, including those of worker processes.

    Writes past pytest's capture: the terminal writer keeps the real screen. In an xdist
    worker the state goes to the controller.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._last = float("-inf")
        self._states: dict[str, dict[str, Any]] = {}
        self._unbegun = 0
        """Number of conversations that no worker has begun yet."""
        self._board: Board | None = None
        self._worker: dict[str, Any] = getattr(config, "workerinput", {})

    @property
    def is_live(self) -> bool:
        """Whether self-updating lines can be displayed."""
        if self._worker:
            return bool(self._worker.get("ltm_live"))
        writer = self._writer
        is_screen = writer is not None and bool(writer.hasmarkup)
        return is_screen and self._config.get_verbosity() >= 0

    @property
    def _writer(self) -> Any:
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return None
        return self._config.get_terminal_writer()

    def show_progress(self, played: PlayedConversation, exchange: Exchange) -> None:
        """Display the new state of a conversation in this process."""
        # the option is absent under -p no:capture
        captured = getattr(self._config.option, "capture", "no") != "no"
        # printed text would run into the lines
        is_printed = not self._worker and not captured
        if is_printed and (writer := self._writer):
            if self._config.get_verbosity() >= EVERY_EXCHANGE:
                place = played.inputs.place
                where = place.span if own_thread() is None else str(place.conversation)
                writer.line()
                writer.write(
                    live_line(exchange, exchange.by, exchange.start, where) + "\n"
                )
        elif stopwatch_seconds() - self._last > INTERVAL:
            self._last = stopwatch_seconds()
            if self.is_live:
                name = played.name
                results = [result.score for result in played.results.values()]
                scores = [score for score in results if score is not None]
                lanes = played.conversation.lanes
                begun_lanes = [lane for lane in lanes if lane.start is not None]
                place = played.inputs.place
                planned = [body.known for body in played.bodies.values()]
                state = {
                    "agent": place.agent,
                    "span_label": place.span,
                    "trial": ""
                    if place.conversation.trial == "0"
                    else place.conversation.trial,
                    "tokens": played.conversation.channel.transcript.position,
                    "target_tokens": expected_tokens(planned, {place.span: played.span})
                    if played.span
                    else 0,
                    "in_progress": sum(not lane.ended for lane in begun_lanes),
                    "done": len(played.results),
                    "total": len(lanes),
                    "score_sum": sum(scores),
                    "scored": len(scores),
                }
                if self._worker:
                    worker_interactor(self._config).sendevent(
                        "ltm", kind="progress", unit=name, state=state
                    )
                else:
                    # Played alone: its line replaces that of the previous conversation.
                    if own_thread() is None:
                        self._states.clear()
                    self.show(name, state)

    def show(self, name: str, state: dict[str, Any]) -> None:
        """Show the state of a conversation; `state`: the arguments of `progress_line`, without its width."""
        self._states[name] = state
        self.draw()

    def remove_conversation(self, name: str, *, to_come: int) -> None:
        """Stop displaying a conversation; `to_come` is the number not yet begun."""
        self._unbegun = to_come
        if self._states.pop(name, None) is not None:
            self.draw()

    def draw(self) -> None:
        """Draw all lines (again): any output of pytest erases them."""
        if not self.is_live:
            return
        board = self._board = self._board or Board(self._writer)
        limit = max(shutil.get_terminal_size().lines - ROOM, 1)
        states = [state for _, state in sorted(self._states.items())]
        lines = [progress_line(**state, width=board.width) for state in states]
        hidden_count = max(len(lines) - limit, 0) + self._unbegun
        shown_lines = lines[:limit]
        if hidden_count:
            conversations = pluralize(hidden_count, "further conversation")
            shown_lines.append(f"and {conversations}")
        board.draw(shown_lines)

    def announce(self, text: str) -> None:
        """Show an activity before the first conversation; workers ignore it."""
        if self.is_live and not self._worker:
            board = self._board = self._board or Board(self._writer)
            board.draw([clip_text(text, board.width)])

    def clear(self) -> None:
        """Erase the lines before other output."""
        if self._board is not None:
            self._board.clear()
