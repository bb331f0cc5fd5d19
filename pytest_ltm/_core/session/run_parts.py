"""What features give to a run: who shows how far it is, and who plays several conversations at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pytest_ltm._core.model.transcript import Exchange
from pytest_ltm._core.session.conversation_run import PlayedConversation


class ShownProgress(Protocol):
    """Shows how far the conversations are."""

    @property
    def is_live(self) -> bool:
        """Whether anybody can see lines that rewrite themselves."""

    def show_progress(self, played: PlayedConversation, exchange: Exchange) -> None:
        """Show that a conversation of this process has moved on."""

    def show(self, name: str, state: dict[str, Any]) -> None:
        """Show the state of a conversation of another process."""

    def remove_conversation(self, name: str, *, left: int) -> None:
        """Show a conversation no more; `left`: the number not yet begun."""

    def announce(self, text: str) -> None:
        """Show what goes on before the first conversation."""

    def draw(self) -> None:
        """Show all lines (again)."""

    def clear(self) -> None:
        """Take the lines away before something else is written."""


class ConcurrentPlayer(Protocol):
    """Plays several conversations of a run at once."""

    playing: list[PlayedConversation]
    """Those that are open."""

    @property
    def notices(self) -> list[str]:
        """What the report says of them."""

    def play_until(self, reported: Callable[[], bool]) -> None:
        """Carry them on until an item has been reported."""

    def finish(self) -> None:
        """Carry them on to their ends."""

    def look_up(self) -> None:
        """Notice at once that there is more to play, or that the session is to stop; callable in any thread."""

    def close(self) -> None:
        """Unwind what is still in progress."""
