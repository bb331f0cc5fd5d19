"""Seat: where the agent of one conversation sits; it is made when it is needed, and put back to where it was."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._checkpoints import Checkpoints
from pytest_ltm._errors import AgentError, AgentFault, ConversationOver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from typing_extensions import Self

    from pytest_ltm._transcript import Exchange
    from pytest_ltm.agents._protocols import Reply
    from pytest_ltm.agents._speaker import Speaker

PATIENCE = 3
"""So many faults in a row mean that the agent is gone: more messages would only cost."""
PUT_BACK = ("Stateless", "Checkpointable", "AcceptsHistory")
"""The powers with which an agent can be put back to where a conversation was, in the order in which they are used."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a journal knows of an agent that need not be there."""

    powers: frozenset[str]
    max_message_tokens: int


def cannot_be_put_back(powers: frozenset[str]) -> str:
    """Return why an agent with these powers cannot go on with a recorded conversation, or ""."""
    if powers & set(PUT_BACK):
        return ""
    return (
        "the agent cannot be put back to where it was: it is neither Checkpointable (save, load) nor AcceptsHistory "
        "(accept) nor Stateless (stateless = True)"
    )


class Seat:
    """Talks to the agent of one conversation through a speaker that `make` makes when it is first needed.

    `known`: of the recorded conversation that the agent is to go on with. A Checkpointable agent is saved after each
    exchange in `checkpoints`, one that is Stateless, too, is not: it has nothing to save.
    """

    def __init__(
        self, make: Callable[[], Speaker], *, known: Known | None = None, checkpoints: Checkpoints | None = None
    ) -> None:
        self._make, self._known = make, known
        self._checkpoints = checkpoints or Checkpoints(None)
        self._speaker: Speaker | None = None
        self._first: bytes | None = None
        """The state before the first message."""
        self._used = False
        """It has heard something since it was made."""
        self._behind = known is not None

    @classmethod
    def of(cls, speaker: Speaker) -> Self:
        """Return the seat of an agent that is there already."""
        seat = cls(lambda: speaker)
        seat._speaker = speaker
        return seat

    @property
    def speaker(self) -> Speaker:
        """What talks to the agent; AgentError if the agent cannot be made."""
        if self._speaker is None:
            self._speaker = self._make()
        return self._speaker

    @property
    def agent(self) -> Any:
        """The agent itself."""
        return self.speaker.agent

    @property
    def powers(self) -> frozenset[str]:
        """What the agent can do beyond replying."""
        return self.speaker.powers if self._known is None else self._known.powers

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return self.speaker.max_message_tokens if self._known is None else self._known.max_message_tokens

    @property
    def is_ready(self) -> bool:
        """Whether `ready` has nothing to do."""
        fresh = not self._used and self._speaker is not None and not self._saves
        return (self._used or fresh) and not self._behind

    def ready(self, said: Sequence[Exchange]) -> None:
        """Have an agent there that has heard what was said, and nothing else; ConversationOver if that cannot be."""
        try:
            speaker = self.speaker
        except AgentError as error:
            raise ConversationOver(f"the agent cannot be made: {error}") from error
        if self._behind:
            try:
                self._put_back(said)
            except AgentError as error:
                raise ConversationOver(f"the agent cannot be put back to where it was: {error}") from error
        elif not self._used and self._saves:
            with contextlib.suppress(AgentFault):  # it will be told after the first message
                self._first = speaker.save()
        self._behind, self._used = False, True

    def ask(self, by: str, text: str, now: datetime, images: Sequence[str] = ()) -> Reply:
        """Return the agent's reply to a message and the images in these files; AgentFault if there is none."""
        self._used = True
        self.speaker.announce(by)
        self.speaker.tell_time(now)
        return self.speaker.ask(text, images)

    def retrieved(self) -> tuple[str, ...] | None:
        """Return what the agent retrieved for its last reply, if it shows that."""
        return self.speaker.retrieved()

    def tell(self, message: str, reply: str, now: datetime) -> None:
        """Tell an AcceptsHistory agent an exchange; AgentFault if it will not have it."""
        self._used = True
        self.speaker.tell_time(now)
        self.speaker.tell(message, reply)

    def keep(self, number: int) -> None:
        """Save a Checkpointable agent after an exchange; AgentFault if it cannot be, DiskFault if the disk is full."""
        if self._saves:
            self._checkpoints.keep(number, self.speaker.save())

    def keep_told(self, number: int) -> None:
        """Save an agent after an exchange that it was told, unless it is cheaper to tell it again than to save it.

        Saving takes no more time in all than talking does: else a long history would cost the square of its length.
        """
        if self._saves and (self._checkpoints.is_empty or self.speaker.saves_cheaply):
            self.keep(number)

    def faulted(self, fault: AgentFault) -> None:
        """Note that the agent may have heard a message that it did not reply to: it is put back before the next."""
        if self._saves or (fault.interrupted and "AcceptsHistory" in self.powers):
            self._behind = True

    def close(self) -> str | None:
        """Let the agent go, if it was ever there; returns a notice if it would not go quietly."""
        return None if self._speaker is None else self._speaker.close()

    @property
    def _saves(self) -> bool:
        return "Checkpointable" in self.powers and "Stateless" not in self.powers

    def _put_back(self, said: Sequence[Exchange]) -> None:
        if self._saves:
            self._load(said)
        elif "AcceptsHistory" in self.powers and "Stateless" not in self.powers:
            self._tell_all(said)
        elif said and "Stateless" not in self.powers:
            raise ConversationOver(cannot_be_put_back(self.powers))

    def _load(self, said: Sequence[Exchange]) -> None:
        if not said:
            if self._first is not None:
                self.speaker.load(self._first)
            return
        place = len(said) - 1
        while said[place].told and place and not self._checkpoints.has(said[place].number):
            place -= 1
        number = said[place].number
        if not self._checkpoints.has(number) and "AcceptsHistory" in self.powers:
            self._tell_all(said)
            return
        if not self._checkpoints.has(number) or (said[-1].number != number and "AcceptsHistory" not in self.powers):
            raise AgentError(f"there is no checkpoint of exchange {said[-1].number}")
        self.speaker.load(self._checkpoints.state(number))
        for exchange in said[place + 1 :]:
            self.tell(exchange.message, exchange.reply, exchange.now)

    def _tell_all(self, said: Sequence[Exchange]) -> None:
        if self._used:
            self.close()
            self._speaker = None
        for exchange in said:
            self.tell(exchange.message, exchange.reply, exchange.now)
