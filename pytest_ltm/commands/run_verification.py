"""Verifies a run folder: its records, and the verdicts reproduced from them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_ltm.api.features import feature_hooks
from pytest_ltm.api.journal import (
    JOURNAL,
    RESULTS,
    TIMINGS,
    ReplyTime,
    Resumed,
    Retry,
    load_all_timings,
    run_parts,
)
from pytest_ltm.api.storage import pluralize
from pytest_ltm.commands.rescoring_check import score_part_again
from pytest_ltm.commands.verification_result import Verification
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.discrepancies import Discrepancy
from pytest_ltm.reports.verification import find_discrepancies


def verify_run(
    run: Path, work: Path, arguments: Namespace, *, foreign: bool
) -> Verification:
    """Verify a run folder; `work`: an empty folder for intermediate results.

    `foreign`: another person made the run, so nothing that it names is played unless the project is present.
    """
    loaded = read_run(run)
    differs: list[Discrepancy] = []
    unfinished: list[Discrepancy] = []
    for discrepancy in find_discrepancies(loaded):
        (unfinished if discrepancy.unfinished else differs).append(discrepancy)
    verification = Verification(
        run=loaded.result.run_id,
        made_by=str(loaded.summary.get("pytest_ltm_version") or ""),
        differs=differs,
        unfinished=unfinished,
        amended=loaded.amended,
        graded=sum(row.judge_calls for row in loaded.result.scenarios),
        held=list(_record_sentences(loaded)),
    )
    if arguments.record_only:
        verification.held.append("what is recorded; verdicts were not reached again")
    elif loaded.result.is_imported:
        _rule_imported_again(loaded, verification)
    else:
        _score_again(loaded, work, arguments, verification, foreign=foreign)
    return verification


def _rule_imported_again(run: LoadedRun, verification: Verification) -> None:
    """Reproduce the verdicts on published answers, where rules can."""
    ruled = feature_hooks().pytest_ltm_rule_again(run=run)
    count, differences = ruled or (0, [])
    for folder, sentence in differences:
        discrepancy = Discrepancy(f"{folder}/{RESULTS}", sentence)
        verification.differs.append(discrepancy)
    unruled = len(run.result.scenarios) - count
    if unruled:
        reason = "as published: nothing here says how to reach them again"
        verification.unchecked.append(f"{pluralize(unruled, 'verdict')} {reason}")
    if count:
        how = "reached again by rules from the published answers"
        verification.held.append(f"{pluralize(count, 'verdict')} {how}")


def _score_again(
    run: LoadedRun,
    work: Path,
    arguments: Namespace,
    verification: Verification,
    *,
    foreign: bool,
) -> None:
    """Score the conversations with intact journals again."""
    damaged = _damaged_conversations(verification.differs)
    undamaged: list[str] = []
    for conversation in run.conversations:
        name = conversation.path.name
        if not (conversation.path / JOURNAL).is_file():
            continue
        if not conversation.result.journal:
            reason = "its results do not name the journal that they are made from"
            verification.unchecked.append(f"{name}: {reason}")
        if name not in damaged:
            undamaged.append(name)
    undamaged.sort()
    parts = run_parts(run.path, undamaged)
    if undamaged and not parts:
        reason = "no run.json says how it was started"
        verification.unchecked.append(f"verdicts were not reached again: {reason}")
    for number, part in enumerate(parts):
        score_part_again(
            run, part, work / str(number), arguments, verification, foreign=foreign
        )


def _damaged_conversations(discrepancies: Sequence[Discrepancy]) -> set[str]:
    """Return the names of conversations with damaged journals."""
    names: set[str] = set()
    for discrepancy in discrepancies:
        if f"/{JOURNAL}" in discrepancy.place:
            names.add(discrepancy.place.partition("/")[0])
    return names


# --- Notes on the record for readers.


def _record_sentences(run: LoadedRun) -> Iterator[str]:
    conversations = pluralize(len(run.conversations), "conversation")
    examples = pluralize(len(run.result.scenarios), "example")
    yield f"{conversations}, {examples}, line by line against the journals"
    yield from _judge_sentences(run)
    if run.summary and "sum" not in run.summary:
        yield "summary.json has no checksum, so its notices and its lines on trust cannot be checked"
    yield _attempts_sentence(run)


def _judge_sentences(run: LoadedRun) -> Iterator[str]:
    """Yield the number of judge calls, and the results of its checks."""
    calls = sum(row.judge_calls for row in run.result.scenarios)
    if not calls:
        return
    plans = [conversation.plan() for conversation in run.conversations]
    judges = {str(plan.get("judge")) for plan in plans}
    ungraded = sum(row.cause == "ungraded" for row in run.result.scenarios)
    yield (
        f"{pluralize(calls, 'grade')} of a judge ({', '.join(sorted(judges))}): a model's, read again from its "
        f"replies and not asked again; {ungraded:,} without a grade"
    )
    for precheck in judge_checks.judge_prechecks(run.path):
        yield f"known answers given to the judge: {precheck.verdict}"


def _attempts_sentence(run: LoadedRun) -> str:
    """Return how often agents were asked, from the timings next to the journals."""
    faults = replies = timed = retries = resumptions = 0
    for conversation in run.conversations:
        record = conversation.record()
        if record is None:
            continue
        timings, _ = load_all_timings(conversation.path / TIMINGS)
        timed_exchanges = set[int]()
        for timing in timings:
            match timing:
                case ReplyTime():
                    timed_exchanges.add(timing.exchange)
                case Retry():
                    retries += 1
                case Resumed():
                    resumptions += 1
        faults += len(record.faults)
        replies += len(record.replies)
        timed += len(record.replies.keys() & timed_exchanges)
    untimed = replies - timed
    doubt = f" (nothing shows this for {untimed:,}, which have no time)"
    return (
        f"attempts: {replies:,} replies, each written down once{doubt if untimed else ''}; "
        f"{faults:,} messages failed, {retries:,} were sent again after a passing fault; "
        f"{resumptions:,} times a conversation was resumed"
    )
