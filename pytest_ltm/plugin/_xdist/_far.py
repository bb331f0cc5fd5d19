"""A worker on another machine: its journals stay there, so it tells what the controller must know if it dies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm.plugin._played import PlayedConversation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._conversation import Conversation
    from pytest_ltm._filler import Filler

EVENTS = frozenset({"begin", "message", "reply", "filler", "jump", "judge"})
FIELDS = (
    "event", "exchange", "example", "by", "kind", "tokens", "message_tokens", "reply_tokens", "history", "now", "to",
    "usage", "cost_usd", "hypothetical", "fault",
)  # fmt: skip
"""Names and numbers only: what was said is not needed."""


def telling(tell: Callable[[str, dict[str, Any]], None]) -> type[PlayedConversation]:
    """Return how conversations are played that are told of: `tell(folder's name, event)` as the journal grows."""

    class Told(PlayedConversation):
        """Tells each event that it writes down, once it is written."""

        def _conversation(self, filler: Filler) -> Conversation:
            conversation = super()._conversation(filler)
            journal, name = self._opened.journal, self._folder.name
            writes = journal.write
            header = {"plan_fingerprint": self.plan.fingerprint, "now": self._start.isoformat()}
            tell(name, {"event": "header", "agent_fingerprint": self._opened.agent_fingerprint, **header})

            def write(event: str, **fields: Any) -> None:
                writes(event, **fields)
                if event in EVENTS:
                    tell(name, {"event": event, **{key: fields[key] for key in FIELDS if key in fields}})

            setattr(journal, "write", write)  # noqa: B010 - a type checker lets nobody assign to a method
            return conversation

    return Told
