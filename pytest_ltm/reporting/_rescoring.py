"""What scoring a run again has come to, as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.reporting._text import counted, one_line, score_text, wrap

if TYPE_CHECKING:
    from pytest_ltm._rescore._moves import Move, Rescored, Said

MOST = 60
"""So many verdicts are listed; all are in `summary.json`."""


def rescored_lines(rescored: Rescored, width: int) -> list[str]:
    """Return the counts, then a line for each verdict that moved or was kept."""
    lines = wrap(rescored_sentence(rescored), width, "  ")
    for text in rescored_details(rescored):
        lines += wrap(f"  {text}", width, "    ")
    return lines


def rescored_sentence(rescored: Rescored) -> str:
    """Return the counts."""
    counts = [f"{counted(rescored.same, 'verdict')} the same", f"{len(rescored.moves):,} moved"]
    counts += [f"{len(rescored.kept):,} kept, because scripts have changed"] * bool(rescored.kept)
    counts += [f"{rescored.unknown:,} scored for the first time"] * bool(rescored.unknown)
    counts += [f"{rescored.left_out:,} recorded ones left out"] * bool(rescored.left_out)
    counts += [f"{counted(rescored.without, 'example')} without a verdict"] * bool(rescored.without)
    return one_line(f"scored again: run {rescored.run}: {', '.join(counts)}")


def rescored_details(rescored: Rescored) -> list[str]:
    """Return a sentence for each verdict that moved or was kept."""
    found = [move_sentence(move) for move in rescored.moves]
    found += [f"{name}: kept: {one_line(why)}" for name, why in rescored.kept.items()]
    more = len(found) - MOST
    return found[:MOST] + [f"… and {more:,} more: see summary.json"] * (more > 0)


def move_sentence(move: Move) -> str:
    """Return what moved, from what to what, and why."""
    place = f"{move.agent}-{move.span_label}-{move.trial} {move.scenario}/{move.example}"
    amended = " (a person has amended it, which counts)" if move.amended else ""
    return one_line(f"{place}: {_verdict(move.before)} -> {_verdict(move.after)}{amended}: {move.why}")


def _verdict(said: Said) -> str:
    return f"{said.outcome}, no score" if said.score is None else score_text(said.score)
