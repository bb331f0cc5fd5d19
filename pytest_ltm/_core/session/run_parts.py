"""The parts of a run that features provide: a progress display, and a player of several conversations at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pytest_ltm._core.model.transcript import Exchange
from pytest_ltm._core.session.conversation_run import PlayedConversation


class ProgressDisplay(Protocol):
    """A display of the conversations' progress."""

    @property
    def is_live(self) -> bool:
        """Whether there is a terminal for lines that rewrite themselves."""

    def show_progress(self, played: PlayedConversation, exchange: Exchange) -> None:
        """Show the progress of a conversation of this process."""

    def show(self, name: str, state: dict[str, Any]) -> None:
        """Show the state of another process's conversation."""

    def remove_conversation(self, name: str, *, to_come: int) -> None:
        """Remove a conversation from the display; `to_come`: the number not yet begun."""

    def announce(self, text: str) -> None:
        """Show the activity before the first conversation."""

    def draw(self) -> None:
        """Draw all lines, or redraw them."""

    def clear(self) -> None:
        """Clear the lines before other output is written."""


class ConcurrentPlayer(Protocol):
    """Plays several conversations of a run at once."""

    playing: list[PlayedConversation]
    """The open conversations."""

    @property
    def notices(self) -> list[str]:
        """The report's notices about them."""

    def play_until(self, reported: Callable[[], bool]) -> None:
        """Play the conversations until an item has been reported."""

    def finish(self) -> None:
        """Play the conversations to their ends."""

    def look_up(self) -> None:
        """React at once to new conversations or a stopping session; callable in any thread."""

    def close(self) -> None:
        """Unwind the conversations still in progress."""
