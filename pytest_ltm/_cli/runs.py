"""`runs [FOLDER]`: what has been run, newest first, a line each; whatever a folder holds, it is told."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.arguments import add_json, add_since
from pytest_ltm._cli.doctor import resumable
from pytest_ltm._results.statistics.totals import grouped
from pytest_ltm._results.text import NOTHING, clip, columns_of, counted, left, one_line
from pytest_ltm._storage.clock import duration, wall_time
from pytest_ltm._storage.errors import ConfigurationError, ScenarioError
from pytest_ltm._storage.sanitize import for_screen
from pytest_ltm._storage.schema import fields_of
from pytest_ltm.reporting.history import read_past, run_folders

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from pytest_ltm.reporting.history import Past


LEAST = 60
"""Narrower terminals get lines of this width."""
_GAP = "  "


def add_arguments(parser: ArgumentParser) -> None:
    """Add the folder and which of its runs are listed."""
    folder = "a folder of runs, or a project's (default: .ltm)"
    parser.add_argument("folder", nargs="?", type=Path, default=Path(".ltm"), metavar="FOLDER", help=folder)
    parser.add_argument("--agent", default="", metavar="LABEL", help="only runs with this agent")
    add_since(parser)
    add_json(parser)


def list_runs(given: Namespace) -> int:
    """List runs, newest first, one a line.

    A line has the start, how the run ended, what its gate said, whether it can be resumed, and its totals. Nothing is
    changed.
    """
    if not given.folder.is_dir():
        raise ConfigurationError(
            f"there is no folder {str(given.folder)!r}: no run was made here. Name one, as in .ltm"
        )
    pasts = map(read_past, run_folders(given.folder))
    found = [past for past in pasts if not given.agent or given.agent in past.agents]
    if given.since:
        since = moment(given.since)
        found = [past for past in found if past.at is not None and past.at >= since]
    states = {each.name: _state(each, given.folder) for each in found}
    if given.json:
        print(json.dumps([_json(each, states[each.name]) for each in found], indent=1))
        return 0
    if not found:
        filters = [f" --{name}={value}" for name in ("agent", "since") if (value := getattr(given, name))]
        print(for_screen(f"no runs in {given.folder}{' with' * bool(filters)}{''.join(filters)}"))
        return 0
    print("\n".join(_lines(found, states, max(shutil.get_terminal_size().columns, LEAST))))
    return 0


def moment(said: str) -> datetime:
    """Return a date, or the time that a duration such as `7d` ago was; ConfigurationError if it is neither."""
    try:
        found = datetime.fromisoformat(said)
        return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
    except ValueError:
        pass
    try:
        return wall_time() - duration(said)
    except (ScenarioError, OverflowError):
        raise ConfigurationError(
            f"--since: {said!r} is neither a date, as in 2026-03-01, nor a time ago, as in 7d"
        ) from None


def _state(found: Past, ltm_dir: Path) -> str:
    """Return the state in words, with what the gate said and whether the run can be resumed."""
    said = [found.state] if found.state != "finished" or not found.gate else [f"gate {found.gate}"]
    if found.state == "finished":
        said += list(dict.fromkeys(each.unmeasured for each in found.standings if each.unmeasured))
    elif found.state == "interrupted":
        # whether it can be resumed takes reading its journals, which is left out for runs that ended
        said += [found.why] * bool(found.why) + ["can be resumed"] * resumable(found.path, ltm_dir)
    elif found.why:
        said = [f"{found.state}: {found.why}"]
    return one_line(", ".join([*said, *found.notes]))


def _lines(found: Sequence[Past], states: dict[str, str], width: int) -> Iterator[str]:
    names = [one_line(each.name) for each in found]
    room = min(max(map(columns_of, names)), 24)
    most = max(len("gate unmeasurable"), width - room - len(_DATE) - 3 * len(_GAP) - 30)
    state = min(max(map(columns_of, states.values())), most)
    heads = [left("run", room), left("begun (UTC)", len(_DATE)), left("state", state), "totals, from the shortest span"]
    yield clip(_GAP.join(heads), width).rstrip()
    for name, each in zip(names, found, strict=True):
        at = f"{each.at:%Y-%m-%d %H:%M}" if each.at else NOTHING
        totals = totals_of(each)
        said = states[each.name]
        line = [left(clip(name, room), room), left(at, len(_DATE))]
        line += [left(clip(said, state), state), totals] if totals else [said]
        yield clip(_GAP.join(line), width).rstrip()
    yield counted(len(found), "run")


_DATE = "2026-01-05 10:15"


def totals_of(found: Past) -> str:
    """Return the totals of each agent, from its shortest span to the longest: `bot 10.00 8.50 of 11 at 2k, 32k`."""
    spans = found.spans
    agents = grouped(sorted(found.standings, key=lambda each: spans.index(each.span_label)), lambda each: each.agent)
    full = {each.full for each in found.standings if each.low is not None}
    of = f" of {full.pop()}" if len(full) == 1 else ""
    said = [f"{one_line(agent)} {' '.join(each.points for each in held)}" for agent, held in agents.items()]
    return f"{', '.join(said)}{of} at {', '.join(map(one_line, spans))}" if said else ""


def _json(found: Past, state: str) -> dict[str, Any]:
    names = ("agent", "span_label", "span", "low", "high", "full", "plan", "complete", "lost")
    return {
        "run": found.name, "path": str(found.path), "begun": found.at and found.at.isoformat(), "state": found.state,
        "gate": found.gate or None, "told": state, "why": found.why, "notes": list(found.notes),
        "commit": found.source and found.source.commit, "branch": found.source and found.source.branch,
        "results": [fields_of(each, *names) | {"examples": len(each.rows)} for each in found.standings],
    }  # fmt: skip
