"""HeldAgent: the agent of one conversation, created on first use and kept in step with the conversation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from pytest_ltm._core.engine.agent_bill import AgentBill
from pytest_ltm._core.model.agent import (
    NOT_RESTORABLE,
    Capabilities,
    ExpectedReply,
    MemoryOperation,
    Reply,
    Usage,
)
from pytest_ltm._core.model.tools import Tools
from pytest_ltm._core.model.transcript import Exchange, Transcript
from pytest_ltm._core.storage.disk import disk_fault, read_regular, write_whole
from pytest_ltm._core.storage.errors import AgentError, AgentFault, ConversationOver


class AgentLine(Protocol):
    """Talks to one agent; every failure there is an AgentFault."""

    agent: Any
    capabilities: Capabilities
    max_message_tokens: int

    @property
    def is_told_directly(self) -> bool:
        """Whether `tell` calls code of ours, which prints and reports nothing."""

    @property
    def lost(self) -> Usage | None:
        """The usage of failed attempts in the last call of `ask` or `tell`."""

    @property
    def saves_cheaply(self) -> bool:
        """Whether saving has taken less time in total than talking."""

    def ask(
        self,
        message: str,
        images: Sequence[str] = (),
        user: str = "",
        *,
        alone: bool = False,
        tools: Tools | None = None,
    ) -> Reply:
        """Return the agent's reply.

        `user`: the sender. `alone`: the agent should leave no trace of the message on
        its own. `tools`: the tools that it may call before it replies.
        """

    def compact(self) -> Reply:
        """Make the agent compact its context; return the summary that it continues from."""

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        """Tell the agent an exchange, and return the usage as a reply without text."""

    def save(self, keep: Callable[[bytes], object] = ...) -> bytes:
        """Return the agent's state, after `keep` has stored it."""

    def load(self, state: bytes) -> None:
        """Restore the agent to a state."""

    def reset(self) -> None:
        """Make the agent forget everything."""

    def tell_time(self, now: datetime) -> None:
        """Tell the agent the time, if it supports that."""

    def announce(self, example: str) -> None:
        """Tell the agent whose message comes next, if it supports that."""

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Give a control the expected replies to the next message."""

    def retrieved(self) -> tuple[str, ...] | None:
        """Return the texts that the agent retrieved for its last reply; None if it does not show them."""

    def in_context(self) -> tuple[str, ...]:
        """Return the non-retrieved part of the agent's context at its last reply, as far as it shows it."""

    def settle(self) -> None:
        """Wait until everything told to the agent can be found, if the agent reports that."""

    def written(self) -> tuple[MemoryOperation, ...]:
        """Return the memory operations since the last call, if the agent shows them."""

    def delete(self, record: str) -> None:
        """Make the agent delete a record of its memory."""

    def close(self) -> str | None:
        """Close the agent; return a notice if closing failed."""


class Checkpoints:
    """The agent's last states, as `<exchange>.bin` in a folder, or in memory if there is no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[int, bytes] = {}
        """The exchanges that have a state; the value is the state itself if there is no folder."""
        if folder is not None:
            self._held = {
                int(path.stem): b""
                for path in folder.glob("*.bin")
                if path.stem.isdecimal()
            }

    @property
    def is_empty(self) -> bool:
        """Whether there are no states."""
        return not self._held

    def has_state(self, number: int) -> bool:
        """Return whether the state after an exchange is kept."""
        return number in self._held

    def keep_state(self, number: int, state: bytes) -> None:
        """Keep the state after an exchange and delete all but the last two; DiskFault if it cannot be written."""
        if self._folder is not None:
            if not self._held:
                try:
                    self._folder.mkdir(exist_ok=True)
                except OSError as error:
                    raise disk_fault(self._folder, error) from error
            write_whole(self._folder / f"{number}.bin", state)
        # Written before older ones are deleted, so a process killed in between still
        # has the state that it needs.
        self._held[number] = b"" if self._folder is not None else state
        # Two are kept: one for the last exchange in the journal, one for the exchange
        # about to be written.
        for old in sorted(self._held)[:-2]:
            del self._held[old]
            if self._folder is not None:
                (self._folder / f"{old}.bin").unlink(missing_ok=True)

    def state(self, number: int) -> bytes:
        """Return the state that was kept after an exchange."""
        if self._folder is None:
            return self._held[number]
        try:
            return read_regular(self._folder / f"{number}.bin")
        except OSError as error:
            raise disk_fault(self._folder / f"{number}.bin", error) from error


NOT_COMPACTED_AGAIN = (
    "the agent has compacted, and its context cannot be told again: it is not Checkpointable "
    "(save, load)"
)


class RecordedAgent(Struct, frozen=True):
    """What a journal records of an agent, so that the agent need not exist."""

    capabilities: Capabilities
    max_message_tokens: int


class HeldAgent:
    """An agent and what it has heard; it is restored when it is out of step with the conversation.

    `known`: the agent of the recorded conversation that it resumes. The states of a
    Checkpointable agent are kept in `checkpoints`; `bill` records the usage of repeated
    tellings as lost.
    """

    def __init__(
        self,
        make: Callable[[], AgentLine],
        known: RecordedAgent | None,
        checkpoints: Checkpoints,
        bill: AgentBill,
    ) -> None:
        self._make = make
        self._known = known
        self._checkpoints = checkpoints
        self._bill = bill
        self.said = Transcript()
        """The conversation's exchanges, including recorded ones that are still ahead."""
        self._line: AgentLine | None = None
        self._first: bytes | None = None
        """The state before the first message."""
        self._used = False
        """The agent has heard something since it was created."""
        # The recorded exchanges went to another process's agent; this one has not heard
        # them.
        self._behind = known is not None
        self._strayed = False
        """Only questions asked alone separate the agent from the conversation."""

    @property
    def line(self) -> AgentLine:
        """The connection to the agent; AgentError if the agent cannot be created."""
        if self._line is None:
            self._line = self._make()
        return self._line

    @property
    def capabilities(self) -> Capabilities:
        """The agent's capabilities beyond replying."""
        return (self._known or self.line).capabilities

    @property
    def max_message_tokens(self) -> int:
        """The maximum length of one message."""
        return (self._known or self.line).max_message_tokens

    @property
    def is_ready(self) -> bool:
        """Whether the agent is in step with the conversation, or new with no state to save."""
        fresh = (
            not self._used and self._line is not None and not self.capabilities.saves
        )
        return not self._behind and (self._used or fresh)

    def use(self) -> AgentLine:
        """Return the connection to the agent, which is about to hear something."""
        line = self.line
        self._used = True
        return line

    def save_state(self, number: int) -> None:
        """Keep the state after an exchange, if the agent can be saved."""
        if self.capabilities.saves:
            self.line.save(partial(self._checkpoints.keep_state, number))

    def save_if_cheap(self, number: int) -> None:
        """Keep the state after an exchange, unless telling it again is cheaper than saving.

        Saving takes no more time in total than talking; otherwise the cost of a long
        history would be quadratic.
        """
        if self.capabilities.saves and (
            self._checkpoints.is_empty or self.line.saves_cheaply
        ):
            self.save_state(number)

    def restore(self) -> None:
        """Bring the agent in step: it has heard the conversation and nothing else; ConversationOver if impossible."""
        try:
            line = self.line
        except AgentError as error:
            raise ConversationOver(str(error)) from error
        if self._behind:
            try:
                can = self.capabilities
                exchanges = self.said.remembered
                strayed = self._strayed or len(exchanges) < len(self.said)
                # A state includes questions asked alone, too, unless the agent can be
                # put back before them.
                if can.rewinds or (can.saves and not strayed):
                    self._load()
                elif "AcceptsHistory" in can and "Stateless" not in can:
                    if any(exchange.kind == "compact" for exchange in exchanges):
                        raise ConversationOver(NOT_COMPACTED_AGAIN)
                    self._tell_all()
                elif exchanges and not can.restorable:
                    raise ConversationOver(NOT_RESTORABLE)
            except AgentError as error:
                raise ConversationOver(
                    f"the agent cannot be restored to where it was: {error}"
                ) from error
        elif not self._used and self.capabilities.saves:
            with contextlib.suppress(AgentFault):
                # The error will be reported after the first message.
                self._first = line.save()
        self._behind = False
        self._strayed = False
        self._used = True
        with contextlib.suppress(AgentFault):
            self.line.written()  # discards the operations of the repeated telling

    def stray(self) -> None:
        """Mark the agent as out of step, and keep the state to restore; without one it is told everything again."""
        if self.capabilities.rewinds:
            remembered = self.said.remembered
            if not remembered:
                self._first = self.line.save() if self._first is None else self._first
            elif not self._checkpoints.has_state(remembered[-1].number):
                self._checkpoints.keep_state(remembered[-1].number, self.line.save())
        self._behind = self._strayed = True

    def tell(self, message: str, reply: str, now: datetime, user: str = "") -> Reply:
        """Tell the agent an exchange at a given time; return a reply with the usage."""
        line = self.use()
        line.tell_time(now)
        try:
            return line.tell(message, reply, user)
        finally:
            self._bill.lose(line.lost)

    def note_fault(self, fault: AgentFault) -> None:
        """Mark the agent for restoring if it may have heard a message that it did not reply to."""
        can = self.capabilities
        self._behind |= can.saves or (fault.interrupted and "AcceptsHistory" in can)
        self._strayed = False

    def renew(self) -> str | None:
        """Save and close the agent; the next message goes to a new one. An unused agent is kept.

        Returns a notice if closing failed.
        """
        if self._line is None or not self._used or not self.said.remembered:
            return None
        saves = self.capabilities.saves
        last = self.said.remembered[-1].number
        if saves and not self._checkpoints.has_state(last):
            self._checkpoints.keep_state(last, self._line.save())
        self._behind = saves and "KeepsUsers" not in self.capabilities
        self._used = False
        notice = self._line.close()
        self._line = None
        return notice

    def close(self) -> str | None:
        """Close the agent, if it was created; return a notice if closing failed."""
        return None if self._line is None else self._line.close()

    def _load(self) -> None:
        remembered = self.said.remembered
        checkpoints = self._checkpoints
        tells = "AcceptsHistory" in self.capabilities
        if not remembered:
            if self._first is not None:
                self.line.load(self._first)
            return
        place = len(remembered) - 1
        # Told exchanges can be told again, so the state may be older than the last
        # exchange.
        while (
            remembered[place].told
            and place
            and not checkpoints.has_state(remembered[place].number)
        ):
            place -= 1
        number = remembered[place].number
        is_kept = checkpoints.has_state(number)
        if tells and not is_kept:
            self._tell_all()
            return
        if not is_kept or (remembered[-1].number != number and not tells):
            raise AgentError(
                f"there is no checkpoint of exchange {remembered[-1].number}"
            )
        self.line.load(checkpoints.state(number))
        self._tell_again(remembered[place + 1 :])

    def _tell_all(self) -> None:
        if self._strayed:
            self.line.reset()
        elif self._used and self._line is not None:
            self._line.close()
            self._line = None
        self._tell_again(self.said.remembered)

    def _tell_again(self, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            took = self.tell(
                exchange.message, exchange.raw_reply, exchange.now, exchange.user
            )
            self._bill.lose(took.usage)
