"""Checks the files about a whole run: `run.json`, summary, table of verdicts, known-answer checks."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from math import isclose
from operator import itemgetter
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import FILE as RUN_FILE
from pytest_ltm.api.journal import SUMMARY, ConversationName
from pytest_ltm.api.storage import for_file, read_regular, show_value
from pytest_ltm.figures.run_loading import ConversationFolder, LoadedRun
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.discrepancies import MOST_DIFFERENCES, Discrepancy
from pytest_ltm.reports.summary import (
    VERDICTS_FILE,
    rewrite_summary,
    summary_checksum,
    verdicts_csv,
)

# Options that select some of the conversations or examples.
_CHOOSING = {"keyword", "markexpr", "deselect", "ltm_shard"}
# Fields of every summary, whatever version wrote it.
_OF_SUMMARY = (
    "run_id",
    "pytest_ltm_version",
    "plan",
    "results",
    "conversations",
    "notices",
)
# Fields that identify the entries of a list of conversations or results.
_LABELS = ("agent", "span_label", "trial", "nodeid", "ltm_scenario")


def check_run_file(path: Path) -> Iterator[Discrepancy]:
    """Yield a discrepancy if `run.json` exists but cannot be read."""
    if path.is_file() and not isinstance(json.loads(read_regular(path)), dict):
        yield Discrepancy(path.name, "it is not a JSON object")


def check_judge(run: Path) -> Iterator[Discrepancy]:
    """Yield the known answers that a judge misjudged."""
    for check in judge_checks.judge_prechecks(run):
        if check.verdict == "wrong":
            problem = f"the judge misjudged known answers: {check.why}"
            yield Discrepancy(judge_checks.FILE, problem)


# --- run.json


def check_settings(run: LoadedRun, part: Mapping[str, Any]) -> Iterator[Discrepancy]:
    """Yield the settings of a part of the run that differ from those its conversations were played with."""
    settings = part["run"].get("settings", {})
    options = part["run"].get("options", {})
    # A command that selected some did not ask for the others.
    if not part["run"].get("paths") and not options.keys() & _CHOOSING:
        yield from _unplayed_conversations(run, settings)
    for conversation in run.conversations:
        plan = conversation.plan()
        if conversation.path.name not in part["conversations"] or not plan:
            continue
        pairs = _setting_pairs(conversation, plan, settings)
        for name, (requested, played) in pairs.items():
            if requested != played:
                problem = (
                    f"{name} is {show_value(requested)}, and {conversation.path.name} was played with "
                    f"{show_value(played)}"
                )
                yield Discrepancy(RUN_FILE, problem)


def _unplayed_conversations(
    run: LoadedRun, settings: Mapping[str, Any]
) -> Iterator[Discrepancy]:
    """Yield the conversations that a run asked for but lacks."""
    names = [conversation.result.name for conversation in run.conversations]
    played = {name.planned_name for name in names}
    agents = settings.get("agents", {})
    spans = settings.get("spans", {})
    trials = range(settings.get("trials") or 1)
    for agent, span, trial in product(agents, spans, trials):
        name = ConversationName(agent, span, str(trial))
        if name not in played:
            problem = f"it asks for the conversation {name.folder}, which was not played, or was removed"
            yield Discrepancy(RUN_FILE, problem, unfinished=True)


def _setting_pairs(
    conversation: ConversationFolder,
    plan: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Mapping[str, tuple[object, object]]:
    """Return the requested and the played value of each setting, by its name."""
    name = conversation.result.name.planned_name
    # A plan adds the versions of the judge's questions.
    judge = str(plan.get("judge")).partition(" (")[0]
    agents = settings.get("agents", {})
    spans = settings.get("spans", {})
    pairs: dict[str, tuple[object, object]] = {}
    for setting in ("seed", "tokenizer", "scoring", "time"):
        pairs[setting] = (settings.get(setting), plan.get(setting))
    pairs["judge"] = (settings.get("judge"), judge)
    pairs["trial"] = (name.trial, str(plan.get("trial")))
    pairs["spans"] = (spans.get(name.span), plan.get("span"))
    pairs["agents"] = (agents.get(name.agent), conversation.result.agent_spec)
    return pairs


# --- summary.json


def check_listing(run: LoadedRun) -> Iterator[Discrepancy]:
    """Yield the conversations that the summary lists, identified by their places, but that are missing."""
    folders = {conversation.path.name for conversation in run.conversations}
    for entry in run.summary.get("conversations", ()):
        parts = [str(entry.get(part)) for part in ("agent", "span_label", "trial")]
        name = "~".join(parts)
        has_variants = any(folder.startswith(f"{name}~") for folder in folders)
        if name not in folders and not has_variants:
            problem = f"it lists the conversation {name}, which is not there"
            yield Discrepancy(SUMMARY, problem)


def check_summary(
    run: LoadedRun, parts: Sequence[Mapping[str, Any]]
) -> Iterator[Discrepancy]:
    """Yield where summary and table of verdicts do not follow from the results and `run.json`."""
    summary = run.summary
    for problem in _run_file_differences(run, parts):
        yield Discrepancy(SUMMARY, problem)
    if "sum" in summary and summary["sum"] != summary_checksum(summary):
        yield Discrepancy(SUMMARY, "it was changed after it was written")
    for name in _OF_SUMMARY:
        if name not in summary:
            yield Discrepancy(SUMMARY, f"it has no {name}")
    for name, value in rewrite_summary(run.result, summary).items():
        # Results have the folder's id, which may have been renamed: compare it with
        # run.json.
        if name not in summary or name in ("metrics", "run_id"):
            continue
        # Conversations are nearly all of the summary, and consist of JSON values
        # already.
        rewritten = value if name == "conversations" else json.loads(json.dumps(value))
        texts = _value_differences(summary[name], rewritten, name)
        for text in islice(texts, MOST_DIFFERENCES):
            yield Discrepancy(SUMMARY, text)
    if not _has_verdicts(run):
        yield Discrepancy(VERDICTS_FILE, "it does not have the verdicts of the results")


def _run_file_differences(
    run: LoadedRun, parts: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the differences between the summary and `run.json`."""
    summary = run.summary
    path = run.path / RUN_FILE
    begun_run = ""
    with suppress(OSError, ValueError, RecursionError, AttributeError):
        begun_run = str(json.loads(read_regular(path)).get("run", ""))
    run_id = summary.get("run_id")
    # An amended copy is named after its folder.
    if run_id not in (begun_run or run_id, run.path.resolve().name):
        yield f"it is that of run {run_id}, and {RUN_FILE} began run {begun_run}"
    if not path.is_file():
        return
    plan = summary.get("plan")
    planned = dict(plan) if isinstance(plan, dict) else {}
    planned["seed"] = summary.get("seed")
    for part in parts:
        for name, value in part["run"].get("settings", {}).items():
            if name in planned and planned[name] != value:
                yield f"its {name} is {show_value(planned[name])}, and {RUN_FILE} says {show_value(value)}"


def _value_differences(filed: object, rewritten: object, path: str) -> Iterator[str]:
    """Yield where two JSON values differ; fields that another version did not write yet do not count."""
    # The usual case, and much faster than walking through both.
    if filed == rewritten:
        return
    if isinstance(filed, dict) and isinstance(rewritten, dict):
        for key, value in filed.items():
            yield from _value_differences(value, rewritten.get(key), f"{path}.{key}")
        return
    if isinstance(filed, list) and isinstance(rewritten, list):
        yield from _list_differences(filed, rewritten, path)
        return
    # The order of summation may change the last digit of a mean.
    is_close = (
        isinstance(filed, float)
        and isinstance(rewritten, float)
        and isclose(filed, rewritten)
    )
    if is_close:
        return
    yield _difference_text(path, filed, rewritten)


def _difference_text(path: str, filed: object, rewritten: object) -> str:
    return f"{path} is {show_value(filed)}, and the results say {show_value(rewritten)}"


def _list_differences(
    filed: Sequence[object], rewritten: Sequence[object], path: str
) -> Iterator[str]:
    """Yield where the entries of two lists differ, matched by label: imported runs have another order."""
    if len(filed) != len(rewritten):
        yield _difference_text(path, filed, rewritten)
        return
    filed_entries: dict[str, object] = {}
    for number, entry in enumerate(filed):
        filed_entries[_entry_label(entry, number)] = entry
    for number, entry in enumerate(rewritten):
        label = _entry_label(entry, number)
        yield from _value_differences(
            filed_entries.get(label), entry, f"{path}[{label}]"
        )


def _entry_label(entry: object, number: int) -> str:
    """Return an identifier of a list's entry: its names, else its index."""
    if not isinstance(entry, dict):
        return str(number)
    names = [str(entry[name]) for name in _LABELS if name in entry]
    return " ".join(names) or str(number)


# --- verdicts.csv


def _has_verdicts(run: LoadedRun) -> bool:
    """Return whether the table of verdicts, if there is one, matches the results."""
    path = run.path / VERDICTS_FILE
    if not path.is_file():
        return True
    filed = read_regular(path)
    rewritten = for_file(verdicts_csv(run.result))
    return filed == rewritten or _agree_in_columns(
        _csv_rows(filed), _csv_rows(rewritten)
    )


def _csv_rows(data: bytes) -> list[dict[str, str]]:
    text = io.StringIO(data.decode("utf-8", "replace"), newline="")
    return list(csv.DictReader(text, restkey="", restval=""))


def _agree_in_columns(
    filed: Sequence[Mapping[str, str]], rewritten: Sequence[Mapping[str, str]]
) -> bool:
    """Return whether two tables have equal rows in the columns that both versions have."""
    if not filed or not rewritten:
        return False
    columns = sorted(filed[0].keys() & rewritten[0].keys())

    needed = {"nodeid", "outcome", "ltm_score"}
    if not needed.issubset(columns):
        return False
    cells = itemgetter(*columns)
    return sorted(map(cells, filed)) == sorted(map(cells, rewritten))
