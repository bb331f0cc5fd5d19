"""Verifies that results, summary and definitions follow from undamaged journals.

Nothing is played here; `ltm verify` also scores a run again. Anyone who rewrites a whole journal can compute its
checksums as well, so a passing run is consistent, not proven genuine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import structs

from pytest_ltm.api.journal import FILE as RUN_FILE
from pytest_ltm.api.journal import (
    JOURNAL,
    RESULTS,
    SUMMARY,
    ConversationRecord,
    ConversationResult,
    run_parts,
)
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.conversation_check import check_conversation
from pytest_ltm.reports.discrepancies import Discrepancy, find_damaged_lines, run_check
from pytest_ltm.reports.summary_check import (
    check_judge,
    check_listing,
    check_run_file,
    check_settings,
    check_summary,
)

# The beginning of a notice about a discrepancy.
DIFFERS = "does not hold"
_MOST_SHOWN = 2  # per file, in notices


def find_discrepancies(run: LoadedRun) -> list[Discrepancy]:
    """Return the discrepancies in a run folder, given what `read_run` has read from it."""
    return [*check_conversations(run, {}), *check_run_files(run)]


def check_run_files(run: LoadedRun) -> list[Discrepancy]:
    """Return the discrepancies in the files about a whole run."""
    path = run.path / RUN_FILE
    discrepancies = run_check(RUN_FILE, partial(check_run_file, path))
    names = [conversation.path.name for conversation in run.conversations]
    parts = list(run_parts(run.path, names))
    for part in parts:
        discrepancies += run_check(RUN_FILE, partial(check_settings, run, part))
    for name in (judge_checks.JOURNAL, judge_checks.CHECKS):
        discrepancies += run_check(name, partial(find_damaged_lines, run.path / name))
    discrepancies += run_check(judge_checks.FILE, partial(check_judge, run.path))
    if run.summary:
        discrepancies += run_check(SUMMARY, partial(check_listing, run))
        discrepancies += run_check(SUMMARY, partial(check_summary, run, parts))
    elif path.is_file():
        missing = "it is missing or cannot be read: the run is not finished"
        discrepancies.append(Discrepancy(SUMMARY, missing, unfinished=True))
    return discrepancies


def check_conversations(
    run: LoadedRun, checked: Mapping[Path, Sequence[Discrepancy]]
) -> list[Discrepancy]:
    """Return the discrepancies in the folders of conversations; `checked`: those of folders checked already."""
    recorded = {folder.path: folder.recorded for folder in run.conversations}
    folders: set[Path] = set()
    for name in (JOURNAL, RESULTS, "plan.json"):
        folders.update(path.parent for path in run.path.glob(f"*/{name}"))
    discrepancies: list[Discrepancy] = []
    for folder in sorted(folders):
        if folder in checked:
            discrepancies += checked[folder]
        else:
            discrepancies += check_folder(run, folder, recorded.get(folder))
    return discrepancies


def check_folder(
    run: LoadedRun,
    folder: Path,
    result: ConversationResult | None,
    record: ConversationRecord | None = None,
) -> list[Discrepancy]:
    """Return the discrepancies in the folder of a conversation; `result`, `record`: as in `check_conversation`."""
    imported = run.result.is_imported
    check = partial(
        check_conversation, folder, result, imported=imported, record=record
    )
    return run_check(folder.name, check)


# --- Notices to readers of the run.


def read_marked_run(path: Path) -> LoadedRun:
    """Read a run folder, adding a notice for each discrepancy; raises LtmError like `read_run`."""
    run = read_run(path)
    return add_marks(without_examples(run), find_discrepancies(run))


def without_examples(run: LoadedRun) -> LoadedRun:
    """Return a run without the examples in its summary, a second copy that only the comparison reads."""
    summary = dict(run.summary)
    summary.pop("conversations", None)
    return structs.replace(run, summary=summary)


def mark_discrepancies(run: LoadedRun) -> LoadedRun:
    """Return a run with a notice for each of its files that has discrepancies."""
    recorded = run
    # Read again: an ongoing run was given results that are in none of its files.
    if any(folder.recorded is None for folder in run.conversations):
        recorded = read_run(run.path)
    return add_marks(run, find_discrepancies(recorded))


def discrepancy_notices(runs: Iterable[LoadedRun]) -> list[str]:
    """Return the notices on discrepancies in some runs."""
    notices = chain.from_iterable(run.result.notices for run in runs)
    return [notice for notice in notices if notice.startswith(DIFFERS)]


def add_marks(run: LoadedRun, discrepancies: Iterable[Discrepancy]) -> LoadedRun:
    """Return a run with a notice for each of its files that has discrepancies."""
    marks = [f"{DIFFERS}: {sentence}" for sentence in _sentences_of(discrepancies)]
    if not marks:
        return run
    notices: list[str] = []
    for notice in run.result.notices:
        if not notice.startswith(DIFFERS):
            notices.append(notice)
    result = structs.replace(run.result, notices=(*marks, *notices))
    return structs.replace(run, result=result)


def discrepancy_sentences(run: LoadedRun) -> Iterator[str]:
    """Yield the first discrepancies per file of a run, and how many more: one change has many effects."""
    return _sentences_of(find_discrepancies(run))


def _sentences_of(discrepancies: Iterable[Discrepancy]) -> Iterator[str]:
    finished: list[Discrepancy] = []
    for discrepancy in discrepancies:
        if not discrepancy.unfinished:
            finished.append(discrepancy)
    by_place = group_by(finished, lambda discrepancy: discrepancy.place)
    for of_place in by_place.values():
        sentences = [str(discrepancy) for discrepancy in of_place[:_MOST_SHOWN]]
        more = len(of_place) - _MOST_SHOWN
        if more > 0:
            sentences[-1] += f" (and {more:,} more: see ltm verify)"
        yield from sentences
