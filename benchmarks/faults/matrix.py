"""The matrix: its rows, how their cases are played, and the counts.

Cases are played two at a time. Their processes are descendants of this one even after
their parents end, and no other process is touched.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.faults import (
    agents,
    commands,
    disks,
    doors,
    endings,
    journals,
    processes,
    replies,
    served,
    servers,
)
from benchmarks.faults.cases import Case, Cases, Outcome, Setting
from benchmarks.faults.traces import Traces, traces
from pytest_ltm.api.storage import ConfigurationError, did_you_mean, stopwatch_seconds

AT_ONCE = 2
"""Number of concurrent cases."""
SHOWN = 5
"""Number of a row's failed cases that are shown."""


class Row(NamedTuple):
    """One kind of fault."""

    what: str
    cases: Cases
    size: int
    """Number of tries."""
    quick: int
    """Number of tries with `--quick`."""


ROWS = {
    "kills": Row(
        "the process is killed at random moments and resumed", endings.kills, 200, 2
    ),
    "workers": Row(
        "workers of xdist are killed, also while they start", endings.workers, 100, 1
    ),
    "signals": Row(
        "SIGTERM, SIGHUP or SIGINT, with children that ignore them",
        endings.signals,
        30,
        1,
    ),
    "stops": Row(
        "the process is stopped for longer than a reply may take", endings.stops, 6, 1
    ),
    "torn": Row("a journal is cut, at every byte", journals.torn, 100_000, 24),
    "flips": Row("a bit of the journal is flipped", journals.flips, 500, 16),
    "timings": Row("timings.jsonl is damaged", journals.timings, 40, 4),
    "places": Row(
        "something else stands in the place of a file", journals.places, 15, 3
    ),
    "readers": Row(
        "a pipe in the place of what a command reads, or absurd figures in it",
        journals.readers,
        24,
        3,
    ),
    "commands": Row(
        "commands that write files are killed, and given again",
        commands.interrupted,
        60,
        4,
    ),
    "names": Row("definitions in files with odd names", commands.odd_names, 15, 3),
    "disks": Row("the disk is full", disks.full, 30, 3),
    "agents": Row("hostile agents, beside well-behaved ones", agents.hostile, 1_000, 3),
    "replies": Row(
        "replies of 100,000 characters to every suite", replies.long_replies, 100, 2
    ),
    "servers": Row("hostile servers, on a budget", servers.hostile, 1_000, 3),
    "served": Row("people without a key at ltm serve", served.served, 3, 2),
    "doors": Row(
        "secrets and control characters behind every kind of output",
        doors.opened,
        100,
        3,
    ),
}


@dataclass(slots=True)
class Tally:
    """The outcome of a row."""

    tried: int = 0
    lost: list[str] = field(default_factory=list)
    """A sentence for each failure."""
    orphans: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    escapes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def survived(self) -> int:
        """The number of tries without a loss."""
        return self.tried - len(self.lost)

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost or left behind."""
        return not (self.lost or self.orphans or self.secrets or self.escapes)

    def add(self, name: str, outcome: Outcome, left: int, found: Traces) -> None:
        """Count the outcome of a case."""
        self.tried += outcome.tried
        self.lost += [f"{name}: {why}" for why in outcome.lost]
        self.orphans += [f"{name}: a process"] * left
        self.secrets += [f"{name}: {where}" for where in found.secrets]
        self.escapes += [f"{name}: {where}" for where in found.escapes]

    def to_json(self) -> dict[str, Any]:
        """Return all counts."""
        return {
            "tried": self.tried,
            "survived": self.survived,
            "lost": self.lost,
            "orphans": self.orphans,
            "secrets": self.secrets,
            "escapes": self.escapes,
            "seconds": round(self.seconds, 1),
        }


def main(argv: Sequence[str]) -> int:
    """Play the matrix and print it.

    Args:
        argv: the words after `python -m benchmarks faults`.

    Returns:
        1 if anything was lost or left behind, otherwise 0.

    Raises:
        ConfigurationError: there is no such row.
        LtmError: the system cannot tell which processes a run leaves.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks faults", description=__doc__
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="ROW",
        help=f"repeatable; rows: {', '.join(ROWS)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a few of each row, in a minute or two"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the random moments and choices (0)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(argv)
    for name in given.only or ():
        if name not in ROWS:
            hint = did_you_mean(name, ROWS)
            raise ConfigurationError(
                f"there is no row {name!r}.{hint} There are {', '.join(ROWS)}."
            )
    rows = {
        name: row for name, row in ROWS.items() if not given.only or name in given.only
    }
    processes.adopt()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="ltm-faults-")).resolve()
    tallies: dict[str, Tally] = {}
    if not given.json:
        print(
            _line(
                "",
                "tried",
                "survived",
                "lost",
                "orphans",
                "secrets",
                "escapes",
                "seconds",
            ),
            flush=True,
        )
    try:
        for name, row in rows.items():
            setting = Setting(
                folder=folder / name,
                size=row.quick if given.quick else row.size,
                seed=given.seed,
            )
            tallies[name] = played(row, setting)
            if not given.json:
                print("\n".join(_row(name, row, tallies[name])), flush=True)
    finally:
        processes.kill(processes.of(folder))
        if all(tally.is_clean for tally in tallies.values()):
            shutil.rmtree(folder, ignore_errors=True)
    is_clean = all(tally.is_clean for tally in tallies.values())
    if given.json:
        print(json.dumps(_document(tallies, given.seed), indent=1))
    else:
        print(
            *_ending(tallies, given.seed, "" if is_clean else f"; see {folder}"),
            sep="\n",
        )
    return 0 if is_clean else 1


def played(row: Row, setting: Setting) -> Tally:
    """Play the cases of a row until the wanted number is reached or they run out."""
    began, tally = stopwatch_seconds(), Tally()
    setting.folder.mkdir(parents=True)
    cases = row.cases(setting)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running: dict[Future[tuple[Outcome, int, Traces]], str] = {}
        try:
            while True:
                while (
                    len(running) < AT_ONCE
                    and tally.tried < setting.size
                    and (case := next(cases, None))
                ):
                    running[pool.submit(_played, case, setting.folder / case.name)] = (
                        case.name
                    )
                if not running:
                    break
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    tally.add(running.pop(done), *done.result())
        except KeyboardInterrupt:
            while wait(running, 0.1).not_done:
                processes.kill(processes.of(setting.folder))
            raise
    tally.orphans += ["a process"] * _ended(setting.folder)
    tally.seconds = stopwatch_seconds() - began
    return tally


def _played(case: Case, folder: Path) -> tuple[Outcome, int, Traces]:
    folder.mkdir()
    try:
        outcome = case.play(folder, *case.given)
    except Exception as error:  # noqa: BLE001 - a case that breaks is lost, and the others are tried
        outcome = Outcome(1, (f"{type(error).__name__}: {str(error)[:1_000]}",))
    left, found = _ended(folder), traces(folder)
    if not (outcome.lost or left or found.secrets or found.escapes):
        shutil.rmtree(folder)
    return outcome, left, found


def _ended(folder: Path) -> int:
    """Kill the processes left by a case or a row, and return their number."""
    left = processes.left(folder)
    processes.kill(left)
    return len(left)


def _line(name: str, *columns: object) -> str:
    return f"{name:10}" + "".join(f"{column!s:>10}" for column in columns)


def _row(name: str, row: Row, tally: Tally) -> Iterator[str]:
    counts = (tally.lost, tally.orphans, tally.secrets, tally.escapes)
    yield (
        _line(
            name, tally.tried, tally.survived, *map(len, counts), f"{tally.seconds:.0f}"
        )
        + f"  {row.what}"
    )
    for what, found in zip(("lost", "orphan", "secret", "escape"), counts, strict=True):
        yield from (f"  {what}: {one}" for one in found[:SHOWN])
        if len(found) > SHOWN:
            yield f"  and {len(found) - SHOWN} more"


def _ending(tallies: dict[str, Tally], seed: int, kept: str) -> Iterator[str]:
    total = _total(tallies)
    counts = (total.lost, total.orphans, total.secrets, total.escapes)
    yield _line(
        "total", total.tried, total.survived, *map(len, counts), f"{total.seconds:.0f}"
    )
    yield f"pytest-ltm {version('pytest-ltm')}, seed {seed}, {datetime.now(timezone.utc):%Y-%m-%d}{kept}"


def _document(tallies: dict[str, Tally], seed: int) -> dict[str, Any]:
    return {
        "version": version("pytest-ltm"),
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "seed": seed,
        "rows": {
            name: {"what": ROWS[name].what, **tally.to_json()}
            for name, tally in tallies.items()
        },
        "total": _total(tallies).to_json(),
    }


def _total(tallies: dict[str, Tally]) -> Tally:
    total = Tally()
    for tally in tallies.values():
        total.tried += tally.tried
        total.lost += tally.lost
        total.orphans += tally.orphans
        total.secrets += tally.secrets
        total.escapes += tally.escapes
        total.seconds += tally.seconds
    return total
