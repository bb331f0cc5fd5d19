#!/usr/bin/env python3
"""Virtual environments for the commands in this folder, built once per set of packages and shared by all checkouts.

    .ci/environments.py [--fresh] FOLDER      makes FOLDER one with the project and its extra `dev`

They are cached in $XDG_CACHE_HOME/pytest-ltm (~/.cache/pytest-ltm), named after a hash
of pyproject.toml and of the packages; --fresh rebuilds them. A broken or unfinished one
is rebuilt. Concurrent runs can share them: a new one is built next to the old one and
takes its name when complete, and the old one is removed a day later.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DAY = 86_400
KEPT_DAYS = 30
"""Days after which an unused environment is removed."""
CHECK = """
from importlib.metadata import distributions
for distribution in distributions():
    for file in distribution.files or ():
        if file.suffix != ".pyc":
            file.locate().stat()
"""
"""Fails if an installed file, or Python itself, is missing, as on machines that clean up old files."""


def writable_cache() -> Path:
    """Return the cache folder; below the temporary folder if the home is not writable."""
    for parent in (
        os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(),
        tempfile.gettempdir(),
    ):
        folder = Path(parent).absolute() / "pytest-ltm"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise SystemExit("no folder for environments can be written to: set XDG_CACHE_HOME")


CACHE = writable_cache()


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold an exclusive lock on a name in the cache; the system releases it when the process ends."""
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(name: str, wanted: list[str], source: Path, *, fresh: bool = False) -> Path:
    """Return an environment with the packages that pip installs from a checkout, without the project itself.

    CalledProcessError if it cannot be installed.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    told = json.dumps(
        [wanted, sys.version, (source / "pyproject.toml").read_text(encoding="utf-8")]
    )
    link = (
        CACHE / f"{name}-py{version}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
    )
    with locked(link.name):
        if fresh or not is_whole(link):
            made = Path(tempfile.mkdtemp(prefix=f"{link.name}.", dir=CACHE))
            try:
                venv.create(made, with_pip=True)
                pip(made, "install", *wanted, folder=source)
                pip(made, "uninstall", "--yes", "pytest-ltm", folder=source)
                (made / "link").symlink_to(made.name)
                (made / "link").replace(link)
            except BaseException:
                shutil.rmtree(made, ignore_errors=True)
                raise
        os.utime(link)
    remove_unused()
    return link.resolve()


def is_whole(folder: Path) -> bool:
    """Return whether an environment exists with every installed file."""
    python = folder / "bin" / "python"
    # -I ignores packages in the current folder
    return (
        python.exists()
        and not subprocess.run(
            [python, "-I", "-c", CHECK], capture_output=True, check=False
        ).returncode
    )


def pip(environment: Path, *words: str, folder: Path) -> None:
    """Run the pip of an environment in a folder."""
    command = [
        environment / "bin" / "python",
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        *words,
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def remove_unused() -> None:
    """Remove unused environments and the remains of unfinished ones."""
    links = [path for path in CACHE.iterdir() if path.is_symlink()]
    for link in links:
        if not link.exists() or time.time() - link.stat().st_mtime > KEPT_DAYS * DAY:
            link.unlink(missing_ok=True)
    used = {link.resolve() for link in links if link.is_symlink()}
    for folder in CACHE.glob("*-py*-*.*/"):
        if (
            folder.resolve() not in used
            and not folder.is_symlink()
            and time.time() - folder.stat().st_mtime > DAY
        ):
            shutil.rmtree(folder, ignore_errors=True)


def overlaid(folder: Path, kept: Path, source: Path) -> Path:
    """Create an environment from another one's packages plus a checkout; return its Python."""
    venv.create(folder, clear=True)
    [packages] = folder.glob("lib/python*/site-packages")
    [further] = kept.glob("lib/python*/site-packages")
    (packages / "_kept.pth").write_text(
        f"import site; site.addsitedir({str(further)!r})\n", encoding="utf-8"
    )
    for script in (kept / "bin").iterdir():
        if not (folder / "bin" / script.name).exists():
            text = script.read_bytes().replace(
                os.fsencode(kept / "bin"), os.fsencode(folder / "bin"), 1
            )
            (folder / "bin" / script.name).write_bytes(text)
            (folder / "bin" / script.name).chmod(0o755)
    pip(
        folder,
        "install",
        "--no-deps",
        "--no-build-isolation",
        "--editable",
        ".",
        folder=source,
    )
    return folder / "bin" / "python"


def main(arguments: list[str]) -> int:
    """Create the requested environment; return the exit status."""
    *options, folder = arguments or ["--help"]
    if folder.startswith("-") or set(options) - {"--fresh"}:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with_dev = kept(
            "dev", ["--editable", ".[dev]"], PROJECT, fresh="--fresh" in options
        )
        overlaid(Path(folder).absolute(), with_dev, PROJECT)
    except subprocess.CalledProcessError as error:
        print(
            f"the environment cannot be made:\n{error.stderr.decode()}", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
