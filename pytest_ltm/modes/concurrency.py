"""ConcurrentRunner: plays several conversations of a run at once in this process (`--ltm-concurrency`).

Bodies, fixtures and hooks run on the main thread, one at a time, so pytest's state is
never shared; only waits for other threads overlap. Items are reported as they end.
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
from pytest_ltm.modes.hub import Hub, OwnThread
from pytest_ltm.providers import provider_names

if TYPE_CHECKING:
    from pytest_ltm.api.journal import ConversationName
    from pytest_ltm.api.session import PlayedConversation, RunSettings

# The maximum number of conversations for `auto`.
AUTO: Final = 64
# Seconds of computing by agents that are worth a notice.
MUCH: Final = 2.0
# The approximate number of open files per conversation: its journal, timings and lock,
# and its agent's connections.
FILES_PER_CONVERSATION = 8
# The approximate number of all others: modules, logs, pytest's captures.
FILES_OF_RUN = 100
# Kinds of agents that are elsewhere, apart from models of providers.
_REMOTE = frozenset({"http", "cmd"})


def most_at_once(source: AgentSource, limit: int | None, *, jumps: bool) -> int:
    """Return how many of an agent's conversations may be played at once; 0: it is played alone.

    `limit`: the number given by the option; None: as suits the agent. `jumps`: the
    process's clock shows the simulated time.
    """
    needs_main_thread = read_attribute(source.definition, "main_thread") is True
    if needs_main_thread or (jumps and not source.apart):
        return 0
    if source.unlimited:
        return 1  # a person
    is_safe = read_attribute(source.definition, "thread_safe") is True
    is_stateless = read_attribute(source.definition, "stateless") is True
    if not (source.owned or is_safe or is_stateless):
        return 1  # one object, which is restored between conversations
    if limit is not None:
        return limit
    return AUTO if is_safe or _waits_for_others(source) else 1


def _waits_for_others(source: AgentSource) -> bool:
    """Return whether an agent mostly waits: for a server, a process or its event loop."""
    kinds = {source.kind}
    if source.kind:
        # the model used by ts:, memory: and others
        kinds.update(spec_within(source).split(":")[1:2])
    if source.apart or not kinds.isdisjoint({*provider_names(), *_REMOTE}):
        return True
    reply: Any = read_attribute(source.definition, "reply", source.definition)
    is_async: bool = look(lambda: inspect.iscoroutinefunction(reply), default=False)
    return is_async


def limit_conversations(
    sources: Mapping[str, AgentSource], settings: RunSettings
) -> tuple[int, dict[str, int]]:
    """Return how many conversations may be played at once in total, and by agent label; {}: one at a time."""
    limit = settings.concurrency
    jumps = settings.time == "jump"
    by_label: dict[str, int] = {}
    for label, source in sources.items():
        by_label[label] = most_at_once(source, limit, jumps=jumps)
        source.at_once = by_label[label] > 1
    if any(number > 1 for number in by_label.values()):
        # The shared loop must run while a body occupies the main thread.
        share_in_thread()
    return limit or AUTO, by_label if any(by_label.values()) else {}


def allow_files(limit: int) -> None:
    """Raise this process's limit of open files; ConfigurationError if the system does not allow enough."""
    if sys.platform == "win32":  # Windows has no such limit.
        return
    import resource

    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES_OF_RUN + limit * FILES_PER_CONVERSATION
    allowed = needed if hard_limit == resource.RLIM_INFINITY else hard_limit
    if needed > allowed:
        most = max((allowed - FILES_OF_RUN) // FILES_PER_CONVERSATION, 1)
        raise ConfigurationError(
            f"{limit:,} conversations may have {needed:,} files open, and this process may open {allowed:,}. "
            f"Raise that (ulimit -Hn {needed}) or give at most {most:,}"
        )
    if soft_limit != resource.RLIM_INFINITY and soft_limit < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard_limit))


class ConversationHost(Protocol):
    """The run whose conversations are played at once."""

    to_come: list[ConversationName]
    """The conversations that have not begun, in order."""
    most_at_once: int
    of_agent: dict[str, int]
    """The maximum number played at once, by agent label."""

    @property
    def is_stopping(self) -> bool:
        """Whether the session is stopping."""

    def begin_conversation(self, name: ConversationName) -> PlayedConversation:
        """Open a conversation."""

    def note_over(self, played: PlayedConversation) -> None:
        """Called when a conversation has ended."""

    def end_session(self, fault: DiskFault) -> None:
        """Called when a disk has failed."""


class ConcurrentRunner:
    """The conversations being played; call `look_up` after adding to `to_come`."""

    def __init__(self, run: ConversationHost) -> None:
        self._run = run
        self._hub = Hub(_outside_conversation)
        self._names: list[ConversationName] = []
        """The names of the conversations being played."""
        self.playing: list[PlayedConversation] = []
        """The open ones among them."""
        self._error: BaseException | None = None
        self._has_room = True
        """Whether others may begin, as far as known."""
        self._began = stopwatch_seconds()
        self._busy: dict[str, float] = defaultdict(float)
        """Seconds of computing by agents."""
        self._shortage = ""
        """Why fewer conversations were played than allowed."""
        self._output_routing = ExitStack()
        self._output_routing.enter_context(route_agent_output())

    def look_up(self) -> None:
        """Begin others if there are any, and stop if the session is stopping; callable in any thread."""
        self._has_room = True
        self._hub.look_up()

    @property
    def notices(self) -> list[str]:
        """Notices on why it took longer than necessary."""
        seconds = stopwatch_seconds() - self._began
        computed = sum(self._busy.values())
        notices = [self._shortage] if self._shortage else []
        if computed > MUCH and computed > seconds / 4:
            agent = max(self._busy, key=self._busy.__getitem__)
            notices.append(
                f"agents in this process computed for {computed:.0f} of {seconds:.0f} s, {agent} the most: concurrency "
                "does not speed up computing. Workers (-n) use other cores"
            )
        # An async agent that blocks stops the loop shared by all of them.
        for agent_name, blocked in blocked_seconds().items():
            if blocked > MUCH and blocked > seconds / 4:
                notices.append(
                    f"{agent_name} kept the event loop that all async agents share from turning for {blocked:.0f} of "
                    f"{seconds:.0f} s: {UNBLOCK}"
                )
        return notices

    def play_until(self, reported: Callable[[], bool]) -> None:
        """Play until an item is reported, or until everything is closed if the session stops."""
        with self._unwinding():
            while not (reported() or self._run.is_stopping):
                self._begin_some()
                if not (reported() or self._run.is_stopping):
                    self._step()
            # After the last item, pytest makes no further calls.
            while (
                self._names
                and not self._run.to_come
                and all(played.all_are_reported for played in self.playing)
            ):
                self._step()

    def finish(self) -> None:
        """Play the begun conversations to their ends; agents' output is no longer captured after `close`."""
        with self._unwinding():
            while self._names and not self._run.is_stopping:
                self._step()

    def close(self) -> None:
        """Stop the conversations still being played."""
        try:
            self._cancel()
        finally:
            self._output_routing.close()

    @contextmanager
    def _unwinding(self) -> Iterator[None]:
        """Let all conversations end if the session stops; cancel them after an exception."""
        try:
            yield
            if self._run.is_stopping:
                self._hub.drain()
                while self._names:
                    self._step()
        except BaseException:
            self._cancel()
            raise

    def _cancel(self) -> None:
        self._hub.cancel()
        while self._names:
            self._hub.step()

    def _step(self) -> None:
        self._hub.step()
        self._raise_stored_error()

    def _raise_stored_error(self) -> None:
        error = self._error
        self._error = None
        if error is not None:
            raise error

    def _begin_some(self) -> None:
        """Begin the next conversations, as far as the limits of the run and of each agent allow."""
        if not self._has_room:
            return
        self._has_room = False  # until one has ended
        for name in self._run.to_come[:]:
            if len(self._names) >= self._run.most_at_once:
                return
            agents = [played_name.agent for played_name in self._names]
            if agents.count(name.agent) < self._run.of_agent[name.agent]:
                self._run.to_come.remove(name)
                self._names.append(name)
                self._hub.start(partial(self._play, name))
                self._raise_stored_error()
                if name in self._run.to_come:
                    return  # no thread could be started for it

    def _play(self, name: ConversationName, thread: OwnThread) -> None:
        """Play a conversation in its own thread; it is put back if the thread cannot be started."""
        played = None
        try:
            thread.begin()
        except RuntimeError as error:
            self._names.remove(name)
            self._run.to_come.insert(0, name)
            self._shortage = f"fewer conversations were played at once than --ltm-concurrency allows: {error}"
            if not self._names:
                self._error = error
            return
        with self._keeping_errors():
            played = self._run.begin_conversation(name)
            self.playing.append(played)
            played.play(lambda: self._run.is_stopping)
        thread.leaving = True
        if played is not None:
            with self._keeping_errors():
                played.close("interrupted")  # does nothing if it was closed already
            self.playing.remove(played)
            self._run.note_over(played)
        self._busy[name.agent] += thread.busy
        self._names.remove(name)
        self._has_room = True

    @contextmanager
    def _keeping_errors(self) -> Iterator[None]:
        """Store exceptions raised in a conversation's thread, to be raised again in pytest's code."""
        try:
            yield
        except Stopped:
            pass
        except DiskFault as fault:
            self._run.end_session(fault)
        except BaseException as error:  # noqa: BLE001 - see the docstring
            self._error = self._error or error


@contextmanager
def _outside_conversation() -> Iterator[None]:
    with suspend_item_context(), limits_aside():
        yield
