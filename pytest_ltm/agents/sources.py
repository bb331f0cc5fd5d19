"""AgentSource: agents, one for each conversation, out of anything that a dotted path or the hook may give."""

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
from pytest_ltm.agents._hidden import can_hide_folders
from pytest_ltm.agents.answers import check_configuration
from pytest_ltm.agents.capabilities import (
    accepts_arguments,
    capabilities_of,
    closing_method,
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

# Most specs name a class or a function, which no framework has made.
_adapter_class = lazy("pytest_ltm.agents.framework_adapters:adapter_class")
_find_only_agent = lazy("pytest_ltm.agents._module_agents:find_only_agent")
_CURE = "Give a class, a no-argument factory, an object with reply(message), or a function that takes the message"


# The parameter by which an agent is told which conversation it is in, to keep what it
# stores apart.
CONVERSATION_ID_PARAMETER = "conversation_id"
T = TypeVar("T")
# Exceptions of foreign code that pass as they are.
Fatal: TypeAlias = tuple[type[BaseException], ...]
_CTRL_C: Fatal = (KeyboardInterrupt,)


class AgentUnavailable(AgentError):
    """An agent that could not be made, in a text that says which and why."""


# How long it may take to find out what an object is: its framework may be imported.
_LOOK_SECONDS = 60.0
_OWN_PROCESS = frozenset({"cmd", "mcp", "claude-code", "codex"})
_OUR_PROCESS = frozenset({"", "store", "ts"})
"""Kinds of agents whose code runs on this machine, apart and not; all others are behind an address."""


@dataclass(eq=False, repr=False)
class AgentSource:
    """Where the agents of one spec come from: one for each conversation.

    `serves_many` is false for an instance or function that can serve one conversation
    only; `refusal` is then the sentence for a run that has more, and "" otherwise.
    `owned` is true where `make` makes the agent, so that the conversation's owner must
    also close it; a given instance belongs to the caller. `produce_in` is called with the
    conversation's folder in place of `produce` where there is one. `settings` are those
    of an agent's file, and `unlimited` is true of an agent that may take as long as it
    likes.
    """

    produce: Callable[[], object]
    _: KW_ONLY
    spec: str
    kind: str = ""
    """The registry's name of what makes its agents, also where a file names it; "" for what a dotted path names."""
    owned: bool
    refusal: str = ""
    settings: Mapping[str, Any] | None = None
    unlimited: bool = False
    calls: str = ""
    """The method that replies, where it is not `reply`."""
    definition: object = None
    """What was named: a class, a factory, an object or a function."""
    produce_in: Callable[[Path], object] | None = None
    embedded: bool = False
    """It is one of ours, made anew for each conversation: none knows of another."""
    apart: bool = False
    """Each agent is in a process of its own, where also the clock is moved, if any is."""
    sees_clock: bool = False
    """Its agents can know the conversation's time without being told."""
    at_once: bool = False
    """Several conversations have their agents at the same time."""
    _products: list[Callable[[], object]] = field(default_factory=list, init=False)
    """What was handed out, as far as anybody has it."""
    _is_async: bool = field(default=False, init=False)
    """Its agents are awaited in the shared loop, so that all of them happens in the loop's thread."""

    @property
    def place(self) -> str:
        """Where its agents run, as a clause after a name; "" for ours."""
        if self.embedded or self.kind == "memory":
            return ""
        if self.apart and can_hide_folders():
            return "in a process of its own, which cannot read the run folder"
        if self.apart or self.kind in _OWN_PROCESS:
            return "in a process of its own, which can read the files of the run"
        if self.kind not in _OUR_PROCESS:
            return "outside this process"
        return "in this process, which knows the answers"

    @property
    def serves_many(self) -> bool:
        """Whether more than one conversation can have an agent from here."""
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
        """Return the agent for the next conversation, which may leave files for people in that `folder`.

        What was handed out before is reset first. `timeout`: in seconds for each step
        (None: no limit). Raises AgentError, with the cause chained, for whatever goes
        wrong in foreign code, except `fatal` exceptions, which pass.
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
                # Weakly: an isolated run makes thousands of agents, and each may hold a
                # whole memory.
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
        """Return an agent to be looked at, not to be talked to; `make` knows nothing of it. Raises what `make` does."""
        return self._fresh(fatal, folder, _conversation_id(folder), timeout)[1]

    def _fresh(
        self, fatal: Fatal, folder: Path | None, name: str, timeout: float | None
    ) -> tuple[object, Agent]:
        produce = self.produce
        was_async = self._is_async
        if self.produce_in is not None and folder is not None:
            # The folder is for what people look up later, such as the stderr of a
            # process.
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
            self._is_async = True  # of a factory this is known only now
            if not has_thread():
                return product, agent
            # What it has opened belongs to this thread, and it will be called in the
            # loop's: another one is made there.
            with contextlib.suppress(AgentError):  # nobody has talked to it
                if self.owned and (name_ := door.examine("", closing_method, agent)):
                    door.call_method(agent, name_)
        return self._fresh(fatal, folder, name, timeout)

    def configuration(
        self, agent: Agent, *, fatal: Fatal = _CTRL_C, timeout: float | None = None
    ) -> Mapping[str, Any] | None:
        """Return what the answers of an agent from here depend on, as far as it is told; None if nobody tells.

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
        """Return what calls code of an agent that nobody talks to yet; its traceback is shown nowhere."""
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
    """Return the source of the agents that a dotted path names; with `bot:Bot.chat` those of `bot:Bot` reply by `chat`.

    `base`: as for `DottedPath.resolve`. Raises AgentError for what is not there, or
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
    """Return the source of the agents that somebody's object stands for; AgentError for whatever its code does."""
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
    """Return the source of agents that `target` stands for.

    A class or a callable that needs no argument, or only `conversation_id`, is called
    for each conversation; an object with `reply` or a callable that needs one argument
    is the agent of one conversation, and of more if it is Resettable or Stateless or
    has `start(conversation_id)`. `calls`: the method of a class that replies; "":
    `reply`, or the only one of CALLS. `promise`: what says what is known of its agents,
    where not `target` does. Raises AgentError for anything else.
    """
    if isinstance(target, ModuleType):
        target, spec = _find_only_agent(target, spec)
    # First of all: such an object may well take one argument, and would fail only when
    # it is asked.
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
    """Return the agent that an object of a framework stands for; any other object as it is."""
    adapter = _find_adapter(product, spec)
    return product if adapter is None else adapter()


def _find_adapter(candidate: object, spec: str) -> type | None:
    """Return the class of the agents that an object of a framework stands for; None for any other object."""
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
    """Return an agent that is asked by some callable, with one message or with all so far."""
    if takes_messages(call):
        call = MessagesAgent(call).reply
    return cast("Agent", Called(candidate, call))


def _agent_factory(candidate: object, spec: str) -> Callable[[], object] | None:
    """Return the callable for each conversation; None if `candidate` is itself an agent, or nothing at all."""
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
    """Return whether a function that needs no argument takes the message."""
    if not inspect.isfunction(candidate):
        return False
    names = list(inspect.signature(candidate).parameters)
    return accepts_arguments(candidate, 1) and replies_by_default(
        candidate.__name__, names
    )


def _check_class(kind: type, spec: str) -> Callable[[], object]:
    """Return the class itself, once it is known to be complete and to need no argument."""
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    if missing:
        lacks = f"{kind.__name__} is abstract: it lacks {_quote_names(missing)}"
        raise AgentError(f"agent {spec!r}: {lacks}. Name a class that has them.")
    try:
        positional, keywords = required_parameters(kind)
    except (TypeError, ValueError):  # built in C: calling it will tell
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
    """Return the name of a conversation: the same whenever its folder is used, another where there is none."""
    # From the folder, not drawn: a resumed run must find what was stored under the
    # name.
    if folder is None:
        return secrets.token_hex(8)
    return f"{folder.parent.name}-{folder.name}"


def _names_conversations(function: object) -> bool:
    """Return whether a callable has a parameter for the name of the conversation."""
    try:
        return (
            callable(function)
            and CONVERSATION_ID_PARAMETER in signature_of(function).parameters
        )
    except (TypeError, ValueError):  # built in C
        return False


def _takes_conversation_id(agent: object) -> bool:
    """Return whether an agent wants to be told when a conversation begins, and its name."""
    return _names_conversations(getattr(agent, "start", None))


def _reject_awaitable(product: object, maker: str = "the factory") -> object:
    """Return what `maker` returned, if it is not still to be awaited."""
    if not inspect.isawaitable(product):
        return product
    if inspect.iscoroutine(product):
        product.close()  # else Python warns about it, out of nowhere
    raise TypeError(
        f"{maker} returned an awaitable. Make it a plain function; reply may be async"
    )


async def _awaited() -> None:
    """Stand for an agent of a factory, which does not show that its agents are async."""


def _single_conversation_refusal(spec: str, kind: str) -> str:
    return (
        f"agent {spec!r} is {kind} and can serve one conversation only, but this run has more. Give a class or a "
        f"no-argument factory, or let it have reset(), start(conversation_id) or `stateless = True`."
    )


def _quote_names(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)


# --- What agents that stand before others share: processes, servers, other agents.

_METHODS = {
    "Resettable": ("reset",),
    "AcceptsHistory": ("accept",),
    "Checkpointable": ("save", "load"),
    "KeepsUsers": ("begin_session",),
    "SeparatesUsers": ("reply",),
    "AnswersAlone": ("answer_alone",),
    "Compacts": ("compact",),
    "TimeAware": ("tell_time",),
    "ShowsRetrieval": ("retrieved",),
    "ReportsUsage": ("usage",),
    "ShowsContext": ("in_context",),
    "ShowsWrites": ("written",),
    "Settles": ("settle",),
    "DeletesRecords": ("delete",),
    "CountsTokens": ("count_tokens",),
    "AcceptsImages": ("reply_with_images",),
    "Configured": ("configuration",),
}
# Characters of what somebody else wrote that errors show.
_SHOWN = 120


def grant_capabilities(
    agent: Any, having: Collection[str], max_message_tokens: int | None
) -> None:
    """Let an agent have capabilities: those of its methods `_reset`, `_accept` ... become those of the protocols.

    On the instance, because what is there only counts as a capability (isinstance looks
    for members).
    """
    for name, methods in _METHODS.items():
        for method in methods:
            if name in having and hasattr(agent, f"_{method}"):
                setattr(agent, method, getattr(agent, f"_{method}"))
    if "TakesTools" in having:
        agent.reply = _acting_reply(agent._reply_with_tools, having)  # noqa: SLF001 - as those above
    if max_message_tokens is not None:
        agent.max_message_tokens = max_message_tokens


def _acting_reply(
    act: Callable[..., Any], having: Collection[str]
) -> Callable[..., Any]:
    """Return a `reply` that takes tools, and users only where the agent separates them."""
    if "SeparatesUsers" in having:
        return act

    def reply(message: str, tools: object = None) -> Any:
        return act(message, tools=tools)

    return reply


def parse_texts(field: Field) -> dict[str, str]:
    """Return a setting that is a mapping of texts."""
    return {key: child.text() for key, child in field.mapping().items()}


def parse_seconds(field: Field) -> float:
    """Return a setting that is the length of a time."""
    return field.number(0.001, 86_400, "seconds")


def shorten_foreign_text(text: str) -> str:
    """Return a foreign text as errors show it: on one line, its beginning."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")


def parse_calls(listed: object, sender: str) -> tuple[Call, ...]:
    """Return the calls of a JSON list of `{"name": ..., "arguments": {...}, "id": ...}`; AgentFault for another."""
    if listed is None:
        return ()
    rows: list[Any] = listed if isinstance(listed, list) else [listed]
    if not all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows
    ):
        form = '{"name": ..., "arguments": {...}}'
        raise AgentFault(
            f"{sender}: its calls are {shorten_foreign_text(json.dumps(listed))}, not a list of {form}"
        )
    return tuple(
        Call(row["name"], row.get("arguments") or {}, str(row.get("id") or ""))
        for row in rows
    )


def parse_usage(counts: Mapping[str, Any]) -> Usage:
    """Return the usage that a server reports; what it leaves out or garbles is marked to be estimated."""
    result = {name: count for name, count in counts.items() if is_count(count)}
    # no prompt has no tokens
    is_told = result.get("input_tokens") and "output_tokens" in result
    return Usage(**result, estimated=not is_told)


# --- Looking agents up without their keys: in a dry run none is made, so none needs
# one.

_KEYLESS = ContextVar("_KEYLESS", default=False)


def allow_missing_keys() -> contextlib.AbstractContextManager[None]:
    """Let agents be looked up that lack their keys or clients, within the block."""
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
    """Have agents that are looked up within the block read their own replies again like this."""
    return _set_within(_READING, reading)


def current_reading() -> Reading:
    """Return what an agent that is looked up now reads of its own replies again."""
    return _READING.get()


def is_keyless() -> bool:
    """Return whether the agents that are looked up now will never be made."""
    return _KEYLESS.get()
