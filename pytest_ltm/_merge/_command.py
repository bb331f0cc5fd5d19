"""`python -m pytest_ltm merge RUN… -o RUN`: several run folders become one, which every other command can read."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm import _amendments, _journal
from pytest_ltm._errors import ConfigurationError
from pytest_ltm._merge._parts import parts
from pytest_ltm._records import json_text, to_record
from pytest_ltm.reporting._run_folder import LATEST, find_run, read_run
from pytest_ltm.reporting._summary import rewritten, verdicts_csv, write_summary
from pytest_ltm.reporting._text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm._amendments import Amendment
    from pytest_ltm._merge._parts import Part
    from pytest_ltm.reporting._run_folder import Run

INCOMPLETE = 1
"""The exit status where the merged run was written and something that belongs to it is missing."""


def main(argv: Sequence[str]) -> int:
    """Merge and say what became of it; 0, or 1 if something is missing. ConfigurationError if runs do not fit."""
    chosen = _parser().parse_args(argv)
    ltm_dir = Path(chosen.ltm_dir)
    runs = [read_run(path) for path in _distinct(find_run(text, ltm_dir) for text in chosen.runs)]
    target = _target(chosen.output, ltm_dir)
    found = parts(runs)
    amendments = _joined(runs)
    _write(target, found.chosen, amendments)
    merged = _summed_up(target, runs, [*found.missing])
    joined = f"{counted(len(found.chosen), 'conversation')}, {counted(len(merged.result.scenarios), 'example')}"
    lines = [f"merged {counted(len(runs), 'run')}: {joined} -> {target}"]
    lines += [f"  repeated: {sentence}" for sentence in found.repeated]
    lines += [f"  missing: {sentence}" for sentence in found.missing]
    lines += [f"  kept: {counted(len(amendments), 'amended verdict')}"] * bool(amendments)
    print("\n".join(lines))  # noqa: T201 - a command speaks
    return INCOMPLETE if found.missing else 0


def _distinct(paths: Iterable[Path]) -> list[Path]:
    """Return the folders, each once, however it is written."""
    return list({path.resolve(): path for path in paths}.values())


def _target(text: str, ltm_dir: Path) -> Path:
    """Return where the merged run goes: a path, or a run id below `ltm_dir`. ConfigurationError if it is taken."""
    path = Path(text) if "/" in text or "\\" in text else ltm_dir / "runs" / text
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigurationError(f"-o: {str(path)!r} is there already, and a run is never overwritten. Name another")
    return path


def _joined(runs: Iterable[Run]) -> dict[str, Amendment]:
    """Return the amendments of all runs; ConfigurationError if two say different things of one item."""
    found: dict[str, Amendment] = {}
    where: dict[str, Path] = {}
    for run in runs:
        for nodeid, amendment in _amendments.read(run.path).items():
            if found.setdefault(nodeid, amendment) != amendment:
                raise ConfigurationError(
                    f"{nodeid} is amended in {where[nodeid]} and, differently, in {run.path}. Amend it alike in both"
                )
            where.setdefault(nodeid, run.path)
    return found


def _write(target: Path, chosen: Iterable[Part], amendments: Mapping[str, Amendment]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for part in chosen:
        shutil.copytree(part.folder.path, target / part.name, ignore=shutil.ignore_patterns(".lock"))
    if amendments:
        text = json_text({nodeid: to_record(entry) for nodeid, entry in sorted(amendments.items())})
        (target / _amendments.FILE).write_bytes(text.encode())


def _summed_up(target: Path, runs: Sequence[Run], missing: Sequence[str]) -> Run:
    """Write summary and verdicts of the merged run, and return it."""
    plan = _plan(runs)
    write_summary(target / "summary.json", {"plan": plan})  # the order of the agents
    merged = read_run(target)
    notices = dict.fromkeys(
        [*(notice for run in runs for notice in run.result.notices), *(f"merged: {sentence}" for sentence in missing)]
    )
    result = replace(merged.result, notices=tuple(notices))
    walls = [run.summary.get("wall_seconds") for run in runs]
    known = [seconds for seconds in walls if isinstance(seconds, int | float)]
    said: dict[str, Any] = dict(runs[0].summary) | {
        "plan": plan,
        "wall_seconds": max(known) if len(known) == len(runs) else None,
        "results": [
            {"agent": agent, "span_label": span, "agent_seconds": seconds}
            for (agent, span), seconds in _agent_seconds(target, merged).items()
        ],
    }
    write_summary(target / "summary.json", rewritten(result, said))
    verdicts = verdicts_csv(result)
    (target / "verdicts.csv").write_text(verdicts, encoding="utf-8", errors="backslashreplace")
    return replace(merged, result=result)


def _plan(runs: Sequence[Run]) -> dict[str, Any]:
    """Return what the merged run was made from: all agents and spans, the most trials, and no shard."""
    plans = [dict(run.summary.get("plan") or {}) for run in runs]
    joined: dict[str, Any] = {name: value for plan in reversed(plans) for name, value in plan.items()}
    for name in ("agents", "spans"):
        joined[name] = {label: value for plan in plans for label, value in (plan.get(name) or {}).items()}
    joined["trials"] = max((plan.get("trials") or 1 for plan in plans), default=1)
    joined.pop("shard", None)
    return joined


def _agent_seconds(target: Path, run: Run) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for held in run.conversations:
        path, key = target / held.path.name / "timings.jsonl", (held.result.agent, held.result.span_label)
        if path.is_file():
            seconds = sum(event.get("seconds", 0.0) for event in _journal.read(path) if event["event"] == "reply")
            found[key] = found.get(key, 0.0) + seconds
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm merge",
        description="Join run folders that were played apart: the shards of --ltm-shard, several machines, further "
        "trials. What is there twice and what is missing is told; runs whose plans differ are refused. Exit status: 0, "
        "1 if something is missing, 2 if nothing was written.",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help=f"a run folder, a run id, or {LATEST!r}")
    parser.add_argument("-o", "--output", metavar="RUN", required=True, help="the new run: a folder, or a run id")
    parser.add_argument("--ltm-dir", default=".ltm", metavar="DIR", help="where run ids are looked up (default: .ltm)")
    return parser
