"""Forgeries of a run, of many kinds, handmade and generated, some with new checksums: `ltm verify` must report each.

It must also accept intact runs of every kind.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine_forgeries import MACHINE_FORGERIES
from pytest_ltm.api.storage import LtmError
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.reports.verification import find_discrepancies

_YES_JUDGE = """
def judge(question):
    return "GRADE: yes" if len(question) % 3 else "GRADE: no"
"""


def forge_runs(size: int, repeats: int) -> Iterator[str]:
    """Yield the findings of `ltm verify` for SIZE forgeries, and for `repeats` rounds of intact runs."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        runs = list(play_whole_runs(home, 0))
        named = 0
        for number in range(size):
            name = list(FORGERIES)[number % len(FORGERIES)]
            kind, forged = forge(home, runs, name, number)
            said = name_forgery(home, forged)
            named += bool(said)
            if number < len(FORGERIES) or not said:
                yield f"  {name}, {kind}: {said.splitlines()[0][:140] if said else 'NOT NAMED'}"
        yield f"{size} forgeries of {len(FORGERIES)} kinds: {named} named, {size - named} missed"
        checked = alarms = 0
        for number in range(repeats):
            for kind, path in runs if number == 0 else play_whole_runs(home, number):
                said = verify(home, path)
                checked, alarms = checked + 1, alarms + bool(said)
                if said:
                    yield f"  {kind}, seed {number}: {said}"
        yield f"{checked} whole runs of {len(runs)} kinds: {alarms} false alarms"


def forge(
    home: Path, runs: Sequence[tuple[str, Path]], name: str, number: int
) -> tuple[str, Path]:
    """Forge a copy of the next run that allows this forgery; return the kind of that run, and the copy."""
    for offset in range(len(runs)):
        kind, run = runs[(number + number // len(FORGERIES) + offset) % len(runs)]
        forged = copy_run(run, home / "forged" / f"{number}-{offset}")
        try:
            FORGERIES[name](forged, random.Random(number))
        except (LookupError, OSError, StopIteration, ValueError):
            continue  # the run lacks what this forgery changes
        return kind, forged
    raise RuntimeError(f"no run has what {name} changes")


# --- intact runs


_STANDARD = ("--ltm-suite=standard", "--ltm-examples=1")
_PLAYED: Mapping[str, Sequence[str]] = {
    "two agents": ("--ltm-agent=full,window:2k", "--ltm-span=2k", *_STANDARD),
    "trials": (
        "--ltm-agent=forgetful:0.3",
        "--ltm-span=2k,4k",
        *_STANDARD,
        "--ltm-trials=2",
    ),
    "isolated": ("--ltm-agent=bm25:2k", "--ltm-span=isolated", *_STANDARD),
    "xdist": ("--ltm-agent=full,echo", "--ltm-span=2k", *_STANDARD, "-n2"),
    "concurrent": (
        "--ltm-agent=full,silent",
        "--ltm-span=2k",
        "--ltm-suite=standard",
        "--ltm-trials=2",
        "--ltm-concurrency=4",
    ),
    "sessions": ("--ltm-agent=full", "--ltm-span=4k", *_STANDARD, "--ltm-sessions=3"),
    "paper": ("--ltm-agent=full", "--ltm-span=2k", *_STANDARD, "--ltm-scoring=paper"),
    "German": ("--ltm-agent=full", "--ltm-span=2k", *_STANDARD, "--ltm-language=de"),
    "hygiene": ("--ltm-agent=full", "--ltm-span=2k", "--ltm-suite=hygiene"),
    "dump": ("--ltm-agent=dump,oracle", "--ltm-span=2k", *_STANDARD),
    "judge": (
        "--ltm-agent=full",
        "--ltm-span=2k",
        *_STANDARD,
        "--ltm-judge=judging:judge?canaries=off",  # its judge tosses a coin, which is rightly reported
    ),
}


def play_whole_runs(home: Path, seed: int) -> Iterator[tuple[str, Path]]:
    """Play a round of runs of every kind with this seed; yield each one's kind and folder."""
    (home / "judging.py").write_text(_YES_JUDGE, encoding="utf-8")
    made: dict[str, Path] = {}
    for kind, words in _PLAYED.items():
        made[kind] = play(home, *words, f"--ltm-seed={seed}")
        yield kind, made[kind]
    first = made["two agents"]
    yield "rescored", play(home, f"--ltm-rescore={first}")
    replayed = f"--ltm-agent=bot=replay:{first}/full"
    yield (
        "replayed",
        play(home, replayed, *_PLAYED["two agents"][1:], f"--ltm-seed={seed}"),
    )
    amended = copy_run(first, home / ".ltm" / "runs" / f"amended-{seed}")
    node = json.loads((amended / "full~2k~0" / "results.json").read_text("utf-8"))[
        "scenarios"
    ][0]["nodeid"]
    ltm(
        home,
        "lab",
        "amend",
        str(amended),
        node,
        "--score=0.5",
        "--reason=half of it is right",
    )
    yield "amended", amended
    shards = [
        play(home, *_PLAYED["trials"], f"--ltm-seed={seed}", f"--ltm-shard={one}/2")
        for one in (1, 2)
    ]
    ltm(
        home,
        "merge",
        *map(str, shards),
        "-o",
        str(merged := home / ".ltm" / "runs" / f"merged-{seed}"),
    )
    yield from (("shard", shards[0]), ("other shard", shards[1]), ("merged", merged))
    yield "resumed", resumed_run(home, seed)
    yield from dataset_runs(home, seed)


def resumed_run(home: Path, seed: int) -> Path:
    """Play a run, truncate its record as a kill would, and resume it."""
    path = play(home, *_PLAYED["two agents"], f"--ltm-seed={seed}")
    (path / "summary.json").unlink()
    for folder in (one.parent for one in path.glob("*/journal.jsonl")):
        (folder / "results.json").unlink()
        lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
        kept = lines[: len(lines) * 2 // 3]
        (folder / "journal.jsonl").write_bytes(b"".join(kept))
        timed = (folder / "timings.jsonl").read_bytes().splitlines(keepends=True)
        replies = sum(b'"event":"reply"' in line for line in kept)
        rows = [one for one in timed if b'"event":"reply"' in one][:replies]
        (folder / "timings.jsonl").write_bytes(b"".join(rows))
    play(home, f"--ltm-resume={path.name}")
    return path


def dataset_runs(home: Path, seed: int) -> Iterator[tuple[str, Path]]:
    """Play the data sets on sample files of our own."""
    if not (home / "locomo.json").exists():
        ltm(
            home,
            "data",
            "locomo-generate",
            "-o",
            "locomo.json",
            "--turns=40",
            "--questions=8",
        )
        ltm(home, "data", "longmemeval-generate", "-o", "lme.json", "--count=6")
    rows = [
        {
            "session": "one",
            "date": "2026-03-02 09:15",
            "turns": [{"role": "user", "content": "My locker is 17."}],
        },
        {"question": "What is my locker?", "gold": "17", "evidence": ["one"]},
    ]
    (home / "own.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    for suite, file in (
        ("locomo", "locomo.json"),
        ("longmemeval", "lme.json"),
        ("logs", "own.jsonl"),
    ):
        yield (
            suite,
            play(
                home,
                "--ltm-agent=full",
                f"--ltm-suite={suite}?data={file}",
                f"--ltm-seed={seed}",
            ),
        )


def play(home: Path, *words: str) -> Path:
    """Play a run and return its folder."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        *words,
    ]
    session = subprocess.run(
        command, cwd=home, capture_output=True, text=True, check=False
    )
    if session.returncode not in {0, 1, 75}:
        raise RuntimeError(
            f"{' '.join(words)}: {session.stdout[-800:]}{session.stderr[-400:]}"
        )
    return (
        home / ".ltm" / "runs" / (home / ".ltm" / "latest").read_text("utf-8").strip()
    )


def ltm(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    command = [sys.executable, "-m", "pytest_ltm", *words]
    return subprocess.run(
        command, cwd=home, capture_output=True, text=True, check=False
    )


def verify(home: Path, run: Path) -> str:
    """Return the failed checks, or "" if all pass."""
    said = ltm(home, "verify", str(run), "--json")
    try:
        found = json.loads(said.stdout)
    except ValueError:
        return said.stderr
    lines = [f"{one['place']}: {one['what']}" for one in found["differs"]]
    return "\n".join([*lines, *found["unchecked"]])


def name_forgery(home: Path, run: Path) -> str:
    """Return the finding that exposes a forgery, scoring again (which takes seconds) if the record alone does not."""
    try:
        return "\n".join(map(str, find_discrepancies(read_run(run)))) or verify(
            home, run
        )
    except LtmError as error:
        return str(error)


def copy_run(run: Path, to: Path) -> Path:
    """Copy a run under the same name, so that only the forgery differs."""
    shutil.copytree(run, to, ignore=shutil.ignore_patterns(".lock"))
    return to


# --- the forgeries


def _conversation(run: Path) -> Path:
    return max(path.parent for path in run.glob("*/journal.jsonl"))


def _edit_json(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_text("utf-8"))
    change(value)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _edit_row(run: Path, **fields: Any) -> None:
    def change(value: Any) -> None:
        value["scenarios"][0].update(fields)

    _edit_json(_conversation(run) / "results.json", change)


def _flip_score(run: Path, _rng: random.Random) -> None:
    def flip(value: Any) -> None:
        row = next(
            (one for one in value["scenarios"] if one["score"] != 1),
            value["scenarios"][0],
        )
        row.update(score=0.0, outcome="failed") if row["score"] == 1 else row.update(
            score=1.0, outcome="passed"
        )

    _edit_json(_conversation(run) / "results.json", flip)


def _edit_line(
    run: Path, kind: str, change: Callable[[dict[str, Any]], None], rng: random.Random
) -> None:
    path = _conversation(run) / "journal.jsonl"
    lines = path.read_text("utf-8").splitlines()
    at = rng.choice(
        [
            number
            for number, line in enumerate(lines)
            if line.startswith(f'{{"event":"{kind}"')
        ]
    )
    event = json.loads(lines[at])
    change(event)
    lines[at] = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _flip_byte(run: Path, rng: random.Random) -> None:
    path = _conversation(run) / "journal.jsonl"
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data) - 1)] ^= 4
    path.write_bytes(bytes(data))


def _swap_lines(run: Path, rng: random.Random) -> None:
    path = _conversation(run) / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at = rng.randrange(2, len(lines) - 2)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    path.write_bytes(b"".join(lines))


def _cut_end(run: Path, rng: random.Random) -> None:
    path = _conversation(run) / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: -rng.randrange(1, 9)]))


def _remove_line(run: Path, rng: random.Random) -> None:
    path = _conversation(run) / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[rng.randrange(1, len(lines) - 1)]
    path.write_bytes(b"".join(lines))


def _add_attempt(run: Path, rng: random.Random) -> None:
    path = _conversation(run) / "timings.jsonl"
    lines = [
        line
        for line in path.read_bytes().splitlines(keepends=True)
        if b'"event":"reply"' in line
    ]
    if not lines:
        raise LookupError(path)
    with path.open("ab") as file:
        file.writelines(lines[-rng.randrange(1, 9) :])


def _swap_definition(run: Path, rng: random.Random) -> None:
    path = rng.choice(sorted(_conversation(run).glob("definitions/*/*.def.json")))
    text = path.read_text("utf-8")
    path.write_text(
        re.sub(r'"expected": .*', '"expected": "anything",', text, count=1),
        encoding="utf-8",
    )


def _plan_seed(run: Path, rng: random.Random) -> None:
    _edit_json(
        _conversation(run) / "plan.json",
        lambda plan: plan.update(seed=rng.randrange(5, 99)),
    )


def _run_seed(run: Path, rng: random.Random) -> None:
    _edit_json(
        run / "run.json",
        lambda record: record["settings"].update(seed=rng.randrange(5, 99)),
    )


def _other_results(run: Path, _rng: random.Random) -> None:
    folders = sorted(path.parent for path in run.glob("*/results.json"))
    if len(folders) > 1:
        shutil.copyfile(folders[0] / "results.json", folders[-1] / "results.json")
    else:
        _edit_json(
            folders[0] / "results.json", lambda one: one.update(journal="0" * 32)
        )


def _results_of_other_run(run: Path, rng: random.Random) -> None:
    own = _conversation(run) / "results.json"
    paths = sorted(
        (run.parents[1] / ".ltm" / "runs").glob(f"*/{own.parent.name}/results.json")
    )
    journals = {
        path: json.loads(path.read_text("utf-8"))["journal"] for path in (own, *paths)
    }
    shutil.copyfile(
        rng.choice([path for path in paths if journals[path] != journals[own]]), own
    )


def _edit_summary(run: Path, rng: random.Random) -> None:
    _edit_json(
        run / "summary.json",
        lambda one: one["results"][-1].update(total=9 + rng.random()),
    )


def _edit_plan(run: Path, rng: random.Random) -> None:
    name, value = rng.choice(
        [
            ("seed", 99),
            ("judge", "openai:large"),
            ("scoring", "v1"),
            ("suite_version", 99),
        ]
    )
    _edit_json(
        run / "summary.json",
        lambda one: (one["plan"] if name in one["plan"] else one).update({name: value}),
    )
    if not (run / "run.json").exists():
        raise LookupError(run)  # a merged run has more than one plan


def _edit_judge(run: Path, _rng: random.Random) -> None:
    for file, part in (("run.json", "settings"), ("summary.json", "plan")):
        _edit_json(
            run / file,
            lambda one, part=part: one[part].update(judge="openai:large"),  # type: ignore[misc]
        )


def _copy_trial(run: Path, _rng: random.Random) -> None:
    """Duplicate the best conversation as another trial."""
    own = _conversation(run)
    agent, span, trial = own.name.split("~")
    copied = shutil.copytree(own, own.with_name(f"{agent}~{span}~{int(trial) + 7}"))
    _edit_json(
        copied / "results.json", lambda one: one.update(trial=copied.name.split("~")[2])
    )


def _unname_journal(run: Path, _rng: random.Random) -> None:
    """Remove a journal, and its mention in the results."""
    own = _conversation(run)
    (own / "journal.jsonl").unlink()
    _edit_json(own / "results.json", lambda one: one.update(journal=""))


def _edit_verdicts(run: Path, _rng: random.Random) -> None:
    path = run / "verdicts.csv"
    text = path.read_text("utf-8")
    was, now = ("failed", "passed") if ",failed," in text else ("passed", "failed")
    path.write_text(text.replace(f",{was},", f",{now},"), encoding="utf-8")


def _edit_answer(run: Path, _rng: random.Random) -> None:
    def change(value: Any) -> None:
        row = next(one for one in value["scenarios"] if one["questions"])
        row["questions"][-1]["answer"] = "Yes, of course I remember that."

    _edit_json(_conversation(run) / "results.json", change)


def _remove_example(run: Path, _rng: random.Random) -> None:
    _edit_json(_conversation(run) / "results.json", lambda one: one["scenarios"].pop())


def _edit_grade(run: Path, rng: random.Random) -> None:
    _edit_line(
        run,
        "judge",
        lambda one: one.update(reply=f"GRADE: {rng.choice(('yes', 'no'))} "),
        rng,
    )


FORGERIES: dict[str, Callable[[Path, random.Random], None]] = {
    "a byte": _flip_byte,
    "a flipped score": _flip_score,
    "a verdict in the journal": lambda run, rng: _edit_line(
        run, "verdict", lambda one: one.update(score=0.25), rng
    ),
    "a reply": lambda run, rng: _edit_line(
        run, "reply", lambda one: one.update(text="Teal, as you told me."), rng
    ),
    "a message": lambda run, rng: _edit_line(
        run, "message", lambda one: one.update(text="What was it?"), rng
    ),
    "a conversation removed": lambda run, _: shutil.rmtree(_conversation(run)),
    "a journal removed": lambda run, _: (_conversation(run) / "journal.jsonl").unlink(),
    "the plan's seed": _plan_seed,
    "the run's seed": _run_seed,
    "the order of lines": _swap_lines,
    "a line removed": _remove_line,
    "the end cut off": _cut_end,
    "a date": lambda run, rng: _edit_line(
        run, "begin", lambda one: one.update(now="2031-01-01T00:00:00+00:00"), rng
    ),
    "a definition": _swap_definition,
    "attempts": _add_attempt,
    "results of another conversation": _other_results,
    "results of another run": _results_of_other_run,
    "the summary": _edit_summary,
    "the plan in the summary": _edit_plan,
    "the judge": _edit_judge,
    "a trial copied": _copy_trial,
    "a journal never named": _unname_journal,
    "the table of verdicts": _edit_verdicts,
    "an answer in the results": _edit_answer,
    "an example removed": _remove_example,
    "a threshold": lambda run, _: _edit_row(run, threshold=0.0, outcome="passed"),
    "a judge's grade": _edit_grade,
    **{f"by machine: {name}": forge for name, forge in MACHINE_FORGERIES.items()},
}
