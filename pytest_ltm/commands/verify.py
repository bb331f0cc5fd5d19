"""`verify RUN|BUNDLE`: whether a run's scores follow from what it recorded, by scoring it again without its agents."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pytest_ltm._core.engine.recording_folder import JOURNAL, RESULTS, TIMINGS
from pytest_ltm._core.features import feature_hooks
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import read_results
from pytest_ltm._core.journal.run_file import find_run, run_parts
from pytest_ltm._core.journal.timings import ReplyTime, Resumed, Retry, load_all_timings
from pytest_ltm._core.model.suite_spec import SuiteSpec, fold_recorded_options
from pytest_ltm._core.model.transcript import count_option
from pytest_ltm._core.storage.disk import read_regular, write_whole
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import json_text
from pytest_ltm._core.storage.secrets import redact_secrets
from pytest_ltm._core.storage.wording import one_line, pluralize
from pytest_ltm.commands.arguments import (
    RUN,
    add_flags,
    add_json,
    add_ltm_dir,
    add_option,
    add_pytest_options,
)
from pytest_ltm.commands.check_memory import verify_card
from pytest_ltm.commands.pytest_runs import run_pytest
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.lifecycle.cards.card import is_card
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.verification import (
    Discrepancy,
    compare_results,
    find_discrepancies,
)

# The exit statuses: all holds; something does not; something that belongs to it could
# not be checked.
HOLDS, DIFFERS, UNCHECKED = 0, 1, 2
FORMAT = "pytest-ltm verification 1"
_NAMED = 5  # examples in a sentence
# What of the recorded command line is repeated: nothing that names files to write or
# code to run.
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
# Settings that an option of the same name sets, for a run that took them from a
# project's ini file.
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


class Verification(Struct, frozen=True, kw_only=True):
    """What has been checked of a run, and what came of it."""

    run: str
    made_by: str
    """The version of pytest-ltm that recorded it; "" where that is not known."""
    differs: list[Discrepancy]
    amended: int = 0
    """Verdicts that a person has amended: nothing can compute them again."""
    graded: int = 0
    """Grades of a judge, which is not asked again."""
    unchecked: list[str] = field(default_factory=list)
    """Sentences on what belongs to it and could not be checked."""
    held: list[str] = field(default_factory=list)
    """Sentences on what was checked, and on what a reader should know of it."""

    @property
    def status(self) -> int:
        """The exit status."""
        if self.differs:
            return DIFFERS
        return UNCHECKED if self.unchecked or self.amended else HOLDS

    @property
    def sentence(self) -> str:
        """What came of it, in its classes: computed again, taken on trust, not compared."""
        if self.differs:
            does = "do" if len(self.differs) > 1 else "does"
            return f"{pluralize(len(self.differs), 'thing')} {does} not hold"
        trusted = [
            f"{pluralize(count, noun)} {why}"
            for count, noun, why in (
                (self.amended, "verdict", "amended by hand"),
                (self.graded, "grade", "of a judge that was not asked again"),
            )
            if count
        ]
        text = "whole, and its scores follow from it"
        if self.unchecked:
            text = "not all of it could be checked"
        elif self.amended:
            text = "whole, but not all of its scores follow from it"
        return f"{text}; taken on trust: {', '.join(trusted)}" if trusted else text


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run or bundle, its data, and how much is checked."""
    parser.add_argument(
        "run",
        metavar="RUN|BUNDLE|CARD",
        help=f"{RUN}; or a file that ltm lab bundle or ltm check-memory wrote",
    )
    add_option(
        parser,
        "--data",
        "FILE",
        "the data set's file, whose texts a bundle does not have",
        None,
        type=Path,
    )
    add_flags(parser, record_only="compare what is recorded, without scoring it again")
    python = "score again with this Python, which has another version of pytest-ltm"
    add_option(parser, "--python", "PATH", python, sys.executable)
    add_pytest_options(parser)
    add_json(parser)
    add_ltm_dir(parser)


def verify_scores(arguments: Namespace) -> int:
    """Check that the scores of a run, bundle or memory card follow from what it recorded.

    No agent is called, and no key is needed. Lines of journals are compared with their
    checksums; plans, definitions, results and summary with the journals; definitions
    with those that the seed gives; and every verdict with the one reached again. Exit
    status 0 if all of it holds, 1 if something differs, 2 if something cannot be read
    or checked, or was amended by hand.
    """
    path = Path(arguments.run)
    if path.is_file() and is_card(path):
        return verify_card(path, as_json=arguments.json)
    with tempfile.TemporaryDirectory(prefix="ltm-verify-") as folder:
        if path.is_file():
            from pytest_ltm.commands.bundle import open_bundle

            run, altered = open_bundle(path, Path(folder) / "bundle", arguments.data)
        else:
            run, altered = find_run(arguments.run, arguments.ltm_dir), None
        result = verify_run(run, Path(folder), arguments, foreign=altered is not None)
        result.differs.extend(altered or ())
    if arguments.json:
        print(json_text(verification_json(result)), end="")
    else:
        made_by = f", recorded by pytest-ltm {result.made_by}" if result.made_by else ""
        lines = [f"run {result.run}{made_by}: {result.sentence}"]
        for heading, texts in (
            ("differs", result.differs),
            ("unchecked", result.unchecked),
            ("checked", result.held),
        ):
            lines += [f"{heading}: {text}" for text in texts]
        print("\n  ".join(one_line(redact_secrets(line)) for line in lines))
    return result.status


def verification_json(result: Verification) -> dict[str, Any]:
    """Return what has been checked as JSON values."""
    differs = [
        {"place": one.place, "what": redact_secrets(one.what)} for one in result.differs
    ]
    verdict = {HOLDS: "holds", DIFFERS: "differs", UNCHECKED: "unchecked"}[
        result.status
    ]
    return {
        "format": FORMAT,
        "run": result.run,
        "verdict": verdict,
        "on_trust": {"amended": result.amended, "graded": result.graded},
        "made_by": result.made_by,
        "checked_by": version("pytest-ltm"),
        "differs": differs,
        "unchecked": result.unchecked,
        "checked": result.held,
    }


def verify_run(
    run: Path, work: Path, arguments: Namespace, *, foreign: bool
) -> Verification:
    """Return what holds of a run folder; `work`: an empty folder for what is made on the way.

    `foreign`: somebody else made it, so nothing that it names is played unless the
    project is here.
    """
    loaded = read_run(run)
    made_by = str(loaded.summary.get("pytest_ltm_version") or "")
    differs = find_discrepancies(loaded)
    held = list(_checked_sentences(loaded))
    result = Verification(
        run=loaded.result.run_id,
        made_by=made_by,
        differs=differs,
        amended=loaded.amended,
        graded=sum(row.judge_calls for row in loaded.result.scenarios),
        held=held,
    )
    if arguments.record_only:
        result.held.append("what is recorded; verdicts were not reached again")
        return result
    if loaded.result.is_imported:
        again = feature_hooks().pytest_ltm_rule_again(run=loaded)
        count, differing = again or (0, [])
        result.differs.extend(
            Discrepancy(f"{folder}/{RESULTS}", text) for folder, text in differing
        )
        if left := len(loaded.result.scenarios) - count:
            why = "as published: nothing here says how to reach them again"
            result.unchecked.append(f"{pluralize(left, 'verdict')} {why}")
        if count:
            result.held.append(
                f"{pluralize(count, 'verdict')} reached again by rules from the published answers"
            )
        return result
    named = {
        conversation.path.name
        for conversation in loaded.conversations
        if conversation.result.journal
    }
    silent = sorted(
        path.parent.name
        for path in run.glob(f"*/{JOURNAL}")
        if path.parent.name not in named
    )
    result.unchecked.extend(
        f"{name}: its results do not name the journal that they are made from"
        for name in silent
    )
    damaged = {
        each.place.partition("/")[0] for each in differs if f"/{JOURNAL}" in each.place
    }
    there = sorted(
        path.parent.name
        for path in run.glob(f"*/{JOURNAL}")
        if path.parent.name not in damaged
    )
    parts = run_parts(run, there)
    if not parts and there:
        result.unchecked.append(
            "verdicts were not reached again: no run.json says how it was started"
        )
    for number, part in enumerate(parts):
        _score_part_again(
            loaded, part, work / str(number), arguments, result, foreign=foreign
        )
    return result


def _checked_sentences(run: LoadedRun) -> Iterator[str]:
    calls = sum(row.judge_calls for row in run.result.scenarios)
    conversations, examples = len(run.conversations), len(run.result.scenarios)
    sizes = (
        f"{pluralize(conversations, 'conversation')}, {pluralize(examples, 'example')}"
    )
    yield f"{sizes}, line by line against the journals"
    if calls:
        judges = sorted(
            {
                str(conversation.plan().get("judge"))
                for conversation in run.conversations
            }
        )
        failed = sum(row.cause == "ungraded" for row in run.result.scenarios)
        yield (
            f"{pluralize(calls, 'grade')} of a judge ({', '.join(judges)}): a model's, read again from its replies and "
            f"not asked again; {failed:,} without a grade"
        )
        yield from (
            f"known answers given to the judge: {precheck.verdict}"
            for precheck in judge_checks.judge_prechecks(run.path)
        )
    if run.summary and "sum" not in run.summary:
        yield "summary.json has no checksum, so its notices and what it says of trust are as they are"
    # The times that are kept beside the journals tell how often an agent was asked.
    faults = replies = timed = again = resumed = 0
    for conversation in run.conversations:
        if (record := conversation.record()) is None:
            continue
        times, _ = load_all_timings(conversation.path / TIMINGS)
        faults, replies = faults + len(record.faults), replies + len(record.replies)
        timed += len(
            record.replies.keys()
            & {one.exchange for one in times if isinstance(one, ReplyTime)}
        )
        again += sum(isinstance(one, Retry) for one in times)
        resumed += sum(isinstance(one, Resumed) for one in times)
    untimed = (
        f" (nothing shows this for {replies - timed:,}, which have no time)"
        if timed < replies
        else ""
    )
    yield (
        f"attempts: {replies:,} replies, each written down once{untimed}; {faults:,} messages failed, {again:,} were "
        f"sent again after a passing fault; {resumed:,} times a conversation was resumed"
    )


# --- scoring it again


def _score_part_again(
    run: LoadedRun,
    part: Mapping[str, Any],
    work: Path,
    arguments: Namespace,
    result: Verification,
    *,
    foreign: bool,
) -> None:
    """Score what was started by one command again; add to `result` what differs and what could not be checked."""
    names: list[str] = part["conversations"]
    source, apart = work / "source" / run.result.run_id, work / "apart"
    apart.mkdir(parents=True)
    ignored = shutil.ignore_patterns(".lock", "checkpoints", "timings*")
    for name in names:
        shutil.copytree(run.path / name, source / name, ignore=ignored)
    for name in (judge_checks.FILE, judge_checks.CHECKS):
        if (run.path / name).is_file():
            shutil.copyfile(run.path / name, source / name)
    rows = [
        row
        for name in names
        for row in read_results(run.path / name / RESULTS).scenarios
    ]
    bundled_only = all(row.nodeid.startswith("ltm/") for row in rows)
    away = foreign and bundled_only
    record = _repeated_run(part["run"], source / names[0], arguments.data, away=away)
    write_whole(source / "run.json", json_text(record).encode())
    words = [
        f"--ltm-rescore={source}",
        "--ltm-judge=none",
        *[f"--rootdir={apart}"] * away,
        *arguments.pytest,
    ]
    made, said = run_pytest(
        words, work / "ltm", python=arguments.python, cwd=apart if away else None
    )
    if made is None or not any(made.glob(f"*/{RESULTS}")):
        lines = list(filter(str.strip, said))
        why = [line for line in lines if line.startswith("ERROR")] or lines[-3:]
        texts = (
            " ".join([*why, *lines[lines.index(why[0]) + 1 :]][:4])
            if why
            else "pytest printed nothing"
        )
        hint = (
            ". Its tests are those of a project: verify it there, at the commit that was tested"
            * (not bundled_only)
        )
        result.unchecked.append(f"verdicts were not reached again: {texts}{hint}")
        return
    summary = json.loads(read_regular(made / "summary.json"))
    same = summary.get("pytest_ltm_version") == result.made_by
    result.differs.extend(compare_results(source, made, same_version=same))
    _note_rescoring(source, made, summary, result)


def _note_rescoring(
    source: Path, made: Path, summary: Mapping[str, Any], result: Verification
) -> None:
    rescored = summary.get("rescored") or {}
    names = sorted(path.parent.name for path in source.glob(f"*/{JOURNAL}"))
    # a damaged conversation was left out, and may be there anew
    again = {path.parent.name for path in made.glob(f"*/{RESULTS}")}.intersection(names)
    for name, why in rescored.get("definitions", {}).items():
        result.differs.append(Discrepancy(f"{name}, definition", why))
    result.unchecked.extend(
        f"{name}: it was not played again" for name in names if name not in again
    )
    for name, why in rescored.get("kept", {}).items():
        result.unchecked.append(f"{name}: its verdict was not reached again: {why}")
    rows = [
        (name, row)
        for name in again
        for row in read_results(source / name / RESULTS).scenarios
    ]
    reached = {
        (name, row.id)
        for name in again
        for row in read_results(made / name / RESULTS).scenarios
    }
    # what never had a score has none that another version could miss
    lost = [
        row.id
        for name, row in rows
        if row.score is not None and (name, row.id) not in reached
    ]
    if lost:
        result.unchecked.append(
            f"{pluralize(len(lost), 'verdict')} not reached again: {', '.join(lost[:_NAMED])}"
        )
    replies = sum(
        len(ConversationRecord.read_record(source / name / JOURNAL).replies)
        for name in names
    )
    here = summary.get("pytest_ltm_version")
    defined = any((source / name / "definitions").is_dir() for name in names)
    made_anew = (
        ", definitions and expected answers made again from the seed or data"
        if defined
        else ""
    )
    same = f"{pluralize(rescored.get('same', 0), 'verdict')} reached again from {pluralize(replies, 'reply')}"
    result.held.append(f"{same} by pytest-ltm {here}{made_anew}")
    if result.made_by not in ("", here):
        hint = "--python=PATH scores it again with that version"
        result.held.append(f"it was recorded by pytest-ltm {result.made_by}: {hint}")


def _repeated_run(
    record: Mapping[str, Any], folder: Path, data: Path | None, *, away: bool
) -> dict[str, Any]:
    """Return the `run.json` by which a run is scored again; LtmError if it is none.

    `away`: in an empty folder, without the project's ini file and files.
    """
    options, settings = record.get("options"), record.get("settings")
    if not isinstance(options, dict) or not isinstance(settings, dict):
        raise LtmError("run.json: options and settings must be objects")
    options = fold_recorded_options(options, settings.get("suite"))
    kept = {name: value for name, value in options.items() if name in _REPEATED}
    settings = dict(settings)
    if data is not None or (away and "ltm_suite" in kept):
        suite = SuiteSpec.parse(str(kept.get("ltm_suite") or settings.get("suite")))
        path = None if data is None else str(data.resolve())
        kept["ltm_suite"] = str(suite.replace_parameters(data=path))
    if not away and "ltm" in options:
        kept["ltm"] = options["ltm"]
    if (
        settings.get("count") is None
    ):  # a replayed run would look for the one that it replays
        plan = json.loads(read_regular(folder / "plan.json"))
        kept["ltm_count"] = settings["count"] = count_option(plan["count"])
    if away:  # what a stranger names may be a path or code of this machine, and no filler is sent
        kept["ltm_filler"] = settings["filler"] = "varied"
        if "ltm_agent" not in kept:
            kept["ltm_agent"] = [
                f"{label}={spec}" for label, spec in settings.get("agents", {}).items()
            ]
        kept |= {
            f"ltm_{name}": str(settings[name])
            for name in _SET_BY_OPTION
            if f"ltm_{name}" not in kept and settings.get(name) is not None
        }
        if settings.get("definitions") is not None:
            kept["ltm_definitions"] = settings["definitions"] = str(
                folder / "definitions"
            )
        return {
            **record,
            "options": kept,
            "settings": settings,
            "folder": ".",
            "paths": [],
        }
    return {**record, "options": kept, "settings": settings}
