"""StandIn: who answers in a dry run: what the embedded reader would say, as long as chat models usually speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pytest_ltm._errors import LtmInternalError
from pytest_ltm._seat import Seat
from pytest_ltm.agents._memory import count
from pytest_ltm.agents._protocols import Reply
from pytest_ltm.fillers import answers_of, reply_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pytest_ltm._transcript import Exchange
    from pytest_ltm.agents._foreseen import Foreseen

TYPICAL = {"say": 25, "ask": 45, "opening": 25, "reset": 25, "filler": 25, "history": 25}
"""Tokens of a reply by the kind of its message; filler that asks for a list gets the list."""
_MORE = " and that is all there is to say about it"


class StandIn(Seat):
    """The seat of an agent that is never made; set `kind` before each message."""

    def __init__(self, foreseen: Foreseen) -> None:
        super().__init__(_never)
        self._foreseen = foreseen
        self._reader: Any = foreseen.answers()
        self.kind = "say"

    @property
    def powers(self) -> frozenset[str]:
        """Those that the agent would have."""
        return self._foreseen.powers

    @property
    def max_message_tokens(self) -> int:
        """The limit that the agent would have."""
        return self._foreseen.max_message_tokens

    @property
    def agent(self) -> Any:
        """What answers."""
        return self._reader

    @property
    def is_ready(self) -> bool:
        """True: it always is."""
        return True

    def ready(self, said: Sequence[Exchange]) -> None:
        """Need nothing."""

    def ask(self, by: str, text: str, now: datetime, images: Sequence[str] = ()) -> Reply:  # noqa: ARG002 - a seat's signature
        """Return a reply of typical length."""
        self._tell_time(now)
        given: str | Reply = self._reader.reply(text)
        reply = given.text if isinstance(given, Reply) else given
        if self._foreseen.brief:
            return Reply(reply)
        answers = answers_of(text)
        return Reply(_stretched(reply, TYPICAL[self.kind]) if answers is None else reply_of(answers))

    def _tell_time(self, now: datetime) -> None:
        if hasattr(self._reader, "tell_time"):
            self._reader.tell_time(now)

    def retrieved(self) -> None:
        """Return None: it shows nothing."""

    def tell(self, message: str, reply: str, now: datetime) -> None:
        """Take in an exchange."""
        self._tell_time(now)
        self._reader.accept(message, reply)

    def keep(self, number: int) -> None:
        """Need nothing."""

    def keep_told(self, number: int) -> None:
        """Need nothing."""

    def faulted(self, fault: object) -> None:
        """Need nothing."""

    def close(self) -> None:
        """Need nothing."""


def _never() -> NoReturn:
    raise LtmInternalError("a dry run makes no agent")


def _stretched(reply: str, tokens: int) -> str:
    missing = tokens - count(reply)
    return reply if missing <= 0 else reply + "," + _MORE * (missing // count(_MORE))
