"""What a memory did: the operations that an agent reports, and what is measured of them."""

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
    """What became of one fact that was told."""

    needle: int
    """The exchange that told it."""
    value: str
    """What a record must have; of a fact that was withdrawn "" ."""
    subject: str = ""
    """What it is about; "" where nobody says: then its value is the whole message."""
    change: Change = "new"
    lag: int | None = None
    """After how many exchanges a record had it; None: never."""
    known: bool = True
    """Whether that can be told: not of a message whose records have other words, where nobody says its value."""
    rank: int | None = None
    """Its place among what was found for the last question about it; 0: not there, None: not asked, or not written."""


class MemoryResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a memory did with what one example told; each pair is how often, and of how many."""

    facts: tuple[FactMemory, ...] = ()
    stale: tuple[int, int] = (0, 0)
    """Questions on a value that the memory had replaced, for which the old one was found."""
    deleted: tuple[int, int] = (0, 0)
    """Questions after something was withdrawn, for which it was found; records found that had been deleted."""
    duplicated: tuple[int, int] = (0, 0)
    """Facts that were told again, of which memory then had more records than one."""
    invented: tuple[int, int] = (0, 0)
    """Records, written while the example spoke, with a name or a number that nobody had said."""
    writes: tuple[int, int] = (0, 0)
    """Operations that write, and the example's exchanges."""
    lost: Lost = ""
    """Where a lost mark was lost; "" where none was, or that cannot be told."""


class MemoryLedger(Struct):
    """All operations of a conversation."""

    records: dict[str, list[tuple[int, str | None]]] = field(default_factory=dict)
    """By id what a record said from which exchange on; None: it is deleted."""
    found: dict[int, list[MemoryOperation]] = field(default_factory=dict)
    """By exchange, best first."""
    writes: dict[int, list[str]] = field(default_factory=dict)
    """By exchange the texts that were written; "" of a deletion."""
    first_said: dict[str, int] = field(default_factory=dict)
    """By word the exchange that said it first, as far as `_read`."""
    is_mute: bool = False
    """Something was written of which nobody says what it says."""
    _read: int = 0

    @property
    def hides_writes(self) -> bool:
        """Whether it was written what nobody says: what was found must have been, and records say something."""
        return self.is_mute or (bool(self.found) and not self.writes)

    @property
    def is_known(self) -> bool:
        """Whether anybody says what the memory does."""
        return bool(self.writes or self.found)

    def add(self, exchange: int, operations: Iterable[MemoryOperation]) -> None:
        """Go on by what was done at an exchange."""
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
        """Return what a record said last up to an exchange; None where it was not there, or deleted."""
        texts = [
            text for number, text in self.records.get(record, ()) if number <= exchange
        ]
        return texts[-1] if texts else None

    def holders(self, values: Collection[str], exchange: float = inf) -> list[str]:
        """Return the ids of the records that have one of these values now, or at an exchange."""
        holders = []
        for record in self.records:
            text = self.text_at(record, exchange)
            if text is not None and any(has_value(text, value) for value in values):
                holders.append(record)
        return holders

    def hear(self, transcript: Transcript) -> None:
        """Know the words of all that was said."""
        for exchange in transcript[self._read :]:
            for word in plain_words(f"{exchange.message} {exchange.raw_reply}"):
                self.first_said.setdefault(word, exchange.number)
                self.first_said.setdefault(word.removesuffix("s"), exchange.number)
        self._read = len(transcript)
