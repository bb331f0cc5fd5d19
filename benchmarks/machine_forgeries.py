"""Generated forgeries: part of a run's file is changed, dropped, copied, moved or torn at a random place."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from copy import copy
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from pytest_ltm.api.journal import Chain
from pytest_ltm.api.storage import LtmError
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.reports.summary import refresh_summary

Steps: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value."""


# --- JSON values


def _leaves(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Yield the path to each text, number and constant."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*steps, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _leaves(part, (*steps, index))
    else:
        yield steps


def _part(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value[step]
    return value


def _another(leaf: Any) -> Any:
    """Return a different value of the same type."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int | float):
        return leaf + 1
    if isinstance(leaf, str):
        return f"{leaf} indeed"
    return 1


def _change_leaf(value: Any, rng: Random) -> None:
    *holder, key = rng.choice(list(_leaves(value)))
    part = _part(value, tuple(holder))
    part[key] = _another(part[key])


def _drop_leaf(value: Any, rng: Random) -> None:
    # Nulls are left out: a missing value is also read as null.
    leaves = [steps for steps in _leaves(value) if _part(value, steps) is not None]
    *holder, key = rng.choice(leaves)
    del _part(value, tuple(holder))[key]


def _exchange_leaves(value: Any, rng: Random) -> None:
    leaves = list(_leaves(value))
    *holder, key = rng.choice(leaves)
    part = _part(value, tuple(holder))
    others = [steps for steps in leaves if _part(value, steps) != part[key]]
    *other_holder, other_key = rng.choice(others)
    other_part = _part(value, tuple(other_holder))
    part[key], other_part[other_key] = other_part[other_key], part[key]


def _copy_entry(value: Any, rng: Random) -> None:
    """Duplicate an entry of a list, if the value has a list."""
    in_lists = [steps for steps in _leaves(value) if int in map(type, steps)]
    if not in_lists:
        _change_leaf(value, rng)
        return
    steps = rng.choice(in_lists)
    last = max(place for place, step in enumerate(steps) if isinstance(step, int))
    entries = _part(value, steps[:last])
    entries.append(entries[steps[last]])


_CHANGES = (_change_leaf, _change_leaf, _drop_leaf, _exchange_leaves, _copy_entry)


def _forge_json(path: Path, rng: Random, part: str = "") -> None:
    document = json.loads(path.read_text("utf-8"))
    rng.choice(_CHANGES)(document[part] if part else document, rng)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


# --- lines


def _change_line(lines: list[Any], rng: Random) -> None:
    line = rng.choice(lines)
    line.pop("sum")
    rng.choice(_CHANGES)(line, rng)


def _drop_line(lines: list[Any], rng: Random) -> None:
    del lines[rng.randrange(len(lines))]


def _copy_line(lines: list[Any], rng: Random) -> None:
    place = rng.randrange(len(lines))
    lines.insert(place, copy(lines[place]))


def _exchange_lines(lines: list[Any], rng: Random) -> None:
    first, second = rng.sample(range(len(lines)), 2)
    lines[first], lines[second] = lines[second], lines[first]


def _drop_last_lines(lines: list[Any], rng: Random) -> None:
    del lines[-rng.randint(1, 20) :]


_LINE_CHANGES = (_drop_line, _copy_line, _exchange_lines, _drop_last_lines)


def _read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _line_text(line: Any) -> str:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n"


def _forge_lines(path: Path, rng: Random) -> None:
    lines = _read_lines(path)
    rng.choice((_change_line, *_LINE_CHANGES))(lines, rng)
    path.write_text("".join(map(_line_text, lines)), encoding="utf-8")


def _conversation(run: Path, rng: Random) -> Path:
    return rng.choice(sorted(path.parent for path in run.glob("*/journal.jsonl")))


def _seal(folder: Path, lines: list[Any]) -> None:
    """Write a journal with new checksums, and record them in the results."""
    chain = Chain()
    for line in lines:
        line.pop("sum", None)
    sealed = [chain.seal_line(_line_text(line)) for line in lines]
    (folder / "journal.jsonl").write_text("".join(sealed), encoding="utf-8")
    path = folder / "results.json"
    results = json.loads(path.read_text("utf-8"))
    results["journal"] = chain.head
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _summarize_again(run: Path) -> None:
    """Recompute the summary from the present results, as far as they can be read."""
    try:
        refresh_summary(read_run(run))
    except LtmError:
        return


def _forge_sealed_lines(run: Path, rng: Random) -> None:
    folder = _conversation(run, rng)
    lines = _read_lines(folder / "journal.jsonl")
    rng.choice((_change_line, *_LINE_CHANGES))(lines, rng)
    _seal(folder, lines)
    _summarize_again(run)


def _forge_verdict(run: Path, rng: Random) -> None:
    """Record another score, and make all files agree with it."""
    folder = _conversation(run, rng)
    lines = _read_lines(folder / "journal.jsonl")
    verdict = rng.choice([line for line in lines if "score" in line])
    verdict["score"] = 0.0 if verdict["score"] == 1 else 1.0
    path = folder / "results.json"
    results = json.loads(path.read_text("utf-8"))
    for row in results["scenarios"]:
        if f"{row['scenario']}/{row['example']}" == verdict["example"]:
            row["score"] = verdict["score"]
            row["outcome"] = "passed" if verdict["score"] else "failed"
    path.write_text(json.dumps(results), encoding="utf-8")
    _seal(folder, lines)
    _summarize_again(run)


# --- files


def _tear(run: Path, rng: Random) -> None:
    names = ("journal.jsonl", "results.json", "plan.json", "definitions/*/*.json")
    files: list[Path] = []
    for name in names:
        files += sorted(run.glob(f"*/{name}"))
    path = rng.choice(files)
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(1, len(data) - 1)])


def _mix(run: Path, rng: Random) -> None:
    """Replace a file with a differing one of another conversation or run."""
    runs = [run, *sorted((run.parents[1] / ".ltm" / "runs").glob("*"))]
    pairs: list[tuple[Path, Path]] = []
    for name in ("journal.jsonl", "results.json", "plan.json"):
        others: list[Path] = []
        for folder in runs:
            others += sorted(folder.glob(f"*/{name}"))
        pairs += product(others, sorted(run.glob(f"*/{name}")))
    differing = []
    for other, own in pairs:
        if other.read_bytes() != own.read_bytes():
            differing.append((other, own))
    shutil.copyfile(*rng.choice(differing))


def _forge_table(run: Path, rng: Random) -> None:
    path = run / "verdicts.csv"
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    rng.choice((_drop_line, _copy_line))(rows, rng)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def _forge_results(run: Path, rng: Random) -> None:
    _forge_json(_conversation(run, rng) / "results.json", rng)


def _forge_summed_results(run: Path, rng: Random) -> None:
    _forge_results(run, rng)
    _summarize_again(run)


def _forge_definition(run: Path, rng: Random) -> None:
    _forge_json(rng.choice(sorted(run.glob("*/definitions/*/*.json"))), rng)


MACHINE_FORGERIES: dict[str, Callable[[Path, Random], None]] = {
    "journal": lambda run, rng: _forge_lines(
        _conversation(run, rng) / "journal.jsonl", rng
    ),
    "sealed journal": _forge_sealed_lines,
    "sealed verdict": _forge_verdict,
    "results": _forge_results,
    "results and summary": _forge_summed_results,
    "summary": lambda run, rng: _forge_json(run / "summary.json", rng),
    "plan": lambda run, rng: _forge_json(_conversation(run, rng) / "plan.json", rng),
    "settings": lambda run, rng: _forge_json(run / "run.json", rng, "settings"),
    "definition": _forge_definition,
    "table": _forge_table,
    "torn": _tear,
    "mixed": _mix,
}
"""Random forgeries by name; LookupError or ValueError if the run lacks what one changes."""
