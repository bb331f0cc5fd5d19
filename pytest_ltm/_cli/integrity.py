"""`doctor --verify RUN`: whether journals are as they were written; `doctor --repair RUN`: what can be put right."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING

from pytest_ltm._engine.resume import JOURNAL, RESULTS
from pytest_ltm._journal import events, judge_precheck
from pytest_ltm._journal.checksum_chain import find_damages, flip_bit_back
from pytest_ltm._journal.fold import ConversationRecord
from pytest_ltm._journal.result import read_results
from pytest_ltm._results.text import pluralize
from pytest_ltm._storage.disk import read_regular, write_whole
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.locks import FolderLock
from pytest_ltm._storage.secrets import redact_secrets

if TYPE_CHECKING:
    from pathlib import Path


# The exit status where something is damaged, and after a repair that lost something.
DAMAGED = 1
_MOST = 20  # more damaged lines of one journal help nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One journal."""

    file: str
    lines: int
    torn: int
    """Bytes of a last line that is not whole."""
    head: str
    """Its last checksum, "" where it is damaged."""
    problems: tuple[str, ...]


def verify_journals(run: Path, *, as_json: bool) -> int:
    """Print what is damaged in a run's journals, else their last checksums; 1 if something is, else 0."""
    checkeds = [_check_journal(path) for path in _journal_paths(run)]
    broken = any(each.problems for each in checkeds)
    if as_json:
        lines = [json.dumps([asdict(each) for each in checkeds], indent=1)]
    else:
        lines = [line for each in checkeds for line in _journal_lines(each)] or [f"{run}: no journal"]
        if broken:
            command = f"ltm doctor --repair {shlex.quote(str(run))}"
            lines.append(
                "what can be done: restore a copy of the file; or have flipped bits put back, and a journal cut before "
                f"any other damage so that the run can be resumed from there, keeping the damaged file: {command}"
            )
    print(redact_secrets("\n".join(lines)))
    return DAMAGED if broken else 0


def repair_journals(run: Path) -> int:
    """Put back what can be, cut journals before what cannot, and say so; 1 if something was cut, else 0.

    The damaged files are kept beside the journals. Raises LtmError if somebody is writing them, or the disk refuses.
    """
    cut = False
    for path in _journal_paths(run):
        if next(find_damages(read_regular(path)), None) is None:
            continue
        # whoever writes the journal would go on at an end that is no longer there
        lock = FolderLock(path.parent)
        lock.acquire()
        try:
            # it may have grown until the lock was ours
            data = read_regular(path)
            lines, repaired = _repair_data(data)
            kept = _free_path(path)
            # the copy must be safe before the original changes
            write_whole(kept, data, lasting=True)
            write_whole(path, repaired, lasting=True)
        finally:
            lock.release()
        cut |= len(repaired) < len(data)
        print("\n".join([f"{path}:", *(f"  {line}" for line in lines), f"  the damaged file: {kept}"]))
    return DAMAGED if cut else 0


def _repair_data(data: bytes) -> tuple[list[str], bytes]:
    lines: list[str] = []
    for damage in find_damages(data):
        if damage.flipped is None:
            lost = data.count(b"\n", damage.start)
            lines.append(f"line {damage.line}: {damage.what}. Cut before it: {pluralize(lost, 'line')} less")
            return lines, data[: damage.start]
        data = flip_bit_back(data, damage)
        lines.append(f"line {damage.line}: {damage.what}. Put back")
    return lines, data


def _free_path(path: Path) -> Path:
    number, kept = 1, path.with_name(f"{path.name}.damaged")
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.damaged{number}")
    return kept


def _journal_paths(run: Path) -> list[Path]:
    result = [*sorted(run.glob(f"*/{JOURNAL}")), run / judge_precheck.JOURNAL]
    return [path for path in result if path.is_file()]


def _check_journal(path: Path) -> Checked:
    data = read_regular(path)
    result = list(islice(find_damages(data), _MOST + 1))
    problems = [f"{path}, line {damage.line}: {damage.what}" for damage in result[:_MOST]]
    problems += [f"{path}: and more"] * (len(result) > _MOST)
    head = "" if result else events.last_checksum(path)
    if not result and path.name == JOURNAL:
        problems += _problems_beside(path, head)
    whole = data.rfind(b"\n") + 1
    return Checked(
        file=str(path), lines=data.count(b"\n"), torn=len(data) - whole, head="" if problems else head,
        problems=tuple(problems),
    )  # fmt: skip


def _problems_beside(path: Path, head: str) -> list[str]:
    """Return what is wrong with a journal whose checksums fit."""
    try:
        ConversationRecord.read_record(path)
    except LtmError as error:
        return [str(error)]
    try:
        result = read_results(path.with_name(RESULTS))
    except LtmError:
        return []
    if result.ended != "complete" or result.journal in ("", head):
        return []
    then = f"{path}: when {RESULTS} was written its last checksum was {result.journal}, and now it is {head or 'none'}"
    return [f"{then}: lines are missing at its end, or it is another journal"]


def _journal_lines(checked: Checked) -> list[str]:
    lines = [*checked.problems] or [
        f"{checked.file}: {pluralize(checked.lines, 'line')}, whole; last checksum {checked.head}"
    ]
    return lines + [f"  an incomplete last line of {checked.torn:,} bytes is ignored"] * bool(checked.torn)
