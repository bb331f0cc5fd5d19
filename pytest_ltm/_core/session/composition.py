"""Composition: creates the inputs and the mode of each conversation, by the mode of the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from pytest_ltm._core.model.plan import Plan
from pytest_ltm._core.session.conversation_setup import (
    ConversationInputs,
    ConversationMode,
    KnownCosts,
)
from pytest_ltm._core.session.items import LtmItem
from pytest_ltm._core.session.planning import plan_for
from pytest_ltm._core.session.run_folder import RunFolder
from pytest_ltm._core.session.settings import RunSettings


class Composition:
    """Creates the inputs and the mode of each conversation of a run; `run` is passed to hooks."""

    def __init__(
        self,
        run: Any,
        settings: RunSettings,
        *,
        sources: Mapping[str, Any],
        folder: RunFolder,
        costs: KnownCosts,
    ) -> None:
        self._run = run
        self._settings = settings
        self._sources = sources
        self._folder = folder
        self._costs = costs
        self.refused: str | None = None
        """Why nothing may be measured; "" if nothing prevents it, None if that has not been checked yet."""

    def inputs(
        self, ltm_items: Sequence[LtmItem], among: Collection[object]
    ) -> ConversationInputs:
        """Return the inputs of the conversation of these items; `among`: the conversations of the run."""
        place = ltm_items[0].place
        folder = self._folder.path / ltm_items[0].conversation.folder
        return ConversationInputs(
            items=ltm_items,
            settings=self._settings,
            source=self._sources[place.agent],
            folder=folder,
            costs=self._costs,
            account=self._costs.account(folder.name, agent=place.agent),
            refused=self.refused or "",
            conversations=len(among),
        )

    def mode(self, inputs: ConversationInputs) -> ConversationMode:
        """Return the mode of a conversation, from the first feature that provides one."""
        config: pytest.Config = self._run.config
        compose = config.hook.pytest_ltm_conversation_mode(run=self._run)
        mode: ConversationMode = compose(inputs)
        return mode

    def plan(self, ltm_items: Sequence[LtmItem], among: Collection[object]) -> Plan:
        """Return the plan for the items of a conversation."""
        mode = self.mode(self.inputs(ltm_items, among))
        return mode.plan(plan_for(ltm_items, self._settings).plan)
