"""Generated objects of foreign code, whose special methods raise, hang or lie."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from random import Random
from typing import Any

from pytest_ltm import AgentFault, LtmError, Reply, TransientFault
from pytest_ltm.agents import Usage
from pytest_ltm.api.storage import describe_error

_NAMES = """
str repr eq ne hash bool len iter next getitem contains lt gt le ge add radd sub mul
int float index abs round format bytes call enter exit await aiter anext dir sizeof
reduce_ex getattr instancecheck copy deepcopy missing length_hint complex neg reversed
"""
_DUNDERS = tuple(f"__{name}__" for name in _NAMES.split())
_ATTRIBUTES = (
    *("text", "usage", "cost_usd", "args", "exceptions", "status_code", "response"),
    *("fatal", "retry_after", "__class__", "__dict__", "__name__", "__module__"),
    *("__cause__", "__traceback__", "__notes__", "__doc__", "items", "keys"),
    *("reply", "stateless", "max_message_tokens", "own_loop", "near_misses"),
)
_PLAIN_BASES = (object, str, int, float, bytes, list, tuple, dict, Reply, Usage)
_ERROR_BASES = (
    *(Exception, RuntimeError, KeyError, OSError, BaseException, AssertionError),
    *(TransientFault, AgentFault, TimeoutError, StopIteration, SystemExit),
)


class Odd(Exception):
    """An exception whose `str` and `repr` raise another one."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


def _raise_odd(*_: object, **__: object) -> Any:
    raise Odd


def _raise_plain(*_: object, **__: object) -> Any:
    raise RuntimeError("raised on purpose")


def _raise_exit(*_: object, **__: object) -> Any:
    raise SystemExit(3)


def _raise_recursion(*_: object, **__: object) -> Any:
    return _raise_recursion()


def _hang(*_: object, **__: object) -> Any:
    time.sleep(1000)


def _spin(*_: object, **__: object) -> Any:
    while True:
        pass


def _return_itself(this: object = None, *_: object, **__: object) -> Any:
    return this


def _return_other(*_: object, **__: object) -> Any:
    return object()


def _return_number(*_: object, **__: object) -> Any:
    return 10**400


def _return_nan(*_: object, **__: object) -> Any:
    return float("nan")


def _return_str(*_: object, **__: object) -> Any:
    return str


BEHAVIOURS: tuple[Callable[..., Any], ...] = (
    *(_raise_odd, _raise_plain, _raise_exit, _raise_recursion, _hang, _spin),
    *(_return_itself, _return_other, _return_number, _return_nan, _return_str),
)


def foreign_class(rng: Random, bases: tuple[type, ...] = _PLAIN_BASES) -> type:
    """Return a class with a few special methods and attributes that misbehave."""
    members: dict[str, Any] = {
        name: rng.choice(BEHAVIOURS) for name in rng.sample(_DUNDERS, rng.randint(1, 5))
    }
    for name in rng.sample(_ATTRIBUTES, rng.randint(0, 2)):
        members[name] = property(rng.choice(BEHAVIOURS))
    base = rng.choice(bases)
    if rng.random() < 0.2:
        members["__getattribute__"] = _choosy(rng.choice(_ATTRIBUTES), rng)
    meta: type = type
    if rng.random() < 0.15:
        hooks = {
            name: rng.choice(BEHAVIOURS)
            for name in ("__eq__", "__hash__", "__instancecheck__")
        }
        meta = type("Meta", (type,), hooks)
    try:
        made: type = meta("Foreign", (base,), members)
    except Exception:  # noqa: BLE001 - not every base takes every member
        made = type("Foreign", (base,), {"__repr__": _raise_odd})
    return made


def _choosy(wanted: str, rng: Random) -> Callable[[Any, str], Any]:
    behaviour = rng.choice(BEHAVIOURS)

    def read(this: Any, name: str) -> Any:
        return (
            behaviour(this) if name == wanted else object.__getattribute__(this, name)
        )

    return read


def foreign_object(rng: Random) -> Any:
    """Return an instance of such a class, or a value that is odd in itself."""
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    odd = [
        float("nan"),
        object(),
        10**400,
        cycle,
        {("a", "b"): 1},
        "\ud800",
        b"\xff",
        [None],
        -1,
        True,
        iter("ab"),
    ]
    if rng.random() < 0.2:
        return rng.choice(odd)
    kind = foreign_class(rng)
    return _made(kind, rng)


def _made(kind: type, rng: Random) -> Any:
    for arguments in rng.sample([(), ("x",), (1,), ([1],)], 4):
        try:
            return kind(*arguments)
        except BaseException:  # noqa: BLE001 - it may raise anything
            continue
    return object()


def foreign_error(rng: Random) -> BaseException:
    """Return an exception of such a class."""
    kind = foreign_class(rng, _ERROR_BASES)
    base: Any = kind.__mro__[1]
    error: BaseException = base.__new__(kind, "boom")
    BaseException.__init__(
        error, *rng.choice([("boom",), (), (object(),), ("boom", 3)])
    )
    return error


def foreign_agent(rng: Random) -> type:
    """Return an agent class of which one part is foreign and all else is correct."""
    value, error = foreign_object(rng), foreign_error(rng)

    def throw(*_: object, **__: object) -> Any:
        raise error

    def give(what: Any) -> Callable[..., Any]:
        return lambda *_, **__: what

    def give_late(what: Any) -> Callable[..., Any]:
        async def reply(*_: object) -> Any:
            return what

        return reply

    parts: dict[str, Callable[[], Any]] = {
        "reply": lambda: rng.choice([throw, give(value), give_late(value)]),
        "reply ": lambda: give(_reply(rng, value)),
        "configuration": lambda: rng.choice(
            [
                throw,
                give(value),
                give({"a": value}),
                give({"a": [value, {"b": value}]}),
                _hang,
            ]
        ),
        "usage": lambda: rng.choice([throw, give(value), give(_usage(rng, value))]),
        "retrieved": lambda: rng.choice([throw, give(value), give([value])]),
        "in_context": lambda: rng.choice([throw, give(value), give([value])]),
        "written": lambda: give(
            rng.choice([value, [value], [("added", value, value)], [(value, "1", "x")]])
        ),
        "save": lambda: rng.choice([throw, give(value)]),
        "accept": lambda: rng.choice([throw, give(value), give(_reply(rng, value))]),
        "close": lambda: rng.choice([throw, value, give(value)]),
        "max_message_tokens": lambda: value,
        "stateless": lambda: value,
        "__name__": lambda: value,
        "__getattr__": lambda: rng.choice(BEHAVIOURS),
        "__class__": lambda: property(rng.choice(BEHAVIOURS)),
        "reset": lambda: value,
        "tell_time": lambda: value,
        "start": lambda: value,
        "__eq__": lambda: rng.choice(BEHAVIOURS),
        "__bool__": lambda: rng.choice(BEHAVIOURS),
        "__repr__": lambda: rng.choice(BEHAVIOURS),
        "__init__": lambda: rng.choice([throw, _hang]),
    }
    members: dict[str, Any] = {"reply": lambda _, message: f"Kelvin {message[:0]}"}
    for name in rng.sample(sorted(parts), rng.randint(1, 3)):
        members[name.strip()] = parts[name]()
    if "save" in members:
        members.setdefault("load", lambda *_: None)
    try:
        return type("Agent", (), members)
    except Exception:  # noqa: BLE001 - a name of an agent may be asked for __set_name__
        return type("Agent", (), {"reply": members["reply"]})


def _reply(rng: Random, value: Any) -> Any:
    fields: dict[str, Any] = {"text": "Kelvin"}
    fields[
        rng.choice(
            [
                "text",
                "usage",
                "cost_usd",
                "finish_reason",
                "thoughts",
                "mishaps",
                "hypothetical",
            ]
        )
    ] = value
    return Reply(**fields)


def _usage(rng: Random, value: Any) -> Any:
    names = ("input_tokens", "output_tokens", "calls", "estimated")
    counts: dict[str, Any] = {"input_tokens": 1, rng.choice(names): value}
    return Usage(**counts)


# Values that reach our code.

LIMIT = 0.05
SCALARS = (str, int, float, bool, bytes, type(None))


def is_exact(value: Any) -> bool:
    if is_dataclass(value) and type(value) in {Reply, Usage}:
        return all(is_exact(getattr(value, field.name)) for field in fields(value))
    if type(value) is dict:
        return all(is_exact(name) and is_exact(part) for name, part in value.items())
    if type(value) in {list, tuple}:
        return all(map(is_exact, value))
    names = getattr(type(value), "__struct_fields__", None)
    if names is not None:
        return all(is_exact(getattr(value, name)) for name in names)
    return type(value) in SCALARS


def survive(call: Callable[[], Any]) -> Any:
    """Return the result of a call; an LtmError that can be shown counts as a good result."""
    try:
        value = call()
    except LtmError as error:
        texts = (str(error), describe_error(error))
        traceback.format_exception(error)
        value = [type(text) is str for text in texts]
    assert is_exact(value), value
    return value
