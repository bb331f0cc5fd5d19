"""Probe: asks agents, before the first conversation, for facts told only in another conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_ltm.agents.capabilities import shown_capabilities
from pytest_ltm.agents.memory.backends import backends_are_shared
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.agents.spec_facts import is_free
from pytest_ltm.api.journal import JOURNAL, conversations_in, events
from pytest_ltm.api.scenarios import Definition
from pytest_ltm.api.session import (
    LTM_ITEM,
    LtmItem,
    LtmRun,
    items_by_conversation,
    plan_for,
)
from pytest_ltm.api.storage import lazy
from pytest_ltm.records import probe_record

if TYPE_CHECKING:
    from pytest_ltm.figures.forecast import TokenUse

# An agent that cannot know other conversations is not asked.
_hold_probe = lazy("pytest_ltm.prechecks.probe_talk:hold_probe")
_rehearse_probe = lazy("pytest_ltm.prechecks.probe_talk:rehearse_probe")
UNASKED = {"human": "it is a person", "replay": "it is a recording"}
CURE = (
    "Give each conversation a store of its own (take conversation_id in the constructor or in "
    "start(conversation_id)), forget everything in reset(), or begin with an empty store; see 'Agents with a store' in "
    "docs/agents.md. --ltm-no-probe measures all the same"
)


class Probe:
    """Probes the agents of a run, in the first process to get here; the outcome is kept in the run folder."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._path = run.folder.path / probe_record.PROBE_FILE
        self._settings = run.settings

    def pytest_report_header(self) -> list[str]:
        """Return a header line saying why nothing is probed, if so."""
        all_free = all(is_free(agent.spec) for agent in self._settings.agents)
        probed = self._settings.rescored is not None and not all_free
        return ["ltm: isolation probe: none where a run is scored again"] * probed

    def pytest_ltm_precheck(self, session: pytest.Session) -> str | None:
        """Probe each agent not probed yet; return why the run cannot be measured."""
        if not self._run.plays or self._settings.rescored is not None:
            return None
        items = self._items(session)
        if not items:
            return None
        from filelock import FileLock

        with FileLock(self._path.with_name(".probe.lock")):
            # The other processes wait for the outcome.
            decisions = probe_record.probe_decisions(self._path.parent)
            for label in items:
                if label in decisions:
                    continue
                probed = self._probed(label, self._run.sources[label], items[label])
                if probed is not None:
                    decisions[label] = probed
                    probe_record.append_probe_row(self._path, probed)
        for decision in decisions.values():
            if decision.verdict == "leaks":
                return f"agent {decision.agent!r}: {decision.why}. {CURE}"
        return None

    def forecast(self, session: pytest.Session) -> dict[str, TokenUse]:
        """Return the usage of each agent's probe, by label."""
        token_uses: dict[str, TokenUse] = {}
        for label, groups in self._items(session).items():
            source = self._run.sources[label]
            if self._unfit(label, source):
                definitions = {}
            else:
                definitions = self._definitions(groups)
            if definitions:
                token_uses[label] = _rehearse_probe(
                    self._settings, source, groups[0][0], definitions
                )
        return {label: use for label, use in token_uses.items() if use.messages}

    def _items(self, session: pytest.Session) -> dict[str, list[list[LtmItem]]]:
        """Return the items of each agent that may have to be probed, by conversation."""
        items: dict[str, list[list[LtmItem]]] = {}
        if not self._run.config.option.ltm_no_probe:
            ltm_items = [item.stash[LTM_ITEM] for item in session.items]
            for name, group in items_by_conversation(ltm_items).items():
                source = self._run.sources[name.agent]
                # Embedded agents cannot know each other's conversations.
                if not (
                    source.embedded
                    and is_free(source.spec)
                    and source.kind not in UNASKED
                ):
                    items.setdefault(name.agent, []).append(group)
        return items

    def _probed(
        self, label: str, source: AgentSource, groups: Sequence[Sequence[LtmItem]]
    ) -> probe_record.Decided | None:
        """Return the outcome of an agent's probe; None if the budget was spent before its end."""
        reason = self._unfit(label, source)
        definitions = {} if reason else self._definitions(groups)
        if not definitions:
            return probe_record.Decided(
                agent=label,
                verdict="skipped",
                why=reason or "nothing here has a definition",
            )
        decided: probe_record.Decided | None = _hold_probe(
            self._run, source, groups, definitions
        )
        return decided

    def _unfit(self, label: str, source: AgentSource) -> str:
        """Return why an agent is not probed, or ""."""
        if source.kind in UNASKED:
            return UNASKED[source.kind]
        if backends_are_shared() and _separates_users(source):
            return "users share its memory, and the run itself tests whether they are separate"
        if not source.serves_many:
            return "it can serve one conversation only"
        if "Stateless" in shown_capabilities(source.definition):
            return "it is stateless"
        for name, path in conversations_in(self._path.parent, JOURNAL).items():
            if name.agent != label:
                continue
            for event in events.iter_readable_events(path):
                if isinstance(event, (events.ReplyReceived, events.FillerSent)):
                    return "its conversations had begun without it"
        return ""

    def _definitions(
        self, groups: Sequence[Sequence[LtmItem]]
    ) -> dict[str, Definition]:
        """Return one definition of each scenario that has any."""
        definitions: dict[str, Definition | None] = {}
        for group in groups:
            if any(ltm_item.scenario not in definitions for ltm_item in group):
                for example in plan_for(group, self._settings).plan.examples:
                    definitions[example.scenario] = example.definition
        present = {}
        for scenario, definition in definitions.items():
            if definition is not None:
                present[scenario] = definition
        return present


def _separates_users(source: AgentSource) -> bool:
    """Return whether the source's agents are given the sender of each message."""
    # Few runs have a store that users share.
    from pytest_ltm.agents.profile import profile_of

    return "SeparatesUsers" in profile_of(source).capabilities
