"""`doctor --verify RUN`: whether journals are as they were written; `doctor --repair RUN`: what can be put right."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass
from itertools import chain, count, islice
from typing import TYPE_CHECKING

from pytest_ltm._engine.recording_folder import JOURNAL
from pytest_ltm._journal import events, judge_precheck
from pytest_ltm._journal.checksum_chain import find_damages, flip_bit_back
from pytest_ltm._results.text import pluralize
from pytest_ltm._storage.disk import read_regular, write_whole
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.locks import FolderLock
from pytest_ltm._storage.secrets import redact_secrets
from pytest_ltm.reporting.verification import find_discrepancies

if TYPE_CHECKING:
    from pathlib import Path


# The exit status where something is damaged, and after a repair that lost something.
DAMAGED = 1
_MOST = 20  # more damaged lines of one journal help nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One journal; or, as a run's folder, what does not follow from its journals."""

    file: str
    lines: int
    torn: int
    """Bytes of a last line that is not whole."""
    head: str
    """Its last checksum, "" where it is damaged."""
    problems: tuple[str, ...]


def verify_journals(run: Path, *, as_json: bool) -> int:
    """Print the last checksums of a run's journals, or what is damaged there or does not follow from them; then 1."""
    checkeds = list(map(_check_journal, _journal_paths(run)))
    damaged = any(each.problems for each in checkeds)
    try:
        found = find_discrepancies(run)
        differs = [f"{run / each.place}: {each.what}" for each in found if not each.unfinished and not each.line]
    except LtmError as error:  # a run that has just begun has no results
        differs = [] if checkeds else [str(error)]
    if as_json:
        beside = Checked(file=str(run), lines=0, torn=0, head="", problems=tuple(differs))
        lines = [json.dumps([asdict(each) for each in [*checkeds, *[beside] * bool(differs)]], indent=1)]
    else:
        lines = [line for each in checkeds for line in _journal_lines(each)] + differs
        if damaged:
            command = f"ltm doctor --repair {shlex.quote(str(run))}"
            lines.append(
                "what can be done: restore a copy of the file; or have flipped bits put back, and a journal cut before "
                f"any other damage so that the run can be resumed from there, keeping the damaged file: {command}"
            )
    print(redact_secrets("\n".join(lines)))
    return DAMAGED if damaged or differs else 0


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
            copies = (path.with_name(f"{path.name}.damaged{number}") for number in chain([""], count(2)))
            kept = next(copy for copy in copies if not copy.exists())
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


def _journal_paths(run: Path) -> list[Path]:
    result = [*sorted(run.glob(f"*/{JOURNAL}")), run / judge_precheck.JOURNAL]
    return [path for path in result if path.is_file()]


def _check_journal(path: Path) -> Checked:
    data = read_regular(path)
    result = list(islice(find_damages(data), _MOST + 1))
    problems = [f"{path}, line {damage.line}: {damage.what}" for damage in result[:_MOST]]
    problems += [f"{path}: and more"] * (len(result) > _MOST)
    return Checked(
        file=str(path), lines=data.count(b"\n"), torn=len(data) - data.rfind(b"\n") - 1,
        head="" if result else events.last_checksum(path), problems=tuple(problems),
    )  # fmt: skip


def _journal_lines(checked: Checked) -> list[str]:
    whole = f"{checked.file}: {pluralize(checked.lines, 'line')}, whole; last checksum {checked.head}"
    torn = f"  an incomplete last line of {checked.torn:,} bytes is ignored"
    return [*(checked.problems or [whole]), *[torn] * bool(checked.torn)]
