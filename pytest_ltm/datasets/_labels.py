"""The ids of a data set as labels of node ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, TypeVar

from pytest_ltm._errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Identified(Protocol):
    """What has an id in its data set."""

    @property
    def id(self) -> str:
        """The id, as the file has it."""
        ...


T = TypeVar("T", bound=Identified)


def label_of(name: str) -> str:
    """Return an id as a label of node ids."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def labelled(those: Iterable[T], *, ids: str, way_out: str) -> dict[str, T]:
    """Return what a data set holds by its label; DatasetError, with the way out, where two have one label.

    `ids`: what the data set calls them.
    """
    found: dict[str, T] = {}
    for one in those:
        label = label_of(one.id)
        if label in found:
            raise DatasetError(
                f"the {ids} {found[label].id!r} and {one.id!r} are too much alike: both are {label!r} in node ids. "
                f"{way_out}"
            )
        found[label] = one
    return found
