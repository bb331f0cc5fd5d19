"""What is known of agents that have not been made: a chat model behind an endpoint, a memory system."""

from __future__ import annotations

from msgspec import Struct

from pytest_ltm.api.model import RAW, Reading, TakesTurns
from pytest_ltm.providers import ModelSpec

# Tokens that a message takes beside its text: the role and the marks around it, in most
# chat formats.
FRAME = 4
# Of chat models whose own is not said.
ENCODING = "o200k_base"
_ROOM = 1000


class FixedContext(Struct, frozen=True, kw_only=True):
    """What the model is shown beside the newest message."""

    system: str | None = None
    context: int | None = None
    """Tokens of the model for prompt and reply together; None: everything, until the endpoint refuses it."""
    tokenizer: str = ENCODING
    """For the estimate of sizes, which the endpoint's own counts correct."""
    images: bool | None = None
    """Whether it takes images; None: it does not."""
    reading: Reading = RAW
    """What of its own replies it is shown again."""

    def limit(self, max_tokens: int | None) -> int | None:
        """Return how many tokens a prompt may have, None if there is no limit; `max_tokens`: those of the reply."""
        if self.context is None:
            return None
        return max(1, self.context - reply_tokens(self.context, max_tokens))


def reply_tokens(context: int, max_tokens: int | None) -> int:
    """Return the tokens of the context that are kept for the reply."""
    return max_tokens or min(_ROOM, context // 4)


class Offer(Struct, frozen=True):
    """A chat model that has not been asked yet."""

    agent: type[TakesTurns]
    model: ModelSpec
    context: FixedContext


class Remembering(Struct, frozen=True):
    """A memory system."""

    max_tokens: int
    """Tokens of the largest prompt of a reply."""
    longest: int
    """Tokens of the largest message that it takes."""
    free: bool
    """Rules think."""
    longest_reply: int | None = None
    """Tokens that a reply may have; None: nobody says."""
