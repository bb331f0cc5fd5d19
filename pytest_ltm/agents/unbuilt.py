"""Descriptions of agents that have not been created: a chat model behind an endpoint, a memory system."""

from __future__ import annotations

from msgspec import Struct

from pytest_ltm.api.model import RAW, Reading, TakesTurns
from pytest_ltm.providers import ModelSpec

# Tokens of a message besides its text, for the role and its delimiters in most chat
# formats.
FRAME = 4
# The default tokenizer of chat models.
ENCODING = "o200k_base"
_ROOM = 1000


class FixedContext(Struct, frozen=True, kw_only=True):
    """The prompt of a chat model, except the conversation."""

    system: str | None = None
    context: int | None = None
    """Tokens of the model for prompt and reply together; None: no limit until the endpoint refuses."""
    tokenizer: str = ENCODING
    """The tokenizer of size estimates, which the endpoint's own counts correct."""
    images: bool | None = None
    """Whether it takes images; None: it does not."""
    reading: Reading = RAW
    """The part of its own replies that it is shown again."""

    def limit(self, max_tokens: int | None) -> int | None:
        """Return the maximum tokens of a prompt, None if unlimited.

        `max_tokens`: those reserved for the reply.
        """
        if self.context is None:
            return None
        return max(1, self.context - reply_tokens(self.context, max_tokens))


def reply_tokens(context: int, max_tokens: int | None) -> int:
    """Return the tokens of the context that are reserved for the reply."""
    return max_tokens or min(_ROOM, context // 4)


class Offer(Struct, frozen=True):
    """A chat model that has not been asked yet."""

    agent: type[TakesTurns]
    model: ModelSpec
    context: FixedContext


class Remembering(Struct, frozen=True):
    """A memory system."""

    max_tokens: int
    """Tokens of the largest prompt for a reply."""
    longest: int
    """Tokens of the largest message that it takes."""
    free: bool
    """Whether rules think, so that it costs nothing."""
    longest_reply: int | None = None
    """The maximum tokens of a reply; None: unknown."""
