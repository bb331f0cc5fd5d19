"""Checks that a run's verdicts are reproduced, by scoring a copy of it in a separate pytest session."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import (
    JOURNAL,
    RESULTS,
    ConversationRecord,
    ScenarioResult,
    read_results,
)
from pytest_ltm.api.model import count_option
from pytest_ltm.api.scenarios import SuiteSpec, fold_recorded_options
from pytest_ltm.api.storage import (
    LtmError,
    json_text,
    pluralize,
    read_regular,
    write_whole,
)
from pytest_ltm.commands.pytest_runs import run_pytest
from pytest_ltm.commands.verification_result import Verification
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.discrepancies import Discrepancy
from pytest_ltm.reports.result_check import compare_results

_MOST_NAMED = 5  # examples per sentence
_MOST_LINES = 4  # lines of pytest's output
# The recorded options that are repeated: none that name output files or code to run.
_REPEATED = (
    "ltm_agent",
    "ltm_span",
    "ltm_isolated",
    "ltm_suite",
    "ltm_definitions",
    "ltm_seed",
    "ltm_examples",
    "ltm_trials",
    "ltm_scoring",
    "ltm_thoughts",
    "ltm_filler",
    "ltm_tokenizer",
    "ltm_time",
    "ltm_shard",
    "ltm_sessions",
    "ltm_compact",
    "ltm_language",
    "ltm_count",
    "keyword",
    "markexpr",
    "deselect",
    "ignore",
)
# Settings with an option of the same name, for runs that took them from a project's ini
# file.
_SET_BY_OPTION = (
    "suite",
    "examples",
    "trials",
    "filler",
    "tokenizer",
    "scoring",
    "time",
    "count",
    "seed",
)


def score_part_again(
    run: LoadedRun,
    part: Mapping[str, Any],
    work: Path,
    arguments: Namespace,
    verification: Verification,
    *,
    foreign: bool,
) -> None:
    """Score the conversations started by one command again; record differences, and what could not be checked.

    `foreign`: another person made the run. Bundled scenarios are then played outside the project that is present, as
    they are if they cannot be played in it: a run may come from elsewhere.
    """
    names: Sequence[str] = part["conversations"]
    rows = [row for _, row in _read_rows(run.path, names)]
    is_bundled = all(row.nodeid.startswith("ltm/") for row in rows)
    is_apart = foreign and is_bundled
    source = work / "source" / run.result.run_id
    rescored_run, printed = _rescore(run, part, source, arguments, away=is_apart)
    if rescored_run is None and is_bundled and not is_apart:
        source = work / "elsewhere" / run.result.run_id
        rescored_run, _ = _rescore(run, part, source, arguments, away=True)
    if rescored_run is None:
        reason = f"verdicts were not reached again: {_printed_reason(printed)}"
        if not is_bundled:
            reason += ". Its tests are those of a project: verify it there, at the commit that was tested"
        verification.unchecked.append(reason)
        return
    summary = json.loads(read_regular(rescored_run / "summary.json"))
    # One version may have begun it, and another one have resumed it.
    begun_by = part["run"].get("versions", {}).get("pytest-ltm", verification.made_by)
    recorders = {begun_by, verification.made_by} - {""}
    others = recorders ^ {summary.get("pytest_ltm_version")}
    found = verification.of_versions if others else verification.differs
    found += compare_results(source, rescored_run, same_version=not others)
    rescored: Mapping[str, Any] = summary.get("rescored") or {}
    for name, reason in rescored.get("definitions", {}).items():
        found.append(Discrepancy(f"{name}, definition", reason))
    _note_rescoring(source, rescored_run, summary, verification)
    if others and recorders:
        names = " and ".join(sorted(recorders))
        hint = "--python=PATH scores it again with that version"
        verification.held.append(f"it was recorded by pytest-ltm {names}: {hint}")


def _rescore(
    run: LoadedRun,
    part: Mapping[str, Any],
    source: Path,
    arguments: Namespace,
    *,
    away: bool,
) -> tuple[Path | None, Sequence[str]]:
    """Score a copy of the part, to be made at `source`; return the new run, if it has results, and pytest's output.

    `away`: in an empty folder, without the project that is present.
    """
    names: Sequence[str] = part["conversations"]
    _copy_conversations(run.path, source, names)
    record = _repeated_run(part["run"], source / names[0], arguments.data, away=away)
    write_whole(source / "run.json", json_text(record).encode())
    words = [f"--ltm-rescore={source}", "--ltm-judge=none"]
    empty = source.with_name("apart")
    if away:
        empty.mkdir()
        words.append(f"--rootdir={empty}")
    words += arguments.pytest
    rescored_run, printed = run_pytest(
        words,
        source.with_name("ltm"),
        python=arguments.python,
        cwd=empty if away else None,
    )
    if rescored_run is None or not any(rescored_run.glob(f"*/{RESULTS}")):
        return None, printed
    return rescored_run, printed


def _copy_conversations(run: Path, source: Path, names: Sequence[str]) -> None:
    """Copy the conversations to score again, without locks, agent states and timings."""
    ignored = shutil.ignore_patterns(".lock", "checkpoints", "timings*")
    for name in names:
        shutil.copytree(run / name, source / name, ignore=ignored)
    for name in (judge_checks.FILE, judge_checks.CHECKS):
        if (run / name).is_file():
            shutil.copyfile(run / name, source / name)


def _read_rows(run: Path, names: Sequence[str]) -> list[tuple[str, ScenarioResult]]:
    """Return the results of conversations, each with its conversation's name."""
    rows: list[tuple[str, ScenarioResult]] = []
    for name in names:
        results = read_results(run / name / RESULTS)
        rows += [(name, row) for row in results.scenarios]
    return rows


def _printed_reason(printed: Sequence[str]) -> str:
    """Return pytest's reason for not playing: its first error with what follows, or its last lines."""
    lines = [line for line in printed if line.strip()]
    for number, line in enumerate(lines):
        if line.startswith("ERROR"):
            return " ".join(lines[number : number + _MOST_LINES])
    return " ".join(lines[-3:]) or "pytest printed nothing"


def _note_rescoring(
    source: Path,
    rescored_run: Path,
    summary: Mapping[str, Any],
    verification: Verification,
) -> None:
    """Record which verdicts were reproduced, by which version, and which were not."""
    rescored = summary.get("rescored") or {}
    names = sorted(path.parent.name for path in source.glob(f"*/{JOURNAL}"))
    # A damaged conversation was left out, but may have been played again.
    made_names = {path.parent.name for path in rescored_run.glob(f"*/{RESULTS}")}
    for name in names:
        if name not in made_names:
            verification.unchecked.append(f"{name}: it was not played again")
    for name, reason in rescored.get("kept", {}).items():
        sentence = f"{name}: its verdict was not reached again: {reason}"
        verification.unchecked.append(sentence)
    lost_verdicts = _lost_verdicts(
        source, rescored_run, sorted(made_names.intersection(names))
    )
    if lost_verdicts:
        verdicts = pluralize(len(lost_verdicts), "verdict")
        examples = ", ".join(lost_verdicts[:_MOST_NAMED])
        verification.unchecked.append(f"{verdicts} not reached again: {examples}")
    version = summary.get("pytest_ltm_version")
    replies = _count_replies(source, names)
    sentence = (
        f"{pluralize(rescored.get('same', 0), 'verdict')} reached again from "
        f"{pluralize(replies, 'reply')} by pytest-ltm {version}"
    )
    if any((source / name / "definitions").is_dir() for name in names):
        sentence += (
            ", definitions and expected answers made again from the seed or data"
        )
    verification.held.append(sentence)


def _lost_verdicts(source: Path, rescored_run: Path, names: Sequence[str]) -> list[str]:
    """Return the examples that had a score and are missing after rescoring."""
    reached = {(name, row.id) for name, row in _read_rows(rescored_run, names)}
    lost: list[str] = []
    for name, row in _read_rows(source, names):
        if row.score is not None and (name, row.id) not in reached:
            lost.append(row.id)
    return lost


def _count_replies(source: Path, names: Sequence[str]) -> int:
    replies = 0
    for name in names:
        record = ConversationRecord.read_record(source / name / JOURNAL)
        replies += len(record.replies)
    return replies


# --- Repeating the run.


def _repeated_run(
    record: Mapping[str, Any], folder: Path, data: Path | None, *, away: bool
) -> dict[str, Any]:
    """Return the `run.json` for scoring a run again; LtmError if it is not usable.

    `folder`: that of its first conversation. `away`: in an empty folder, without the project's ini file and files.
    """
    options = record.get("options")
    settings = record.get("settings")
    if not isinstance(options, dict) or not isinstance(settings, dict):
        raise LtmError("run.json: options and settings must be objects")
    options = fold_recorded_options(options, settings.get("suite"))
    settings = dict(settings)
    repeated = {name: value for name, value in options.items() if name in _REPEATED}
    if data is not None or (away and "ltm_suite" in repeated):
        suite = SuiteSpec.parse(str(repeated.get("ltm_suite") or settings.get("suite")))
        path = None if data is None else str(data.resolve())
        repeated["ltm_suite"] = str(suite.replace_parameters(data=path))
    # A replayed run would look for the run that it replays.
    if settings.get("count") is None:
        try:
            plan = json.loads(read_regular(folder / "plan.json"))
            settings["count"] = count_option(plan["count"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise LtmError(
                f"{folder.name}/plan.json: no count of tokens: {error}"
            ) from error
        repeated["ltm_count"] = settings["count"]
    if not away:
        if "ltm" in options:
            repeated["ltm"] = options["ltm"]
        return {**record, "options": repeated, "settings": settings}
    _settle_away(repeated, settings, folder)
    return {
        **record,
        "options": repeated,
        "settings": settings,
        "folder": ".",
        "paths": [],
    }


def _settle_away(
    options: dict[str, Any], settings: dict[str, Any], folder: Path
) -> None:
    """Replace a project's ini settings by options, without paths or code of this machine."""
    # No filler is sent, so any will do.
    options["ltm_filler"] = settings["filler"] = "varied"
    if "ltm_agent" not in options:
        agents: Mapping[str, str] = settings.get("agents", {})
        options["ltm_agent"] = [f"{label}={spec}" for label, spec in agents.items()]
    for name in _SET_BY_OPTION:
        if f"ltm_{name}" not in options and settings.get(name) is not None:
            options[f"ltm_{name}"] = str(settings[name])
    if settings.get("definitions") is not None:
        path = str(folder / "definitions")
        options["ltm_definitions"] = settings["definitions"] = path
