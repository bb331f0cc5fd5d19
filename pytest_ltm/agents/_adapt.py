"""AgentSource: agents, one for each conversation, out of anything that a dotted path or the hook may give."""

from __future__ import annotations

import contextlib
import inspect
import reprlib
import weakref
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from pytest_ltm._errors import AgentError, told
from pytest_ltm.agents._loop import OwnLoop, outside_any_loop
from pytest_ltm.agents._powers import powers, required, takes
from pytest_ltm.agents._protocols import POWERS, Agent, Configured, Reply, Resettable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["AgentSource", "powers", "source"]

_CURE = "Give a class, a no-argument factory, an object with reply(message), or a function that takes the message"


class AgentSource:
    """Where the agents of one spec come from: one for each conversation.

    `serves_many` is false for an instance or function that can serve one conversation only; `refusal` is then
    the sentence for a run that has more, and "" otherwise. `owned` is true where `make` makes the agent, so
    that whoever ends the conversation should also close it; a given instance belongs to its giver. `at` is called
    with the conversation's folder in place of `produce` where there is one. `settings` are those of an agent's
    file, and `unlimited` is true of an agent that may take as long as it likes.
    """

    def __init__(
        self,
        produce: Callable[[], object],
        *,
        spec: str,
        refusal: str = "",
        owned: bool,
        settings: Mapping[str, Any] | None = None,
        unlimited: bool = False,
        given: object = None,
        at: Callable[[Path], object] | None = None,
    ) -> None:
        self.spec = spec
        self._at = at
        self.given = given
        """What was named: a class, a factory, an object or a function."""
        self.refusal = refusal
        self.owned = owned
        self.settings = settings
        self.unlimited = unlimited
        self._produce = produce
        self._made: list[Callable[[], object]] = []

    @property
    def serves_many(self) -> bool:
        """Whether more than one conversation can have an agent from here."""
        return not self.refusal

    def make(
        self, *, fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt,), folder: Path | None = None
    ) -> Agent:
        """Return the agent for the next conversation, which may leave files for people in that `folder`.

        What was handed out before is reset first. Raises AgentError, with the cause chained, for whatever goes
        wrong in foreign code, except `fatal` exceptions, which pass.
        """
        made, agent = self._fresh(fatal, folder)
        if any(earlier() is made for earlier in self._made):
            self._put_back(agent, fatal)
        else:
            self._remember(made)
        if folder is not None and type(made).__module__ == "pytest_ltm.agents._command":
            cast(Any, made).ltm_folder(folder)
        return agent

    def sample(
        self, *, fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt,), folder: Path | None = None
    ) -> Agent:
        """Return an agent to be looked at, not to be talked to; `make` knows nothing of it. Raises what `make` does."""
        return self._fresh(fatal, folder)[1]

    def _fresh(self, fatal: tuple[type[BaseException], ...], folder: Path | None) -> tuple[object, Agent]:
        at = self._at
        produce = self._produce if at is None or folder is None else lambda: at(folder)
        made = self._guarded("could not be made", lambda: _settled(produce()), fatal)
        return made, _agent(made, self.spec)

    def configuration(
        self, agent: Agent, *, fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    ) -> Mapping[str, Any] | None:
        """Return what the answers of an agent from here depend on, as far as it is told; None if nobody tells.

        Raises AgentError for whatever goes wrong in foreign code, and for what is no mapping.
        """
        if "Configured" not in powers(agent):
            return self.settings
        what = "could not tell its configuration()"
        told_by_it = self._guarded(what, lambda: _settled(cast(Configured, agent).configuration(), "it"), fatal)
        if not isinstance(told_by_it, Mapping):
            raise AgentError(f"agent {self.spec!r}: configuration() returned {_kind(told_by_it)}, not a mapping")
        return told_by_it if self.settings is None else {"file": self.settings, "agent": told_by_it}

    def _put_back(self, agent: Agent, fatal: tuple[type[BaseException], ...]) -> None:
        having = powers(agent)
        if "Resettable" in having:
            self._guarded("could not be reset", lambda: _run(cast(Resettable, agent).reset), fatal)
        elif "Stateless" not in having:
            raise AgentError(self.refusal or _refusal(self.spec, "the same object from each call"))

    def _guarded(self, what: str, call: Callable[[], object], fatal: tuple[type[BaseException], ...]) -> object:
        passing: tuple[type[BaseException], ...] = (*fatal, GeneratorExit)
        try:
            with outside_any_loop():
                return call()
        except passing:
            raise
        except BaseException as error:
            raise AgentError(f"agent {self.spec!r} {what}: {told(error)}") from error

    def _remember(self, made: object) -> None:
        # Weakly: an isolated run makes thousands of agents, and each may hold a whole memory.
        self._made = [earlier for earlier in self._made if earlier() is not None]
        try:
            self._made.append(weakref.ref(made))
        except TypeError:
            if not self.owned:
                self._made.append(lambda: made)


def source(
    given: object, *, spec: str, settings: Mapping[str, Any] | None = None, unlimited: bool = False
) -> AgentSource:
    """Return the source of agents that `given` stands for.

    A class or a callable that needs no argument is called for each conversation; an object with `reply` or a
    callable that needs one argument is the agent of one conversation, and of more if it is Resettable or
    Stateless. Raises AgentError for anything else.
    """
    if isinstance(given, type):
        return AgentSource(
            _class(given, spec), spec=spec, owned=True, settings=settings, unlimited=unlimited, given=given
        )
    factory = _factory(given, spec)
    if factory is not None:
        return AgentSource(factory, spec=spec, owned=True, settings=settings, unlimited=unlimited, given=given)
    agent = _agent(given, spec)
    many = powers(agent) & {"Resettable", "Stateless"}
    kind = "one object" if hasattr(given, "reply") else "one function"
    refusal = "" if many else _refusal(spec, kind)
    return AgentSource(
        lambda: given, spec=spec, owned=False, refusal=refusal, settings=settings, unlimited=unlimited, given=given
    )


class _Function:
    """A function from message to reply as an agent, with the powers that it carries as attributes only."""

    def __init__(self, function: Callable[[str], str | Reply]) -> None:
        self.reply = function
        # Copied, not delegated by __getattr__: isinstance looks for protocol members statically.
        for name in _MEMBERS:
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        self.__name__ = getattr(function, "__name__", type(function).__name__)


_MEMBERS = sorted(
    {name for power in POWERS.values() for name in (*vars(power), *power.__annotations__) if name[0] != "_"}
    | {"close", "aclose"}
)


def _agent(made: object, spec: str) -> Agent:
    """Return an instance or a function as an agent; AgentError for anything else."""
    if isinstance(made, type):
        raise AgentError(f"agent {spec!r}: the factory returned the class {made.__name__}. Return {made.__name__}().")
    if isinstance(made, ModuleType):
        raise AgentError(_about_module(made, spec))
    if hasattr(made, "reply"):
        if not takes(made.reply, 1):
            raise AgentError(
                f"agent {spec!r}: {type(made).__name__}.reply cannot be called with one message. "
                f"Write `def reply(self, message)`."
            )
        return cast(Agent, made)
    if callable(made) and takes(made, 1):
        return cast(Agent, _Function(made))
    raise AgentError(f"agent {spec!r} is {_kind(made)}, which cannot reply. {_CURE}.")


def _factory(given: object, spec: str) -> Callable[[], object] | None:
    """Return what is to be called for each conversation; None if `given` is itself an agent, or nothing at all."""
    if hasattr(given, "reply") or not callable(given):
        return None
    try:
        positional, keywords = required(given)
    except (TypeError, ValueError) as error:
        raise AgentError(
            f"agent {spec!r}: nobody can tell which arguments {_kind(given)} takes. Wrap it: "
            f"`def answer(message): ...`."
        ) from error
    if keywords or len(positional) > 1:
        raise AgentError(
            f"agent {spec!r} needs {_names([*positional, *keywords])}; a factory needs no argument and a function "
            f"that replies needs one. If it is a method, name it on an instance."
        )
    if not positional and inspect.iscoroutinefunction(given):
        raise AgentError(f"agent {spec!r} is an async factory. Make it a plain function; reply may be async.")
    return None if positional else given


def _class(given: type, spec: str) -> Callable[[], object]:
    """Return the class itself, once it is known to need no argument."""
    try:
        needed = [name for names in required(given) for name in names]
    except (TypeError, ValueError):  # built in C: calling it will tell
        return given
    if needed:
        raise AgentError(
            f"agent {spec!r}: making a {given.__name__} needs {_names(needed)}. Give a factory instead: "
            f"`def make(): return {given.__name__}(...)`."
        )
    return given


def _settled(made: object, who: str = "the factory") -> object:
    """Return what `who` returned, if it is not still to be awaited."""
    if not inspect.isawaitable(made):
        return made
    if inspect.iscoroutine(made):
        made.close()  # else Python warns about it, out of nowhere
    raise TypeError(f"{who} returned an awaitable. Make it a plain function; reply may be async")


def _run(reset: Callable[[], object]) -> None:
    """Reset, and let an async `reset` come to its end, in a loop of its own."""
    result = reset()
    if inspect.isawaitable(result):
        with contextlib.closing(OwnLoop()) as loop:
            loop.run(result, timeout=None)


def _refusal(spec: str, kind: str) -> str:
    return (
        f"agent {spec!r} is {kind} and can serve one conversation only, but this run has more. Give a class or a "
        f"no-argument factory, or let it have reset() or `stateless = True`."
    )


def _about_module(module: ModuleType, spec: str) -> str:
    mine = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    example = mine[0] if mine else "NAME"
    return f"agent {spec!r} is a module. Name what is in it, as in '{module.__name__}:{example}'."


def _kind(given: object) -> str:
    return "None" if given is None else f"{reprlib.repr(given)} (a {type(given).__name__})"


def _names(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
