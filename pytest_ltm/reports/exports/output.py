"""What an export writes: all of it, or nothing where a part of it is there already."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from pytest_ltm.api.storage import LtmError, build_folder


class ExportTarget(Struct, frozen=True):
    """One file, or one entry of a store, and what writes it."""

    path: Path
    """The file; the store's folder."""
    write: Callable[[Path], None]
    """Takes the path; whatever was there before is replaced."""
    entry: str = ""
    """The name of the entry; "" for a file."""
    is_there: bool = False
    """Whether the store has such an entry."""

    def exists(self) -> bool:
        """Return whether it is there before anything is written."""
        return self.is_there if self.entry else self.path.exists()

    def __str__(self) -> str:
        if self.entry:
            return f"{self.path}: {self.entry}"
        return str(self.path)


def write_all(outputs: Sequence[ExportTarget], *, force: bool) -> None:
    """Write everything; LtmError if it cannot be written, or if any is there already and not to be overwritten."""
    existing = [output for output in outputs if output.exists()]
    if existing and not force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise LtmError(
            f"{existing[0]}{more}: there already. Name another place with -o, or overwrite with --force"
        )
    folders = {output.path.parent for output in outputs if not output.entry}
    is_new = len(folders) == 1 and not any(folder.exists() for folder in folders)
    if len(outputs) == 1 or not is_new:
        _write_each(outputs)
        return
    # Files that belong together appear together.
    with build_folder(folders.pop()) as beside:
        _write_each(
            [
                structs.replace(output, path=beside / output.path.name)
                for output in outputs
            ]
        )


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
    """Return a library; LtmError, with the command that installs it, if it is absent."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise LtmError(
            f"{user} needs {package}: pip install 'pytest-ltm[{extra}]' ({error})"
        ) from error
