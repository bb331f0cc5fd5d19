"""`merge RUN… -o RUN`: merges several run folders into one, which every other command can read."""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from itertools import chain, product, starmap
from pathlib import Path
from typing import Any

from msgspec import structs

from pytest_ltm.api.journal import (
    PARTS,
    ConversationName,
    Pace,
    find_run,
    run_parts,
    timings,
)
from pytest_ltm.api.scenarios import Plan, plan_differences
from pytest_ltm.api.storage import (
    ConfigurationError,
    DefinitionError,
    build_folder,
    first_and_rest,
    join_some,
    json_text,
    pluralize,
    read_regular,
)
from pytest_ltm.commands.arguments import RUN, add_ltm_dir, new_run_folder
from pytest_ltm.figures.run_loading import ConversationFolder, LoadedRun, read_run
from pytest_ltm.figures.statistics.totals import agent_paces, group_by
from pytest_ltm.records import amendments as _amendments
from pytest_ltm.records.amendments import Amendment
from pytest_ltm.reports.summary import rewrite_summary, write_summary, write_verdicts

# The exit status if the merged run was written but is incomplete.
INCOMPLETE = 1
# Plan settings that all conversations of one run share.
MUST_BE_EQUAL = (
    "seed",
    "tokenizer",
    "filler",
    "scoring",
    "judge",
    "judge_votes",
    "time",
)
# The most differences between plans, and names of missing conversations, to list.
MAX_LISTED_DIFFERENCES = 5


def add_arguments(parser: ArgumentParser) -> None:
    """Add the runs and the new one."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="RUN",
        help="the new run: a folder, or a run ID",
    )
    add_ltm_dir(parser)


def merge_runs(arguments: Namespace) -> int:
    """Join run folders that were played separately: shards of --ltm-shard, machines, further trials.

    Duplicates and gaps are reported; runs with different plans are refused. Exit status 1 if something is missing, 2 if
    nothing was written.
    """
    # a run that is named twice counts once
    paths = [find_run(text, arguments.ltm_dir) for text in arguments.runs]
    folders = {path.resolve(): path for path in paths}
    runs = list(map(read_run, folders.values()))
    target = new_run_folder(arguments.output, arguments.ltm_dir)
    chosen, repeated, missing = merge_parts(runs)
    amendments = _merged_amendments(runs)
    with build_folder(target) as beside:
        for part in chosen:
            # a lock belongs to the writer of the original
            shutil.copytree(
                part.path,
                beside / part.path.name,
                ignore=shutil.ignore_patterns(".lock"),
            )
        if amendments:
            text = _amendments.amendments_text(amendments)
            (beside / _amendments.FILE).write_bytes(text.encode())
        # The start of each part is kept for verification: a merged run cannot be
        # started again as one.
        part_records: list[Any] = []
        for run_path, parts in group_by(chosen, lambda part: part.path.parent).items():
            part_records += run_parts(run_path, [part.path.name for part in parts])
        if part_records:
            (beside / PARTS).write_bytes(json_text({"parts": part_records}).encode())
        merged = _summed_up(target, beside, runs, missing)
    joined = f"{pluralize(len(chosen), 'conversation')}, {pluralize(len(merged.result.scenarios), 'example')}"
    lines = [f"merged {pluralize(len(runs), 'run')}: {joined} -> {target}"]
    lines += [f"  repeated: {sentence}" for sentence in repeated]
    lines += [f"  missing: {sentence}" for sentence in missing]
    if amendments:
        lines.append(f"  kept: {pluralize(len(amendments), 'amended verdict')}")
    print("\n".join(lines))
    return INCOMPLETE if missing else 0


def _merged_amendments(runs: Iterable[LoadedRun]) -> dict[str, Amendment]:
    """Return the amendments of all runs by item; ConfigurationError if two disagree."""
    amendments: dict[str, Amendment] = {}
    places: dict[str, Path] = {}
    for run in runs:
        for nodeid, amendment in _amendments.read_amendments(run.path).items():
            where = places.setdefault(nodeid, run.path)
            if amendments.setdefault(nodeid, amendment) != amendment:
                raise ConfigurationError(
                    f"{nodeid} is amended in {where} and, differently, in {run.path}. Amend it alike in both"
                )
    return amendments


# --- The conversations of the merged run


def merge_parts(
    runs: Sequence[LoadedRun],
) -> tuple[list[ConversationFolder], list[str], list[str]]:
    """Return the conversations of all runs, with sentences on duplicates and on missing ones.

    Raises ConfigurationError for plans that differ too much for one run, with the differences, and for damaged
    journals.
    """
    folders = list(chain.from_iterable(run.conversations for run in runs))
    damages = list(filter(None, (folder.damage() for folder in folders)))
    if damages:
        raise ConfigurationError("\n  ".join(["journals are damaged:", *damages]))
    _refuse_strangers(folders)
    chosen: dict[str, ConversationFolder] = {}
    repeated: list[str] = []
    for part in folders:
        first = chosen.setdefault(part.path.name, part)
        if first is part:
            continue
        name = part.path.name
        where = f"{name} is in {first.path.parent} and in {part.path.parent}"
        sides = (first, part)
        complete = [side for side in sides if side.result.ended == "complete"]
        if first.result == part.result and _has_journal_of(first, part):
            repeated.append(f"{where}: the same, taken once")
        elif len(complete) == 1:
            chosen[name] = complete[0]
            repeated.append(
                f"{where}: taken from {complete[0].path.parent}, where it is complete"
            )
        else:
            raise ConfigurationError(
                f"{where}, with different results, and nothing says which one counts. Leave one of these runs out, "
                f"or take the folder {name} out of one of them"
            )
    return list(chosen.values()), repeated, _missing_parts(runs, chosen.values())


def _has_journal_of(first: ConversationFolder, second: ConversationFolder) -> bool:
    """Return whether two folders have equal journals, or none."""
    contents = []
    for folder in (first, second):
        path = folder.path / "journal.jsonl"
        contents.append(read_regular(path) if path.is_file() else None)
    return contents[0] == contents[1]


def _refuse_strangers(folders: Sequence[ConversationFolder]) -> None:
    """Raise ConfigurationError if conversations with equal labels have different agents or plans."""
    by_agent: dict[str, ConversationFolder] = {}
    for part in folders:
        namesake = by_agent.setdefault(part.result.agent, part)
        if namesake.result.agent_fingerprint != part.result.agent_fingerprint:
            raise ConfigurationError(
                f"the agent {part.result.agent!r} is not the same in {namesake.path.parent} "
                f"({namesake.result.agent_spec}, {namesake.path.name}) and in {part.path.parent} "
                f"({part.result.agent_spec}, {part.path.name}): their configurations "
                "differ. Two agents in one run need two labels: --ltm-agent=NAME=SPEC"
            )
    by_place: dict[tuple[str, str], ConversationFolder] = {}
    plan = folders[0].plan() if folders else {}
    for part in folders:
        first = by_place.setdefault((part.result.span_label, part.result.trial), part)
        if first.result.plan_fingerprint != part.result.plan_fingerprint:
            try:
                first_plan = Plan.from_json(first.plan(), where=str(first.path))
                part_plan = Plan.from_json(part.plan(), where=str(part.path))
            except DefinitionError as error:
                reason = f"The fingerprints differ, and a plan cannot be read: {error}"
                raise _merge_refusal(first, part, [reason]) from None
            changed_by_hand = (
                "The fingerprints differ: one of the files was changed by hand."
            )
            raise _merge_refusal(
                first,
                part,
                plan_differences(first_plan, part_plan) or [changed_by_hand],
            )
        other_plan = part.plan()
        sentences: list[str] = []
        for name in MUST_BE_EQUAL if plan and other_plan else ():
            if plan.get(name) != other_plan.get(name):
                sentences.append(
                    f"The plan's {name} is {json.dumps(plan.get(name), ensure_ascii=False)} in one and "
                    f"{json.dumps(other_plan.get(name), ensure_ascii=False)} in the other."
                )
        if sentences:
            raise _merge_refusal(folders[0], part, sentences)


def _merge_refusal(
    first: ConversationFolder, second: ConversationFolder, sentences: Sequence[str]
) -> ConfigurationError:
    reason = "these are not parts of one run, because plans differ:"
    listed = first_and_rest(
        sentences, MAX_LISTED_DIFFERENCES, "… and {} more differences"
    )
    return ConfigurationError(
        "\n  ".join([reason, str(first.path), str(second.path), *listed])
    )


def _missing_parts(
    runs: Iterable[LoadedRun], chosen: Iterable[ConversationFolder]
) -> list[str]:
    """Return a sentence for each missing shard, and one on conversations missing according to the settings."""
    summaries = (run.summary.get("plan") for run in runs)
    plans = [plan for plan in summaries if isinstance(plan, dict)]
    shards = {str(plan["shard"]) for plan in plans if "shard" in plan}
    missing = []
    for count in sorted({text.partition("/")[2] for text in shards}):
        if count.isdecimal():
            for number in range(1, int(count) + 1):
                if f"{number}/{count}" not in shards:
                    missing.append(f"no run is shard {number}/{count}")
    # Threads within a conversation are not in the settings, so compare folders by
    # planned names.
    have = {part.result.name.planned_name for part in chosen}
    expected = dict[ConversationName, None]()
    for plan in plans:
        numbers = range(plan["trials"]) if isinstance(plan.get("trials"), int) else ()
        places = product(
            plan.get("agents") or (), plan.get("spans") or (), map(str, numbers)
        )
        expected.update(dict.fromkeys(starmap(ConversationName, places)))
    names = [name.folder for name in expected if name not in have]
    if names:
        missing.append(f"no run has {join_some(names, MAX_LISTED_DIFFERENCES)}")
    return missing


# --- Writing the merged run


def _summed_up(
    target: Path, beside: Path, runs: Sequence[LoadedRun], missing: Sequence[str]
) -> LoadedRun:
    """Write summary and verdicts of the merged run, still in the temporary folder `beside`, and return it."""
    plans = [dict(run.summary.get("plan") or {}) for run in runs]
    # where settings differ, the first run counts
    joined: dict[str, Any] = {}
    for plan in reversed(plans):
        joined |= plan
    joined |= {"agents": {}, "spans": {}}
    for plan in plans:
        joined["agents"] |= plan.get("agents") or {}
        joined["spans"] |= plan.get("spans") or {}
    joined["trials"] = max((plan.get("trials") or 1 for plan in plans), default=1)
    # the merged run is not a shard
    joined.pop("shard", None)
    write_summary(beside / "summary.json", {"plan": joined})  # the order of the agents
    merged = read_run(beside)
    paces, untimed = _merged_paces(beside, merged)
    notices: list[str] = []
    for run in runs:
        notices += run.result.notices
    notices += [f"merged: {sentence}" for sentence in missing]
    for reason in untimed:
        sentence = reason.replace(str(beside), str(target))
        notices.append(f"{sentence}: seconds are summed over the rest")
    result = structs.replace(
        merged.result,
        run_id=target.resolve().name,
        folder=str(target),
        notices=tuple(dict.fromkeys(notices)),
        prechecks=tuple(chain.from_iterable(run.result.prechecks for run in runs)),
        paces=paces,
    )
    # shards are played in parallel, so the longest counts
    walls = [run.summary.get("wall_seconds") for run in runs]
    known_walls = [seconds for seconds in walls if isinstance(seconds, int | float)]
    wall = max(known_walls) if len(known_walls) == len(runs) else None
    fields = {**runs[0].summary, "plan": joined, "wall_seconds": wall}
    write_summary(beside / "summary.json", rewrite_summary(result, fields))
    write_verdicts(beside, result)
    return structs.replace(merged, result=result)


def _merged_paces(target: Path, run: LoadedRun) -> tuple[tuple[Pace, ...], list[str]]:
    """Return the agents' paces, and the timings that are unreadable."""
    entries: dict[tuple[str, str], list[timings.Timing]] = {}
    untimed: list[str] = []
    for conversation in run.conversations:
        path = target / conversation.path.name / "timings.jsonl"
        key = (conversation.result.agent, conversation.result.span_label)
        if path.is_file():
            timed, problem = timings.load_all_timings(path)
            if problem:
                untimed.append(problem)
            entries.setdefault(key, []).extend(timed)
    return agent_paces(entries), untimed
