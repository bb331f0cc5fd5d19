"""Checkpoints: the states that a Checkpointable agent saved of itself, by exchange; bytes of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._disk import refused, write_whole

if TYPE_CHECKING:
    from pathlib import Path

KEPT = 2
"""So many states are kept: that of the last exchange in the journal, and the one that was about to get there."""


class Checkpoints:
    """States in a folder, `<exchange>.bin`; without a folder the last ones are held in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[int, bytes] = {}
        """By exchange; the state itself where there is no folder."""
        if folder is not None and folder.is_dir():
            self._held = dict.fromkeys(_numbers(folder), b"")

    @property
    def is_empty(self) -> bool:
        """Whether no state is kept."""
        return not self._held

    def has(self, number: int) -> bool:
        """Return whether the state after an exchange is kept."""
        return number in self._held

    def keep(self, number: int, state: bytes) -> None:
        """Keep the state after an exchange, and forget all but the last two; DiskFault if that cannot be."""
        if self._folder is not None:
            if not self._held:
                self._make(self._folder)
            write_whole(self._folder / f"{number}.bin", state)
        self._held[number] = b"" if self._folder is not None else state
        for old in sorted(self._held)[:-KEPT]:
            del self._held[old]
            if self._folder is not None:
                (self._folder / f"{old}.bin").unlink(missing_ok=True)

    @staticmethod
    def _make(folder: Path) -> None:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise refused(folder, error) from error

    def state(self, number: int) -> bytes:
        """Return the state after an exchange that is kept."""
        if self._folder is None:
            return self._held[number]
        try:
            return (self._folder / f"{number}.bin").read_bytes()
        except OSError as error:
            raise refused(self._folder / f"{number}.bin", error) from error


def _numbers(folder: Path) -> list[int]:
    return [int(path.stem) for path in folder.glob("*.bin") if path.stem.isdecimal()]
