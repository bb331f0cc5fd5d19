"""RunItems: the items of a run, their order, and the deselected ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence

import pytest

from pytest_ltm._core.internals import setup as _internals
from pytest_ltm._core.journal.result import ConversationName
from pytest_ltm._core.session import collection as _collection
from pytest_ltm._core.session.collection import Selection
from pytest_ltm._core.session.items import (
    LTM_ITEM,
    UNWRITTEN,
    LtmItem,
    is_ltm_item,
    items_by_conversation,
)
from pytest_ltm._core.session.settings import RunSettings


class RunItems:
    """The hooks of a run that collect, select and order its items."""

    def __init__(self, settings: RunSettings, selection: Selection) -> None:
        self._settings = settings
        self._selection = selection
        self.scenario_names: set[str] = set()
        """The names of all collected scenarios."""
        self.deselected: Counter[tuple[str, str]] = Counter()
        """The number of examples deselected by -k, -m or another plugin, by conversation folder and scenario."""
        self.groups: dict[ConversationName, list[LtmItem]] = {}
        """The items of each conversation, in order."""

    def expected(self, config: pytest.Config) -> int:
        """Return the number of examples in the run, as far as this process knows it."""
        xdist = getattr(
            config.pluginmanager.get_plugin("ltm-xdist"), "scheduling", None
        )
        collected = len(getattr(xdist, "collection", None) or ())
        return collected or sum(map(len, self.groups.values()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize each scenario by its places."""
        _collection.parametrize_places(metafunc, self._settings)

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Mark scenarios before plugins that run tests in threads look for marks."""
        if is_ltm_item(item):
            _internals.keep_in_one_thread(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the built-in suite to the session's collected nodes."""
        report = yield
        if isinstance(collector, pytest.Session) and self._settings.suite is not None:
            suite = _collection.BuiltInSuite.from_parent(
                collector,
                name=_collection.ROOT,
                nodeid=_collection.ROOT,
                settings=self._settings,
            )
            # The result is empty if a signal interrupted the collection.
            report.result = [*(report.result or ()), suite]
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Iterator[None]:
        """Keep the LTM items only, each conversation contiguous; none if an item is refused, as pytest asks again.

        A wrapper, so that the items are ready for features regardless of registration
        order.
        """
        selection = self._selection
        try:
            ltm_items = _collection.ltm_items(items)
            selection.check([ltm_item.item for ltm_item in ltm_items])
            self.scenario_names = {ltm_item.scenario for ltm_item in ltm_items}
            chosen = [
                ltm_item
                for ltm_item in ltm_items
                if self._is_played(ltm_item) and selection.is_selected(ltm_item.item)
            ]
            _collection.refuse_duplicates(chosen)
            ordered = _collection.in_order(chosen, self._settings)
            kept_items = [ltm_item.item for ltm_item in ordered]
        except pytest.UsageError:
            items.clear()
            raise
        _collection.deselect(config, items, set(items) - set(kept_items))
        items[:] = kept_items
        yield

    def _is_played(self, ltm_item: LtmItem) -> bool:
        """Return whether a scenario is played; with definition files, only those that have some or are named."""
        definitions = self._settings.definitions
        selection = self._selection
        if definitions is None or selection.has_paths or selection.names_suite:
            return True
        return bool(definitions.examples.get(ltm_item.scenario))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count deselected scenarios."""
        # Plugins deselect objects of their own: pytest-testmon has some without a
        # stash.
        deselected: Sequence[object] = items
        for item in deselected:
            if not isinstance(item, pytest.Item):
                continue
            if LTM_ITEM in item.stash and UNWRITTEN not in item.stash:
                ltm_item = item.stash[LTM_ITEM]
                name = ltm_item.conversation.folder, ltm_item.scenario
                self.deselected[name] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Restore the order of the items: `--ff`, `--nf` and shuffling plugins have mixed the conversations."""
        ltm_items = [item.stash[LTM_ITEM] for item in session.items]
        ordered = _collection.in_order(ltm_items, self._settings)
        session.items[:] = [ltm_item.item for ltm_item in ordered]
        self.groups = items_by_conversation(ltm_items)
        for item in session.items:
            _internals.never_rerun(item)
