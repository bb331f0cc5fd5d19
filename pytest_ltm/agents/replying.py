"""Finds what replies in a class or object: `reply`, a method by another name, or an adapter.

Used by everything that looks for an agent: sources, `ltm init`, modules with one agent,
adapters, stores.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from types import ModuleType

from pytest_ltm.agents.capabilities import accepts_arguments, protocol_members
from pytest_ltm.api.model import CAPABILITIES, Reply
from pytest_ltm.api.storage import AgentError

# Other names of the replying method: used if a class has exactly one of them that takes
# just a message.
CALLS = ("chat", "invoke", "run", "respond", "__call__")
_MEMBERS = set(chain.from_iterable(map(protocol_members, CAPABILITIES.values())))
_COPIED = sorted(_MEMBERS - {"reply"} | {"start", "close", "aclose"})
# Words in the names of methods that may be meant to reply.
REPLYING_WORDS = frozenset(
    (
        "answer",
        "ask",
        "call",
        "complete",
        "generate",
        "message",
        "predict",
        "query",
        "reply",
        "response",
        "send",
        "talk",
        *CALLS,
    )
)
MESSAGE_NAMES = frozenset(
    {"input", "message", "msg", "prompt", "query", "question", "text", "user_input"}
)
"""Usual names of a parameter for the message."""
HISTORY_NAMES = frozenset({"messages", "history", "chat_history", "conversation"})
"""Usual names of a parameter for the message history."""


def words_of(name: str) -> set[str]:
    """Return the words of a name: `get` and `reply` for `getReply` and `get_reply`."""
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))


def replies_by_default(name: str, positional: Sequence[str]) -> bool:
    """Return whether the names of a function without required arguments suggest that it takes the message."""
    return (
        bool(words_of(name) & REPLYING_WORDS)
        and bool(positional)
        and positional[0] in MESSAGE_NAMES
    )


class Called:
    """An agent that replies by another callable than `reply`.

    Its capabilities are those of the wrapped object.
    """

    def __init__(self, candidate: object, reply: Callable[[str], str | Reply]) -> None:
        self.reply = reply
        # Copied, not delegated by __getattr__: isinstance looks for protocol members
        # statically.
        for name in _COPIED:
            if hasattr(candidate, name):
                setattr(self, name, getattr(candidate, name))
        self.__name__ = getattr(candidate, "__name__", type(candidate).__name__)


def method_that_replies(candidate: object, spec: str) -> str:
    """Return the method of CALLS by which a class or object replies.

    "" if it has `reply`, or may get it at creation.

    Raises AgentError, which lists alternatives, if there is none or more than one.
    """
    if isinstance(candidate, ModuleType):
        return ""
    kind = candidate if isinstance(candidate, type) else type(candidate)
    if hasattr(candidate, "reply"):
        if inspect.isfunction(
            inspect.getattr_static(candidate, "reply", None)
        ) and not _accepts_method_arguments(candidate, "reply"):
            raise AgentError(cannot_reply(kind, spec))
        return ""
    usual_names = [name for name in CALLS if _has_own_routine(candidate, name)]
    fitting = []
    for name in usual_names:
        if _accepts_method_arguments(candidate, name):
            fitting.append(name)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise AgentError(
            f"agent {spec!r}: {kind.__name__} has no reply(message), but {'() and '.join(fitting)}(). "
            f"Name the one that replies, as in '{spec}.{fitting[0]}', or write `def reply(self, message)`."
        )
    if _may_get_reply(kind):
        return ""
    likely = [name for name in dir(candidate) if _is_likely_reply(candidate, name)]
    if len(likely) == 1:
        return likely[0]
    raise AgentError(_why_no_reply(candidate, kind, spec, usual_names))


def _why_no_reply(
    candidate: object, kind: type, spec: str, usual_names: list[str]
) -> str:
    """Return the error for a class or object that does not reply.

    `usual_names`: its methods with a usual name.
    """
    near = usual_names or _names_like_reply(candidate)
    cure = (
        f"It has {', '.join(name + _show_parameters(candidate, name) for name in near)}"
    )
    taking = [name for name in near if _accepts_method_arguments(candidate, name)]
    if taking:
        cure += f". If {taking[0]} replies, name it: '{spec}.{taking[0]}'"
    elif near:
        cure += "; what replies takes the message alone"
    else:
        cure = "Write `def reply(self, message)`"
    return f"agent {spec!r}: {kind.__name__} has no reply(message). {cure}."


def _names_like_reply(candidate: object) -> list[str]:
    """Return the methods whose names have or resemble a usual word for replying."""
    # Imported here because it is rarely needed.
    from difflib import get_close_matches

    names = []
    for name in dir(candidate):
        is_near = words_of(name) & REPLYING_WORDS or get_close_matches(
            name, REPLYING_WORDS, 1, 0.8
        )
        if is_near and _has_own_routine(candidate, name):
            names.append(name)
    return names


def _is_likely_reply(candidate: object, name: str) -> bool:
    """Return whether a method's name suggests that it replies, and it takes just a message."""
    return (
        not name.startswith("_")
        and name not in _COPIED
        and bool(words_of(name) & REPLYING_WORDS)
        and _has_own_routine(candidate, name)
        and _accepts_method_arguments(candidate, name)
    )


def cannot_reply(kind: type, spec: str) -> str:
    """Return the error for a `reply` that cannot be called with one message."""
    return f"agent {spec!r}: {kind.__name__}.reply cannot be called with one message. Write `def reply(self, message)`."


def _has_own_routine(candidate: object, name: str) -> bool:
    """Return whether a class or object has its own routine of this name, not one of its metaclass."""
    return any(name in vars(kind) for kind in classes_of(candidate)) and callable(
        getattr(candidate, name, None)
    )


def _accepts_method_arguments(candidate: object, name: str) -> bool:
    is_plain = isinstance(candidate, type) and inspect.isfunction(
        inspect.getattr_static(candidate, name)
    )
    return accepts_arguments(getattr(candidate, name), 1 + is_plain)


def _show_parameters(candidate: object, name: str) -> str:
    """Return the parameters of a method as text: `(text, history)`."""
    try:
        names = list(inspect.signature(getattr(candidate, name)).parameters)
    except (TypeError, ValueError):  # implemented in C
        return "(...)"
    is_plain = isinstance(candidate, type) and inspect.isfunction(
        inspect.getattr_static(candidate, name)
    )
    return f"({', '.join(names[is_plain:])})"


def _may_get_reply(kind: type) -> bool:
    """Return whether an object of this class may have `reply` although the class does not."""
    members = chain.from_iterable(vars(base).values() for base in kind.__mro__)
    functions = list(filter(inspect.isfunction, members))
    if hasattr(kind, "__getattr__"):
        return True
    if functions:
        for function in functions:
            if {"reply", "setattr", "__dict__"} & {*function.__code__.co_names}:
                return True
        return False
    try:
        # A class in Python can be read entirely; the attributes of one in C are unknown
        # before its creation.
        return kind is object or not all(map(inspect.getsource, kind.__mro__[:-1]))
    except (OSError, TypeError):
        return True


# --- Objects of frameworks, which need an adapter.

# The packages whose objects are recognized; all others are used as they are.
ROOTS = frozenset(
    {
        "agent_framework",
        "agents",
        "agno",
        "autogen_agentchat",
        "crewai",
        "dspy",
        "google",
        "haystack",
        "langchain_core",
        "langgraph",
        "llama_index",
        "openai",
        "pydantic_ai",
        "smolagents",
    }
)


def classes_of(candidate: object) -> tuple[type, ...]:
    """Return the classes of an object, or the bases of a class."""
    if isinstance(candidate, type):
        return candidate.__mro__
    return type(candidate).__mro__


def may_need_adapter(candidate: object) -> bool:
    """Return whether an object or class without `reply` comes from a package whose objects are recognized."""
    packages = {kind.__module__.partition(".")[0] for kind in classes_of(candidate)}
    roots = packages & ROOTS
    return any(map(_is_installed, roots)) and not hasattr(candidate, "reply")


def _is_installed(root: str) -> bool:
    """Return whether a package is installed.

    A project's own package of the same name, such as `agents`, does not count.
    """
    place = str(getattr(sys.modules.get(root), "__file__", None) or "site-packages")
    return "site-packages" in place or "dist-packages" in place
