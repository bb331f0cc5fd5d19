"""`runs [FOLDER]`: what has been run, newest first, a line each; whatever a folder holds, it is told."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.arguments import add_json, add_since
from pytest_ltm._cli.doctor import is_resumable
from pytest_ltm._results.statistics.totals import group_by
from pytest_ltm._results.text import NOTHING, clip_text, columns_of, one_line, pad_right, pluralize
from pytest_ltm._storage.clock import duration, wall_time
from pytest_ltm._storage.errors import ConfigurationError, ScenarioError
from pytest_ltm._storage.sanitize import for_screen
from pytest_ltm._storage.schema import fields_of
from pytest_ltm.reporting.history import read_past, run_folders

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from pytest_ltm.reporting.history import Past


# Narrower terminals get lines of this width.
LEAST = 60
_GAP = "  "


def add_arguments(parser: ArgumentParser) -> None:
    """Add the folder and which of its runs are listed."""
    folder = "a folder of runs, or a project's (default: .ltm)"
    parser.add_argument("folder", nargs="?", type=Path, default=Path(".ltm"), metavar="FOLDER", help=folder)
    parser.add_argument("--agent", default="", metavar="LABEL", help="only runs with this agent")
    add_since(parser)
    add_json(parser)


def list_runs(given: Namespace) -> int:
    """List runs, newest first, one per line.

    A line has the start, how the run ended, what its gate said, whether it can be resumed, and its totals. Nothing is
    changed.
    """
    if not given.folder.is_dir():
        raise ConfigurationError(
            f"there is no folder {str(given.folder)!r}: no run was made here. Name one, as in .ltm"
        )
    pasts = map(read_past, run_folders(given.folder))
    result = [past for past in pasts if not given.agent or given.agent in past.agents]
    if given.since:
        since = parse_moment(given.since)
        result = [past for past in result if past.at is not None and past.at >= since]
    states = {each.name: _state_text(each, given.folder) for each in result}
    if given.json:
        print(json.dumps([_run_json(each, states[each.name]) for each in result], indent=1))
        return 0
    if not result:
        filters = [f" --{name}={value}" for name in ("agent", "since") if (value := getattr(given, name))]
        print(for_screen(f"no runs in {given.folder}{' with' * bool(filters)}{''.join(filters)}"))
        return 0
    print("\n".join(_run_lines(result, states, max(shutil.get_terminal_size().columns, LEAST))))
    return 0


def parse_moment(text: str) -> datetime:
    """Return a date, or the time that a duration such as `7d` ago was; ConfigurationError if it is neither."""
    try:
        result = datetime.fromisoformat(text)
        return result if result.tzinfo else result.replace(tzinfo=timezone.utc)
    except ValueError:
        pass
    try:
        return wall_time() - duration(text)
    except (ScenarioError, OverflowError):
        raise ConfigurationError(
            f"--since: {text!r} is neither a date, as in 2026-03-01, nor a time ago, as in 7d"
        ) from None


def _state_text(past: Past, ltm_dir: Path) -> str:
    """Return the state in words, with what the gate said and whether the run can be resumed."""
    lines = [past.state] if past.state != "finished" or not past.gate else [f"gate {past.gate}"]
    if past.state == "finished":
        lines += list(dict.fromkeys(each.unmeasured for each in past.standings if each.unmeasured))
    elif past.state == "interrupted":
        # whether it can be resumed takes reading its journals, which is left out for runs that ended
        lines += [past.why] * bool(past.why) + ["can be resumed"] * is_resumable(past.path, ltm_dir)
    elif past.why:
        lines = [f"{past.state}: {past.why}"]
    return one_line(", ".join([*lines, *past.notes]))


def _run_lines(pasts: Sequence[Past], states: dict[str, str], width: int) -> Iterator[str]:
    names = [one_line(each.name) for each in pasts]
    room = min(max(map(columns_of, names)), 24)
    most = max(len("gate unmeasurable"), width - room - len(_DATE) - 3 * len(_GAP) - 30)
    state = min(max(map(columns_of, states.values())), most)
    heads = [
        pad_right("run", room),
        pad_right("begun (UTC)", len(_DATE)),
        pad_right("state", state),
        "totals, from the shortest span",
    ]
    yield clip_text(_GAP.join(heads), width).rstrip()
    for name, each in zip(names, pasts, strict=True):
        at = f"{each.at:%Y-%m-%d %H:%M}" if each.at else NOTHING
        totals = totals_of(each)
        said = states[each.name]
        line = [pad_right(clip_text(name, room), room), pad_right(at, len(_DATE))]
        line += [pad_right(clip_text(said, state), state), totals] if totals else [said]
        yield clip_text(_GAP.join(line), width).rstrip()
    yield pluralize(len(pasts), "run")


_DATE = "2026-01-05 10:15"


def totals_of(past: Past) -> str:
    """Return the totals of each agent, from its shortest span to the longest: `bot 10.00 8.50 of 11 at 2k, 32k`."""
    spans = past.spans
    agents = group_by(sorted(past.standings, key=lambda each: spans.index(each.span_label)), lambda each: each.agent)
    full = {each.full for each in past.standings if each.low is not None}
    of = f" of {full.pop()}" if len(full) == 1 else ""
    lines = [f"{one_line(agent)} {' '.join(each.points for each in held)}" for agent, held in agents.items()]
    return f"{', '.join(lines)}{of} at {', '.join(map(one_line, spans))}" if lines else ""


def _run_json(past: Past, state: str) -> dict[str, Any]:
    names = ("agent", "span_label", "span", "low", "high", "full", "plan", "complete", "lost")
    return {
        "run": past.name, "path": str(past.path), "begun": past.at and past.at.isoformat(), "state": past.state,
        "gate": past.gate or None, "told": state, "why": past.why, "notes": list(past.notes),
        "commit": past.source and past.source.commit, "branch": past.source and past.source.branch,
        "results": [fields_of(each, *names) | {"examples": len(each.rows)} for each in past.standings],
    }  # fmt: skip
