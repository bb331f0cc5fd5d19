#!/usr/bin/env python3
"""Virtual environments for the commands here: made once for what is wanted, and shared by all checkouts.

    .ci/environments.py [--fresh] FOLDER      makes FOLDER one with the project and its extra `dev`

They are kept below $XDG_CACHE_HOME/pytest-ltm (~/.cache/pytest-ltm), named after a hash
of pyproject.toml and of what is installed; --fresh makes them anew. One that is broken,
or was never finished, is made again. Runs at the same time share them: a new one is
made beside the old one, takes its name once it is whole, and the old one goes a day
later.
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
"""An environment that nobody has used for so long is removed."""
CHECK = """
from importlib.metadata import distributions
for distribution in distributions():
    for file in distribution.files or ():
        if file.suffix != ".pyc":
            file.locate().stat()
"""
"""Fails if a file is missing that was installed, as where something tidies up old files, or if Python itself is."""


def writable_cache() -> Path:
    """Return the folder of the cache; one below that of temporary files where there is no home to write to."""
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
    """Be alone with what has this name in the cache; it ends with the process, however that ends."""
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(name: str, wanted: list[str], source: Path, *, fresh: bool = False) -> Path:
    """Return an environment with what pip installs in the folder of a checkout, but for the project itself.

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
    """Return whether an environment is there with every file that was installed."""
    python = folder / "bin" / "python"
    # -I: what lies in the folder one stands in was not installed there
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
    """Remove the environments that nobody uses any longer, and what was left of one that was never finished."""
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
    """Make an environment of what another one has, with a checkout beside it; return its Python."""
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
    """Make what the arguments name; return the exit status."""
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
