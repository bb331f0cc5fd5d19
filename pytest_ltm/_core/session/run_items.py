"""RunItems: which items a run has, in which order, and what was taken away of them."""

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
        self._settings, self._selection = settings, selection
        self.scenario_names: set[str] = set()
        """Of everything collected."""
        self.deselected: Counter[tuple[str, str]] = Counter()
        """Examples that -k, -m or another plugin took away, by the folder of their conversation and their scenario."""
        self.groups: dict[ConversationName, list[LtmItem]] = {}
        """The items of each conversation, in order."""

    def expected(self, config: pytest.Config) -> int:
        """Return how many examples the run has, as far as it is known in this process."""
        xdist = getattr(
            config.pluginmanager.get_plugin("ltm-xdist"), "scheduling", None
        )
        collected = len(getattr(xdist, "collection", None) or ())
        return collected or sum(map(len, self.groups.values()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give each scenario its places."""
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
        """Add the built-in suite to what the session collects."""
        report = yield
        if isinstance(collector, pytest.Session) and self._settings.suite is not None:
            suite = _collection.BuiltInSuite.from_parent(
                collector,
                name=_collection.ROOT,
                nodeid=_collection.ROOT,
                settings=self._settings,
            )
            # Nothing is collected where a signal came meanwhile.
            report.result = [*(report.result or ()), suite]
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Iterator[None]:
        """Keep the LTM items only, conversations in one piece each; none where one is refused, as pytest asks again.

        A wrapper, so that features find the items ready whenever they were registered.
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
        """Return whether a scenario is played: beside definition files only those that have some, unless named."""
        definitions, selection = self._settings.definitions, self._selection
        if definitions is None or selection.has_paths or selection.names_suite:
            return True
        return bool(definitions.examples.get(ltm_item.scenario))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember scenarios that were taken away."""
        # Plugins deselect objects of their own: pytest-testmon has some without a stash.
        deselected: Sequence[object] = items
        deselected_items = [
            item for item in deselected if isinstance(item, pytest.Item)
        ]
        ltm_items = [
            item.stash[LTM_ITEM]
            for item in deselected_items
            if LTM_ITEM in item.stash and UNWRITTEN not in item.stash
        ]
        self.deselected.update(
            (ltm_item.conversation.folder, ltm_item.scenario) for ltm_item in ltm_items
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Put the items back in order: `--ff`, `--nf` and plugins that shuffle have mixed the conversations."""
        ltm_items = [item.stash[LTM_ITEM] for item in session.items]
        ordered = _collection.in_order(ltm_items, self._settings)
        session.items[:] = [ltm_item.item for ltm_item in ordered]
        self.groups = items_by_conversation(ltm_items)
        for item in session.items:
            _internals.never_rerun(item)
