"""`runs [FOLDER]`: the runs, newest first; `lab trend [PATHS]`: their scores over time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ltm.api.journal import find_run
from pytest_ltm.api.storage import (
    ConfigurationError,
    LtmError,
    ScenarioError,
    duration,
    fields_of,
    for_screen,
    is_plain,
    one_line,
    pluralize,
    read_regular,
    wall_time,
)
from pytest_ltm.commands.arguments import (
    add_baselines,
    add_filters,
    add_json,
    add_ltm_dir,
    add_since,
)
from pytest_ltm.commands.run_diagnosis import is_resumable
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import NOTHING, clip_text, columns_of, pad_right, wrap_text
from pytest_ltm.gate.baseline import parse_baseline
from pytest_ltm.reports.history import Past, read_past, result_standings, run_folders
from pytest_ltm.reports.trend import (
    PLAIN,
    UNICODE_SIGNS,
    TrendPoint,
    of_run,
    series_of,
    trend_json,
    trend_lines,
)

# Narrower terminals get lines of this width.
NARROWEST = 60
_GAP = "  "


def add_list_arguments(parser: ArgumentParser) -> None:
    """Add the folder, and the selection of its runs."""
    folder = "a folder of runs, or a project's (default: .ltm)"
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(".ltm"),
        metavar="FOLDER",
        help=folder,
    )
    parser.add_argument(
        "--agent", default="", metavar="LABEL", help="only runs with this agent"
    )
    add_since(parser)
    add_json(parser)


def list_runs(arguments: Namespace) -> int:
    """List runs, newest first, one per line.

    A line shows the start, how the run ended, the gate's verdict, whether it can be resumed, and the totals. Nothing is
    changed.
    """
    if not arguments.folder.is_dir():
        reason = f"there is no folder {str(arguments.folder)!r}: no run was made here. Name one, as in .ltm"
        raise ConfigurationError(reason)
    result: list[Past] = []
    for folder in run_folders(arguments.folder):
        past = read_past(folder)
        if not arguments.agent or arguments.agent in past.agents:
            result.append(past)
    if arguments.since:
        since = parse_moment(arguments.since)
        result = [past for past in result if past.at is not None and past.at >= since]
    states = {past.name: _state_text(past, arguments.folder) for past in result}
    if arguments.json:
        values = [_past_json(past, states[past.name]) for past in result]
        print(json.dumps(values, indent=1))
        return 0
    if not result:
        text = f"no runs in {arguments.folder}"
        options = {"agent": arguments.agent, "since": arguments.since}
        filters = [f"--{name}={value}" for name, value in options.items() if value]
        if filters:
            text += f" with {' '.join(filters)}"
        print(for_screen(text))
        return 0
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    print("\n".join(_run_lines(result, states, width)))
    return 0


_OF_STANDING = (
    "agent",
    "span_label",
    "span",
    "low",
    "high",
    "full",
    "plan",
    "complete",
    "lost",
)


def _past_json(past: Past, state: str) -> dict[str, Any]:
    """Return a run as JSON values; `state`: in words."""
    results: list[dict[str, Any]] = []
    for standing in past.standings:
        fields = fields_of(standing, *_OF_STANDING)
        results.append(fields | {"examples": len(standing.rows)})
    return {
        "run": past.name,
        "path": str(past.path),
        "begun": past.at and past.at.isoformat(),
        "state": past.state,
        "gate": past.gate or None,
        "told": state,
        "why": past.why,
        "notes": list(past.notes),
        "commit": past.source and past.source.commit,
        "branch": past.source and past.source.branch,
        "results": results,
    }


def parse_moment(text: str) -> datetime:
    """Parse a date, or a duration such as `7d` before now; ConfigurationError for other texts."""
    try:
        result = datetime.fromisoformat(text)
        if result.tzinfo:
            return result
        return result.replace(tzinfo=timezone.utc)
    except ValueError:
        pass
    try:
        return wall_time() - duration(text)
    except (ScenarioError, OverflowError):
        reason = f"--since: {text!r} is neither a date, as in 2026-03-01, nor a time ago, as in 7d"
        raise ConfigurationError(reason) from None


def _state_text(past: Past, ltm_dir: Path) -> str:
    """Return the state in words, with the gate's verdict and whether the run can be resumed."""
    parts: list[str] = [past.state]
    if past.state == "finished":
        if past.gate:
            parts = [f"gate {past.gate}"]
        parts += dict.fromkeys(standing.unmeasured for standing in past.standings)
    elif past.state == "interrupted":
        parts.append(past.why)
        # checking whether it can be resumed reads its journals, which is skipped for
        # finished runs
        if is_resumable(past.path, ltm_dir):
            parts.append("can be resumed")
    elif past.why:
        parts = [f"{past.state}: {past.why}"]
    return one_line(", ".join(filter(None, [*parts, *past.notes])))


def _run_lines(
    pasts: Sequence[Past], states: dict[str, str], width: int
) -> Iterator[str]:
    names = [one_line(past.name) for past in pasts]
    room = min(max(map(columns_of, names)), 24)
    widest = max(
        len("gate unmeasurable"), width - room - len(_DATE) - 3 * len(_GAP) - 30
    )
    state = min(max(map(columns_of, states.values())), widest)
    heads = [
        pad_right("run", room),
        pad_right("begun (UTC)", len(_DATE)),
        pad_right("state", state),
    ]
    yield clip_text(
        _GAP.join([*heads, "totals, from the shortest span"]), width
    ).rstrip()
    for name, past in zip(names, pasts, strict=True):
        time_text = f"{past.at:%Y-%m-%d %H:%M}" if past.at else NOTHING
        # The totals of each agent, shortest span first: `bot 10.00 8.50 of 11 at 2k,
        # 32k`.
        rows = sorted(
            past.standings, key=lambda standing: past.spans.index(standing.span_label)
        )
        points = []
        for agent, standings in group_by(rows, lambda row: row.agent).items():
            points.append(
                " ".join([one_line(agent), *(row.points for row in standings)])
            )
        totals = ", ".join(points)
        full = {row.full for row in rows if row.low is not None}
        if len(full) == 1:
            totals += f" of {full.pop()}"
        if rows:
            totals += f" at {', '.join(map(one_line, past.spans))}"
        state_text = states[past.name]
        if totals:
            state_text = pad_right(clip_text(state_text, state), state)
        cells = [
            pad_right(clip_text(name, room), room),
            pad_right(time_text, len(_DATE)),
            state_text,
            totals,
        ]
        yield from _fit_totals(_GAP.join(cells).rstrip(), totals, width)
    yield pluralize(len(pasts), "run")


def _fit_totals(line: str, totals: str, width: int) -> list[str]:
    """Return one line, or put the totals below it if it is too long: their spans must not be cut off."""
    if not totals or columns_of(line) <= width:
        return [clip_text(line, width)]
    indent = " " * len(_GAP)
    head = line.removesuffix(totals).rstrip()
    return [clip_text(head, width), *wrap_text(indent + totals, width, indent * 2)]


_DATE = "2026-01-05 10:15"


# Narrower terminals get lines of this width.
LEAST = 80


def add_draw_arguments(parser: ArgumentParser) -> None:
    """Add the results to draw."""
    paths = "run folders or IDs, baseline files, or folders of either (default: all runs and baselines here)"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=paths)
    add_filters(
        parser, agents="(repeatable; default: those under test, without bundled ones)"
    )
    add_since(parser)
    all_help = "list every result, not just the last 30 of each of the last 5 plans"
    parser.add_argument("--all", action="store_true", help=all_help)
    add_json(parser)
    add_baselines(parser)
    add_ltm_dir(parser)


def draw_trend(arguments: Namespace) -> int:
    """Draw scores over time, a chart per agent and memory span.

    Results of different plans are never joined. Every committed version of a baseline counts, if git is installed.
    """
    result, notes = gather_points(
        arguments.paths, arguments.ltm_dir, arguments.baselines, since=arguments.since
    )
    series = series_of(result, arguments.agent, arguments.span)
    if arguments.json:
        print(json.dumps(trend_json(series), indent=1))
    else:
        width = max(shutil.get_terminal_size().columns, LEAST)
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        signs = PLAIN
        with suppress(UnicodeEncodeError, LookupError):
            # a limited terminal gets ASCII characters
            "".join(UNICODE_SIGNS).encode(sys.stdout.encoding or "utf-8")
            signs = PLAIN if is_plain(sys.stdout) else UNICODE_SIGNS
        lines = trend_lines(
            series, width, color=color, signs=signs, is_complete=arguments.all
        )
        print("\n".join(lines or [why_nothing_to_draw(result, arguments.paths)]))
    for note in notes:
        print(f"note: {one_line(note)}", file=sys.stderr)
    return 0


def why_nothing_to_draw(
    trend_points: Sequence[TrendPoint], paths: Sequence[str]
) -> str:
    """Return why there is nothing to draw."""
    where = ", ".join(paths) or "the runs and baselines here"
    if not trend_points:
        return f"no results in {where}"
    agents = ", ".join(sorted({point.standing.agent for point in trend_points}))
    spans = ", ".join(sorted({point.standing.span_label for point in trend_points}))
    return one_line(
        f"no such agent or span in {where}: there are agents {agents}; spans {spans}"
    )


def gather_points(
    paths: Sequence[str], ltm_dir: Path, baselines: Path, *, since: str
) -> tuple[list[TrendPoint], list[str]]:
    """Return the points of runs and baselines, and sentences on what was left out.

    `paths`: run folders and ids, folders of runs, baseline files and folders of such; if empty, the runs below
    `ltm_dir`, and `baselines`. ConfigurationError for a missing path, or an invalid `since`.
    """
    points: list[TrendPoint] = []
    notes: list[str] = []
    folders = [] if paths or not ltm_dir.is_dir() else [*run_folders(ltm_dir)]
    files: list[Path] = []
    for text in paths or [str(baselines)]:
        path = Path(text)
        if path.is_file():
            files.append(path)
        elif path.is_dir():
            folders += run_folders(path) if paths else ()
            # JSON files in a folder with runs are not baselines
            if not (path / "runs").is_dir() and not (path / "run.json").exists():
                files += sorted(filter(Path.is_file, path.glob("*.json")))
        elif paths:
            folders.append(find_run(text, ltm_dir))
    for past in map(read_past, folders):
        points += of_run(past)
        if past.state == "damaged":
            notes.append(f"run {past.name} is left out: {past.why}")
    for file in files:
        points += _of_baseline(file, notes)
    if since:
        points = _points_since(points, parse_moment(since))
    return points, notes


def _points_since(points: Iterable[TrendPoint], first: datetime) -> list[TrendPoint]:
    later_points: list[TrendPoint] = []
    for point in points:
        if point.at is not None and point.at >= first:
            later_points.append(point)
    return later_points


def _of_baseline(path: Path, notes: list[str]) -> Iterator[TrendPoint]:
    """Yield the points of a baseline's committed versions, and of the file itself if it differs."""
    try:
        current = read_regular(path)
        changed = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot be read ({error.strerror})"
        ) from error
    versions = file_versions(path)
    if not versions or versions[0].content != current:
        # the file was changed since its last commit
        versions.append(Version("", changed, current))
    lost_versions = 0
    for commit, moment, content in versions:
        try:
            side = parse_baseline(content, str(path), path.stem)
        except LtmError as error:
            lost_versions += 1
            reason = str(error)
            continue
        for standing in result_standings(side.result):
            facts = partial(tuple, side.plans)
            yield TrendPoint(
                name=path.stem,
                kind="baseline",
                at=moment,
                commit=commit,
                standing=standing,
                facts=facts,
            )
    if lost_versions:
        notes.append(
            f"baseline {path.stem}: {pluralize(lost_versions, 'version')} left out: {reason}"
        )


# --- The committed versions of a file, from git; none without git or a repository


class Version(NamedTuple):
    """The state of a file after a commit."""

    commit: str
    at: datetime
    content: bytes


# The most versions of a file to read, the latest ones.
MAX_FILE_VERSIONS = 200
_SECONDS = 30


def file_versions(path: Path) -> list[Version]:
    """Return the versions of a file in the history of HEAD, newest first."""
    name = f"./{path.name}"
    listed = _git_output(
        path.parent, "log", f"-n{MAX_FILE_VERSIONS}", "--format=%H %ct", "--", name
    ).decode()
    commits = [line.split() for line in listed.split("\n") if line]
    request = "".join(f"{commit}:{name}\n" for commit, _ in commits)
    if commits:
        answer = _git_output(
            path.parent, "cat-file", "--batch", standard_input=request.encode()
        )
    else:
        answer = b""
    versions = []
    for commit, seconds in commits:
        head, _, answer = answer.partition(b"\n")
        if head.split()[1:2] != [b"blob"]:  # the commit that deleted the file
            continue
        size = int(head.split()[2])
        versions.append(
            Version(
                commit,
                datetime.fromtimestamp(int(seconds), timezone.utc),
                answer[:size],
            )
        )
        answer = answer[size + 1 :]
    return versions


def _git_output(folder: Path, *words: str, standard_input: bytes = b"") -> bytes:
    # settings of the repository must neither start programs nor change the output
    safe: Sequence[str] = (
        "-c",
        "log.showSignature=false",
        "-c",
        "core.fsmonitor=false",
        "--no-pager",
    )
    try:
        process = subprocess.run(  # noqa: S603 - fixed words, and the name of a file behind --
            ["git", *safe, *words],  # noqa: S607 - the git that the user has
            cwd=folder,
            input=standard_input,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return process.stdout if process.returncode == 0 else b""
