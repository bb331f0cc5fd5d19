"""Disks that are full: a small file system where that is permitted, and a limit to the size of files."""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults import runs
from benchmarks.faults.cases import Case, Outcome, Setting, one

AGENT = "drilled:Told"
PAGE = resource.getpagesize()
ROOM = 12
"""The pages that a whole run needs on a small disk, with some to spare."""
LEAST = 100
"""The bytes of a file without which Python itself finds no place for temporary ones."""
LARGEST = 10_000
"""The bytes of the largest file of a whole run, with some to spare."""
MOUNTED = """
mount -t tmpfs -o size={small} tmpfs .ltm || exit 98
{pytest} {words} > screen-0.txt 2>&1
echo $? > status.txt
if ls .ltm/runs/*/run.json > /dev/null 2>&1; then words=--ltm-resume=latest; else words={quoted}; fi
mount -o remount,size=10m .ltm || exit 98
{pytest} $words > screen-1.txt 2>&1
status=$?
mkdir .kept && cp -R .ltm/. .kept/
exit $status
"""


def full(setting: Setting) -> Iterator[Case]:
    """Yield runs whose disk is full sooner or later; with room again, they are resumed."""
    calm = runs.undisturbed(runs.prepared(setting.folder / "calm"), runs.words(AGENT))

    def told(folder: Path, first: runs.Ended, second: runs.Ended) -> str | None:
        if why := first.trouble or second.trouble:
            return why
        if first.status not in {*runs.FINE, 75, 3, 4}:
            return f"the exit status is {first.status}: {first.screen[-500:]}"
        if second.status not in runs.FINE:
            return f"with room again, it ends with status {second.status}: {second.screen[-500:]}"
        now = runs.left(folder)
        again = len(now.heard) - len(calm.heard)
        return runs.changed(now, calm) or (
            f"{again} messages were sent again" if again > 1 else None
        )

    def limited(folder: Path, size: int) -> Outcome:
        runs.prepared(folder)
        script = f"import resource, os; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        script += "import sys; os.execv(sys.argv[1], sys.argv[1:])"
        # Its screen is a file, too: the shell's redirection would be cut as well.
        first = _piped(
            folder,
            [sys.executable, "-c", script, *runs.pytest_command(runs.words(AGENT))],
        )
        begun = runs.run_folder(folder)
        second = runs.resumed(folder) if begun else runs.run(folder, runs.words(AGENT))
        return one(told(folder, first, second))

    def mounted(folder: Path, pages: int) -> Outcome:
        runs.prepared(folder)
        (folder / ".ltm").mkdir()
        words = shlex.join(runs.words(AGENT))
        script = MOUNTED.format(
            small=pages * PAGE,
            pytest=shlex.join(runs.pytest_command([])),
            words=words,
            quoted=shlex.quote(words),
        )
        done = subprocess.run(
            ["/usr/bin/env", "unshare", "-rm", "sh", "-c", script],
            cwd=folder,
            env=runs.environment(folder),
            capture_output=True,
            check=False,
            timeout=2 * runs.LIMIT,
        )
        (folder / "screen-shell.txt").write_bytes(done.stdout + done.stderr)
        (folder / ".ltm").rmdir()
        (folder / ".kept").rename(folder / ".ltm")
        first = runs.Ended(
            int((folder / "status.txt").read_text()),
            (folder / "screen-0.txt").read_text(),
        )
        return one(
            told(
                folder,
                first,
                runs.Ended(done.returncode, (folder / "screen-1.txt").read_text()),
            )
        )

    chance = setting.chance("sizes")
    for number in range(setting.size):
        if number % 2 and may_mount():
            pages = chance.randint(1, ROOM)
            yield Case(f"disk-{number}-{pages}-pages", mounted, (pages,))
        else:
            size = chance.choice([LEAST, chance.randint(LEAST, LARGEST)])
            yield Case(f"disk-{number}-{size}-bytes", limited, (size,))


def may_mount() -> bool:
    """Return whether this user may have a file system of their own, in a name space that ends with its processes."""
    tried = subprocess.run(
        [
            "/usr/bin/env",
            "unshare",
            "-rm",
            "mount",
            "-t",
            "tmpfs",
            "-o",
            "size=4096",
            "tmpfs",
            "/mnt",
        ],
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


def _piped(folder: Path, command: list[str]) -> runs.Ended:
    done = subprocess.run(
        command,
        cwd=folder,
        env=runs.environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=runs.LIMIT,
    )
    (folder / "screen-0.txt").write_bytes(done.stdout)
    return runs.Ended(done.returncode, done.stdout.decode("utf-8", "replace"))
