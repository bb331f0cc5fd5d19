"""The figures of a card, computed only from the script and the record of what was served."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

from pytest_ltm.agents.memory.reading import MemoryHit, NoteReading, Utterance
from pytest_ltm.agents.memory.thinker import Replying
from pytest_ltm.language.proof import prove
from pytest_ltm.lifecycle.cards.play import Record, Served
from pytest_ltm.lifecycle.cards.script import FactLife, Script
from pytest_ltm.lifecycle.told_facts import Fact

Rate: TypeAlias = "tuple[int, int] | None"
"""The count and the total; None if it could not be measured."""
MEANINGS: Mapping[str, str] = {
    "kept": "facts told once that any record has",
    "updated": "replaced facts whose new value any record has",
    "found@1": "facts in memory that stand first for their question",
    "found@5": "... among the first five",
    "found@10": "... among the first ten",
    "in_other_words": "... among the first ten for a question that shares few words",
    "stale_served": "replaced facts whose old value is still served as current",
    "deleted_served": "deleted facts that are still served",
    "duplicated": "facts told twice that more than one record has",
    "crossed": "facts that are served to the other user",
}
"""What each figure of a card counts."""
STAGES = ("write", "find", "use")
"""The stages at which a mark may be lost."""
_READING = NoteReading()


class CardFigures:
    """The figures of one row."""

    def __init__(self, script: Script, record: Record) -> None:
        self._record = record
        self._lives = script.lives_of(*record.kept)

    @cached_property
    def rates(self) -> dict[str, Rate]:
        """The figures by name."""
        rates: dict[str, Rate] = {
            "kept": self._share_kept(is_replaced=False),
            "updated": self._share_kept(is_replaced=True),
            "found@1": self._share_found("question", 1),
            "found@5": self._share_found("question", 5),
            "found@10": self._share_found("question", 10),
            "in_other_words": self._share_found("other words", 10),
            "stale_served": self._share_stale(),
            "deleted_served": self._share_deleted(),
            "duplicated": self._share_duplicated(),
            "crossed": self._share_crossed(),
        }
        for name in self._record.lacks:
            rates[name] = None
        return rates

    @cached_property
    def lost_marks(self) -> dict[str, str]:
        """The stage at which the mark was lost, for each fact whose question was not answered."""
        stages = {life.name: self._stage(life) for life in self._current_lives}
        return {name: stage for name, stage in stages.items() if stage}

    @property
    def marks(self) -> dict[str, int]:
        """The total number of marks, and the number lost at each stage."""
        stages = list(self.lost_marks.values())
        counts = {stage: stages.count(stage) for stage in STAGES}
        return {"all": len(self._current_lives), **counts}

    @cached_property
    def _current_lives(self) -> list[FactLife]:
        return [life for life in self._lives if not life.is_withdrawn]

    def _stage(self, life: FactLife) -> str:
        """Return the stage at which the mark of a fact was lost, or "" if it was earned."""
        if not self._is_kept(life):
            return "write"
        served = self._record.served_to(life, "question")
        if not _has(served, life.current):
            return "find"
        return "" if self._is_used(life, served) else "use"

    def _is_used(self, life: FactLife, served: Iterable[Served]) -> bool:
        """Return whether the embedded reader answers with the current value, given what was served."""
        end = self._record.ended_at
        notes = _READING.choose_notes(map(_as_hit, served), end)
        task = Replying(
            message=life.told.question, now=end, notes=notes, reading=_READING
        )
        values = [life.current.value, *([life.told.value] if life.newer else [])]
        proof = prove(task.by_rules(), values, question=life.told.question)
        return proof.state == "asserts" and proof.value == life.current.value

    def _is_kept(self, life: FactLife) -> bool:
        """Return whether a record of the user has the current value, as shown by export or searches."""
        kinds = self._record.kept[life.user]
        if any(_count(texts, life.current) for texts in kinds.values()):
            return True
        return self._is_served(life, life.current)

    def _is_served(self, life: FactLife, fact: Fact) -> bool:
        """Return whether any search of the user finds a fact."""
        for query_kind in ("question", "other words", "own words"):
            if _has(self._record.served_to(life, query_kind), fact):
                return True
        return False

    def _share_kept(self, *, is_replaced: bool) -> Rate:
        lives: list[FactLife] = []
        for life in self._current_lives:
            if (life.newer is not None) == is_replaced:
                lives.append(life)
        return sum(map(self._is_kept, lives)), len(lives)

    def _share_found(self, query_kind: str, k: int) -> Rate:
        lives = [life for life in self._current_lives if self._is_kept(life)]
        found = 0
        for life in lives:
            served = self._record.served_to(life, query_kind)
            found += _has(served[:k], life.current)
        return found, len(lives)

    def _share_stale(self) -> Rate:
        lives = [life for life in self._lives if life.newer and self._was_found(life)]
        return sum(map(self._is_stale, lives)), len(lives)

    def _is_stale(self, life: FactLife) -> bool:
        served = self._record.served_to(life, "question")
        newer_facts = [life.newer] if life.newer else []
        for text in served:
            if not text.is_past and life.told.is_current_in(text.text, *newer_facts):
                return True
        return False

    def _share_deleted(self) -> Rate:
        withdrawn = [life for life in self._lives if life.is_withdrawn]
        lives = list(filter(self._was_found, withdrawn))
        return sum(self._is_served(life, life.told) for life in lives), len(lives)

    def _was_found(self, life: FactLife) -> bool:
        """Return whether the fact was found before its change: otherwise its later absence shows nothing."""
        return _has(self._record.served_to(life, "before"), life.told)

    def _share_duplicated(self) -> Rate:
        repeated = [life for life in self._lives if life.is_repeated]
        lives = list(filter(self._is_kept, repeated))
        return sum(map(self._is_duplicated, lives)), len(lives)

    def _is_duplicated(self, life: FactLife) -> bool:
        served = self._record.served_to(life, "own words")
        copies = _count((text.text for text in served), life.told)
        kinds = self._record.kept[life.user]
        # A summary may repeat a record's text; two records may not.
        counts = [_count(texts, life.told) for texts in kinds.values()]
        return max([copies, *counts]) > 1

    def _share_crossed(self) -> Rate:
        if "crossed" in self._record.lacks:
            return None
        found = crossed = 0
        for life in self._current_lives:
            if _has(self._record.served_to(life, "question"), life.current):
                found += 1
                crossed += _has(self._record.served_to(life, "across"), life.current)
        return crossed, found


def _has(served: Iterable[Served], fact: Fact) -> bool:
    return any(fact.is_in(text.text) for text in served)


def _count(texts: Iterable[str], fact: Fact) -> int:
    return sum(map(fact.is_in, texts))


def _as_hit(served: Served) -> MemoryHit:
    is_reply = served.role == "assistant"
    utterance = Utterance("assistant" if is_reply else "user", served.text, served.at)
    return MemoryHit(served.text, (utterance,))
