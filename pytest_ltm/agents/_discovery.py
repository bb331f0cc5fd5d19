"""Discovery: what replies in somebody's code: a method by another name, the only agent of a module, or an adapter.

The objects of frameworks need an adapter, which the error brings along.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct, convert

from pytest_ltm._core.model.agent import CAPABILITIES, Reply
from pytest_ltm._core.storage.errors import AgentError
from pytest_ltm._core.storage.schema import load_packaged_yaml
from pytest_ltm.agents._capabilities import (
    accepts_arguments,
    protocol_members,
    required_parameters,
)
from pytest_ltm.agents._foreign_forms import takes_messages

# Other names under which agents reply: taken where there is exactly one of them, and it
# takes the message alone.
CALLS = ("chat", "invoke", "run", "respond", "__call__")
_COPIED = sorted(
    {name for kind in CAPABILITIES.values() for name in protocol_members(kind)}
    - {"reply"}
    | {"start", "close", "aclose"}
)
# Parts of the names of what may be meant to reply.
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


_NEAR = (*REPLYING_WORDS,)


class Called:
    """An agent asked by another callable than its `reply`; what else it can do is what `given` can."""

    def __init__(self, given: object, reply: Callable[[str], str | Reply]) -> None:
        self.reply = reply
        # Copied, not delegated by __getattr__: isinstance looks for protocol members
        # statically.
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
        if inspect.isfunction(
            inspect.getattr_static(given, "reply", None)
        ) and not _accepts_method_arguments(given, "reply"):
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
    likely = [name for name in dir(given) if _is_likely_reply(given, name)]
    if len(likely) == 1:
        return likely[0]
    raise AgentError(_why_no_reply(given, kind, spec, there))


def _why_no_reply(given: object, kind: type, spec: str, there: list[str]) -> str:
    """Return the error of a class or object that does not reply; `there`: its methods with a usual name."""
    near = there
    if not near:  # here only, as it is seldom needed
        from difflib import get_close_matches

        meant = (
            name
            for name in dir(given)
            if {*name.split("_")} & REPLYING_WORDS
            or get_close_matches(name, _NEAR, 1, 0.8)
        )
        near = [name for name in meant if _has_own_routine(given, name)]
    cure = f"It has {', '.join(name + _show_parameters(given, name) for name in near)}"
    taking = [name for name in near if _accepts_method_arguments(given, name)]
    if taking:
        cure += f". If {taking[0]} replies, name it: '{spec}.{taking[0]}'"
    elif near:
        cure += "; what replies takes the message alone"
    else:
        cure = "Write `def reply(self, message)`"
    return f"agent {spec!r}: {kind.__name__} has no reply(message). {cure}."


def _is_likely_reply(given: object, name: str) -> bool:
    """Return whether a method is named as if it replied, and takes the message alone."""
    return (
        not name.startswith("_")
        and name not in _COPIED
        and bool({*name.split("_")} & REPLYING_WORDS)
        and _has_own_routine(given, name)
        and _accepts_method_arguments(given, name)
    )


def cannot_reply(kind: type, spec: str) -> str:
    """Return what to say of a `reply` that takes something else than a message."""
    return f"agent {spec!r}: {kind.__name__}.reply cannot be called with one message. Write `def reply(self, message)`."


def _has_own_routine(given: object, name: str) -> bool:
    """Return whether a class, or an object, has a routine of this name that its metaclass does not give."""
    kinds = given.__mro__ if isinstance(given, type) else type(given).__mro__
    return any(name in vars(kind) for kind in kinds) and callable(
        getattr(given, name, None)
    )


def _accepts_method_arguments(given: object, name: str) -> bool:
    is_plain = isinstance(given, type) and inspect.isfunction(
        inspect.getattr_static(given, name)
    )
    return accepts_arguments(getattr(given, name), 1 + is_plain)


def _show_parameters(given: object, name: str) -> str:
    """Return the parameters of a method as they are called: `(text, history)`."""
    try:
        names = list(inspect.signature(getattr(given, name)).parameters)
    except (TypeError, ValueError):  # built in C
        return "(...)"
    is_plain = isinstance(given, type) and inspect.isfunction(
        inspect.getattr_static(given, name)
    )
    return f"({', '.join(names[is_plain:])})"


def _may_get_reply(kind: type) -> bool:
    """Return whether an object of this class may have `reply` though the class has not."""
    functions = [
        one
        for each in kind.__mro__
        for one in vars(each).values()
        if inspect.isfunction(one)
    ]
    if hasattr(kind, "__getattr__"):
        return True
    if functions:
        return any(
            {"reply", "setattr", "__dict__"} & {*function.__code__.co_names}
            for function in functions
        )
    try:
        # All of a class in Python can be read; what one in C has when it is made,
        # nobody knows.
        return kind is object or not all(map(inspect.getsource, kind.__mro__[:-1]))
    except (OSError, TypeError):
        return True


# The packages whose objects are recognized; others are taken as they are.
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


class Framework(Struct, frozen=True, kw_only=True):
    """How an agent of one library is put under test."""

    package: str
    """What is imported of it."""
    title: str
    requires: str
    """What installs it."""
    classes: list[str] = []
    """The classes whose objects need the adapter."""
    makers: list[str] = []
    """The functions and methods that make such an object."""
    name: str = "agent"
    """What such an object is called where none is known."""
    adapter: str
    """The adapter's module, where `{module}` and `{name}` stand for the object."""
    tools_by: str = ""
    """What an object must have to be offered tools; "": nothing, the adapter says whether it is."""
    stand_in: str = ""
    """A module that makes such an object without a key; "" if there is none."""

    def adapter_text(self, module: str, name: str) -> str:
        """Return the adapter of one object."""
        text = self.adapter.replace("{module}", module).replace("{name}", name)
        return text.replace(f"import {name} as {name}\n", f"import {name}\n")

    def takes_tools(self, given: object) -> bool:
        """Return whether an object can be offered tools: it has what that needs, not only from an abstract class."""
        if not self.tools_by:
            return True
        if not hasattr(given, self.tools_by):
            return False
        own = getattr(type(given), self.tools_by, None)
        owner = getattr(own, "__qualname__", "").partition(".")[0]
        return owner not in self.classes


@functools.cache
def load_frameworks() -> dict[str, Framework]:
    """Return the libraries whose agents have an adapter, by the names that `ltm init --from` takes."""
    rows = load_packaged_yaml(__file__, "frameworks.yml")
    for path in sorted(Path(__file__).with_name("frameworks").glob("*.yml")):
        rows |= load_packaged_yaml(str(path), path.name)
    return convert(rows, dict[str, Framework])


def framework_of(given: object) -> tuple[str, Framework] | None:
    """Return the framework to which an object or a class belongs that cannot reply as it is; None for any other."""
    kinds = given.__mro__ if isinstance(given, type) else type(given).__mro__
    names = {(kind.__module__.partition(".")[0], kind.__name__) for kind in kinds}
    roots = {root for root, _ in names} & ROOTS
    if not any(map(_is_installed, roots)) or hasattr(given, "reply"):
        return None
    return next(
        (
            (name, framework)
            for name, framework in load_frameworks().items()
            if any(
                (framework.package.partition(".")[0], kind) in names
                for kind in framework.classes
            )
        ),
        None,
    )


def _is_installed(root: str) -> bool:
    """Return whether a package is installed, and not one of the project that has a library's name, such as `agents`."""
    place = str(getattr(sys.modules.get(root), "__file__", None) or "site-packages")
    return "site-packages" in place or "dist-packages" in place


_IMPORT = re.compile(r"^from \{module\} import \{name\} as (\w+)\n", re.MULTILINE)


def adapter_class(given: object, spec: str) -> type | None:
    """Return the class of the agents that an object of a framework stands for; None for any other object.

    AgentError, with the adapter to paste, for a class of a framework, or a client of a
    model, of which nobody knows what it is asked for.
    """
    found = framework_of(given)
    if found is None:
        return None
    name, framework = found
    bound = _IMPORT.search(framework.adapter)
    if isinstance(given, type) or bound is None:
        raise AgentError(_adapter_hint(given, spec, name, framework))
    names: dict[str, Any] = {"__name__": f"adapter_of_{framework.package}"}
    names[bound[1]] = given
    text = _IMPORT.sub("", framework.adapter)
    exec(compile(text, f"<adapter of {name}>", "exec"), names)  # noqa: S102 - a text of this package
    kind: type = names["Agent"]
    return kind if framework.takes_tools(given) else _without_tools(kind)


def _without_tools(kind: Any) -> type:
    """Return an agent class whose `reply` takes the message alone."""
    if inspect.iscoroutinefunction(kind.reply):

        class AsyncAgent(kind):  # type: ignore[misc]
            async def reply(self, message: str) -> Any:
                return await super().reply(message)

        return AsyncAgent

    class Agent(kind):  # type: ignore[misc]
        def reply(self, message: str) -> Any:
            return super().reply(message)

    return Agent


def _adapter_hint(given: object, spec: str, name: str, framework: Framework) -> str:
    """Return how an object that needs an adapter is made an agent."""
    module, _, attribute = spec.replace(":", ".").rpartition(".")
    kind = given.__name__ if isinstance(given, type) else type(given).__name__
    adapter = framework.adapter_text(module or "bot", attribute or framework.name)
    return (
        f"agent {spec!r} is a {kind} of {framework.title}, which needs an adapter. Run `ltm init --from={name}`, "
        f"or write ltm_agent.py and give --ltm-agent=ltm_agent:\n\n{textwrap.indent(adapter, '    ')}"
    )


def is_module(name: str, base: Path | None, *, installed: bool) -> bool:
    """Return whether a name is a module or package in `base` (default: the working directory), or `installed`."""
    if not name.isidentifier():
        return False
    folder = base or Path.cwd()
    for place in (folder, folder / "src"):
        if (place / f"{name}.py").is_file() or (place / name / "__init__.py").is_file():
            return True
    try:
        there = importlib.util.find_spec(name) if installed else None
    except (ImportError, ValueError):
        return False
    return there is not None and there.origin is not None


def find_only_agent(module: ModuleType, spec: str) -> tuple[object, str]:
    """Return the only agent of a module with its dotted path; AgentError, with the candidates, if there is not one.

    That is a class or object with `reply`, else a class that replies by another name,
    or a function of one text.
    """
    public = {
        name: value for name, value in vars(module).items() if not name.startswith("_")
    }
    names = (
        _names_with_reply(public, module)
        or [name for name in _names_by_source(module) if name in public]
        or [
            name
            for name, value in public.items()
            if _is_own(value, module) and _may_reply(value, spec)
        ]
    )
    if len(names) == 1:
        return public[names[0]], f"{spec}:{names[0]}"
    if names:
        choices = " or ".join(repr(f"{spec}:{name}") for name in names)
        raise AgentError(
            f"agent {spec!r} is a module with {len(names)} agents. Name one: {choices}."
        )
    inside = [
        each.name for each in pkgutil.iter_modules(getattr(module, "__path__", []))
    ]
    deeper = (
        f" It has modules: name one that has, as in {f'{spec}.{inside[0]}'!r}."
        if inside
        else ""
    )
    raise AgentError(
        f"agent {spec!r} is a module without an agent: a class or object with reply(message), or one function that "
        f"takes the message.{deeper}"
    )


def _names_by_source(module: ModuleType) -> list[str]:
    """Return the names of a module that `ltm init` would take for its agent."""
    from pytest_ltm.agents._project import best_names  # which knows our words

    path = getattr(module, "__file__", None)
    return best_names(Path(path)) if path and path.endswith(".py") else []


def _names_with_reply(public: dict[str, Any], module: ModuleType) -> list[str]:
    """Return the names of a module's agents; an object stands for its class only where that needs arguments."""
    classes = {
        name: value
        for name, value in public.items()
        if _is_own(value, module)
        and isinstance(value, type)
        and hasattr(value, "reply")
        and not inspect.isabstract(value)
        and not getattr(value, "_is_protocol", False)
    }
    values = {
        name: value
        for name, value in public.items()
        if not isinstance(value, (type, ModuleType))
    }
    objects = {
        name: value
        for name, value in values.items()
        if callable(getattr(value, "reply", None))
    }
    if not classes and not objects:
        return [
            name for name, value in values.items() if framework_of(value) is not None
        ]
    made = {type(value) for value in objects.values()}
    kept = []
    for name, kind in classes.items():
        with contextlib.suppress(
            TypeError, ValueError
        ):  # built in C: calling it will tell
            if kind in made and any(required_parameters(kind)):
                continue
        kept.append(name)
    simple = {classes[name] for name in kept}
    return [
        *kept,
        *(name for name, value in objects.items() if type(value) not in simple),
    ]


def _is_own(value: object, module: ModuleType) -> bool:
    """Return whether a class or a function is defined in a module, or in a part of it."""
    # Not what it has imported: test files import classes with `reply` from elsewhere.
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and f"{home}.".startswith(f"{module.__name__}.")


def _may_reply(value: Any, spec: str) -> bool:
    """Return whether a class replies by a method of another name, or a function takes one text."""
    if isinstance(value, type):
        try:
            return bool(method_that_replies(value, spec))
        except AgentError:
            return False
    if not inspect.isfunction(value):
        return False
    # By its signature alone: calling it would be asking somebody's agent.
    positional, keywords = required_parameters(value)
    if keywords or len(positional) != 1 or not accepts_arguments(value, 1):
        return False
    annotation = inspect.signature(value).parameters[positional[0]].annotation
    return annotation in {inspect.Parameter.empty, str, "str"} or takes_messages(value)
