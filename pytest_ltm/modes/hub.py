"""The hub: the threads of many concurrent conversations in one process, and their scheduling.

Conversations run in greenlets on the main thread, one at a time. For an operation that
takes time (a reply, a judge's grade, a wait between two attempts), a conversation sends
a request to its own thread and switches to the hub, which lets the others continue in
the meantime. Agents are created, asked, saved and closed in that thread: they may keep
thread-local objects.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from pytest_ltm.api.calls import (
    IGNORED,
    OWN_THREAD,
    REPEAT,
    SAYING,
    SERVING,
    OutOfTime,
    carry_over,
    throw_into,
)
from pytest_ltm.api.storage import (
    WAKE,
    Stopped,
    process_pauses,
    sleep_interruptibly,
    stopwatch_seconds,
    thread_seconds,
)
from pytest_ltm.api.storage import paused_since as was_paused

T = TypeVar("T")

# Seconds that a thread has for returning from an abandoned call.
GRACE = 0.5
# The number of characters kept of an agent's output during one call, from its beginning
# and from its end.
MAX_KEPT_OUTPUT = 2**23


class CapturedOutput:
    """The captured output, logs and warnings of one thread; `level`: the lowest level of logs wanted."""

    def __init__(self) -> None:
        self.level = logging.WARNING
        self._forget()

    def _forget(self) -> None:
        self._parts: list[Callable[[], object]] = []
        self._last: deque[tuple[Callable[[], object], int]] = deque()
        self._room = self._last_room = MAX_KEPT_OUTPUT

    def add(self, say: Callable[[], object], size: int = 0) -> None:
        """Keep an output for replay; of a very long one, only the beginning and the end."""
        if self._room > 0:
            self._room -= size
            self._parts.append(say)
            return
        self._last.append((say, size))
        self._last_room -= size
        while self._last_room < 0 and len(self._last) > 1:
            self._last_room += self._last.popleft()[1]

    def take(self) -> list[Callable[[], object]]:
        """Return the output since the last call."""
        parts = [*self._parts, *(say for say, _ in self._last)]
        if parts:
            self._forget()
        return parts


class HubRequest:
    """An operation that a conversation waits for; without a `call`, a time or a turn."""

    def __init__(
        self, thread: OwnThread, call: Callable[[], Any] | None, seconds: float | None
    ) -> None:
        self.thread = thread
        self.call = call
        self.seconds = seconds
        self.deadline: float | None = None
        """When its time is over; None: never."""
        self.has_begun = False
        self.is_given_up = False
        self.rings = 0
        self.value: Any = None
        self.error: BaseException | None = None
        self.busy = 0.0
        """The processor time it took, in seconds."""
        self.ended = 0.0
        """When it was answered; 0: not yet."""
        self.answers: SimpleQueue[HubRequest | None]
        self._pauses = process_pauses()

    def start(self) -> None:
        """Start its time limit."""
        self._pauses = process_pauses()
        self.limit(self.seconds)

    def limit(self, seconds: float | None) -> None:
        """Limit it to some seconds from now on; None: no limit."""
        self.deadline = None if seconds is None else stopwatch_seconds() + seconds

    @property
    def was_suspended(self) -> bool:
        """Whether the process was stopped since its time began."""
        return was_paused(self._pauses)

    def result(self) -> Any:
        """Return its result, or raise its error."""
        if (
            self.error is None
            and self.deadline is not None
            and self.call
            and self.ended > self.deadline
            and not self.rings
        ):
            # It returned before its limit was checked.
            self.error = None if self.was_suspended else OutOfTime()
        if self.error is not None:
            raise self.error
        return self.value


class _Serving(threading.Thread):
    """Executes requests in order; a daemon thread, which never delays the end of the process."""

    def __init__(self, output: CapturedOutput, context: Context) -> None:
        super().__init__(name="ltm-agent", daemon=True)
        self._context = context
        self.requests: SimpleQueue[HubRequest | None] = SimpleQueue()
        self.current: HubRequest | None = None
        self.wake: Callable[[], object] | None = None
        self.is_left = False
        self._output = output
        self._changing = threading.Lock()

    def run(self) -> None:
        """Run until abandoned; changes of context by agents persist from call to call."""
        self._context.run(self._serve)

    def _serve(self) -> None:
        SERVING.set(self)
        SAYING.set(self._output)
        OWN_THREAD.set(None)
        while (request := self.requests.get()) is not None and not self.is_left:
            with self._changing:
                if request.is_given_up:
                    continue
                request.has_begun = True
                request.start()
                self.current = request
            busy_before = thread_seconds()
            try:
                request.value = request.call() if request.call else None
            except BaseException as error:  # noqa: BLE001 - it is raised again for the requester
                request.error = error
            request.busy = thread_seconds() - busy_before
            request.ended = stopwatch_seconds()
            self._let_go()
            request.answers.put(request)
            request = None

    def limit_request(self, seconds: float | None) -> None:
        """Limit the current request to some seconds from now on; None: no limit."""
        request = self.current
        if request is not None:
            request.limit(seconds)
            request.answers.put(request)  # notify the hub of the new limit

    def interrupt(self, request: HubRequest, kind: type[BaseException]) -> None:
        """Raise an exception in a request that is still running, as soon as its thread runs Python code."""
        with self._changing:
            if self.current is not request:
                request.is_given_up = True
            else:
                throw_into(self, kind)
        wake = self.wake
        if wake is not None:
            wake()

    def _let_go(self) -> None:
        """Accept no more interruptions; an exception that was thrown too late is caught here."""
        while True:
            try:
                with self._changing:
                    self.current = None
                # A pending exception is raised at a loop's iteration.
                for _ in range(3):
                    pass
            except BaseException:  # noqa: BLE001, S112 - see the docstring
                continue
            return


class OwnThread:
    """The thread of one conversation, as seen by the conversation."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._serving: _Serving | None = None
        self._output = CapturedOutput()
        self._wake = threading.Event()
        self._around: Callable[[], AbstractContextManager[object]] = nullcontext
        self._turn_counts: dict[Hashable, int] = {}
        self.pinned = 0
        """If not 0, the whole process waits for each request, because pytest is in the middle of an operation."""
        self.leaving = False
        """Its conversation is being closed, so it may make requests although nothing new is sent."""
        self.exchanging = False
        """It is in the middle of an exchange."""
        self.lag = 0.0
        """Seconds for which answers have waited for the conversation to continue."""
        self.busy = 0.0
        """The processor time of its calls, in seconds."""
        self.context = copy_context()
        """The context in which the conversation runs."""
        self.context.run(OWN_THREAD.set, self)

    def ask(self, call: Callable[[], T], seconds: float | None) -> T:
        """Make the call in the thread and return its result; OutOfTime after `seconds`."""
        request = HubRequest(self, carry_over(call), seconds)
        self._hub.wait(request)
        self.busy += request.busy
        lines = self._output.take()
        if lines:
            with self._around():
                for say in lines:
                    say()
        result: T = request.result()
        return result

    def pause(self, seconds: float) -> None:
        """Wait for some seconds."""
        request = HubRequest(self, None, seconds)
        request.start()
        self._hub.wait(request)

    @contextmanager
    def capture_logs(
        self, around: Callable[[], AbstractContextManager[object]], level: int
    ) -> Iterator[None]:
        """Replay the output of calls made in the block within `around`; `level`: the lowest level of logs wanted.

        The calls belong to one exchange, and all are made once the first is; Stopped if
        nothing new may be sent.
        """
        self.may_send()
        self._around = around
        self._output.level = level
        self.exchanging = True
        try:
            yield
        finally:
            self._around = nullcontext
            self._output.level = logging.WARNING
            self.exchanging = False

    def may_send(self) -> None:
        """Raise Stopped if nothing new may be sent."""
        if self._hub.stopping and not self.leaving:
            raise Stopped

    def wait_for_turn(self, turn: Hashable) -> None:
        """Wait for a turn that one conversation at a time can hold; it may be taken repeatedly."""
        if not self._turn_counts.get(turn) and not self._hub.take_turn(self, turn):
            return
        self._turn_counts[turn] = self._turn_counts.get(turn, 0) + 1

    def leave(self, turn: Hashable) -> None:
        """Release one hold on the turn."""
        if self._turn_counts.get(turn):
            self._turn_counts[turn] -= 1
            if not self._turn_counts[turn]:
                self._hub.give_back(turn)

    def begin(self) -> _Serving:
        """Return the thread, started if necessary; RuntimeError if the system cannot create another one."""
        if self._serving is None:
            self._output = CapturedOutput()
            self._wake = threading.Event()
            context = self.context.copy()
            context.run(WAKE.set, self._wake)
            serving = _Serving(self._output, context)
            serving.start()
            self._serving = serving  # only now: it may fail to start
        return self._serving

    def hand_over(self, request: HubRequest) -> None:
        """Pass a request to the thread; if an abandoned call still occupies it, that has a moment to return."""
        request.start()
        serving = self.begin()
        if serving.current is not None:
            request.limit(GRACE)
        serving.requests.put(request)

    def replace_thread(self, request: HubRequest) -> None:
        """Abandon the thread, which did not return, and use another one."""
        self.release()
        self.hand_over(request)

    def interrupt(
        self, request: HubRequest, kind: type[BaseException] = OutOfTime
    ) -> None:
        """Raise an exception in the middle of a request."""
        self._wake.set()
        if self._serving is not None:
            self._serving.interrupt(request, kind)

    def wake(self) -> None:
        """End the waits for a turn at a provider."""
        self._wake.set()

    def release(self) -> None:
        """Let the thread end after its current call."""
        serving = self._serving
        self._serving = None
        if serving is not None:
            serving.is_left = True
            serving.requests.put(None)


class Hub:
    """Waits for the answers to all conversations' requests, and resumes each conversation when its answer arrives.

    `aside()` surrounds every switch away from a conversation: its process-wide state is
    removed in the meantime.
    """

    def __init__(
        self, aside: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> None:
        self._aside = aside
        self._main = getcurrent()
        self._answers: SimpleQueue[HubRequest | None] = SimpleQueue()
        self._waiting: dict[HubRequest, greenlet] = {}
        self._deadlines: list[tuple[float, int, HubRequest]] = []
        self._numbers = itertools.count()
        self._turns: dict[Hashable, list[HubRequest]] = {}
        """The waiting requests by turn."""
        self._playing: list[OwnThread] = []
        self.stopping = False
        """Nothing new is sent."""

    @property
    def count(self) -> int:
        """The number of conversations being played."""
        return len(self._playing)

    def start(self, play: Callable[[OwnThread], object]) -> None:
        """Begin a conversation and run it up to its first request."""
        thread = OwnThread(self)

        def play_to_end() -> None:
            try:
                play(thread)
            finally:
                self._playing.remove(thread)
                thread.release()

        green = greenlet(play_to_end, parent=self._main)
        green.gr_context = thread.context
        self._playing.append(thread)
        green.switch()

    def look_up(self) -> None:
        """End the current wait in `step`, or the next one; callable in any thread."""
        self._answers.put(None)

    def step(self) -> None:
        """Wait until a request is answered or its time is over, then resume its conversation."""
        while self._deadlines:
            deadline, _, first = self._deadlines[0]
            if first.deadline == deadline and first in self._waiting:
                break
            # Its limit was changed after this entry was created, and a heap cannot
            # alter an entry in its middle.
            self._push_deadline(heapq.heappop(self._deadlines)[2])
        limit = None
        if self._deadlines:
            limit = max(self._deadlines[0][0] - stopwatch_seconds(), 0.0)
        try:
            request = self._answers.get(timeout=limit)
        except Empty:
            request = heapq.heappop(self._deadlines)[2]
            goes_on = self._is_over(request)
        else:
            if request is None:
                return
            goes_on = bool(request.ended)  # otherwise its limit was changed
        if not goes_on:
            self._push_deadline(request)
            return
        green = self._waiting.pop(request, None)
        if green is not None:
            green.switch()

    def drain(self) -> None:
        """Send nothing new: requests that only wait are stopped, those in flight have their time."""
        self.stopping = True
        for request in list(self._waiting):
            request.thread.wake()
            if request.call is None and not request.thread.leaving:
                self._throw(request)

    def cancel(self) -> None:
        """Stop everything, including requests in flight; conversations may still close."""
        self.stopping = True
        for request in list(self._waiting):
            if not request.thread.leaving:
                request.thread.interrupt(request, Stopped)
                self._throw(request)

    # --- requests of conversations

    def wait(self, request: HubRequest) -> None:
        """Wait for an answer; OutOfTime if its time is over, Stopped if nothing new may be sent."""
        thread = request.thread
        if request.call is None or not thread.exchanging:
            thread.may_send()
        green = getcurrent()
        if green is self._main or thread.pinned:
            self._block(request)
            return
        self._waiting[request] = green
        request.answers = self._answers
        if request.call is not None:
            thread.hand_over(request)
        self._push_deadline(request)
        with self._aside():
            self._main.switch()
        if request.ended:
            thread.lag += max(stopwatch_seconds() - request.ended, 0.0)

    def take_turn(self, thread: OwnThread, turn: Hashable) -> bool:
        """Wait until the turn is free; False if waiting is impossible here."""
        if turn in self._turns:
            if thread.pinned or getcurrent() is self._main:
                return False
            request = HubRequest(thread, None, None)
            self._turns[turn].append(request)
            self.wait(request)
        else:
            self._turns[turn] = []
        return True

    def give_back(self, turn: Hashable) -> None:
        """Pass the turn to the next request."""
        waiting = self._turns[turn]
        while waiting:
            request = waiting.pop(0)
            if request in self._waiting:
                request.ended = stopwatch_seconds()
                self._answers.put(request)
                return
        del self._turns[turn]

    # --- internal

    def _block(self, request: HubRequest) -> None:
        """Block the whole process until the request is answered."""
        if request.call is None:
            sleep_interruptibly(request.seconds or 0.0)
            return
        request.answers = SimpleQueue()
        request.thread.hand_over(request)
        while True:
            # A request that waits for its thread gets its limit when it begins, so the
            # wait must be bounded.
            if request.deadline is None:
                limit = GRACE
            else:
                limit = max(request.deadline - stopwatch_seconds(), 0.0)
            try:
                request.answers.get(timeout=limit)
            except Empty:
                if (
                    request.deadline is not None
                    and stopwatch_seconds() >= request.deadline
                    and self._is_over(request)
                ):
                    return
            else:
                if request.ended:
                    return

    def _push_deadline(self, request: HubRequest) -> None:
        if request.deadline is not None and request in self._waiting:
            heapq.heappush(
                self._deadlines, (request.deadline, next(self._numbers), request)
            )

    def _is_over(self, request: HubRequest) -> bool:
        """Return whether its conversation resumes now that its time is over; if not, it was interrupted."""
        if request.call is None:
            return True
        if not request.has_begun:
            request.thread.replace_thread(request)
        elif request.was_suspended:
            request.start()
        elif request.rings < IGNORED:
            request.rings += 1
            request.limit(REPEAT)
            request.thread.interrupt(request)
        else:
            request.thread.release()
            request.error = OutOfTime()
            return True
        return False

    def _throw(self, request: HubRequest) -> None:
        green = self._waiting.pop(request, None)
        if green is not None:
            green.throw(Stopped)
