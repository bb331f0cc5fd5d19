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

    def __str__(self) -> str:
        if self.entry:
            return f"{self.path}: {self.entry}"
        return str(self.path)


def write_all(outputs: Sequence[ExportTarget], *, force: bool) -> None:
    """Write everything; LtmError if it cannot be written, or if any is there already and not to be overwritten."""
    existing = [
        output
        for output in outputs
        if (output.is_there if output.entry else output.path.exists())
    ]
    if existing and not force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise LtmError(
            f"{existing[0]}{more}: there already. Name another place with -o, or overwrite with --force"
        )
    folders = {output.path.parent for output in outputs if not output.entry}
    if (
        len(outputs) > 1
        and len(folders) == 1
        and not (folder := folders.pop()).exists()
    ):
        with build_folder(folder) as beside:  # files that belong together
            _write_each(
                [
                    structs.replace(output, path=beside / output.path.name)
                    for output in outputs
                ]
            )
    else:
        _write_each(outputs)


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
