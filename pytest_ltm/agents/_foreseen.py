"""What is known of an agent from its spec and its class, before it is made: nobody is asked, nothing is started."""

from __future__ import annotations

import functools
import inspect
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import LtmError
from pytest_ltm._fields import Field
from pytest_ltm.agents._controls import Bias, Shown
from pytest_ltm.agents._embedded import EMBEDDED
from pytest_ltm.agents._memory import make_memory
from pytest_ltm.agents._openai_specs import Offer
from pytest_ltm.agents._powers import powers
from pytest_ltm.agents._promised import Promised
from pytest_ltm.agents._protocols import POWERS
from pytest_ltm.agents._rag import Rag
from pytest_ltm.agents._reader import make_reader
from pytest_ltm.agents._reads import Chat, Reads, Seen, Sent, Whole
from pytest_ltm.agents._speaker import MAX_MESSAGE_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._providers import Model
    from pytest_ltm.agents._adapt import AgentSource

FORGETS_NOTHING = make_reader("full")
SHOWN = ("system", "context", "tokenizer")
"""Parameters of a chat model that say what it is shown."""


def spec_within(source: AgentSource) -> str:
    """Return the spec of the agent itself, also where a file names it."""
    settings = source.settings or {}
    return str(settings.get("agent", source.spec))


def model_of(spec: str) -> Model | None:
    """Return the chat model of an `openai:` or `ts:openai:` spec, of an agent or a judge; None for any other."""
    kind, _, argument = spec.removeprefix("ts:").partition(":")
    if kind != "openai":
        return None
    from pytest_ltm._providers import model  # noqa: PLC0415 - other agents do without

    try:
        return model(argument, Field({}, spec), also=SHOWN)[0]
    except LtmError:  # it is told where the agent is looked up
        return None


def is_free(spec: str) -> bool:
    """Return whether an agent costs nothing, whoever asks it: it is ours, or a person."""
    kind, _, argument = spec.partition(":")
    if kind == "length-bias":
        model = Bias.of(argument).model
        return model is None or is_free(model)
    return kind in EMBEDDED or kind == "human"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What an agent would be."""

    powers: frozenset[str]
    max_message_tokens: int = MAX_MESSAGE_TOKENS
    reads: Callable[[], Reads] = Sent
    """Makes what counts, for one conversation, the tokens that are sent for each reply."""
    policy: str = "each message alone, as nobody knows what else the agent reads"
    """What is read for a reply, in words."""
    answers: Callable[[], Any] = FORGETS_NOTHING
    """Makes who answers in its place: the embedded reader, with a memory as good as the agent's could be."""
    brief: bool = False
    """Those replies are taken as they are: it is an embedded agent, and as free as its stand-in."""


def foresee(source: AgentSource) -> Foreseen:
    """Return what is known of an agent without making it; the embedded ones, which are free, are made."""
    spec = spec_within(source)
    kind, _, argument = spec.partition(":")
    if isinstance(source.given, Offer):
        return _chat(source.given)
    if isinstance(source.given, Promised):
        return _made(source.given.powers, source.given.max_message_tokens)
    if kind in EMBEDDED or kind == "rag":
        return _embedded(kind, argument, source)
    given = source.given
    while isinstance(given, functools.partial):
        given = given.func
    if isinstance(given, type):
        return _made(powers_of_class(given), getattr(given, "max_message_tokens", None))
    if source.owned:
        made = typing.get_type_hints(given).get("return") if inspect.isfunction(given) else None
        return _made(powers_of_class(made), None) if isinstance(made, type) else Foreseen(powers=frozenset())
    return _made(powers(given), getattr(given, "max_message_tokens", None))


def powers_of_class(agent: type) -> frozenset[str]:
    """Return the powers that the instances of a class have, as far as the class shows."""
    return frozenset(name for name, power in POWERS.items() if all(_shows(agent, member) for member in _members(power)))


def _members(power: type) -> list[str]:
    return [name for name in (*vars(power), *power.__annotations__) if not name.startswith("_")]


def _shows(agent: type, member: str) -> bool:
    found = inspect.getattr_static(agent, member, None)
    return found is True if member == "stateless" else found is not None


def _made(having: frozenset[str], limit: object) -> Foreseen:
    most = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else MAX_MESSAGE_TOKENS
    return Foreseen(powers=having, max_message_tokens=most)


def _chat(offer: Offer) -> Foreseen:
    shown, context = offer.shown, offer.shown.context
    whole = "the whole conversation, as nobody knows the model's own limit without context=N,"
    words = whole if context is None else f"the newest {context:,} tokens,"
    answers = FORGETS_NOTHING if context is None else make_reader("window", str(context))
    return Foreseen(
        powers=powers_of_class(offer.agent),
        max_message_tokens=MAX_MESSAGE_TOKENS if context is None else max(1, min(MAX_MESSAGE_TOKENS, context // 4)),
        reads=lambda: Chat(shown, offer.model.max_tokens),
        policy=f"{words} sent again with each message",
        answers=answers,
    )


def _embedded(kind: str, argument: str, source: AgentSource) -> Foreseen:
    if kind == "rag" or (kind == "length-bias" and Bias.of(argument).model is not None):
        return Foreseen(powers=powers_of_class(Rag if kind == "rag" else Shown))
    having = powers(source.make())
    if kind in {"full", "cost"}:
        whole = "the whole conversation, sent again with each message"
        return Foreseen(powers=having, reads=Whole, policy=whole, answers=source.make, brief=True)
    if kind in {"window", "bm25", "forgetful"}:
        memory = make_memory(kind, argument)
        shown = "what its memory shows it"
        return Foreseen(powers=having, reads=lambda: Seen(memory()), policy=shown, answers=source.make, brief=True)
    return Foreseen(powers=having, answers=source.make, brief=True)
