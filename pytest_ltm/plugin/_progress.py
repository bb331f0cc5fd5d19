"""What is shown while a conversation runs: a line that rewrites itself on a terminal, or every exchange with -vv -s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest  # noqa: TC002

from pytest_ltm._clock import stopwatch
from pytest_ltm.reporting._failure import live_line
from pytest_ltm.reporting._progress import progress_line

if TYPE_CHECKING:
    from pytest_ltm._transcript import Exchange
    from pytest_ltm.plugin._played import PlayedConversation

INTERVAL = 0.1
"""Seconds between two states of the line: it must not cost more than the conversation."""
SPANS_EXPECTED = 2.7
"""A conversation of the standard suite takes about so many memory spans."""
EVERY_EXCHANGE = 2
"""From this verbosity on each exchange is shown, if nothing is captured."""


class Progress:
    """Writes past pytest's capture: the terminal writer keeps the real screen."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._last = 0.0
        self._shown = False

    @property
    def _reporter(self) -> Any:
        return self._config.pluginmanager.get_plugin("terminalreporter")

    @property
    def _writer(self) -> Any:
        return self._reporter._tw if self._reporter is not None else None

    def heard(self, played: PlayedConversation, exchange: Exchange) -> None:
        """Show that a conversation has moved on."""
        if hasattr(self._config, "workerinput"):
            return
        writer = self._writer
        if writer is None:
            return
        option = self._config.option
        if self._config.get_verbosity() >= EVERY_EXCHANGE and option.capture == "no":
            writer.line()
            writer.write(live_line(exchange, exchange.by, exchange.start, played.place.span) + "\n")
        elif writer.hasmarkup and self._config.get_verbosity() >= 0 and stopwatch() - self._last > INTERVAL:
            self._last = stopwatch()
            self._rewrite(writer, played)

    def clear(self) -> None:
        """Take the line away before something else is written."""
        writer = self._writer
        if self._shown and writer is not None:
            # pytest begins whatever it writes next with a line feed, which takes the place of this line.
            writer.write("\r" + " " * (writer.fullwidth - 1) + "\r\x1b[1A", flush=True)
        self._shown = False

    def _rewrite(self, writer: Any, played: PlayedConversation) -> None:
        results = played.results.values()
        scores = [result.score for result in results if result.score is not None]
        lanes = played.conversation.lanes
        width = writer.fullwidth - 1
        line = progress_line(
            agent=played.place.agent,
            span_label=played.place.span,
            tokens=played.conversation.channel.transcript.position,
            target_tokens=round(SPANS_EXPECTED * played.span) if played.span else 0,
            in_progress=sum(lane.start is not None and not lane.ended for lane in lanes),
            done=len(results),
            total=len(lanes),
            score_sum=sum(scores),
            scored=len(scores),
            width=width,
        )
        if not self._shown:
            self._reporter.ensure_newline()
        writer.write("\r" + line.ljust(width), flush=True)
        self._shown = True
