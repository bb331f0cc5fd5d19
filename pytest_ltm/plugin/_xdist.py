"""Under pytest-xdist: a conversation stays whole on one worker, whatever `--dist` says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_ltm.plugin._run import LtmRun


class Xdist:
    """The hooks that exist only where pytest-xdist does."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        if run.config.option.dist == "each" and not run.is_worker:
            raise pytest.UsageError("--dist=each would have every conversation on every worker. Leave --dist out")
        settings = run.settings
        agents = "|".join(re.escape(agent.label) for agent in settings.agents)
        spans = "|".join(re.escape(span) for span in settings.spans)
        self._conversation = re.compile(rf"\[((?:{agents})-(?:{spans})-[^-\]]+)(?=[-\]])")

    def conversation_of(self, nodeid: str) -> str:
        """Return the labels that name an item's conversation; the controller knows node ids only."""
        function = nodeid.find("::")
        found = self._conversation.search(nodeid, max(function, 0))
        return found.group(1) if found else nodeid

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Schedule conversations; never `loadgroup`, which rewrites node ids or silently stops grouping."""
        from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - only where xdist is

        conversation_of = self.conversation_of

        class ConversationScheduling(LoadScopeScheduling):  # type: ignore[misc]
            """One conversation, one worker."""

            def _split_scope(self, nodeid: str) -> str:
                return conversation_of(nodeid)

        return ConversationScheduling(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Have all workers write into one run folder."""
        node.workerinput["ltm_run"] = self._run.folder.name
