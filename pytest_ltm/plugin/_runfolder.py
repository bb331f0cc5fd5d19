"""The run folder: where a run's conversations are written, and where `latest` points."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._clock import wall_time

if TYPE_CHECKING:
    from pathlib import Path


def run_id() -> str:
    """Return a name for a run that sorts by time and is not given twice."""
    return f"{wall_time():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class RunFolder:
    """`<ltm-dir>/runs/<run id>`; nothing is made before `create`."""

    def __init__(self, ltm_dir: Path, name: str) -> None:
        self.ltm_dir, self.name = ltm_dir, name
        self.path = ltm_dir / "runs" / name

    def create(self) -> None:
        """Make the folder and point `latest` to it; UsageError if that cannot be."""
        try:
            self.path.mkdir(parents=True)
            ignore = self.ltm_dir / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            (self.ltm_dir / "latest").write_text(f"{self.name}\n", encoding="utf-8")
        except OSError as error:
            raise pytest.UsageError(
                f"--ltm-dir: cannot write to {str(self.ltm_dir)!r}: {error.strerror}. Name a folder that can be written"
            ) from error

    def conversation(self, labels: tuple[str, ...]) -> Path:
        """Return the folder of a conversation."""
        return self.path / "~".join(labels)

    def shown(self) -> str:
        """Return the folder as a person would type it from here."""
        shown = os.path.relpath(self.path)
        return str(self.path) if shown.startswith("..") else shown
