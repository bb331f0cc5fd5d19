"""Files that an export writes: all of them, or none where one is there already."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - read by msgspec
from pathlib import Path  # noqa: TC003 - read by msgspec
from typing import TYPE_CHECKING

from msgspec import Struct

from pytest_ltm._storage.errors import LtmError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Output(Struct, frozen=True):
    """One file, and what writes it."""

    path: Path
    write: Callable[[Path], None]


def write_all(outputs: Sequence[Output], *, force: bool) -> None:
    """Write the files; LtmError if one cannot be written, or is there already, unless `force` says to overwrite it."""
    taken = [each.path for each in outputs if each.path.exists()]
    if taken and not force:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise LtmError(f"{taken[0]}{more}: there already. Name another place with -o, or overwrite with --force")
    for each in outputs:
        try:
            each.path.parent.mkdir(parents=True, exist_ok=True)
            each.write(each.path)
        except OSError as error:
            raise LtmError(f"{each.path}: cannot be written ({error.strerror or error})") from error
