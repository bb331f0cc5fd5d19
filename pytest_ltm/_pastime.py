"""Pastime: what passes the tokens while every example waits; the history first where there is one, else filler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentFault, ConversationOver
from pytest_ltm._filler import FillerExchange
from pytest_ltm._history import ToldTexts, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm._channel import Channel
    from pytest_ltm._filler import Filler
    from pytest_ltm._history import PastExchange
    from pytest_ltm._transcript import Exchange


class Pastime:
    """Fills one conversation; AgentFault where the agent does not take it, ConversationOver where nothing comes."""

    def __init__(
        self, channel: Channel, filler: Filler, count: Callable[[str], int], history: Sequence[PastExchange] = ()
    ) -> None:
        self.history = history
        self.told: dict[str, tuple[int, ...]] = {}
        """By the id of what was told of the history the numbers of its exchanges: several if it was sent in parts."""
        self._channel, self._filler, self._count = channel, filler, count
        self._texts = ToldTexts()
        channel.named = self._texts.named

    def fill(self, tokens: int, *, answered: bool) -> Exchange:
        """Talk filler of about so many tokens; `answered`: somebody counts replies, so telling will not do."""
        before = self._channel.transcript.position
        filler = self._made(tokens)
        filler = self._channel.recorded_filler() or filler
        if self._channel.can_tell and not answered:
            exchange = self._channel.tell(filler)
        else:
            exchange = self._channel.ask("", "filler", filler.message, tokens=filler.message_tokens)
        if self._channel.transcript.position == before:
            raise ConversationOver("the filler adds no tokens, so no wait would ever end. Use another --ltm-filler")
        return exchange

    def messages(self, number: int) -> Sequence[str]:
        """Return the messages that tell one exchange of the history: parts that the agent takes, or the exchange."""
        past = self.history[number]
        if self._shows(past):
            return (past.pictured,)
        if self._channel.can_tell:
            return (past.message,)
        return parts(past.asked, self._channel.max_message_tokens, self._count)

    def tell(self, number: int, message: str) -> Exchange:
        """Tell one exchange of the history by one of its messages; what has a hole is no history: then it is over."""
        past = self.history[number]
        try:
            if self._shows(past):
                exchange = self._channel.ask("", "history", message, images=past.images)
            elif self._channel.can_tell:
                exchange = self._channel.tell(FillerExchange(message, past.reply), history=past.id)
            else:
                exchange = self._channel.ask("", "history", message)
        except AgentFault as fault:
            raise ConversationOver(f"the agent did not take {past.id} of the history: {fault}") from fault
        for name in (past.id, *past.holds):
            self.told[name] = (*self.told.get(name, ()), exchange.number)
        if "ShowsRetrieval" in self._channel.powers:
            self._texts.add(past, message)
        return exchange

    def _shows(self, past: PastExchange) -> bool:
        """Return whether an exchange is sent with its photos: nobody can be told of what he has to see."""
        return bool(past.images) and "AcceptsImages" in self._channel.powers

    def _made(self, tokens: int) -> FillerExchange:
        try:
            filler: object = self._filler.make(tokens, self._channel.max_message_tokens)
        except Exception as error:  # a filler may come from the user
            raise ConversationOver(f"the filler failed with {type(error).__name__}: {error}") from error
        if isinstance(filler, FillerExchange):
            return filler
        raise ConversationOver(f"the filler failed with FillerError: make() returns a FillerExchange, not {filler!r}")
