"""HeldAgent: the agent of one conversation, made when it is first needed and kept where the conversation is."""

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
    """Talks to one agent; whatever goes wrong there is an AgentFault."""

    agent: Any
    capabilities: Capabilities
    max_message_tokens: int

    @property
    def lost(self) -> Usage | None:
        """What failed attempts used, in the last call of `ask` or `tell`."""

    @property
    def saves_cheaply(self) -> bool:
        """Whether saving takes less time in all than talking does."""

    def ask(
        self,
        message: str,
        images: Sequence[str] = (),
        user: str = "",
        *,
        alone: bool = False,
        tools: Tools | None = None,
    ) -> Reply:
        """Return the agent's reply; `user`: whose message it is. `alone`: have it leave no trace by itself.

        `tools`: what it may call before it replies.
        """

    def compact(self) -> Reply:
        """Have the agent compact; return the summary that it continues from."""

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        """Tell an exchange, and return what that took as a reply without a text."""

    def save(self, keep: Callable[[bytes], object] = ...) -> bytes:
        """Return the agent's state, put where it is kept by `keep`."""

    def load(self, state: bytes) -> None:
        """Put the agent back into a state."""

    def reset(self) -> None:
        """Have the agent forget everything."""

    def tell_time(self, now: datetime) -> None:
        """Tell the time, if the agent wants to know."""

    def announce(self, example: str) -> None:
        """Say whose message comes next, if the agent wants to know."""

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Hand a control what full marks ask for in reply to the next message."""

    def retrieved(self) -> tuple[str, ...] | None:
        """Return what the agent retrieved for its last reply, if it shows that."""

    def in_context(self) -> tuple[str, ...]:
        """Return what stood before the agent for its last reply anyway, as far as it shows that."""

    def settle(self) -> None:
        """Wait until what the agent was told can be found, if it says when that is."""

    def written(self) -> tuple[MemoryOperation, ...]:
        """Return what the agent's memory did since this was last asked, if it shows that."""

    def delete(self, record: str) -> None:
        """Have the agent delete a record of its memory."""

    def close(self) -> str | None:
        """Let the agent go; returns a notice if it would not go quietly."""


class Checkpoints:
    """States in a folder, `<exchange>.bin`; without a folder the last ones are held in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[int, bytes] = {}
        """By exchange; the state itself where there is no folder."""
        if folder is not None and folder.is_dir():
            self._held = {
                int(path.stem): b""
                for path in folder.glob("*.bin")
                if path.stem.isdecimal()
            }

    @property
    def is_empty(self) -> bool:
        """Whether no state is kept."""
        return not self._held

    def has_state(self, number: int) -> bool:
        """Return whether the state after an exchange is kept."""
        return number in self._held

    def keep_state(self, number: int, state: bytes) -> None:
        """Keep the state after an exchange, and forget all but the last two; DiskFault if that cannot be."""
        if self._folder is not None:
            try:
                self._folder.mkdir(exist_ok=True)
            except OSError as error:
                raise disk_fault(self._folder, error) from error
            write_whole(self._folder / f"{number}.bin", state)
        # Written before older ones go: a process that is killed in between has the
        # state that it needs.
        self._held[number] = b"" if self._folder is not None else state
        # Two are kept: that of the last exchange in the journal, and the one that was
        # about to get there.
        for old in sorted(self._held)[:-2]:
            del self._held[old]
            if self._folder is not None:
                (self._folder / f"{old}.bin").unlink(missing_ok=True)

    def state(self, number: int) -> bytes:
        """Return the state after an exchange that is kept."""
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
    """What a journal knows of an agent that need not be there."""

    capabilities: Capabilities
    max_message_tokens: int


class HeldAgent:
    """An agent and what it has heard; one that is not where the conversation is, is restored.

    `known`: of the recorded conversation that it resumes. A Checkpointable agent is
    saved in `checkpoints`; `bill`: what telling it again takes is lost.
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
        """What was said in the conversation, also what is yet to come of a record."""
        self._line: AgentLine | None = None
        self._first: bytes | None = None
        """The state before the first message."""
        self._used = False
        """The agent has heard something since it was made."""
        # What is recorded was said to another process's agent; this one has heard
        # nothing of it.
        self._behind = known is not None
        self._strayed = False
        """All that keeps the agent from being where the conversation is are questions meant to be asked alone."""

    @property
    def line(self) -> AgentLine:
        """What talks to the agent; AgentError if the agent cannot be made."""
        if self._line is None:
            self._line = self._make()
        return self._line

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can do beyond replying."""
        return (self._known or self.line).capabilities

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return (self._known or self.line).max_message_tokens

    @property
    def is_ready(self) -> bool:
        """Whether it is where the conversation is, or one that was made and has nothing to be saved."""
        fresh = (
            not self._used and self._line is not None and not self.capabilities.saves
        )
        return not self._behind and (self._used or fresh)

    def use(self) -> AgentLine:
        """Return what talks to the agent, which is about to hear something."""
        line = self.line
        self._used = True
        return line

    def save_state(self, number: int) -> None:
        """Keep the state after an exchange, if the agent has any."""
        if self.capabilities.saves:
            self.line.save(partial(self._checkpoints.keep_state, number))

    def save_if_cheap(self, number: int) -> None:
        """Do the same unless it is cheaper to tell it again than to save it.

        Saving takes no more time in all than talking does, else a long history would
        cost the square of its length.
        """
        if self.capabilities.saves and (
            self._checkpoints.is_empty or self.line.saves_cheaply
        ):
            self.save_state(number)

    def restore(self) -> None:
        """Have an agent there that has heard what was said, and nothing else; ConversationOver if that cannot be."""
        try:
            line = self.line
        except AgentError as error:
            raise ConversationOver(str(error)) from error
        if self._behind:
            try:
                can = self.capabilities
                exchanges = self.said.remembered
                strayed = self._strayed or len(exchanges) < len(self.said)
                # A state holds questions asked alone, too, unless the agent can be put
                # back before them.
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
                # it will be told after the first message
                self._first = line.save()
        self._behind = False
        self._strayed = False
        self._used = True
        with contextlib.suppress(AgentFault):
            self.line.written()  # what telling it all again wrote is known

    def stray(self) -> None:
        """Have the agent stray: keep the state that it is put back to; without one it is told all again."""
        if self.capabilities.rewinds:
            remembered = self.said.remembered
            if not remembered:
                self._first = self.line.save() if self._first is None else self._first
            elif not self._checkpoints.has_state(remembered[-1].number):
                self._checkpoints.keep_state(remembered[-1].number, self.line.save())
        self._behind = self._strayed = True

    def tell(self, message: str, reply: str, now: datetime, user: str = "") -> Reply:
        """Tell an exchange at a time; return what that took."""
        line = self.use()
        line.tell_time(now)
        try:
            return line.tell(message, reply, user)
        finally:
            self._bill.lose(line.lost)

    def note_fault(self, fault: AgentFault) -> None:
        """Have it restored where it may have heard one that it did not reply to."""
        can = self.capabilities
        self._behind |= can.saves or (fault.interrupted and "AcceptsHistory" in can)
        self._strayed = False

    def renew(self) -> str | None:
        """Let the agent go, saved; the next message goes to another. One that has heard nothing stays as it is.

        Returns a notice if it would not go quietly.
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
        """Let the agent go, if it was ever there; returns a notice if it would not go quietly."""
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
        # What was told can be told again, so the state may be older than the last
        # exchange.
        while (
            remembered[place].told
            and place
            and not checkpoints.has_state(remembered[place].number)
        ):
            place -= 1
        number = remembered[place].number
        if not checkpoints.has_state(number) and tells:
            self._tell_all()
            return
        if not checkpoints.has_state(number) or (
            remembered[-1].number != number and not tells
        ):
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
