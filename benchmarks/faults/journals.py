"""Damaged records, and records replaced by something else."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults import runs
from benchmarks.faults.cases import Case, Outcome, Setting, one
from benchmarks.faults.forked import forks
from benchmarks.killed import Run

JOURNAL = ".ltm/runs/*/*/journal.jsonl"
AT_ONCE = 100
"""Damages that one process tries in sequence."""
AGENT = "drilled:Told"
"""Can always be resumed: it is told everything again."""


class Calm(NamedTuple):
    """An undisturbed run, copies of which are damaged."""

    folder: Path
    run: Run

    def copied(self, folder: Path) -> Path:
        """Copy the project and its run as they are if the process is killed at the end of the conversation."""
        shutil.copytree(
            self.folder,
            folder,
            ignore=shutil.ignore_patterns(*_WRITTEN_LAST),
            symlinks=True,
        )
        return folder


_WRITTEN_LAST = (
    "results.json",
    "verdicts.csv",
    "summary.json",
    "heard.jsonl",
    "screen-*.txt",
)


def calm(folder: Path, count: int = 2) -> Calm:
    """Return an undisturbed run of `count` scenarios."""
    runs.prepared(folder, count)
    return Calm(folder, runs.undisturbed(folder, runs.words(AGENT)))


def torn(setting: Setting) -> Iterator[Case]:
    """Yield the journal cut at every byte, many cuts per case; it must be resumed or refused without loss."""
    base = calm(setting.folder / "calm", 1)
    whole = _only(base.folder, JOURNAL).read_bytes()
    cuts = setting.some(range(len(whole)))

    def play(folder: Path, some: Sequence[int]) -> Outcome:
        lost = []
        with forks(folder) as play_in:
            for cut in some:
                where = base.copied(folder / str(cut))
                _only(where, JOURNAL).write_bytes(whole[:cut])
                ended = play_in(where, ["--ltm-resume=latest"])
                if why := ended.trouble or resumed_or_refused(
                    where, ended, base.run, whole[:cut]
                ):
                    lost.append(f"cut at byte {cut}: {why}")
                else:
                    shutil.rmtree(where)
        return Outcome(len(some), lost)

    for start in range(0, len(cuts), AT_ONCE):
        some = cuts[start : start + AT_ONCE]
        yield Case(f"cuts-{some[0]}", play, (some,))


def resumed_or_refused(
    folder: Path, ended: runs.Ended, undisturbed: Run, kept: bytes
) -> str | None:
    """Return the loss in a run that was resumed after damage to its journal, or None.

    Args:
        folder: the project's folder.
        ended: the outcome of resuming.
        undisturbed: the traces that the run must equal, if it was resumed.
        kept: the damaged journal, which must be unchanged if it was refused.
    """
    if ended.status not in runs.FINE:
        same = _only(folder, JOURNAL).read_bytes() == kept
        return (
            None
            if same
            else f"refused, with status {ended.status}, and the journal was changed"
        )
    now = runs.left(folder)
    told = [message for _, message in now.heard]
    rest = [message for _, message in undisturbed.heard][_replies(kept) :]
    return runs.changed(now, undisturbed) or (
        None
        if told == rest
        else f"{len(told)} messages were sent, {len(rest)} were not recorded"
    )


def flips(setting: Setting) -> Iterator[Case]:
    """Yield the journal with one bit flipped, many per case; each must be noticed and never resumed as intact."""
    base = calm(setting.folder / "calm")
    whole = _only(base.folder, JOURNAL).read_bytes()
    bits = setting.some(range(8 * len(whole)))

    def play(folder: Path, some: Sequence[int]) -> Outcome:
        lost = []
        with forks(folder) as play_in:
            for bit in some:
                where = base.copied(folder / str(bit))
                flipped = _flipped(whole, bit)
                _only(where, JOURNAL).write_bytes(flipped)
                verified = play_in(where, ["ltm", "doctor", "--verify", "latest"])
                ended = play_in(where, ["--ltm-resume=latest"])
                why = ended.trouble or resumed_or_refused(
                    where, ended, base.run, flipped
                )
                if why is None and verified.status == 0:
                    why = "the doctor has not noticed it"
                if why:
                    lost.append(f"bit {bit}: {why}")
                else:
                    shutil.rmtree(where)
        return Outcome(len(some), lost)

    for start in range(0, len(bits), AT_ONCE):
        some = bits[start : start + AT_ONCE]
        yield Case(f"bits-{some[0]}", play, (some,))


def _replies(journal: bytes) -> int:
    """Return the number of complete replies."""
    whole = journal[: journal.rfind(b"\n") + 1].splitlines()
    return sum(line.startswith(b'{"event":"reply"') for line in whole)


def _only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


# --- timings

DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "emptied": lambda _data, _chance: b"",
    "cut": lambda data, chance: data[: chance.randrange(len(data))],
    "flipped": lambda data, chance: _flipped(data, chance.randrange(8 * len(data))),
    "garbage": lambda data, chance: (
        data + bytes(chance.choices(range(0xC0, 0x100), k=500))
    ),
    "nuls": lambda data, _chance: data[:100] + bytes(4_096),
    "another form": lambda data, _chance: (
        data + b'{"event":"reply","exchange":"three","seconds":null}\n'
    ),
    "no object": lambda data, _chance: b'[1]\n"text"\nnull\n' + data,
    "unknown": lambda data, _chance: b'{"event":"invented"}\n' + data,
    "deep": lambda data, _chance: data + b"[" * 100_000 + b"\n",
    "numbers": lambda data, _chance: (
        data + b'{"event":"reply","exchange":0,"seconds":-1e999}\n{"seconds":NaN}\n'
    ),
}


def _flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def timings(setting: Setting) -> Iterator[Case]:
    """Yield damaged timings; they cause a notice, but never cost the run or its reports."""
    base = calm(setting.folder / "calm")
    kinds = [
        (name, way)
        for name in DAMAGES
        for way in ("resumed", "reported", "rescored", "report")
    ]

    def play(folder: Path, name: str, way: str) -> Outcome:
        if way == "resumed":
            base.copied(folder / "project")
        else:
            shutil.copytree(base.folder, folder / "project")
        where = folder / "project"
        path = _only(where, ".ltm/runs/*/*/timings.jsonl")
        path.write_bytes(DAMAGES[name](path.read_bytes(), setting.chance(name)))
        why = harmed(where, name, way)
        path.unlink()  # its control characters were planted by this case
        return one(why)

    def harmed(where: Path, name: str, way: str) -> str | None:
        if way in {"resumed", "reported"}:
            ended = runs.resumed(where)
        elif way == "rescored":
            ended = runs.run(where, ["--ltm-rescore=latest"])
        else:
            return _reported(where)
        if ended.status not in runs.FINE:
            return f"{name}, {way}: status {ended.status}: {ended.trouble or ended.screen[-500:]}"
        return ended.trouble or (
            runs.changed(runs.left(where), base.run) if way == "resumed" else None
        )

    for name, way in setting.some(kinds):
        yield Case(f"{name.replace(' ', '-')}-{way}", play, (name, way))


def _reported(folder: Path) -> str | None:
    """Return what is wrong with the report file of a recorded run, or None."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest_ltm", "report", "latest", "-o", "again.html"],
        cwd=folder,
        env=runs.environment(folder),
        capture_output=True,
        check=False,
        timeout=runs.LIMIT,
    )
    (folder / "screen-report.txt").write_bytes(done.stdout + done.stderr)
    return (
        None
        if done.returncode == 0
        else f"status {done.returncode}: {done.stderr.decode()[-500:]}"
    )


# --- readers

READ = ("run.json", "summary.json", "*/results.json", "*/plan.json", "*/journal.jsonl")
READERS = ("show", "report -o again.html", "doctor", "runs")


def _absurd(path: Path) -> None:
    data = json.loads(path.read_bytes())
    path.write_text(
        json.dumps(data | {name: 10**400 for name in data if name.endswith("_tokens")}),
        encoding="utf-8",
    )


def readers(setting: Setting) -> Iterator[Case]:
    """Yield commands that read runs with a pipe in place of a file, or absurd figures in the results."""
    base = calm(setting.folder / "calm")
    kinds = [(file, reader) for file in (*READ, "absurd") for reader in READERS]

    def play(folder: Path, file: str, reader: str) -> Outcome:
        where = folder / "project"
        shutil.copytree(base.folder, where, symlinks=True)
        path = _only(
            where, f".ltm/runs/*/{'*/results.json' if file == 'absurd' else file}"
        )
        if file == "absurd":
            _absurd(path)
        else:
            path.unlink()
            os.mkfifo(path)
        command, *words = reader.split()
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest_ltm",
                command,
                *["latest"] * (command != "runs"),
                *words,
            ],
            cwd=where,
            env=runs.environment(where),
            capture_output=True,
            check=False,
            timeout=runs.LIMIT,
        )
        (where / "screen-reader.txt").write_bytes(done.stdout + done.stderr)
        if file != "absurd":
            path.unlink()
        crashed = done.returncode not in {0, 1, 2} or b"Traceback" in done.stderr
        return one(
            f"status {done.returncode}: {done.stderr.decode()[-500:]}"
            if crashed
            else None
        )

    for file, reader in setting.some(kinds):
        yield Case(f"{Path(file).stem}-{reader.split()[0]}", play, (file, reader))


# --- places


def _link(path: Path) -> None:
    (path.parents[4] / "elsewhere.txt").write_text("mine\n", encoding="utf-8")
    path.symlink_to(path.parents[4] / "elsewhere.txt")


def _socket(path: Path) -> None:
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as one:
        # a socket address is limited to about a hundred characters
        descriptor = os.open(path.parent, os.O_RDONLY)
        one.bind(f"/proc/self/fd/{descriptor}/{path.name}")
        os.close(descriptor)
    assert Path.cwd() == here


PLACED: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/full"),
    "link": _link,
    "folder": lambda path: path.mkdir(),
    "socket": _socket,
}


def places(setting: Setting) -> Iterator[Case]:
    """Yield runs with something else in place of a growing file; they must be refused without loss."""
    base = calm(setting.folder / "calm")
    files = ("*/journal.jsonl", "*/timings.jsonl", "*/plan.json")
    kinds = [(name, file) for name in PLACED for file in files]

    def play(folder: Path, name: str, file: str) -> Outcome:
        where = base.copied(folder / "project")
        path = _only(where, f".ltm/runs/*/{file}")
        aside = folder / "aside"
        path.rename(aside)
        PLACED[name](path)
        ended = runs.resumed(where)
        elsewhere = where / "elsewhere.txt"
        if ended.trouble:
            return one(ended.trouble)
        if elsewhere.exists() and elsewhere.read_text(encoding="utf-8") != "mine\n":
            return one("something was written where the link leads")
        if ended.status in runs.FINE and "journal" in file:
            return one("it was not noticed")
        if path.is_symlink() or not path.is_file():
            # a file that is written as a whole replaces it
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            aside.rename(path)
        again = runs.resumed(where)
        if again.status not in runs.FINE:
            return one(
                f"put back, it ends with status {again.status}: {again.screen[-500:]}"
            )
        return one(runs.changed(runs.left(where), base.run))

    for name, file in setting.some(kinds):
        yield Case(f"{name}-{Path(file).stem}", play, (name, file))
