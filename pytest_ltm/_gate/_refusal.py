"""Why two sides are not compared, as a text: what differs, and the ways to have them compared all the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._gate._facts import Unequal

_MOST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What a user can do, in the words of whoever compares: an option of pytest, or of a command."""

    common: str
    """Compares the examples that are equal in both."""
    choose_agent: str
    """How to name one agent of several."""
    settings: bool = False
    """The later side is about to be played, so that options can change its plan."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """By scenario the node id of its function, for those that can be deselected."""


def refusal(unequal: Unequal, before: str, ways: Ways) -> str:
    """Return the text."""
    spans = ", ".join(dict.fromkeys(span for span, _ in unequal.places))
    lines = [f"{before} was made with another plan (memory spans that differ: {spans}); 'there' is {before}:"]
    lines += [f"  - {sentence}" for sentence in unequal.sentences[:_MOST]]
    if len(unequal.sentences) > _MOST:
        lines.append(f"  … and {len(unequal.sentences) - _MOST} more")
    return "\n".join([*lines, *_cures(unequal, before, ways)])


def _cures(unequal: Unequal, before: str, ways: Ways) -> list[str]:
    cures = []
    if ways.settings and unequal.options:
        cures.append(f"for the same plan: {' '.join(unequal.options)}")
    deselected = [f"--deselect={ways.nodes[name]}" for name in unequal.added if name in ways.nodes]
    if ways.settings and deselected and not unequal.removed and not unequal.changed:
        cures.append(f"for the same plan: {' '.join(deselected)}")
    if ways.settings and unequal.removed and not unequal.added and not unequal.options:
        cures.append("for the same plan: leave out what selects fewer scenarios (-k, -m, paths, --lf)")
    if unequal.same:
        cures.append(
            f"{ways.common} compares the {unequal.same:,} of {unequal.of:,} examples that are equal in both, "
            "although other things are said around them"
        )
    cures.append(f"or make {before} anew with the agent that it was made with")
    return [f"  {cure}" for cure in cures]
