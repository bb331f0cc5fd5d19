"""Dialogue generation: what a speaker says next, with photos as captions (Maharana et al., 2024).

The turns are drawn by the seed. The agent is asked in the middle of the history, when the turn before was the last
thing it was told; where a message holds more than a turn, it is asked before the message that holds the turn, and is
told in the question what has been said in the session up to it.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from pytest_ltm._scenario import Ask, Definition, Wait
from pytest_ltm._suite import SuiteEntry
from pytest_ltm.datasets.locomo._delivery import said
from pytest_ltm.datasets.locomo._noted import NOTED, held_by, session_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._history import PastExchange
    from pytest_ltm.datasets.locomo._schema import Sample, Session, Turn

TURNS = 5
"""So many turns of a conversation are asked for."""
WORDS = 5
"""A turn of fewer words says too little to be guessed."""
PASS_MARK = 0.15
"""The ROUGE-L from which a turn passes: a line of our own, for the paper draws none."""
VERSION = 1
"""Of the wording and the draw."""
_TURN = re.compile(r"\w+")


class NextTurns:
    """Some turns of each conversation; examples are labelled `D<session>_<turn>`."""

    entry = SuiteEntry(
        scenario="_locomo_dialogue", name="dialogue", pass_mark=PASS_MARK, parameters={"version": VERSION}
    )

    def __init__(self, *, turns: int = TURNS, seed: int = 0, telling: str = "turns", embeddings: str = "") -> None:
        self._turns, self._seed = turns, seed
        self._noted, self._embeddings = telling in NOTED, embeddings

    def examples(self, sample: Sample) -> list[str]:
        """Return the turns that are drawn, in their order; all that can be asked for if they are fewer."""
        able = [
            turn.id
            for session in sample.sessions
            for turn in session.turns[1:]
            if len(_TURN.findall(turn.text)) >= WORDS
        ]
        rng = random.Random(f"locomo dialogue {self._seed} {sample.id}")
        drawn = set(rng.sample(able, min(self._turns, len(able))))
        return [one.replace(":", "_") for one in able if one in drawn]

    def definition(self, sample: Sample, past: Sequence[PastExchange], example: str) -> Definition:
        """Return the question for one turn."""
        name = example.replace("_", ":")
        session = next(one for one in sample.sessions if any(turn.id == name for turn in one.turns))
        ids = [turn.id for turn in session.turns]
        place = ids.index(name)
        told = past[: self._before(sample, past, session, ids[:place])]
        heard = {one for exchange in told for one in exchange.ids}
        turn, earlier = session.turns[place], session.turns[:place]
        recent = [one for one in earlier if self._noted or one.id not in heard] or [earlier[-1]]
        return Definition(
            steps=(Wait(history=len(told)), Ask(_asked(session, turn, recent), self._about(told, earlier))),
            expected={"said": turn.text, "photo": turn.caption},
            parameters={"sample": sample.id, "speaker": turn.speaker, "turn": name, "embeddings": self._embeddings},
        )

    def _before(self, sample: Sample, past: Sequence[PastExchange], session: Session, earlier: Sequence[str]) -> int:
        """Return how many exchanges of the history hold nothing of the turn or of what follows it."""
        order = {one.number: place for place, one in enumerate(sample.sessions)}
        here, known = order[session.number], set(earlier)
        return sum(
            order[session_of(one)] < here
            or (not self._noted and session_of(one) == session.number and known.issuperset(one.ids))
            for one in past
        )

    def _about(self, told: Sequence[PastExchange], earlier: Sequence[Turn]) -> tuple[str, ...]:
        """Return the turn before, where it was told."""
        last = earlier[-1].id
        return () if self._noted or not any(last in one.ids for one in told) else held_by(told, [last])


def _asked(session: Session, turn: Turn, recent: Sequence[Turn]) -> str:
    lines = "\n".join(said(one) for one in recent)
    return (
        f"In the session of {session.when}, this was said last:\n{lines}\n\nWhat does {turn.speaker} say next? Write "
        f"only that, as {turn.speaker} would, by all that you have read. For a photo that is shared write what it "
        "shows, as in `[shares a photo: a red bicycle]`."
    )
