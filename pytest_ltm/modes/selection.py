"""Selecting the conversations played here: by the agent's language, and by shard (`--ltm-shard`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from pytest_ltm.api.session import (
    LTM_ITEM,
    RUN_STATE,
    UNWRITTEN,
    RunSettings,
    Shard,
    deselect,
)
from pytest_ltm.api.storage import join_words
from pytest_ltm.reports.expected_length import expected_tokens, items_of_conversations


class LanguageFilter:
    """Leaves out scenarios that do not exist in the language of an agent."""

    def __init__(self) -> None:
        self._names: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect such items; UsageError if none are left."""
        settings = config.stash[RUN_STATE].settings
        unwritten = []
        for item in items:
            ltm_item = item.stash[LTM_ITEM]
            if not set(settings.language(ltm_item.place.agent).split(":")) <= set(
                ltm_item.marks.languages
            ):
                unwritten.append(item)
                item.stash[UNWRITTEN] = True
        if not unwritten:
            return
        self._names = names = sorted(
            {item.stash[LTM_ITEM].scenario for item in unwritten}
        )
        if len(unwritten) == len(items):
            items.clear()  # pytest calls the hook again even though the run is refused.
            raise pytest.UsageError(
                f"--ltm-language: {join_words(names)}: not written in that language. A scenario names those that its "
                "generator can write in @pytest.mark.ltm(languages=[...])"
            )
        deselect(config, items, unwritten)

    def pytest_report_collectionfinish(self) -> str:
        """Return a line about the left-out scenarios."""
        if self._names:
            return f"ltm: left out, as it is not written in that language: {', '.join(self._names)}"
        return ""


def shard_of(expected: Mapping[str, int], chosen: Shard) -> frozenset[str]:
    """Return the names of a shard's conversations; `expected`: tokens by name.

    The longest first, each to the shard with the least load so far: the same on every
    machine, regardless of the order of the names, with each name in exactly one shard.
    """
    loads = [0] * chosen.of
    mine = set()
    for name in sorted(expected, key=lambda name: (-expected[name], name)):
        least = min(range(chosen.of), key=lambda index: loads[index])
        loads[least] += expected[name]
        if least == chosen.number - 1:
            mine.add(name)
    return frozenset(mine)


def _keep_shard(
    config: pytest.Config, items: list[pytest.Item], settings: RunSettings
) -> None:
    """Deselect the conversations of other shards; UsageError if there are fewer conversations than shards."""
    if settings.shard is None:
        return
    ltm_items = items_of_conversations(item.stash[LTM_ITEM] for item in items)
    if ltm_items and len(ltm_items) < settings.shard.of:
        raise pytest.UsageError(
            f"--ltm-shard={settings.shard}: a conversation is never divided, and this run has only {len(ltm_items)}. "
            f"Use {len(ltm_items)} or fewer"
        )
    expected = {}
    for name, group in ltm_items.items():
        expected[name] = expected_tokens(group, settings.spans)
    mine = shard_of(expected, settings.shard)
    deselected: list[pytest.Item] = []
    for name in ltm_items.keys() - mine:
        deselected += [ltm_item.item for ltm_item in ltm_items[name]]
    deselect(config, items, deselected)


class ShardFilter:
    """Leaves out the conversations of other shards."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Iterator[None]:
        """Deselect them before other selections, so that all machines share alike.

        A wrapper, like the run's own hook, and registered before that: so it runs after
        it.
        """
        _keep_shard(config, items, config.stash[RUN_STATE].settings)
        yield
