"""One conversation made from templates: world, sessions, questions, all from one source of chance."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets.locomo.generate import _texts
from pytest_ltm.datasets.locomo.generate._export import exported
from pytest_ltm.datasets.locomo.generate._outline import SHORTEST, outlines
from pytest_ltm.datasets.locomo.generate._questions import questions
from pytest_ltm.datasets.locomo.generate._talk import sessions
from pytest_ltm.datasets.locomo.generate._weave import weave

if TYPE_CHECKING:
    from pytest_ltm.datasets.locomo.generate._asked import Asked
    from pytest_ltm.datasets.locomo.generate._graph import World
    from pytest_ltm.datasets.locomo.generate._talk import Said

TURNS, SESSIONS = 588, 27
"""Of a published conversation, in the mean."""
TURNS_FOR_A_QUESTION = 3
_TOKENS_OF_A_TURN = 19
_TOKENIZER = "o200k_base"
_OFF = 0.02
_TRIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long a conversation is to be; DatasetError for what cannot be."""

    sessions: int = SESSIONS
    turns: int = TURNS
    """Of the whole conversation."""
    questions: int | None = None
    """At most; None: one for every three turns, as in the published file."""

    def __post_init__(self) -> None:
        if self.sessions < 1 or self.turns < SHORTEST * self.sessions:
            raise DatasetError(
                f"{self.turns} turns cannot be shared among {self.sessions} sessions: each has {SHORTEST} at least. "
                f"Ask for more turns or fewer sessions"
            )
        if self.questions is not None and self.questions < 0:
            raise DatasetError(f"cannot make {self.questions} questions")


@dataclass(frozen=True, slots=True)
class Generated:
    """A conversation with all that is known about it."""

    id: str
    world: World
    sessions: tuple[tuple[Said, ...], ...]
    questions: tuple[Asked, ...]

    @property
    def turns(self) -> tuple[Said, ...]:
        """All turns in order."""
        return tuple(said for session in self.sessions for said in session)

    def as_json(self) -> dict[str, Any]:
        """Return it as a LoCoMo file has it."""
        return exported(self.id, self.world, self.sessions, self.questions)


def of_tokens(tokens: int, sessions: int | None, rng: random.Random) -> Size:
    """Return the size with which a conversation has about as many tokens; as many sessions as fit unless given."""
    turns = round(tokens / _TOKENS_OF_A_TURN)
    fitting = max(1, round(turns * SESSIONS / TURNS)) if sessions is None else sessions
    for _ in range(_TRIES):
        size = Size(sessions=fitting, turns=max(turns, SHORTEST * fitting), questions=0)
        probe = random.Random()
        probe.setstate(rng.getstate())
        counted = tokens_of(conversation("", size, probe))
        if abs(counted - tokens) <= _OFF * tokens:
            break
        turns = round(turns * tokens / counted)
    return replace(size, questions=None)


def tokens_of(made: Generated) -> int:
    """Return the tokens of what is said, speakers and captions included."""
    from pytest_ltm._tokens import counter  # noqa: PLC0415 - heavy

    return counter(_TOKENIZER).count("\n".join(f"{one.speaker}: {one.text} {one.caption}" for one in made.turns))


def conversation(name: str, size: Size, rng: random.Random) -> Generated:
    """Return a new conversation with this id."""
    first, second = rng.sample(_texts.names(), 2)
    plan = outlines(size.sessions, size.turns, rng)
    world = weave((first, second), plan, rng)
    said = sessions(world, plan, rng)
    wanted = size.turns // TURNS_FOR_A_QUESTION if size.questions is None else size.questions
    asked = questions(world, [turn for session in said for turn in session], wanted, rng)
    return Generated(name, world, tuple(map(tuple, said)), tuple(asked))
