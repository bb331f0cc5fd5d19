"""How a LongMemEval history is told: session by session, dated, each round of user and assistant as an exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._history import PastExchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from pytest_ltm.datasets.longmemeval._schema import Session, Turn

OPENING = (
    "I am going to go through our earlier conversations with you, one after the other, each with its date. Remember "
    "what was said; a short acknowledgement will do. Afterwards I will ask you something."
)
"""The message that explains what is to come."""
NOBODY = "(no reply)"
"""What stands for the side of a round on which nobody said anything: a session may begin with the assistant."""


@dataclass(frozen=True, slots=True)
class Round:
    """What the user says and what the assistant replies; either may be several turns, or none."""

    ids: tuple[str, ...]
    """Of its turns: the session's, `_`, the turn's number from 1, as the published retrieval corpora have them."""
    user: str
    assistant: str


def rounds(session: Session) -> Iterator[Round]:
    """Yield the rounds of a session: a new one begins where the user speaks after the assistant."""
    said: list[tuple[str, Turn]] = []
    for number, turn in enumerate(session.turns, start=1):
        if turn.role == "user" and said and said[-1][1].role == "assistant":
            yield _round(said)
            said = []
        said.append((f"{session.id}_{number}", turn))
    if said:
        yield _round(said)


def _round(said: Sequence[tuple[str, Turn]]) -> Round:
    sides = {role: "\n".join(turn.content for _, turn in said if turn.role == role) for role in ("user", "assistant")}
    return Round(tuple(name for name, _ in said), sides["user"], sides["assistant"])


def history(sessions: Sequence[Session]) -> list[PastExchange]:
    """Return the sessions as exchanges, in their order; the first of each has the session's date in front."""
    return [past for place, session in enumerate(sessions) for past in _session(place, session)]


def _session(place: int, session: Session) -> Iterator[PastExchange]:
    for number, one in enumerate(rounds(session)):
        date = f"[{session.when}] " if number == 0 else ""
        user, assistant = one.user or NOBODY, one.assistant or NOBODY
        asked = f"[{session.when}] I said: {user}\nYou said: {assistant}"
        yield PastExchange(f"{place}.{number}", session.at, f"{date}{user}", assistant, asked, one.ids)


def last_date(sessions: Sequence[Session]) -> datetime | None:
    """Return when the last session was, None if there is none."""
    return sessions[-1].at if sessions else None
