"""Finds the side to compare with (a baseline, a baseline file or a run folder), and saves baselines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from pytest_ltm.api.journal import (
    LATEST,
    ConversationResult,
    RunResult,
    find_run,
    newest_first,
    why_unmeasured,
)
from pytest_ltm.api.storage import (
    ConfigurationError,
    LtmError,
    did_you_mean,
    read_regular,
    write_output,
)
from pytest_ltm.figures.run_loading import RESULTS, read_run, results_in
from pytest_ltm.gate.baseline import baseline_text, check_name, load_baseline
from pytest_ltm.gate.changes import GateSide, one_agent
from pytest_ltm.gate.plan_facts import PlanFacts, facts_of

# Precedes the agent's label if a run or a file contains several: `latest@mybot`.
AGENT = "@"


def find_side(
    text: str,
    baselines: Path,
    ltm_dir: Path,
    base: Path = Path(),
    *,
    measured: bool = False,
) -> tuple[GateSide, str]:
    """Find the side that `text` names (a baseline, file, run folder, run id or `latest`), with its path.

    `TEXT@AGENT` selects one agent of several; paths are relative to `base`; with `measured`, `latest` is the last
    measurable run. Raises ConfigurationError if there is none, LtmError if it cannot be read.
    """
    name, _, agent = text.rpartition(AGENT)
    # A name may contain an @ itself, so try the whole text before the part in front of
    # the @.
    if path := _locate_run(text, baselines, ltm_dir, base, measured=measured):
        return _load_side(path, text), str(path.resolve())
    if path := _locate_run(name, baselines, ltm_dir, base, measured=measured):
        side = one_agent(_load_side(path, name), agent)
        # both sides may be agents of one run
        named = structs.replace(side, name=f"{agent} of {side.name}")
        return named, f"{path.resolve()}{AGENT}{agent}"
    runs = ltm_dir / "runs"
    names = sorted(path.stem for path in baselines.glob("*.json"))
    known_names = [*names, *(path.name for path in newest_first(ltm_dir))]
    if names:
        advice = f"Baselines: {', '.join(names)}"
    else:
        advice = "There are no baselines yet (--ltm-save=NAME makes one)"
    raise ConfigurationError(
        f"there is no baseline, file or run {text!r}.{did_you_mean(text, known_names)} {advice}. "
        f"Name one of them, a file, a run folder, a run id below {str(runs)!r}, or {LATEST!r}"
    )


def _locate_run(
    text: str, baselines: Path, ltm_dir: Path, base: Path, *, measured: bool
) -> Path | None:
    if not text:
        return None
    baseline = baselines / f"{text}.json"
    path = base / text
    # A baseline's name takes precedence over a file of that name in the working
    # directory.
    if "/" not in text and "\\" not in text and baseline.is_file():
        return baseline
    if path.is_file():
        return path
    if text == LATEST:
        return _latest_run(ltm_dir, measured=measured)
    try:
        return find_run(str(path) if path.is_dir() else text, ltm_dir)
    except ConfigurationError:
        return None


def _latest_run(ltm_dir: Path, *, measured: bool) -> Path:
    latest = find_run(LATEST, ltm_dir)
    # a run that was refused before it began leaves an empty folder
    runs = [run for run in (latest, *newest_first(ltm_dir)) if any(run.glob(RESULTS))]
    if not measured:
        return runs[0] if runs else latest
    for run in runs:
        conversations = tuple(part.result for part in results_in(run)[0])
        # lost examples say nothing about the agent
        if _is_over(run, conversations) and not why_unmeasured(
            RunResult(run_id=run.name, conversations=conversations)
        ):
            return run
    raise ConfigurationError(
        f"no run in {str(ltm_dir / 'runs')!r} was measured to its end"
    )


def _load_side(path: Path, text: str) -> GateSide:
    if path.is_dir():
        return side_of_run(path)
    return load_baseline(path, f"baseline {text!r}" if path.stem == text else "")


def _is_over(run: Path, conversations: Iterable[ConversationResult]) -> bool:
    """Return whether all conversations of a run have been played to their end."""
    for journal in run.glob("*/journal.jsonl"):
        if not (journal.parent / "results.json").is_file():
            return False
    return all(conversation.ended == "complete" for conversation in conversations)


def side_of_run(path: Path) -> GateSide:
    """Load a run folder as a side."""
    run = read_run(path)
    plans: list[PlanFacts] = []
    for folder in run.conversations:
        facts = facts_of(
            folder.plan() or None,
            span_label=folder.result.span_label,
            trial=folder.result.trial,
            fingerprint=folder.result.plan_fingerprint,
        )
        plans.append(facts)
    name = f"run {run.result.run_id}"
    return GateSide(name=name, result=run.result, plans=tuple(plans))


def save_baseline(side: GateSide, name: str, baselines: Path, version: str) -> str:
    """Write the baseline of a side with one agent; return a sentence on the outcome.

    Raises ConfigurationError for an invalid name, LtmError if it cannot be written.
    """
    path = baselines / f"{check_name(name)}.json"
    text = baseline_text(side, version).encode()
    try:
        former_text = read_regular(path) if path.exists() else None
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror or error})") from error
    write_output(path, text)
    # Whether anything changed decides about a commit.
    if former_text is None:
        outcome = "saved"
    elif former_text == text:
        outcome = "unchanged"
    else:
        outcome = "overwritten"
    return f"baseline {outcome}: {path}"
