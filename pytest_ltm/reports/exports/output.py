"""Writes an export completely, or not at all if a part of it already exists."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from pytest_ltm.api.storage import LtmError, build_folder


class ExportTarget(Struct, frozen=True):
    """A file or store entry to export, with the function that writes it."""

    path: Path
    """The file, or the store's folder."""
    write: Callable[[Path], None]
    """Called with the path; replaces what was there before."""
    entry: str = ""
    """The name of the store entry; "" for a file."""
    is_there: bool = False
    """Whether the store already has this entry."""

    def exists(self) -> bool:
        """Return whether the target already exists."""
        return self.is_there if self.entry else self.path.exists()

    def __str__(self) -> str:
        if self.entry:
            return f"{self.path}: {self.entry}"
        return str(self.path)


def write_all(outputs: Sequence[ExportTarget], *, force: bool) -> None:
    """Write all targets; LtmError if writing fails, or if one exists and `force` is not set."""
    existing = [output for output in outputs if output.exists()]
    if existing and not force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise LtmError(
            f"already exists: {existing[0]}{more}. Name another place with -o, or overwrite with --force"
        )
    folders = {output.path.parent for output in outputs if not output.entry}
    is_new = len(folders) == 1 and not any(folder.exists() for folder in folders)
    if len(outputs) == 1 or not is_new:
        _write_each(outputs)
        return
    # Files that belong together appear together.
    with build_folder(folders.pop()) as beside:
        moved: list[ExportTarget] = []
        for output in outputs:
            moved.append(structs.replace(output, path=beside / output.path.name))
        _write_each(moved)


def _write_each(outputs: Sequence[ExportTarget]) -> None:
    for output in outputs:
        try:
            output.path.parent.mkdir(parents=True, exist_ok=True)
            output.write(output.path)
        except OSError as error:
            raise LtmError(
                f"{output}: cannot be written ({error.strerror or error})"
            ) from error
        except Exception as error:
            if not output.entry:
                raise
            raise LtmError(
                f"{output}: cannot be written ({type(error).__name__}: {error})"
            ) from error


def import_library(name: str, *, extra: str, user: str) -> Any:
    """Import a library; LtmError with the install command if it is absent."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise LtmError(
            f"{user} needs {package}: pip install 'pytest-ltm[{extra}]' ({error})"
        ) from error
