"""Which method of somebody's class or object replies: `reply`, or the only one with a name that others use for it."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import TYPE_CHECKING

from pytest_ltm._model.agent import CAPABILITIES, Reply
from pytest_ltm._storage.errors import AgentError
from pytest_ltm.agents._capabilities import accepts_arguments, protocol_members

if TYPE_CHECKING:
    from collections.abc import Callable


# Other names under which agents reply: taken where there is exactly one of them, and it takes the message alone.
CALLS = ("chat", "invoke", "run", "respond", "__call__")
_COPIED = sorted(
    {name for kind in CAPABILITIES.values() for name in protocol_members(kind)} - {"reply"}
    | {"start", "close", "aclose"}
)
# Parts of the names of methods that may be meant to reply.
_WORDS = frozenset(
    ("answer", "ask", "call", "complete", "generate", "message", "predict", "query", "send", "talk", *CALLS)
)


class Called:
    """An agent asked by another callable than its `reply`; what else it can do is what `given` can."""

    def __init__(self, given: object, reply: Callable[[str], str | Reply]) -> None:
        self.reply = reply
        # Copied, not delegated by __getattr__: isinstance looks for protocol members statically.
        for name in _COPIED:
            if hasattr(given, name):
                setattr(self, name, getattr(given, name))
        self.__name__ = getattr(given, "__name__", type(given).__name__)


def method_that_replies(given: object, spec: str) -> str:
    """Return the one of CALLS by which a class or an object replies; "" if it has `reply`, or may get it when made.

    AgentError, with what is there instead, if there is none or more than one.
    """
    if isinstance(given, ModuleType):
        return ""
    kind = given if isinstance(given, type) else type(given)
    if hasattr(given, "reply"):
        if inspect.isfunction(inspect.getattr_static(given, "reply", None)) and not _accepts_method_arguments(
            given, "reply"
        ):
            raise AgentError(cannot_reply(kind, spec))
        return ""
    there = [name for name in CALLS if _has_own_routine(given, name)]
    fitting = [name for name in there if _accepts_method_arguments(given, name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise AgentError(
            f"agent {spec!r}: {kind.__name__} has no reply(message), but {'() and '.join(fitting)}(). "
            f"Name the one that replies, as in '{spec}.{fitting[0]}', or write `def reply(self, message)`."
        )
    if _may_get_reply(kind):
        return ""
    near = there or [name for name in dir(given) if _is_near(name) and _has_own_routine(given, name)]
    cure = f"It has {', '.join(name + _show_parameters(given, name) for name in near)}"
    taking = [name for name in near if _accepts_method_arguments(given, name)]
    if taking:
        cure += f". If {taking[0]} replies, name it: '{spec}.{taking[0]}'"
    elif near:
        cure += "; what replies takes the message alone"
    else:
        cure = "Write `def reply(self, message)`"
    raise AgentError(f"agent {spec!r}: {kind.__name__} has no reply(message). {cure}.")


def cannot_reply(kind: type, spec: str) -> str:
    """Return what to say of a `reply` that takes something else than a message."""
    return f"agent {spec!r}: {kind.__name__}.reply cannot be called with one message. Write `def reply(self, message)`."


def _is_near(name: str) -> bool:
    """Return whether a method's name says that it may be meant to reply."""
    from difflib import get_close_matches

    return bool({*name.split("_")} & _WORDS or get_close_matches(name, ("reply", *_WORDS), n=1, cutoff=0.8))


def _has_own_routine(given: object, name: str) -> bool:
    """Return whether a class, or an object, has a routine of this name that its metaclass does not give."""
    kinds = given.__mro__ if isinstance(given, type) else type(given).__mro__
    return any(name in vars(kind) for kind in kinds) and callable(getattr(given, name, None))


def _accepts_method_arguments(given: object, name: str) -> bool:
    is_plain = isinstance(given, type) and inspect.isfunction(inspect.getattr_static(given, name))
    return accepts_arguments(getattr(given, name), 1 + is_plain)


def _show_parameters(given: object, name: str) -> str:
    """Return the parameters of a method as they are called: `(text, history)`."""
    try:
        names = list(inspect.signature(getattr(given, name)).parameters)
    except (TypeError, ValueError):  # built in C
        return "(...)"
    is_plain = isinstance(given, type) and inspect.isfunction(inspect.getattr_static(given, name))
    return f"({', '.join(names[is_plain:])})"


def _is_written(kind: type) -> bool:
    """Return whether all of a class can be read: it is in Python."""
    try:
        return kind is not object and all(map(inspect.getsource, kind.__mro__[:-1]))
    except (OSError, TypeError):
        return False


def _may_get_reply(kind: type) -> bool:
    """Return whether an object of this class may have `reply` though the class has not."""
    codes = [
        function.__code__ for each in kind.__mro__ for function in vars(each).values() if inspect.isfunction(function)
    ]
    return (
        hasattr(kind, "__getattr__")
        or (not codes and not _is_written(kind))
        or any({"reply", "setattr", "__dict__"} & {*code.co_names} for code in codes)
    )
