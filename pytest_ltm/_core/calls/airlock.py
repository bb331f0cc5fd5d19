"""Airlock: the only place where foreign objects are touched.

The results, exceptions and attributes of an agent, judge, user, store, hook or exporter
can run their own code whenever they are compared, printed, iterated or asked for their
class. They are touched only here, within the time limit of a call, and leave as exact
builtins, as a type of ours that contains nothing else, or as an error.
"""

from __future__ import annotations

import builtins
import inspect
import reprlib
import sys
from collections.abc import Callable, Mapping
from types import CoroutineType, FunctionType
from typing import Any, Final, TypeGuard, TypeVar, cast

from msgspec import Struct

from pytest_ltm._core.calls import conversation_thread as threads
from pytest_ltm._core.calls.retry import RemoteCause, broken_off, classify_failure
from pytest_ltm._core.calls.time_limits import call_within
from pytest_ltm._core.model.agent import Reply, Usage
from pytest_ltm._core.storage.clock import wall_time
from pytest_ltm._core.storage.errors import (
    AgentFault,
    DefinitionError,
    LtmError,
    TransientFault,
    text_of,
)
from pytest_ltm._core.storage.schema import Field

# For pytest: readers of an agent's exception want the agent's frames, not these.
__tracebackhide__ = True

# Seconds allowed for reading an attribute when no call has a limit.
LOOK_SECONDS = 2.0
# The depth to which data and causes are followed: they may be cyclic.
DEPTH = 50

T = TypeVar("T")
Refuse = Callable[[str], BaseException]

# --- The real class of an object.


def true_classes(value: object) -> tuple[type, ...]:
    """Return the real class of an object and its base classes."""
    classes: tuple[type, ...] = _MRO.__get__(type(value))
    return classes


_MRO: Final[Any] = vars(type)["__mro__"]


def inherits(value: object, kind: type[T]) -> TypeGuard[T]:
    """Return whether an object is of a class, ignoring its `__class__`."""
    return any(class_ is kind for class_ in true_classes(value))


def class_name(value: object) -> str:
    """Return the name of the real class of an object."""
    name: str = vars(type)["__name__"].__get__(type(value))
    return str.__str__(name)


# --- Reading attributes.


def read_attribute(holder: object, name: str, default: Any = None) -> Any:
    """Return an attribute; the default if it is missing, or if reading it fails or takes long."""
    return look(lambda: getattr(holder, name, default), default)


def read_flag(holder: object, name: str) -> bool:
    """Return whether an attribute is `True`, without running code of the object."""
    try:
        return inspect.getattr_static(holder, name, False) is True
    except Exception:  # noqa: BLE001 - an object without a readable class has no flags
        return False


def look(examine: Callable[[], Any], default: Any = None) -> Any:
    """Return the result of examining a foreign object; the default if that fails or takes long."""
    try:
        if threads.own_thread() is not None:
            return threads.call_in_own_thread(examine, LOOK_SECONDS)
        return call_within(LOOK_SECONDS, examine)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException:  # noqa: BLE001 - any failure means that there is no such attribute
        return default


# --- Calling: everything that touches the result or exception of a call is part of the
# call.


class Refusal(Exception):
    """A foreign value cannot be used; `error` is the error to raise."""

    def __init__(self, error: LtmError) -> None:
        super().__init__()
        self.error = error


Admit = Callable[..., Any]
"""Converts a foreign value to one of ours: `admit(value, refuse=refuse)`."""


class Gate(Struct, frozen=True):
    """How the results and exceptions of a call are admitted."""

    admit: Admit
    refuse: Refuse
    passing: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    """Exceptions that pass through unchanged."""

    @property
    def unsettled(self) -> tuple[type[BaseException], ...]:
        """The exceptions that pass unchanged, including refusals and the end of the time limit."""
        return (Refusal, threads.OutOfTime, *self.passing)

    def enter(self, function: Callable[[], object]) -> Any:
        """Call a foreign function; return its admitted result or Pending. Exceptions are settled."""
        try:
            value = function()
            if not _is_awaitable(value):
                return self.admit(value, refuse=self.refuse)
            return Pending(self, value)
        except self.unsettled:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again below
            failure = settle_error(error)
        raise failure


class Pending(Struct, frozen=True):
    """A foreign awaitable; its result is admitted when it is awaited."""

    gate: Gate
    awaitable: Any

    async def outcome(self) -> Any:
        """Await and return the admitted result. Exceptions are settled."""
        try:
            value = await self.awaitable
            return self.gate.admit(value, refuse=self.gate.refuse)
        except self.gate.unsettled:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again below
            failure = settle_error(error)
        raise failure


def _is_awaitable(value: object) -> bool:
    kinds = true_classes(value)
    if any(kind is str or kind is Reply for kind in kinds):
        return False
    return inherits(value, CoroutineType) or any(
        "__await__" in class_members(kind) for kind in kinds
    )


def class_members(kind: type) -> Mapping[str, object]:
    """Return the attributes that a class itself defines, by name."""
    members: Mapping[str, object] = vars(type)["__dict__"].__get__(kind)
    return members


# --- Exceptions.


class ForeignError(RemoteCause):
    """Replaces an exception whose class runs code of its own when it is touched."""


def settle_error(error: BaseException, depth: int = DEPTH) -> BaseException:
    """Return an exception that is safe to touch anywhere: the original, or a replacement.

    A plain one is kept: none of its own methods runs when it is shown, compared or
    searched for a cause, and it contains only builtins. Any other is replaced by a
    ForeignError of the same name, text, frames and causes. One of ours is kept, but its
    causes may be foreign.
    """
    if not depth or _unwinds(error):
        return error
    is_ours = is_of_package(type(error))
    if inherits(error, AgentFault) and not (is_ours and _has_exact_fields(error)):
        return _settle_fault(error)
    causes = [_settle_link(error, name, depth) for name in ("__cause__", "__context__")]
    parts = () if is_ours else _settle_parts(error, depth)
    if parts:
        settled = _regroup(error, parts)
    elif is_ours or _is_plain(error):
        settled = error
    else:
        settled = _stand_in(error)
    for name, cause in zip(("__cause__", "__context__"), causes, strict=True):
        if _slot(settled, name) is not cause:
            vars(BaseException)[name].__set__(settled, cause)
    suppresses = _slot(error, "__suppress_context__")
    vars(BaseException)["__suppress_context__"].__set__(settled, suppresses)
    return settled


def _slot(error: BaseException, name: str) -> Any:
    """Return a field of an exception as Python stores it, ignoring its class."""
    return vars(BaseException)[name].__get__(error)


def _settle_link(error: BaseException, name: str, depth: int) -> BaseException | None:
    link = _slot(error, name)
    if link is None or link is error:
        return None
    return settle_error(link, depth - 1)


def _settle_parts(error: BaseException, depth: int) -> tuple[BaseException, ...]:
    """Return the settled exceptions of a group, which may be a library's own type."""
    parts = exact_items(read_attribute(error, "exceptions")) or []
    if not all(inherits(part, BaseException) for part in parts):
        return ()
    return tuple(settle_error(part, depth - 1) for part in parts)


def _regroup(error: BaseException, parts: tuple[BaseException, ...]) -> BaseException:
    group: Any = vars(builtins).get("BaseExceptionGroup")
    if group is None or not inherits(error, group):
        settled: Any = _stand_in(error)
        settled.exceptions = parts
        return cast("BaseException", settled)
    message = vars(group)["message"].__get__(error)
    regrouped: BaseException = group(exact_text(message), parts)
    return regrouped.with_traceback(_slot(error, "__traceback__"))


def _unwinds(error: BaseException) -> bool:
    """Return whether an exception ends more than the call, so that it passes unchanged."""
    kinds = true_classes(error)
    return not any(kind is Exception for kind in kinds) and any(
        kind is GeneratorExit or kind is KeyboardInterrupt or kind is threads.OutOfTime
        for kind in kinds
    )


def is_of_package(kind: type) -> bool:
    """Return whether a class is really defined in this package, whatever it claims."""
    module = sys.modules.get(_static(kind, "__module__"))
    package = __name__.partition(".")[0]
    if module is None or module.__name__.partition(".")[0] != package:
        return False
    # Public names are imported on first access.
    return getattr(module, _static(kind, "__name__"), None) is kind


def _static(kind: type, name: str) -> str:
    value = vars(type)[name].__get__(kind)
    return str.__str__(value) if inherits(value, str) else ""


# Attributes of an exception class that do not run when an exception is shown or
# compared.
_QUIET = frozenset(
    {
        *("__module__", "__doc__", "__init__", "__weakref__", "__dict__"),
        *("__qualname__", "__annotations__", "__slots__", "__parameters__"),
        *("__firstlineno__", "__static_attributes__", "__annotations_cache__"),
        *("__annotate_func__", "__orig_bases__", "__abstractmethods__", "_abc_impl"),
    }
)
_SCALARS = (str, int, float, bool, bytes, type(None))


def _is_plain(error: BaseException) -> bool:
    """Return whether touching an exception runs only Python's own code."""
    for kind in true_classes(error):
        if vars(builtins).get(_static(kind, "__name__")) is kind:
            continue
        members = class_members(kind).items()
        if type(kind) is not type or not all(_is_quiet(*member) for member in members):
            return False
    if inherits(error, AttributeError):
        # Python searches it for similar names when it shows the error.
        vars(AttributeError)["obj"].__set__(error, None)
    values = [*_slot(error, "args"), *vars(error).values()]
    return all(_is_shown(value) or _holds_scalars(value) for value in values)


def _has_exact_fields(error: AgentFault) -> bool:
    """Return whether a fault of ours has only fields of the documented types, as adapters may set others."""
    if type(error) is not AgentFault and type(error) is not TransientFault:
        return True  # raised only by this package
    fields = dict(vars(error))
    delay = fields.pop("retry_after", None)
    usage = fields.pop("usage", None)
    if not (delay is None or (is_scalar(delay) and is_amount(delay))):
        return False
    if not (usage is None or type(usage) is Usage):
        return False
    return all(map(_is_shown, (*_slot(error, "args"), *fields.values())))


def _is_shown(value: object) -> bool:
    """Return whether a value is a builtin that `str` can show: Python refuses numbers of thousands of digits."""
    return is_scalar(value) and not (type(value) is int and abs(value) > MOST_TOKENS)


def _holds_scalars(value: object) -> bool:
    return type(value) is tuple and all(map(_is_shown, value))


def _is_quiet(name: str, value: object) -> bool:
    if name in _QUIET:
        return True
    return not name.startswith("__") and (
        is_scalar(value) or type(value) is FunctionType
    )


def is_scalar(value: object) -> bool:
    """Return whether a value is a builtin text, number, boolean or None."""
    return any(type(value) is kind for kind in _SCALARS)


def _stand_in(error: BaseException) -> ForeignError:
    namespace = {
        "__module__": _static(type(error), "__module__"),
        "__qualname__": _static(type(error), "__qualname__"),
    }
    kind = type(class_name(error), (ForeignError,), namespace)
    settled: ForeignError = kind(text_of(error))
    try:
        settled.passing = classify_failure(error, now=wall_time())
        settled.lost = broken_off(error)
    except (threads.OutOfTime, KeyboardInterrupt):
        raise
    except BaseException:  # noqa: BLE001, S110 - an unreadable exception gives no information
        pass
    return settled.with_traceback(_slot(error, "__traceback__"))


def _settle_fault(error: BaseException) -> AgentFault:
    """Return a fault of our own class, with the usable fields of a subclass."""
    fault = AgentFault(text_of(error))
    if inherits(error, TransientFault):
        seconds = _seconds(read_attribute(error, "retry_after"))
        taken = read_attribute(error, "taken") is True
        fault = TransientFault(text_of(error), retry_after=seconds, taken=taken)
    for name in ("fatal", "interrupted", "refused", "leak"):
        setattr(fault, name, read_attribute(error, name) is True)
    usage = read_attribute(error, "usage")
    fault.usage = usage if type(usage) is Usage else None
    return fault.with_traceback(_slot(error, "__traceback__"))


def _seconds(value: object) -> float | None:
    """Return a number of seconds; None for anything else."""
    return float(exact_scalar(value)) if is_amount(value) else None  # type: ignore[arg-type]


# --- Results: exact builtins.


def exact_scalar(value: object) -> object:
    """Convert a text, number, boolean or None to its builtin type; return any other value unchanged."""
    kinds = true_classes(value)
    for base, copy in _COPIES:
        if any(kind is base for kind in kinds):
            if type(value) is base or type(value) is bool:
                return value
            return copy(value)
    return value


_COPIES: tuple[tuple[type, Callable[[Any], object]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)


def exact_text(value: object) -> str:
    """Return a `str` that can be encoded in UTF-8; TypeError for anything except text."""
    text = str.__str__(value)
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def exact_items(value: object) -> list[Any] | None:
    """Return the items of a list or a tuple, ignoring its `__iter__`; None for anything else."""
    if inherits(value, list):
        return list(list.__iter__(value))
    if inherits(value, tuple):
        return list(tuple.__iter__(value))
    return None


def exact_pairs(value: object) -> list[tuple[str, object]]:
    """Return pairs of a name and a text, number, boolean or None; TypeError for anything else."""
    pairs = [exact_items(pair) for pair in exact_items(value) or []]
    if not all(pair is not None and len(pair) == 2 for pair in pairs):
        raise TypeError(f"{shown(value)} is not a list of pairs")
    return [
        (exact_text(name), _exact_or_shown(part)) for name, part in filter(None, pairs)
    ]


def _exact_or_shown(value: object) -> object:
    scalar = exact_scalar(value)
    return scalar if is_scalar(scalar) else shown(value)


def exact_tree(value: object) -> Any:
    """Return JSON values as exact builtins, replacing subclasses.

    TypeError for anything that does not consist of dict, list, text, numbers, bool and
    None.
    """
    if type(value) is dict:
        return {exact_text(name): exact_tree(part) for name, part in value.items()}
    if type(value) is list:
        return [exact_tree(part) for part in value]
    scalar = exact_scalar(value)
    if not is_scalar(scalar):
        raise TypeError(f"{shown(value)} is not a JSON value")
    return scalar


# The maximum length of a reply in characters: no real reply is longer, and a fault that
# floods must not flood the record.
LONGEST_REPLY = 1_000_000


def check_json(value: object, refuse: Refuse, *, where: str) -> Any:
    """Return the JSON value that `configuration()` returned; `where`: its owner's name in errors."""
    try:
        return exact_tree(Field(value, where, "configuration").json())
    except DefinitionError as error:
        raise refuse(str(error)) from error


def drop(value: object, refuse: Refuse) -> None:
    """Ignore the returned value: the caller needs none."""


def hand_over(value: object, refuse: Refuse) -> Any:  # noqa: ARG001 - an Admit
    """Return an object that stays foreign; later calls of it go through the airlock, too."""
    return value


MOST_TOKENS, MOST_USD = 10**12, 10**9
"""Per reply: a higher figure is an error of its reporter, and would spoil every sum."""


def is_count(value: object) -> bool:
    """Return whether a value is a plausible whole number of tokens or calls."""
    number = exact_scalar(value)
    return type(number) is int and 0 <= number <= MOST_TOKENS


def is_amount(value: object) -> bool:
    """Return whether a value is a plausible number of dollars."""
    number = exact_scalar(value)
    return (type(number) is int or type(number) is float) and 0 <= number <= MOST_USD


def shown(value: object) -> str:
    """Return a foreign value as an error shows it: short, with its type, and safe even if its `repr` fails."""
    if value is None:
        return "None"
    name = class_name(value)
    noun = f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
    try:
        return f"{exact_text(reprlib.repr(value))} ({noun})"
    except (threads.OutOfTime, KeyboardInterrupt):
        raise
    except BaseException:  # noqa: BLE001 - an error message must not fail on what it reports
        return noun
