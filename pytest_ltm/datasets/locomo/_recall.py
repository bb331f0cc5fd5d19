"""How much of a question's evidence was retrieved: the official recall, and one that reads ids as they are meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_TURN = re.compile(r"D(\d+):(\d+)")
_PART = re.compile(r"D(\d+):(\d+)-D\1:(\d+)")
_SESSION = re.compile(r"(?:S|D|session_)(\d+)")


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of the evidence, 0 to 1; None where there is no evidence to be found."""

    official: float
    """Of the ids as the file has them: malformed ones are never found, and no evidence counts as all of it."""
    repaired: float | None
    """Of the turns that they mean."""
    sessions: float | None
    """Of the sessions that these turns are in."""


def recall(retrieved: Sequence[str], *, cited: Sequence[str], evidence: Sequence[str]) -> Recall:
    """Return the recall of what was retrieved: ids of turns, of parts (`D1:1-D1:9`) or of sessions (`S1`).

    `cited`: the evidence as the file has it; `evidence`: the ids of turns that it means. Session ids compare session
    numbers, as the published evaluation does.
    """
    turns, sessions = _turns(retrieved), _sessions(retrieved)
    whole = bool(retrieved) and not turns
    found = [_official(one) in sessions if whole else one in turns for one in cited]
    meant = dict.fromkeys(_session_of(one) for one in evidence)
    return Recall(
        official=sum(found) / len(found) if found else 1.0,
        repaired=_share(evidence, {one for one in evidence if _session_of(one) in sessions} if whole else turns),
        sessions=_share(list(meant), sessions),
    )


def _turns(retrieved: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for one in retrieved:
        if _TURN.fullmatch(one):
            found.add(one)
        elif part := _PART.fullmatch(one):
            found.update(f"D{part[1]}:{turn}" for turn in range(int(part[2]), int(part[3]) + 1))
    return found


def _sessions(retrieved: Sequence[str]) -> set[str]:
    return {found[1] for one in retrieved for found in [_SESSION.match(one)] if found}


def _official(cited: str) -> str:
    return cited.split(":", maxsplit=1)[0][1:]


def _session_of(turn: str) -> str:
    return turn.partition(":")[0].removeprefix("D")


def _share(wanted: Sequence[str], there: Collection[str]) -> float | None:
    return sum(one in there for one in wanted) / len(wanted) if wanted else None
