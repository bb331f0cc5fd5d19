"""Echo and Silent: the two simplest agents, for trying things out and as the control rows of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


class Echo:
    """Replies with the message itself: passes whatever only looks for words that the question names."""

    stateless: Literal[True] = True

    def reply(self, message: str) -> str:
        """Return the message."""
        return message

    def reset(self) -> None:
        """Forget everything, which is nothing."""

    def configuration(self) -> Mapping[str, Any]:
        """Return what its answers depend on."""
        return {"embedded": "echo"}


class Silent:
    """Replies with the empty string, always: what an agent earns by saying nothing."""

    stateless: Literal[True] = True

    def reply(self, message: str) -> str:  # noqa: ARG002 - the protocol's name of it
        """Return nothing to say."""
        return ""

    def reset(self) -> None:
        """Forget everything, which is nothing."""

    def configuration(self) -> Mapping[str, Any]:
        """Return what its answers depend on."""
        return {"embedded": "silent"}
