from __future__ import annotations

# ruff: noqa: ARG005, RUF012 - agents under test keep the protocol's signatures and may be careless
import functools
import inspect
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_ltm.agents import CAPABILITIES, Echo, Silent
from pytest_ltm.agents.capabilities import capabilities_of, near_misses
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.storage import AgentError


class Parrot:
    """Remembers messages, without a reset or any declared capability."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def reply(self, message: str) -> Any:
        self.heard.append(message)
        return message


class Tidy(Parrot):
    def __init__(self) -> None:
        super().__init__()
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1
        self.heard.clear()


def shout(message: str) -> Any:
    return message.upper()


async def shout_later(message: str) -> Any:
    return message.upper()


def reply_of(given: Any, message: str = "a") -> Any:
    return agent_source(given, spec="x:y").make().reply(message)


def refused(given: Any) -> Any:
    with pytest.raises(AgentError) as caught:
        agent_source(given, spec="pkg.mod:it").make()
    assert "'pkg.mod:it'" in str(caught.value)
    return str(caught.value)


def test_echo_repeats_and_silent_says_nothing() -> None:
    assert (Echo().reply("one, two"), Silent().reply("one, two")) == ("one, two", "")


@pytest.mark.parametrize("agent", [Echo(), Silent()])
def test_the_simple_agents_are_resettable_stateless_and_configured(agent: Any) -> None:
    agent.reset()
    assert capabilities_of(agent) == {
        "Resettable",
        "Stateless",
        "SeparatesUsers",
        "Configured",
    }
    assert agent.configuration() == {"embedded": type(agent).__name__.lower()}


def test_a_class_is_made_once_for_each_conversation() -> None:
    parrots = agent_source(Parrot, spec="x:Parrot")
    first, second = parrots.make(), parrots.make()
    assert first is not second
    assert parrots.serves_many
    assert parrots.owned
    assert parrots.refusal == ""


def test_a_factory_is_called_once_for_each_conversation() -> None:
    made = []

    def factory() -> Any:
        made.append(Parrot())
        return made[-1]

    parrots = agent_source(factory, spec="x:factory")
    assert made == []
    assert [parrots.make(), parrots.make()] == made
    assert parrots.serves_many


def test_a_partial_with_nothing_left_to_give_is_a_factory() -> None:
    def factory(text: Any) -> Any:
        return lambda message: text + message

    assert reply_of(functools.partial(factory, "> ")) == "> a"


def test_a_factory_may_return_a_function() -> None:
    assert reply_of(lambda: shout) == "A"


def test_an_instance_serves_one_conversation_and_says_how_to_serve_more() -> None:
    parrot = Parrot()
    one = agent_source(parrot, spec="pkg.mod:parrot")
    assert not one.serves_many
    assert not one.owned
    assert one.make() is parrot
    for cure in ("'pkg.mod:parrot'", "factory", "reset()", "stateless"):
        assert cure in one.refusal
    with pytest.raises(AgentError) as caught:
        one.make()
    assert str(caught.value) == one.refusal


def test_a_plain_function_serves_one_conversation() -> None:
    one = agent_source(shout, spec="x:shout")
    assert one.make().reply("a") == "A"
    assert not one.serves_many
    with pytest.raises(AgentError, match="one function"):
        one.make()


def test_a_resettable_instance_serves_many_and_is_reset_before_reuse_only() -> None:
    tidy = Tidy()
    many = agent_source(tidy, spec="x:tidy")
    assert many.serves_many
    many.make().reply("a")
    assert (tidy.resets, tidy.heard) == (0, ["a"])
    assert many.make() is tidy
    assert (tidy.resets, tidy.heard) == (1, [])


def test_an_async_reset_comes_to_its_end() -> None:
    class Slow(Parrot):
        async def reset(self) -> None:
            self.heard.clear()

    slow = Slow()
    many = agent_source(slow, spec="x:slow")
    many.make().reply("a")
    many.make()
    assert slow.heard == []


def test_a_failing_reset_is_an_error_with_its_cause() -> None:
    class Stuck(Parrot):
        def reset(self) -> None:
            raise OSError("the store is locked")

    stuck = agent_source(Stuck(), spec="x:stuck")
    stuck.make()
    with pytest.raises(
        AgentError, match="could not be reset: OSError: the store is locked"
    ) as caught:
        stuck.make()
    assert isinstance(caught.value.__cause__, OSError)


def test_a_stateless_instance_serves_many() -> None:
    class Pure(Parrot):
        stateless = True

    pure = agent_source(Pure(), spec="x:pure")
    assert pure.serves_many
    assert pure.make() is pure.make()


def test_stateless_that_is_not_true_is_no_promise() -> None:
    class Unsure(Parrot):
        stateless = "mostly"

    assert not agent_source(Unsure(), spec="x:unsure").serves_many
    assert capabilities_of(Unsure()) == set()


def test_a_factory_that_returns_one_object_again_is_found_out() -> None:
    parrot = Parrot()
    caching = agent_source(lambda: parrot, spec="x:cached")
    caching.make()
    with pytest.raises(AgentError, match="the same object from each call"):
        caching.make()


def test_a_resettable_object_from_a_caching_factory_is_reset() -> None:
    tidy = Tidy()
    caching = agent_source(lambda: tidy, spec="x:cached")
    caching.make()
    caching.make()
    assert tidy.resets == 1


def test_a_function_gains_no_capabilities_by_being_wrapped() -> None:
    assert capabilities_of(agent_source(shout, spec="x:shout").make()) == set()


def test_a_function_keeps_the_capabilities_it_carries() -> None:
    def pure(message: str) -> Any:
        return message

    vars(pure).update(stateless=True, max_message_tokens=100)
    many = agent_source(pure, spec="x:pure")
    assert many.serves_many
    assert capabilities_of(many.make()) == {"Stateless", "LimitsMessages"}


def test_a_callable_object_keeps_its_capabilities() -> None:
    class Answering:
        def __call__(self, message: str) -> Any:
            return message

        def reset(self) -> None: ...

    many = agent_source(Answering(), spec="x:answering")
    assert many.serves_many
    assert capabilities_of(many.make()) == {"Resettable"}


def test_a_method_of_an_instance_is_a_function() -> None:
    parrot = Parrot()
    assert reply_of(parrot.reply) == "a"


def test_an_async_function_is_a_function() -> None:
    agent_source(shout_later, spec="x:later").make()
    assert not agent_source(shout_later, spec="x:later").serves_many


def test_capabilities_are_found_by_name() -> None:
    class Able(Parrot):
        max_message_tokens = 10

        def save(self) -> Any:
            return b""

        def load(self, state: bytes) -> None: ...

        def tell_time(self, now: Any) -> None: ...

        def accept(self, message: str, reply: str) -> None: ...

    assert capabilities_of(Able()) == {
        "Checkpointable",
        "TimeAware",
        "AcceptsHistory",
        "LimitsMessages",
    }
    assert capabilities_of(Able()) < set(CAPABILITIES)


def test_a_method_that_cannot_be_called_as_the_protocol_says_is_no_capability() -> None:
    class Other(Parrot):
        usage = {"tokens": 3}

        def save(self, path: str) -> None: ...

        def load(self, path: str) -> None: ...

        def reset(self, how: Any) -> None: ...

    assert capabilities_of(Other()) == set()


def test_capabilities_that_cannot_be_read_are_an_error() -> None:
    class Odd(Parrot):
        stateless = property(lambda self: self.connection.stateless)

        @property
        def connection(self) -> None:
            raise RuntimeError("not connected")

    with pytest.raises(
        AgentError, match="Odd cannot be read: RuntimeError: not connected"
    ):
        capabilities_of(Odd())


def test_none_is_no_agent() -> None:
    assert "is None" in refused(None)


def test_an_empty_module_is_no_agent() -> None:
    assert "'pkg.mod:it' is a module without an agent" in refused(ModuleType("bare"))


@pytest.mark.parametrize("given", [7, "hello", {"reply": 1}, object()])
def test_what_cannot_be_called_is_no_agent(given: Any) -> None:
    text = refused(given)
    assert "cannot reply" in text
    assert type(given).__name__ in text


def test_a_function_of_two_arguments_is_no_agent_unless_one_takes_the_history() -> None:
    assert "needs 'topic', 'message'" in refused(lambda topic, message: message)
    agent = agent_source(
        lambda history, message: f"{len(history)} {message}", spec="pkg.mod:it"
    ).make()
    assert agent.reply("Hello") == "0 Hello"


def test_a_function_with_a_keyword_that_must_be_given_is_no_agent() -> None:
    def answer(message: str, *, model: Any) -> Any:
        return message + model

    assert "'model'" in refused(answer)


def test_a_method_named_on_its_class_is_no_agent() -> None:
    assert "on an instance" in refused(Parrot.reply)


def test_a_function_without_a_signature_is_asked_to_be_wrapped() -> None:
    no_signature = next(f for f in (getattr, math.hypot, min, max) if _unreadable(f))
    assert "Wrap it" in refused(no_signature)


def _unreadable(function: Any) -> Any:
    try:
        inspect.signature(function)
    except ValueError:
        return True
    return False


def test_a_class_that_needs_arguments_names_them() -> None:
    class Bot:
        def __init__(self, model: Any, *, key: Any, temperature: Any = 0) -> None:
            self.reply = (model, key, temperature)

    text = refused(Bot)
    assert "'model', 'key'" in text
    assert "temperature" not in text
    assert "return Bot(...)" in text


def test_an_exception_in_the_constructor_is_chained() -> None:
    class Broken:
        def __init__(self) -> None:
            raise KeyError("API_KEY")

        def reply(self, message: str) -> str:
            return message

    with pytest.raises(
        AgentError,
        match=r"could not be made: KeyError: 'API_KEY' \(test_agents_adapt\.py:\d+\)",
    ) as caught:
        agent_source(Broken, spec="x:Broken").make()
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_factory_that_exits_is_an_error_and_does_not_end_the_run() -> None:
    assert "SystemExit" in refused(lambda: sys.exit("no key"))


def test_fatal_exceptions_of_a_factory_pass() -> None:
    class Stop(BaseException): ...

    def factory() -> None:
        raise Stop

    with pytest.raises(Stop):
        agent_source(factory, spec="x:factory").make(fatal=(Stop,))


@pytest.mark.parametrize("made", [None, "hello", 3])
def test_a_factory_that_returns_no_agent_is_an_error(made: Any) -> None:
    assert "cannot reply" in refused(lambda: made)


def test_a_factory_that_returns_a_class_is_told_to_call_it() -> None:
    assert "Return Parrot()" in refused(lambda: Parrot)


def test_an_async_factory_is_refused_before_it_is_called() -> None:
    async def factory() -> Any:
        return Parrot()

    with pytest.raises(AgentError, match="async factory"):
        agent_source(factory, spec="x:factory")


def test_a_factory_that_returns_a_coroutine_is_refused_without_a_warning() -> None:
    assert "awaitable" in refused(lambda: shout_later("a"))


def test_a_reply_that_takes_no_message_is_refused() -> None:
    class Mute:
        def reply(self) -> Any:
            return ""

    assert "def reply(self, message)" in refused(Mute)
    assert "def reply(self, message)" in refused(Mute())


def test_a_class_without_reply_is_refused() -> None:
    class Blank: ...

    assert "Blank has no reply(message)" in refused(Blank)


def test_an_instance_with_slots_serves_one_conversation_too() -> None:
    class Slim:
        __slots__ = ()

        def reply(self, message: str) -> str:
            return message

    one = agent_source(Slim(), spec="x:slim")
    one.make()
    with pytest.raises(AgentError, match="one object"):
        one.make()


def test_a_class_built_in_c_is_made_and_then_refused() -> None:
    assert "cannot reply" in refused(dict)


# --- members that nearly match a capability


class Nearly(Parrot):
    stateless = False

    def save(self, path: str) -> None: ...

    def accept(self, message: str) -> None: ...


@pytest.mark.parametrize(
    ("capability", "says"),
    [
        ("Stateless", "the agent is not Stateless: stateless is False, not True"),
        (
            "Checkpointable",
            "its save() cannot be called with no arguments, it has no load()",
        ),
        ("AcceptsHistory", "its accept() cannot be called with 2 arguments"),
    ],
)
def test_a_capability_that_is_nearly_kept_is_told_with_what_it_lacks(
    capability: str, says: str
) -> None:
    [sentence] = near_misses(Nearly(), [capability]).values()
    assert says in sentence


def test_a_capability_that_nobody_meant_to_keep_or_that_is_kept_is_no_near_miss() -> (
    None
):
    assert near_misses(Nearly(), ["Resettable", "LimitsMessages", "TimeAware"]) == {}
    assert near_misses(Tidy(), ["Resettable"]) == {}


# --- agents whose stores are separate by conversation


class Kept(Parrot):
    def __init__(self, conversation_id: str, size: int = 3) -> None:
        super().__init__()
        self.key, self.size = conversation_id, size


def kept(*, conversation_id: str = "none") -> Kept:
    return Kept(conversation_id)


@pytest.mark.parametrize(
    "given",
    [Kept, kept, functools.partial(Kept, size=4)],
    ids=["class", "factory", "partial"],
)
def test_a_class_or_factory_is_told_the_conversation_the_same_whenever_it_is_resumed(
    given: Any, tmp_path: Path
) -> None:
    agents, folder = agent_source(given, spec="x:y"), tmp_path / "run-1" / "bot~2k~0"

    def key(at: Path | None = None) -> str:
        agent: Any = agents.make(folder=at)
        return str(agent.key)

    assert key(folder) == key(folder) == "run-1-bot~2k~0"
    assert (
        len(
            {key(), key(), key(tmp_path / "run-2" / "bot~2k~0")}
            - {"run-1-bot~2k~0", "none"}
        )
        == 3
    )


def test_an_object_is_told_of_each_conversation_and_may_serve_many(
    tmp_path: Path,
) -> None:
    told: list[str] = []

    class Threaded(Parrot):
        def start(self, conversation_id: str) -> None:
            told.append(conversation_id)

    agents = agent_source(Threaded(), spec="x:y")

    assert agents.serves_many
    agents.sample()
    assert agents.make(folder=tmp_path / "run" / "a") is agents.make(
        folder=tmp_path / "run" / "b"
    )
    assert told == ["run-a", "run-b"]


def test_an_object_is_reset_before_it_is_told_of_the_next_conversation() -> None:
    told: list[str] = []

    class Both(Tidy):
        def reset(self) -> None:
            told.append("reset")

        async def start(self, conversation_id: str) -> None:
            told.append(f"start {bool(conversation_id)}")

    agents = agent_source(Both(), spec="x:y")
    agents.make()
    agents.make()

    assert told == ["start True", "reset", "start True"]


def test_a_start_without_conversation_id_is_somebody_elses() -> None:
    class Engine(Parrot):
        def start(self, port: int) -> None:
            raise AssertionError(port)

    assert agent_source(Engine, spec="x:y").make().reply("a") == "a"
    assert "one conversation only" in agent_source(Engine(), spec="x:y").refusal


def test_a_start_that_raises_is_told_with_its_cause() -> None:
    class Broken(Parrot):
        def start(self, conversation_id: str) -> None:
            raise ConnectionError(f"no store for {len(conversation_id)} characters")

    assert (
        "could not be started: ConnectionError: no store for 16 characters"
        in refused(Broken)
    )
