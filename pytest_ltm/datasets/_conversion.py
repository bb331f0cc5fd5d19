"""Conversion: the histories of files as one file of the interchange, kept for the next run."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._storage.disk import Appender
from pytest_ltm.datasets._interchange import FORMAT, VERSION, Header, history_lines
from pytest_ltm.datasets.longmemeval.record import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm.datasets._histories import HistoryReader


def write_interchange(
    target: Path, read: HistoryReader, paths: Sequence[Path], *, source: str = "", opening: str = ""
) -> Counter[str]:
    """Write the histories of files as one file of the interchange; return what was cut, left out or guessed.

    What fails leaves no file. DatasetError for what cannot be read.
    """
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        body, whole = Path(folder) / "body", Path(folder) / "whole"
        _write_lines(body, history_lines(read(paths, counts)))
        notes = tuple(f"{why}: {count:,}" for why, count in sorted((+counts).items()))
        header = Header(format=FORMAT, version=VERSION, source=source, opening=opening, notes=notes)
        with body.open("rb") as rest:
            _write_lines(whole, chain(history_lines((), header), rest))
        whole.replace(target)  # all of it or nothing: another run may be reading the same place
    return counts


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file, one line in memory at a time."""
    with closing(Appender(path, new=True)) as file:
        for line in lines:
            file.append(line)


CONVERSION = 1
"""Of all converters: raised where one makes something else of the same files, so that they are read again."""
# Where nothing may be written for later: gone with the process.
_temporary: list[tempfile.TemporaryDirectory[str]] = []


def convert_once(name: str, read: HistoryReader, path: Path, cache: Path | None, *, source: str, opening: str) -> Path:
    """Return the file of the interchange that is made of a file or folder as it is now, if need be made anew.

    `cache`: the folder in which it is kept between runs.
    """
    if cache is None:
        _temporary.append(tempfile.TemporaryDirectory(prefix="ltm-data-"))
        folder = Path(_temporary[-1].name)
    else:
        folder = cache / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    # states, not contents: reading files of gigabytes to see that they are the same would take as long as converting
    states = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    digest = hashlib.sha256(repr((CONVERSION, VERSION, states)).encode()).hexdigest()
    target = folder / f"{name}-{digest[:24]}.jsonl"
    if not target.is_file():
        write_interchange(target, read, [path], source=source, opening=opening)
    return target
