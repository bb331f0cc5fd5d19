"""Checks that a run's journals are undamaged, and repairs them where possible."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from pytest_ltm.api.journal import JOURNAL, events, find_damages, flip_bit_back
from pytest_ltm.api.storage import (
    FolderLock,
    LtmError,
    pluralize,
    read_regular,
    redact_secrets,
    write_whole,
)
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.verification import find_discrepancies

# The exit status for damage, and for a repair that lost data.
_DAMAGED = 1
_MOST_DAMAGES = 20  # listing more damaged lines of one journal helps no one


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCheck:
    """The check of one journal, or, for a run's folder, of its other files."""

    file: str
    lines: int
    torn: int
    """Bytes of an incomplete last line."""
    head: str
    """Its last checksum; "" if it is damaged."""
    problems: tuple[str, ...]


def verify_journals(run: Path, *, as_json: bool) -> int:
    """Print the last checksums of a run's journals, or their damage and inconsistencies; return 1 for any."""
    checks = [check_journal(path) for path in _journal_paths(run)]
    differences = _find_differences(run, has_journals=bool(checks))
    if as_json:
        text = _checks_json(run, checks, differences)
    else:
        text = "\n".join(_check_lines(run, checks, differences))
    print(redact_secrets(text))
    is_damaged = any(check.problems for check in checks)
    return _DAMAGED if is_damaged or differences else 0


def check_journal(path: Path) -> JournalCheck:
    """Return a journal's damage and last checksum."""
    data = read_regular(path)
    damages = list(islice(find_damages(data), _MOST_DAMAGES + 1))
    problems: list[str] = []
    for damage in damages[:_MOST_DAMAGES]:
        problems.append(f"{path}, line {damage.line}: {damage.what}")
    if len(damages) > _MOST_DAMAGES:
        problems.append(f"{path}: and more")
    return JournalCheck(
        file=str(path),
        lines=data.count(b"\n"),
        torn=len(data) - data.rfind(b"\n") - 1,
        head="" if damages else events.last_checksum(path),
        problems=tuple(problems),
    )


def _find_differences(run: Path, *, has_journals: bool) -> list[str]:
    """Return where a run's other files do not follow from its journals."""
    try:
        discrepancies = find_discrepancies(read_run(run))
    except LtmError as error:
        # A run that has just begun has journals and no results.
        return [] if has_journals else [str(error)]
    differences: list[str] = []
    for discrepancy in discrepancies:
        if not discrepancy.unfinished and not discrepancy.line:
            differences.append(f"{run / discrepancy.place}: {discrepancy.what}")
    return differences


def _checks_json(run: Path, checks: list[JournalCheck], differences: list[str]) -> str:
    entries = [asdict(check) for check in checks]
    if differences:
        of_folder = JournalCheck(
            file=str(run), lines=0, torn=0, head="", problems=tuple(differences)
        )
        entries.append(asdict(of_folder))
    return json.dumps(entries, indent=1)


def _check_lines(
    run: Path, checks: list[JournalCheck], differences: list[str]
) -> Iterator[str]:
    for check in checks:
        if check.problems:
            yield from check.problems
        else:
            lines = pluralize(check.lines, "line")
            yield f"{check.file}: {lines}, whole; last checksum {check.head}"
        if check.torn:
            yield f"  an incomplete last line of {check.torn:,} bytes is ignored"
    yield from differences
    if any(check.problems for check in checks):
        command = f"ltm doctor --repair {shlex.quote(str(run))}"
        yield (
            "what can be done: restore a copy of the file; or have flipped bits put back, and a journal cut before "
            f"any other damage so that the run can be resumed from there, keeping the damaged file: {command}"
        )


def repair_journals(run: Path) -> int:
    """Repair journals, cutting them before irreparable damage, and report it; return 1 if one was cut, else 0.

    The damaged files are kept next to the journals. Raises LtmError if a journal is in use or cannot be written.
    """
    is_cut = False
    for path in _journal_paths(run):
        if any(find_damages(read_regular(path))):
            is_cut |= _repair_journal(path)
    return _DAMAGED if is_cut else 0


def _repair_journal(path: Path) -> bool:
    """Repair one journal and report it; return whether it was cut."""
    # A writer would continue at an end that no longer exists.
    lock = FolderLock(path.parent)
    lock.acquire()
    try:
        # The journal may have grown before the lock was acquired.
        data = read_regular(path)
        repaired, notes = _repair_data(data)
        copy = _free_copy_path(path)
        # The copy must be safe before the original changes.
        write_whole(copy, data, lasting=True)
        write_whole(path, repaired, lasting=True)
    finally:
        lock.release()
    print(f"{path}:")
    for note in notes:
        print(f"  {note}")
    print(f"  the damaged file: {copy}")
    return len(repaired) < len(data)


def _repair_data(data: bytes) -> tuple[bytes, list[str]]:
    """Return a journal with flipped bits restored, cut before other damage, and a sentence for each damage."""
    repaired = data
    notes = []
    for damage in find_damages(data):
        place = f"line {damage.line}: {damage.what}"
        if damage.flipped is None:
            lost_lines = pluralize(repaired.count(b"\n", damage.start), "line")
            notes.append(f"{place}. Cut before it: {lost_lines} less")
            return repaired[: damage.start], notes
        repaired = flip_bit_back(repaired, damage)
        notes.append(f"{place}. Put back")
    return repaired, notes


def _free_copy_path(path: Path) -> Path:
    """Return an unused path next to a damaged file for its copy."""
    copy = path.with_name(f"{path.name}.damaged")
    number = 2
    while copy.exists():
        copy = path.with_name(f"{path.name}.damaged{number}")
        number += 1
    return copy


def _journal_paths(run: Path) -> list[Path]:
    paths = [*sorted(run.glob(f"*/{JOURNAL}")), run / judge_checks.JOURNAL]
    return [path for path in paths if path.is_file()]
