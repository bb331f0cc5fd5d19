"""ConcurrentRunner: plays several conversations of a run at once in this process (`--ltm-concurrency`).

Bodies, fixtures and hooks run on the main thread, one at a time, so pytest's state is
never shared; only what takes its time elsewhere overlaps. Items are reported as they
end.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.agents.spec_facts import spec_within
from pytest_ltm.api.calls import (
    UNBLOCK,
    blocked_seconds,
    limits_aside,
    look,
    read_attribute,
    share_in_thread,
)
from pytest_ltm.api.internals import route_agent_output, suspend_item_context
from pytest_ltm.api.storage import (
    ConfigurationError,
    DiskFault,
    Stopped,
    stopwatch_seconds,
)
from pytest_ltm.modes.hub import (
    Hub,
    OwnThread,
)
from pytest_ltm.providers import provider_names

if TYPE_CHECKING:
    from pytest_ltm.api.journal import ConversationName
    from pytest_ltm.api.session import PlayedConversation, RunSettings

# How many conversations `auto` plays at most.
AUTO: Final = 64
# Seconds that agents may compute before anybody is told.
MUCH: Final = 2.0
# Files that a conversation has open, about: its journal, timings and lock, and what its
# agent talks over.
FILES_PER_CONVERSATION = 8
# Kinds of agents whose replies come from elsewhere, and of models that a memory system
# asks.
_REMOTE = frozenset({"http", "cmd"})


def most_at_once(source: AgentSource, limit: int | None, *, jumps: bool) -> int:
    """Return how many conversations of an agent may be played at once; 0: it is played with nobody else.

    `wanted`: as many as the option says; None: what suits the agent. `jumps`: the
    process's clock shows the time.
    """
    if read_attribute(source.definition, "main_thread") is True or (
        jumps and not source.apart
    ):
        return 0
    if source.unlimited:
        return 1  # a person
    safe = read_attribute(source.definition, "thread_safe") is True
    if not (
        source.owned or safe or read_attribute(source.definition, "stateless") is True
    ):
        return 1  # one object, which is put back between conversations
    if limit is not None:
        return limit
    reply: Any = read_attribute(source.definition, "reply", source.definition)
    # what ts:, memory: and others ask
    inner = spec_within(source).split(":")[1:2] if source.kind else []
    waits = (
        source.apart
        or not {source.kind, *inner}.isdisjoint({*provider_names(), *_REMOTE})
        or look(lambda: inspect.iscoroutinefunction(reply), default=False)
    )
    return AUTO if waits or safe else 1


def limit_conversations(
    sources: Mapping[str, AgentSource], settings: RunSettings
) -> tuple[int, dict[str, int]]:
    """Return how many conversations may be played at once in all, and of each agent, by label; {}: one at a time."""
    limit = settings.concurrency
    jumps = settings.time == "jump"
    by_label = {
        label: most_at_once(source, limit, jumps=jumps)
        for label, source in sources.items()
    }
    for label, source in sources.items():
        source.at_once = by_label[label] > 1
    if any(number > 1 for number in by_label.values()):
        share_in_thread()  # the loop of those that overlap must turn while a body has the main thread
    return limit or AUTO, by_label if any(by_label.values()) else {}


def allow_files(limit: int) -> None:
    """Let this process have as many files open; ConfigurationError if that is more than it may allow itself."""
    if sys.platform == "win32":  # which has no such limit
        return
    import resource

    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 100 + limit * FILES_PER_CONVERSATION
    may = needed if hard_limit == resource.RLIM_INFINITY else hard_limit
    if soft_limit != resource.RLIM_INFINITY and soft_limit < needed <= may:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard_limit))
    elif needed > may:
        raise ConfigurationError(
            f"{limit:,} conversations may have {needed:,} files open, and this process may open {may:,}. "
            f"Raise that (ulimit -Hn {needed}) or give at most {max((may - 100) // FILES_PER_CONVERSATION, 1):,}"
        )


class ConversationHost(Protocol):
    """The run whose conversations are played at once."""

    to_come: list[ConversationName]
    """Those that have not begun, in their order."""
    most_at_once: int
    of_agent: dict[str, int]
    """How many of one agent may be played at once, by label."""

    @property
    def is_stopping(self) -> bool:
        """Whether the session is to stop."""

    def begin_conversation(self, name: ConversationName) -> PlayedConversation:
        """Open a conversation."""

    def note_over(self, played: PlayedConversation) -> None:
        """A conversation has ended."""

    def end_session(self, fault: DiskFault) -> None:
        """A disk has failed."""


class ConcurrentRunner:
    """The conversations of a run that are being played; after adding some that are to come, call `look_up`."""

    def __init__(self, run: ConversationHost) -> None:
        self._run = run
        self._hub = Hub(_aside)
        self._names: list[ConversationName] = []
        """Those that are being played."""
        self.playing: list[PlayedConversation] = []
        """Those of them that are open."""
        self._error: BaseException | None = None
        self._has_room = True
        """Others may begin, as far as is known."""
        self._began = stopwatch_seconds()
        self._busy: dict[str, float] = defaultdict(float)
        """Seconds that agents have computed."""
        self._fewer = ""
        """Why not as many were played as were to be."""
        self._routed = ExitStack()
        self._routed.enter_context(route_agent_output())

    def look_up(self) -> None:
        """Begin others if there are any, and stop if the session is to; callable in any thread."""
        self._has_room = True
        self._hub.look_up()

    @property
    def notices(self) -> list[str]:
        """Why it took longer than it might."""
        seconds = stopwatch_seconds() - self._began
        computed = sum(self._busy.values())
        result = [self._fewer] if self._fewer else []
        if computed > MUCH and computed > seconds / 4:
            agent = max(self._busy, key=self._busy.__getitem__)
            result.append(
                f"agents in this process computed for {computed:.0f} of {seconds:.0f} s, {agent} the most: what "
                "computes is not done sooner by playing conversations at once. Workers (-n) use other cores"
            )
        # An async agent that blocks keeps the one loop of all of them from turning.
        for agent_name, blocked in blocked_seconds().items():
            if blocked > MUCH and blocked > seconds / 4:
                result.append(
                    f"{agent_name} kept the event loop that all async agents share from turning for {blocked:.0f} of "
                    f"{seconds:.0f} s: {UNBLOCK}"
                )
        return result

    def play_until(self, reported: Callable[[], bool]) -> None:
        """Play until an item has been reported, or something stops the session: then until everything is closed."""
        with self._to_the_end():
            while not (reported() or self._run.is_stopping):
                self._begin_some()
                if not (reported() or self._run.is_stopping):
                    self._step()
            # After the last item pytest asks for nothing more.
            while (
                self._names
                and not self._run.to_come
                and all(played.all_are_reported for played in self.playing)
            ):
                self._step()

    def finish(self) -> None:
        """Play what has begun to its end, and begin nothing; what agents say is no longer kept after `close`."""
        with self._to_the_end():
            while self._names and not self._run.is_stopping:
                self._step()

    def close(self) -> None:
        """Stop what is still being played."""
        try:
            self._hub.cancel()
            while self._names:
                self._hub.step()
        finally:
            self._routed.close()

    @contextmanager
    def _to_the_end(self) -> Iterator[None]:
        try:
            yield
            if self._run.is_stopping:
                self._hub.drain()
                while self._names:
                    self._step()
        except BaseException:
            self._hub.cancel()
            while self._names:
                self._hub.step()
            raise

    def _step(self) -> None:
        self._hub.step()
        self._raise()

    def _raise(self) -> None:
        error = self._error
        self._error = None
        if error is not None:
            raise error

    def _begin_some(self) -> None:
        if not self._has_room:
            return
        self._has_room = False  # until one has ended
        for name in self._run.to_come[:]:
            if len(self._names) >= self._run.most_at_once:
                return
            playing = sum(
                played_name.agent == name.agent for played_name in self._names
            )
            if playing < self._run.of_agent[name.agent]:
                self._run.to_come.remove(name)
                self._names.append(name)
                self._hub.start(partial(self._play, name))
                self._raise()
                if name in self._run.to_come:
                    return

    def _play(self, name: ConversationName, thread: OwnThread) -> None:
        playing = None
        try:
            thread.begin()
        except RuntimeError as error:
            self._names.remove(name)
            self._run.to_come.insert(0, name)
            self._fewer = f"fewer conversations were played at once than --ltm-concurrency allows: {error}"
            if not self._names:
                self._error = error
            return
        with self._keeping_errors():
            playing = self._run.begin_conversation(name)
            self.playing.append(playing)
            playing.play(lambda: self._run.is_stopping)
        thread.leaving = True
        if playing is not None:
            with self._keeping_errors():
                playing.close("interrupted")  # nothing happens where it has been closed
            self.playing.remove(playing)
            self._run.note_over(playing)
        self._busy[name.agent] += thread.busy
        self._names.remove(name)
        self._has_room = True

    @contextmanager
    def _keeping_errors(self) -> Iterator[None]:
        """Keep what is raised in a conversation's thread: it is raised again where pytest is."""
        try:
            yield
        except Stopped:
            pass
        except DiskFault as fault:
            self._run.end_session(fault)
        except BaseException as error:  # noqa: BLE001 - said above
            self._error = self._error or error


@contextmanager
def _aside() -> Iterator[None]:
    with suspend_item_context(), limits_aside():
        yield
