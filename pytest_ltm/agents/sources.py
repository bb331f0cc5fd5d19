"""AgentSource: creates one agent per conversation, from anything that a dotted path or hook provides."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import secrets
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, cast

from pytest_ltm.agents._foreign_forms import (
    MessagesAgent,
    history_place,
    takes_messages,
)
from pytest_ltm.agents.answers import check_configuration
from pytest_ltm.agents.capabilities import (
    accepts_arguments,
    capabilities_of,
    closing_method,
    protocol_members,
    register_control,
    required_parameters,
)
from pytest_ltm.agents.replying import (
    Called,
    cannot_reply,
    may_need_adapter,
    method_that_replies,
    replies_by_default,
)
from pytest_ltm.agents.signatures import signature_of
from pytest_ltm.api.calls import ForeignCaller, has_thread, is_count, shares_loop, shown
from pytest_ltm.api.model import (
    CAPABILITIES,
    RAW,
    Agent,
    Call,
    Configured,
    KeepsUsers,
    Reading,
    Resettable,
    Usage,
)
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    DottedPath,
    Field,
    is_dotted,
    lazy,
)

# Imported lazily: most specs name a plain class or function.
_adapter_class = lazy("pytest_ltm.agents.framework_adapters:adapter_class")
_find_only_agent = lazy("pytest_ltm.agents._module_agents:find_only_agent")
_CURE = "Give a class, a no-argument factory, an object with reply(message), or a function that takes the message"


# The parameter that gives an agent its conversation's id, to keep stored data apart.
CONVERSATION_ID_PARAMETER = "conversation_id"
T = TypeVar("T")
# Exceptions of foreign code that pass through unchanged.
Fatal: TypeAlias = tuple[type[BaseException], ...]
_CTRL_C: Fatal = (KeyboardInterrupt,)


class AgentUnavailable(AgentError):
    """An agent could not be created; the text says which one and why."""


# Seconds for examining an object, which may import its framework.
_LOOK_SECONDS = 60.0
_OWN_PROCESS = frozenset({"cmd", "mcp", "claude-code", "codex"})
_OUR_PROCESS = frozenset({"", "store", "ts"})
"""Kinds of agents that run on this machine: in their own process, and in ours.

All others are behind an address.
"""


@dataclass(eq=False, repr=False)
class AgentSource:
    """The source of the agents of one spec: one for each conversation.

    `serves_many` is false for an instance or function that can serve only one
    conversation; `refusal` is then the sentence for a run that has more, and ""
    otherwise. `owned` is true if `make` creates the agent, so that the conversation's
    owner must also close it; a given instance belongs to the caller. `produce_in` is
    called with the conversation's folder instead of `produce` if there is a folder.
    `settings` are those of an agent's file, and `unlimited` marks an agent without a
    time limit.
    """

    produce: Callable[[], object]
    _: KW_ONLY
    spec: str
    kind: str = ""
    """The registered name of the kind, also if a file names it; "" for a dotted path."""
    owned: bool
    refusal: str = ""
    settings: Mapping[str, Any] | None = None
    unlimited: bool = False
    calls: str = ""
    """The method that replies, if it is not `reply`."""
    definition: object = None
    """The named object: a class, a factory, an object or a function."""
    produce_in: Callable[[Path], object] | None = None
    embedded: bool = False
    """Whether it is one of ours, created for each conversation without shared state."""
    apart: bool = False
    """Whether each agent has its own process, in which the clock is moved, if at all."""
    sees_clock: bool = False
    """Whether its agents can know the conversation's time without being told."""
    at_once: bool = False
    """Whether several conversations have agents at the same time."""
    _products: list[Callable[[], object]] = field(default_factory=list, init=False)
    """The agents handed out, as long as they are referenced."""
    _is_async: bool = field(default=False, init=False)
    """Whether its agents are async, so that all their code runs in the shared loop's thread."""

    @property
    def place(self) -> str:
        """Where its agents run, as a clause after a name; "" for embedded ones."""
        if self.embedded or self.kind == "memory":
            return ""
        if self.apart:
            from pytest_ltm.agents._hidden import can_hide_folders

            if can_hide_folders():
                return "in a process of its own, which cannot read the run folder"
        if self.apart or self.kind in _OWN_PROCESS:
            return "in a process of its own, which can read the files of the run"
        if self.kind not in _OUR_PROCESS:
            return "outside this process"
        return "in this process, which knows the answers"

    @property
    def serves_many(self) -> bool:
        """Whether more than one conversation can get an agent from this source."""
        return not self.refusal

    def __post_init__(self) -> None:
        self._is_async = shares_loop(self.definition)

    def make(
        self,
        *,
        fatal: Fatal = _CTRL_C,
        folder: Path | None = None,
        timeout: float | None = None,
    ) -> Agent:
        """Return the agent for the next conversation, which may leave files for users in `folder`.

        An agent that was handed out before is reset first. `timeout`: seconds for each
        step (None: no limit). Raises AgentError, with the cause chained, for any
        failure of foreign code, except `fatal` exceptions, which pass through.
        """
        name = _conversation_id(folder)
        product, agent = self._fresh(fatal, folder, name, timeout)
        with contextlib.closing(self._door(fatal, timeout)) as door:
            having = door.examine("could not be examined", capabilities_of, agent)
            wants_id = door.examine(
                "could not be examined", _takes_conversation_id, agent
            )
            keeps_users = "KeepsUsers" in having
            if any(earlier() is product for earlier in self._products):
                if self.at_once and "Stateless" not in having:
                    raise AgentError(
                        f"agent {self.spec!r} is the same object from each call, so its conversations cannot be played "
                        "at once. Make another one in each call, or give --ltm-concurrency=1"
                    )
                if "Resettable" in having and not keeps_users:
                    door.call(
                        "could not be reset", lambda: cast("Resettable", agent).reset()
                    )
                elif not (keeps_users or "Stateless" in having or wants_id):
                    refusal = _single_conversation_refusal(
                        self.spec, "the same object from each call"
                    )
                    raise AgentError(self.refusal or refusal)
            else:
                # Weak references: an isolated run creates thousands of agents, and each
                # may have a large memory.
                self._products = [
                    earlier for earlier in self._products if earlier() is not None
                ]
                try:
                    self._products.append(weakref.ref(product))
                except TypeError:
                    if not self.owned:
                        self._products.append(lambda: product)
            if wants_id:
                door.call(
                    "could not be started",
                    lambda: cast("Any", agent).start(
                        **{CONVERSATION_ID_PARAMETER: name}
                    ),
                )
            if keeps_users:
                door.call(
                    "could not begin a session",
                    lambda: cast("KeepsUsers", agent).begin_session(name),
                )
        return agent

    def sample(
        self,
        *,
        fatal: Fatal = _CTRL_C,
        folder: Path | None = None,
        timeout: float | None = None,
    ) -> Agent:
        """Return an agent to inspect, not to send messages to; `make` ignores it. Raises the errors of `make`."""
        return self._fresh(fatal, folder, _conversation_id(folder), timeout)[1]

    def _fresh(
        self, fatal: Fatal, folder: Path | None, name: str, timeout: float | None
    ) -> tuple[object, Agent]:
        produce = self.produce
        was_async = self._is_async
        if self.produce_in is not None and folder is not None:
            # The folder is for files that users look up later, such as a process's
            # stderr.
            produce = functools.partial(self.produce_in, folder)
        elif _names_conversations(produce):
            produce = functools.partial(produce, **{CONVERSATION_ID_PARAMETER: name})
        with contextlib.closing(self._door(fatal, timeout)) as door:
            product = door.call(
                "could not be made", lambda: _reject_awaitable(produce())
            )
            product = door.examine(
                "could not be examined", _in_adapter, product, self.spec
            )
            agent: Agent = door.examine(
                "could not be examined", _adapt_agent, product, self.spec, self.calls
            )
            register_control(
                agent, embedded=self.embedded or self.spec.startswith("replay:")
            )
            if was_async or not shares_loop(agent):
                return product, agent
            self._is_async = True  # known only now if a factory created it
            if not has_thread():
                return product, agent
            # Its resources belong to this thread, but its calls will run in the loop's:
            # create another one there.
            with contextlib.suppress(AgentError):  # it has received no message
                if self.owned and (name_ := door.examine("", closing_method, agent)):
                    door.call_method(agent, name_)
        return self._fresh(fatal, folder, name, timeout)

    def configuration(
        self, agent: Agent, *, fatal: Fatal = _CTRL_C, timeout: float | None = None
    ) -> Mapping[str, Any] | None:
        """Return the settings that affect an agent's answers, as far as it reports them; None if unknown.

        Raises AgentError for any failure of foreign code, and for anything but a
        mapping of JSON values.
        """
        with contextlib.closing(self._door(fatal, timeout)) as door:
            having = door.examine("could not be examined", capabilities_of, agent)
            if "Configured" not in having:
                return self.settings
            configuration: Mapping[str, Any] = door.call(
                "failed in configuration()",
                lambda: _reject_awaitable(
                    cast("Configured", agent).configuration(), "it"
                ),
                admit=functools.partial(
                    check_configuration, where=f"agent {self.spec!r}"
                ),
            )
        if self.settings is None:
            return configuration
        return {"file": self.settings, "agent": configuration}

    def _door(
        self, fatal: Fatal, timeout: float | None = None
    ) -> ForeignCaller[AgentError]:
        """Return the caller for the code of an agent without a conversation; it shows no traceback."""
        return ForeignCaller(
            f"agent {self.spec!r}",
            error=AgentError,
            callee=_awaited if self._is_async else self.definition,
            timeout=timeout,
            fatal=(*fatal, AgentUnavailable),
            placed=True,
        )


def dotted_source(
    spec: str, *, base: Path | None = None, hint: str = ""
) -> AgentSource:
    """Return the source of the agents that a dotted path names; those of `bot:Bot.chat` reply by `chat`.

    `base`: as for `DottedPath.resolve`. Raises AgentError if it does not exist, or
    cannot reply.
    """
    path = functools.partial(
        DottedPath, what="agent", error=AgentError, hint=hint, may_be_module=True
    )
    target = path(spec).resolve(base)
    owner, _, name = spec.rpartition(".")
    if inspect.isfunction(target) and is_dotted(owner):
        kind = path(owner).resolve(base)
        if isinstance(kind, type) and inspect.isfunction(
            inspect.getattr_static(kind, name)
        ):
            return examined_source(kind, spec=spec, calls=name)
    return examined_source(target, spec=spec)


def examined_source(target: object, *, spec: str, calls: str = "") -> AgentSource:
    """Return the source of agents for a user's object; AgentError for any failure of its code."""
    look = functools.partial(agent_source, target, spec=spec, calls=calls)
    caller = ForeignCaller(
        f"agent {spec!r}", error=AgentError, timeout=_LOOK_SECONDS, placed=True
    )
    with contextlib.closing(caller) as door:
        source: AgentSource = door.examine("could not be examined", look)
    return source


def agent_source(
    target: object,
    *,
    spec: str,
    settings: Mapping[str, Any] | None = None,
    unlimited: bool = False,
    calls: str = "",
    promise: object = None,
) -> AgentSource:
    """Return the source of agents for a class, factory, function or object.

    A class or a callable that needs no argument, or only `conversation_id`, is called
    for each conversation; an object with `reply` or a callable that needs one argument
    is the agent of one conversation, and of more if it is Resettable or Stateless or
    has `start(conversation_id)`. `calls`: the method of a class that replies; "":
    `reply`, or the only one of CALLS. `promise`: describes its agents instead of
    `target`. Raises AgentError for anything else.
    """
    if isinstance(target, ModuleType):
        target, spec = _find_only_agent(target, spec)
    # First of all: such an object may take one argument, but would fail when called.
    target = _find_adapter(target, spec) or target
    place = history_place(target)
    if place is not None or (not isinstance(target, type) and takes_messages(target)):
        call = cast("Callable[..., Any]", target)
        target = functools.partial(MessagesAgent, call, place)
    if isinstance(target, type) or not callable(target):
        calls = calls or method_that_replies(target, spec)
    make_source = functools.partial(
        AgentSource,
        spec=spec,
        settings=settings,
        unlimited=unlimited,
        definition=promise or target,
        calls=calls,
    )
    if isinstance(target, type):
        factory: Callable[[], object] | None = _check_class(target, spec)
    else:
        factory = _agent_factory(target, spec)
    if factory is not None:
        return make_source(factory, owned=True)
    agent = _adapt_agent(target, spec, calls)
    refusal = ""
    serves_many = capabilities_of(agent) & {"Resettable", "Stateless"}
    if not (serves_many or _takes_conversation_id(agent)):
        is_function = isinstance(agent, Called) and not calls
        kind = "one function" if is_function else "one object"
        refusal = _single_conversation_refusal(spec, kind)
    return make_source(lambda: target, owned=False, refusal=refusal)


def _in_adapter(product: object, spec: str) -> object:
    """Return the agent for an object of a framework; any other object unchanged."""
    adapter = _find_adapter(product, spec)
    return product if adapter is None else adapter()


def _find_adapter(candidate: object, spec: str) -> type | None:
    """Return the agent class for an object of a framework; None for any other object."""
    if not may_need_adapter(candidate):
        return None
    adapter: type | None = _adapter_class(candidate, spec)
    return adapter


def _adapt_agent(candidate: object, spec: str, calls: str = "") -> Agent:
    """Return an instance or a function as an agent; AgentError for anything else."""
    if isinstance(candidate, type):
        raise AgentError(
            f"agent {spec!r}: the factory returned the class {candidate.__name__}. Return {candidate.__name__}()."
        )
    if not calls and hasattr(candidate, "reply"):
        if not accepts_arguments(candidate.reply, 1):
            raise AgentError(cannot_reply(type(candidate), spec))
        if takes_messages(candidate.reply):
            return _asked_agent(candidate, candidate.reply)
        return candidate
    if not calls and callable(candidate) and accepts_arguments(candidate, 1):
        return _asked_agent(candidate, candidate)
    if not (
        candidate is None
        or isinstance(candidate, (str, bytes, int, float, list, tuple, dict, set))
    ):
        calls = calls or method_that_replies(candidate, spec)
    if not calls or not accepts_arguments(getattr(candidate, calls, None), 1):
        raise AgentError(
            f"agent {spec!r} is {shown(candidate)}, which cannot reply. {_CURE}."
        )
    return _asked_agent(candidate, getattr(candidate, calls))


def _asked_agent(candidate: object, call: Callable[..., Any]) -> Agent:
    """Return an agent that replies by a callable, which takes one message or the message history."""
    if takes_messages(call):
        call = MessagesAgent(call).reply
    return cast("Agent", Called(candidate, call))


def _agent_factory(candidate: object, spec: str) -> Callable[[], object] | None:
    """Return the factory to call for each conversation.

    None if `candidate` is itself an agent, or not callable.
    """
    if hasattr(candidate, "reply") or not callable(candidate):
        return None
    try:
        positional, keywords = required_parameters(candidate)
    except (TypeError, ValueError) as error:
        raise AgentError(
            f"agent {spec!r}: it is unclear which arguments {shown(candidate)} takes. "
            "Wrap it: `def answer(message): ...`."
        ) from error
    if [*positional, *keywords] == [CONVERSATION_ID_PARAMETER]:
        return candidate
    if keywords or len(positional) > 1:
        raise AgentError(
            f"agent {spec!r} needs {_quote_names([*positional, *keywords])}; a factory needs no argument and a "
            "function that replies needs one. Wrap it: `def reply(message): ...`, or name a method on an instance."
        )
    if positional or _is_asked_by_default(candidate):
        return None
    if inspect.iscoroutinefunction(candidate):
        raise AgentError(
            f"agent {spec!r} is an async factory. Make it a plain function; reply may be async."
        )
    return candidate


def _is_asked_by_default(candidate: Callable[..., object]) -> bool:
    """Return whether a function without required arguments takes the message."""
    if not inspect.isfunction(candidate):
        return False
    names = list(inspect.signature(candidate).parameters)
    return accepts_arguments(candidate, 1) and replies_by_default(
        candidate.__name__, names
    )


def _check_class(kind: type, spec: str) -> Callable[[], object]:
    """Return the class itself; AgentError if it is abstract or needs an argument."""
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    if missing:
        lacks = f"{kind.__name__} is abstract: it lacks {_quote_names(missing)}"
        raise AgentError(f"agent {spec!r}: {lacks}. Name a class that has them.")
    try:
        positional, keywords = required_parameters(kind)
    except (TypeError, ValueError):  # implemented in C: calling it will show
        return kind
    names = [*positional, *keywords]
    needed = [name for name in names if name != CONVERSATION_ID_PARAMETER]
    if needed:
        raise AgentError(
            f"agent {spec!r}: making a {kind.__name__} needs {_quote_names(needed)}. Give a factory instead: "
            f"`def make(): return {kind.__name__}(...)`."
        )
    return kind


def _conversation_id(folder: Path | None) -> str:
    """Return the id of a conversation: derived from its folder if there is one, else random."""
    # From the folder, not random: a resumed run must find what was stored under the id.
    if folder is None:
        return secrets.token_hex(8)
    return f"{folder.parent.name}-{folder.name}"


def _names_conversations(function: object) -> bool:
    """Return whether a callable has a parameter for the conversation's id."""
    try:
        return (
            callable(function)
            and CONVERSATION_ID_PARAMETER in signature_of(function).parameters
        )
    except (TypeError, ValueError):  # implemented in C
        return False


def _takes_conversation_id(agent: object) -> bool:
    """Return whether an agent has `start(conversation_id)`."""
    return _names_conversations(getattr(agent, "start", None))


def _reject_awaitable(product: object, maker: str = "the factory") -> object:
    """Return the result of `maker`; TypeError if it is awaitable."""
    if not inspect.isawaitable(product):
        return product
    if inspect.iscoroutine(product):
        product.close()  # else Python warns that it was never awaited
    raise TypeError(
        f"{maker} returned an awaitable. Make it a plain function; reply may be async"
    )


async def _awaited() -> None:
    """Stand in for an async agent of a factory, which itself is not async."""


def _single_conversation_refusal(spec: str, kind: str) -> str:
    return (
        f"agent {spec!r} is {kind} and can serve one conversation only, but this run has more. Give a class or a "
        f"no-argument factory, or let it have reset(), start(conversation_id) or `stateless = True`."
    )


def _quote_names(names: list[str]) -> str:
    return ", ".join(map(repr, names))


# --- Shared by agents in front of processes, servers and other agents.


def refuse_argument(name: str, argument: str) -> None:
    """Raise AgentError if a kind of agents that takes no argument got one."""
    if argument:
        raise AgentError(
            f"agent '{name}:{argument}': {name!r} takes no argument. Write {name!r}."
        )


def require_spec(kind: str, spec: str, *, example: str) -> None:
    """Raise AgentError if a wrapping kind of agents got no spec of the agent to wrap."""
    if not spec:
        raise AgentError(
            f"agent '{kind}:' names no agent. Write it as in '{kind}:{example}'."
        )


# Characters of a foreign text that errors show.
_SHOWN = 120


def grant_capabilities(
    agent: Any,
    having: Collection[str],
    max_message_tokens: int | None = None,
    *,
    wrapped: object = None,
) -> None:
    """Give an agent capabilities: its methods `_reset`, `_accept` ... become those of the protocols.

    `wrapped`: the agent whose members it takes where it has none of its own. Set on the
    instance, because isinstance counts any member as a capability.
    """
    for name in CAPABILITIES.keys() & having:
        for member in protocol_members(CAPABILITIES[name]):
            if hasattr(agent, f"_{member}"):
                setattr(agent, member, getattr(agent, f"_{member}"))
            elif wrapped is not None:
                setattr(agent, member, getattr(wrapped, member))
    if "TakesTools" in having:
        agent.reply = _acting_reply(agent._reply_with_tools, having)  # noqa: SLF001 - as those above
    if max_message_tokens is not None:
        agent.max_message_tokens = max_message_tokens


def _acting_reply(
    act: Callable[..., Any], having: Collection[str]
) -> Callable[..., Any]:
    """Return a `reply` that takes tools, and users only if the agent separates them."""
    if "SeparatesUsers" in having:
        return act

    def reply(message: str, tools: object = None) -> Any:
        return act(message, tools=tools)

    return reply


def parse_texts(field: Field) -> dict[str, str]:
    """Return a setting that is a mapping of texts."""
    return {key: child.text() for key, child in field.mapping().items()}


def parse_seconds(field: Field) -> float:
    """Return a setting that is a duration in seconds."""
    return field.number(0.001, 86_400, "seconds")


def shorten_foreign_text(text: str) -> str:
    """Return a foreign text for an error message: its beginning, on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")


def parse_calls(listed: object, sender: str) -> tuple[Call, ...]:
    """Return the calls in a JSON list of `{"name": ..., "arguments": {...}, "id": ...}`.

    Raises AgentFault for anything else.
    """
    if listed is None:
        return ()
    rows: list[Any] = listed if isinstance(listed, list) else [listed]
    calls = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            form = '{"name": ..., "arguments": {...}}'
            raise AgentFault(
                f"{sender}: its calls are {shorten_foreign_text(json.dumps(listed))}, not a list of {form}"
            )
        arguments = row.get("arguments") or {}
        calls.append(Call(row["name"], arguments, str(row.get("id") or "")))
    return tuple(calls)


def parse_usage(counts: Mapping[str, Any]) -> Usage:
    """Return the usage that a server reports; missing or invalid counts are marked to be estimated."""
    result = {name: count for name, count in counts.items() if is_count(count)}
    # every prompt has tokens, so zero means unknown
    is_told = result.get("input_tokens") and "output_tokens" in result
    return Usage(**result, estimated=not is_told)


# --- Resolving agents without their keys: a dry run creates none, so it needs no keys.

_KEYLESS = ContextVar("_KEYLESS", default=False)


def allow_missing_keys() -> contextlib.AbstractContextManager[None]:
    """Allow, within the block, resolving agents whose keys or clients are missing."""
    return _set_within(_KEYLESS, True)


@contextlib.contextmanager
def _set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


_READING = ContextVar("_READING", default=RAW)


def rereading(reading: Reading) -> contextlib.AbstractContextManager[None]:
    """Set how agents that are resolved within the block read their own replies again."""
    return _set_within(_READING, reading)


def current_reading() -> Reading:
    """Return how an agent that is resolved now reads its own replies again."""
    return _READING.get()


def is_keyless() -> bool:
    """Return whether the agents that are resolved now will never be created."""
    return _KEYLESS.get()
