"""MemoryLedger: the operations that an agent's memory reports; and the results measured from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf
from typing import Literal

from msgspec import Struct, field

from pytest_ltm._core.model.agent import MemoryOperation
from pytest_ltm._core.model.transcript import Transcript
from pytest_ltm._core.model.words import has_value, plain_words

Change = Literal["new", "update", "withdrawal"]
Lost = Literal["", "never written", "written, not found", "found, not used"]


class FactMemory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the memory handled one fact that was told."""

    needle: int
    """The exchange that told it."""
    value: str
    """The text that a record must contain; "" for a withdrawn fact."""
    subject: str = ""
    """Its subject; "" if unknown: then its value is the whole message."""
    change: Change = "new"
    lag: int | None = None
    """The number of exchanges until a record contained it; None: never."""
    known: bool = True
    """Whether that is known; not if records use other words than the message and the value is not given."""
    rank: int | None = None
    """Its rank among the results for the last question about it; 0: not found, None: not asked, or not stored."""


class MemoryResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory's results for one example; each pair is a count and its total."""

    facts: tuple[FactMemory, ...] = ()
    stale: tuple[int, int] = (0, 0)
    """Questions about a replaced value for which the old value was found."""
    deleted: tuple[int, int] = (0, 0)
    """Questions after a withdrawal for which the withdrawn value was found; deleted records that were found."""
    duplicated: tuple[int, int] = (0, 0)
    """Facts told again of which the memory then had more than one record."""
    invented: tuple[int, int] = (0, 0)
    """Records, written during the example, with a name or number that never occurred in the conversation."""
    writes: tuple[int, int] = (0, 0)
    """Operations that write, and the example's exchanges."""
    lost: Lost = ""
    """The stage at which a mark was lost; "" if none was, or if the stage is unknown."""


class MemoryLedger(Struct):
    """All memory operations of a conversation."""

    records: dict[str, list[tuple[int, str | None]]] = field(default_factory=dict)
    """The texts of each record by id, with the exchange from which each applies; None: deleted."""
    found: dict[int, list[MemoryOperation]] = field(default_factory=dict)
    """Search results by exchange, best first."""
    writes: dict[int, list[str]] = field(default_factory=dict)
    """The written texts by exchange; "" for a deletion."""
    first_said: dict[str, int] = field(default_factory=dict)
    """For each word, the first exchange that contains it, up to `_read`."""
    is_mute: bool = False
    """Something was written without reporting its text."""
    _read: int = 0

    @property
    def hides_writes(self) -> bool:
        """Whether some written texts are unknown: a text was not reported, or results appear without any write."""
        return self.is_mute or (bool(self.found) and not self.writes)

    @property
    def is_known(self) -> bool:
        """Whether any memory operation was reported."""
        return bool(self.writes or self.found)

    def add(self, exchange: int, operations: Iterable[MemoryOperation]) -> None:
        """Add the operations of an exchange."""
        for operation in operations:
            number = operation.exchange
            if number is None:
                number = exchange
            if operation.what == "found":
                self.found.setdefault(number, []).append(operation)
                continue
            is_deletion = operation.what == "deleted"
            self.is_mute |= operation.text is None and not is_deletion
            texts = self.writes.setdefault(number, [])
            texts.append(operation.text or "")
            name = operation.record or f"{number}.{len(texts)}"
            text = None if is_deletion else operation.text
            self.records.setdefault(name, []).append((number, text))

    def text_at(self, record: str, exchange: float) -> str | None:
        """Return a record's latest text at an exchange; None if it did not exist or was deleted."""
        latest = None
        for number, text in self.records.get(record, ()):
            if number <= exchange:
                latest = text
        return latest

    def holders(self, values: Collection[str], exchange: float = inf) -> list[str]:
        """Return the ids of the records that have one of these values now, or at an exchange."""
        holders = []
        for record in self.records:
            text = self.text_at(record, exchange)
            if text is not None and any(has_value(text, value) for value in values):
                holders.append(record)
        return holders

    def hear(self, transcript: Transcript) -> None:
        """Index the words of the transcript."""
        for exchange in transcript[self._read :]:
            for word in plain_words(f"{exchange.message} {exchange.raw_reply}"):
                self.first_said.setdefault(word, exchange.number)
                self.first_said.setdefault(word.removesuffix("s"), exchange.number)
        self._read = len(transcript)
