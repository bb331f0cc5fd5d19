"""Shards: one run spread over several machines, each of which plays its share of the conversations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_ltm.plugin import _options
from pytest_ltm.plugin._expected import conversations, expected_tokens, name_of
from pytest_ltm.plugin._items import LTM_ITEM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm.plugin._settings import Settings


@dataclass(frozen=True, slots=True)
class Shard:
    """The `number`-th of `of` shares, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def shard(config: pytest.Config) -> Shard | None:
    """Return what `--ltm-shard` says; UsageError if that is no share."""
    given = _options.given(config, "ltm_shard")
    if given is None:
        return None
    found = re.fullmatch(r"\s*([0-9]+)\s*/\s*([0-9]+)\s*", given)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise pytest.UsageError(
            f"--ltm-shard: {given!r} is no share. Write I/N, the I-th of N, counted from 1: 1/4, 2/4, 3/4, 4/4"
        )
    return Shard(number, of)


def share(expected: Mapping[str, int], chosen: Shard) -> frozenset[str]:
    """Return the names of a shard's conversations; `expected`: tokens by name.

    The longest first, each to the shard that has least to do so far: on every machine the same, whatever the order of
    the names, each name in exactly one shard.
    """
    loads = [0] * chosen.of
    mine = set()
    for name in sorted(expected, key=lambda name: (-expected[name], name)):
        least = min(range(chosen.of), key=lambda index: loads[index])
        loads[least] += expected[name]
        if least == chosen.number - 1:
            mine.add(name)
    return frozenset(mine)


class Sharding:
    """Keeps the conversations of one shard, before anything else is selected: so all machines share alike."""

    def __init__(self, settings: Settings, chosen: Shard) -> None:
        self._settings, self._chosen = settings, chosen

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect what other shards play; UsageError if there are fewer conversations than shards."""
        found = conversations(item.stash[LTM_ITEM] for item in items)
        if found and len(found) < self._chosen.of:
            raise pytest.UsageError(
                f"--ltm-shard={self._chosen}: a conversation is never divided, and this run has only {len(found)}. "
                f"Use {len(found)} or fewer"
            )
        mine = share(
            {name: expected_tokens(known, self._settings.spans) for name, known in found.items()}, self._chosen
        )
        others = [item for item in items if name_of(item.stash[LTM_ITEM]) not in mine]
        if others:
            items[:] = [item for item in items if name_of(item.stash[LTM_ITEM]) in mine]
            config.hook.pytest_deselected(items=others)
