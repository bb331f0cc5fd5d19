"""Turns at a provider: how many run at a time, which caller waits, and what happens to the turns of dead processes."""

from __future__ import annotations

import heapq
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from chat_server import Asked, ChatServer, fails, refuses

from pytest_ltm import providers as calls
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.registry import source_of_kind
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentFault, Field, Shared, TransientFault
from pytest_ltm.providers import ModelSpec, RequestRefused, open_model
from pytest_ltm.providers import limiter as _limiter
from pytest_ltm.providers import limiter as _places
from pytest_ltm.providers.limiter import Limiter, Ticket, Unshared

HOLDS_A_PLACE = """\
import random, sys, time
from pathlib import Path
from pytest_ltm.providers.limiter import Limiter
from pytest_ltm.api.storage import Shared
with Limiter("e", value=Shared(Path(sys.argv[1])), rng=random.Random(0)).turn():
    print("in", flush=True)
    time.sleep(60)
"""
WAITS = """\
import random, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background ignores it
from contextlib import suppress
from pathlib import Path
from pytest_ltm.providers.limiter import POLL_SECONDS, Limiter
from pytest_ltm.api.storage import Shared, TransientFault
limiter = Limiter("e", value=Shared(Path(sys.argv[1])), rng=random.Random(0))
with suppress(TransientFault), limiter.turn(POLL_SECONDS):  # imports the rest: Python may lose an interrupt meanwhile
    print("in", flush=True)
print("waiting", flush=True)
with limiter.turn():
    print("in", flush=True)
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_places, "POLL_SECONDS", 0.01)
    calls.share_limits(None)
    yield
    calls.share_limits(None)


def ticket(name: str, *, pid: int = 1, lease: float = 60.0) -> Ticket:
    return Ticket(name, "here", pid, lease)


def anybody(_host: str, _pid: int) -> bool:
    return True


def limiter(value: Any, *, seed: int = 0) -> Limiter:
    return Limiter("http://h/v1 m", value=value, rng=random.Random(seed))


def taken(state: dict[str, Any], name: str, now: float = 0.0) -> bool:
    return _places.take_place(state, ticket(name), now, anybody) == 0


# --- the rules


def test_no_more_places_are_taken_than_there_are() -> None:
    state: dict[str, Any] = {"limit": 2.9}
    assert [taken(state, name) for name in "abc"] == [True, True, False]
    _places.give_place_back(state, ticket("a"))
    assert taken(state, "c")


def test_until_the_first_refusal_a_round_of_successes_doubles_the_places() -> None:
    state: dict[str, Any] = {"limit": 4.0}
    for name in "abcd":
        assert taken(state, name)
    for _ in range(4):
        _places.note_success(state, 1.0)
    assert state["limit"] == 8.0


def test_successes_say_nothing_of_more_places_where_few_are_used() -> None:
    state: dict[str, Any] = {"limit": 8.0}
    taken(state, "a")
    _places.note_success(state, 1.0)
    assert state["limit"] == 8.0


def test_a_refusal_halves_the_places_once_for_all_that_were_under_way() -> None:
    state: dict[str, Any] = {"limit": 4.0}
    for name in "abcd":
        taken(state, name, now=1.0)
    for name in "abcd":
        _places.back_off(state, ticket(name), 2.0, 0.0, 0.5)
    assert state["limit"] == 2.0
    for name in "abcd":
        _places.give_place_back(state, ticket(name))
    for name in "ef":
        assert taken(state, name, now=3.0)
    _places.back_off(state, ticket("e"), 4.0, 0.0, 0.5)
    assert state["limit"] == 1.0


def test_after_a_refusal_what_was_carried_comes_back_at_once_and_more_when_it_is_calm() -> (
    None
):
    state: dict[str, Any] = {"limit": 9.0}
    for name in "abcdefghi":
        taken(state, name, now=1.0)
    _places.back_off(state, ticket("i"), 2.0, 0.0, 0.5)
    for _ in range(100):
        _places.note_success(state, 3.0)
    assert state["limit"] == 8.0
    for _ in range(8):
        _places.note_success(state, 2.0 + _places.CALM)
    assert 8.9 < state["limit"] <= 9.0


def test_another_refusal_soon_after_the_pause_means_that_less_is_carried() -> None:
    state: dict[str, Any] = {
        "limit": 32.0,
        "carried": 32.0,
        "halved": 1.0,
        "until": 100.0,
    }
    for number in range(20):
        taken(state, str(number), now=101.0)
    _places.back_off(state, ticket("19"), 102.0, 0.0, 0.5)
    assert state["carried"] == 19.0


@pytest.mark.slow
@pytest.mark.parametrize(("capacity", "bursts"), [(32, 0.0), (32, 20.0), (5, 0.0)])
def test_what_an_endpoint_can_do_is_used_to_nine_tenths(
    capacity: int, bursts: float
) -> None:
    rng, state, ends = random.Random(0), dict[str, Any](), list[float]()
    # simulates this many concurrent requests sequentially
    events = [(0.0, number, "ask") for number in range(2 * capacity)]
    numbers, busy = itertools.count(len(events)), 0
    while events and events[0][0] < 120.0:
        now, number, what = heapq.heappop(events)
        place = ticket(str(number))
        if what == "ask":
            wait = _places.take_place(state, place, now, anybody)
            after = (
                (now + wait + rng.uniform(0, 0.05), number, "ask")
                if wait
                else (now, number, "arrive")
            )
        elif what == "arrive" and (
            busy >= capacity or (bursts and now % bursts > bursts - 0.5)
        ):
            _places.back_off(state, place, now, 1.0, 0.5)
            _places.give_place_back(state, place)
            after = (now + 1.0, next(numbers), "ask")
        elif what == "arrive":
            busy, after = busy + 1, (now + rng.uniform(0.9, 1.1), number, "end")
        else:
            busy -= 1
            ends.append(now)
            _places.note_success(state, now)
            _places.give_place_back(state, place)
            after = (now + 0.01, next(numbers), "ask")
        heapq.heappush(events, after)
    assert sum(end > 20.0 for end in ends) >= 0.9 * capacity * 100


def test_one_place_is_always_left() -> None:
    state: dict[str, Any] = {"limit": 1.0}
    taken(state, "a", now=1.0)
    _places.back_off(state, ticket("a"), 2.0, 0.0, 0.5)
    _places.give_place_back(state, ticket("a"))
    assert taken(state, "b", now=5.0)


def test_retry_after_pauses_everybody_for_as_long_as_it_says() -> None:
    state: dict[str, Any] = {}
    taken(state, "a", now=100.0)
    _places.back_off(state, ticket("a"), 100.0, 7.0, 0.9)
    assert _places.take_place(state, ticket("b"), 102.0, anybody) == 5.0
    assert _places.take_place(state, ticket("b"), 107.0, anybody) == 0


def test_without_retry_after_the_pauses_grow_and_end() -> None:
    state: dict[str, Any] = {}
    pauses, now = [], 0.0
    for number in range(9):
        now += 1000.0
        taken(state, str(number), now)
        _places.back_off(state, ticket(str(number)), now, None, 0.5)
        pauses.append(state["until"] - now)
        _places.give_place_back(state, ticket(str(number)))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    taken(state, "x", now + 1000)
    _places.note_success(state, now)
    _places.back_off(state, ticket("x"), now + 1000, None, 0.0)
    assert state["until"] == now + 1000 + 0.5


def test_the_places_of_dead_processes_and_of_those_that_stayed_too_long_are_free() -> (
    None
):
    state: dict[str, Any] = {"limit": 2.0}
    _places.take_place(state, ticket("dead", pid=7), 0.0, anybody)
    _places.take_place(state, ticket("late", lease=10.0), 0.0, anybody)
    assert _places.take_place(state, ticket("a"), 9.0, anybody) > 0
    assert _places.take_place(state, ticket("a"), 9.0, lambda _host, pid: pid != 7) == 0
    assert _places.take_place(state, ticket("b"), 11.0, anybody) == 0


def test_what_is_left_over_from_before_a_restart_holds_nobody_up() -> None:
    """A machine's clock restarts with it."""
    state: dict[str, Any] = {
        "limit": 1.0,
        "until": 1e6,
        "halved": 1e6,
        "places": {"old": ["here", 1, 1e6, 1e6 + 60]},
    }
    assert taken(state, "a", now=5.0)
    _places.back_off(state, ticket("a"), 6.0, 2.0, 0.5)
    assert state["until"] == 8.0


# --- waiting


@pytest.mark.slow
def test_threads_and_files_share_the_places_of_an_endpoint(tmp_path: Path) -> None:
    path = tmp_path / "limits" / "e.json"
    Shared(path).change(lambda _: {"limit": 2.0})
    inside, most, lock, two = [0], [0], threading.Lock(), threading.Event()

    def work(seed: int) -> None:
        for _ in range(5):
            with limiter(Shared(path), seed=seed).turn():
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    if inside[0] > 1:
                        two.set()
                # the first waits for the second, however late it arrives
                two.wait(60)
                threading.Event().wait(0.005)  # waits for a third
                with lock:
                    inside[0] -= 1

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 2
    assert Shared(path).read()["places"] == {}


@pytest.mark.slow
def test_a_place_whose_process_was_killed_is_taken_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    Shared(path).change(lambda _: {"limit": 1.0})
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_PLACE, str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "in\n"
    with (
        pytest.raises(TransientFault, match=r"no turn at http://h/v1 m within 0\.05 s"),
        limiter(Shared(path)).turn(0.05),
    ):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with limiter(Shared(path)).turn(60):
        assert len(Shared(path).read()["places"]) == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one process")
def test_ctrl_c_ends_a_wait_and_leaves_no_place_behind(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    Shared(path).change(lambda _: {"limit": 1.0})
    with limiter(Shared(path)).turn():
        waiting = subprocess.Popen(
            [sys.executable, "-c", WAITS, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "waiting\n"
        waiting.send_signal(signal.SIGINT)
        rest, error = waiting.communicate()
    assert "KeyboardInterrupt" in error
    assert rest == ""
    assert Shared(path).read()["places"] == {}


def test_a_pause_that_is_too_long_to_wait_for_is_told_at_once() -> None:
    value = Unshared()
    waiting = limiter(value)
    with waiting.turn() as turn:
        turn.note_refusal(1800.0)
    with (
        pytest.raises(
            AgentFault, match=r"asks to wait 1800 s, and a request waits 900 s at most"
        ) as caught,
        waiting.turn(),
    ):
        pass
    assert not isinstance(caught.value, TransientFault)


def test_a_file_that_cannot_be_read_is_learned_anew(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text("no JSON")
    with limiter(Shared(path)).turn() as turn:
        turn.succeeded()
    assert json.loads(path.read_text())["places"] == {}


def test_each_endpoint_and_model_has_a_file_of_its_own_that_says_which(
    tmp_path: Path,
) -> None:
    calls.share_limits(tmp_path / "limits")
    for endpoint in ("https://h/v1 m", "https://h/v1 n", "https://g/v1 m"):
        asked = Limiter(
            endpoint, value=_limiter.value_of(endpoint), rng=random.Random(0)
        )
        asked.change(lambda state: _places.note_success(state, 0.0))
    told = {
        json.loads(path.read_text())["endpoint"]
        for path in (tmp_path / "limits").glob("*.json")
    }
    assert told == {"https://h/v1 m", "https://h/v1 n", "https://g/v1 m"}


# --- through the client


def ask_all(server: ChatServer, agents: int, messages: int = 1) -> list[Any]:
    """Ask this many conversations at the same time; return replies, or the exceptions."""
    found: list[Any] = []

    def talk(stack: ExitStack) -> None:
        chat = open_model(
            ModelSpec(name="m", base_url=server.url, key_env=""), rng=random.Random(0)
        )
        stack.callback(chat.close)
        for _ in range(messages):
            try:
                found.append(chat.complete([{"role": "user", "content": "a"}]).text)
            except RequestRefused as error:
                found.append(error.status_code)

    with ExitStack() as stack:
        threads = [threading.Thread(target=talk, args=(stack,)) for _ in range(agents)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found


@pytest.mark.slow
def test_after_a_refusal_fewer_are_asked_at_a_time(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_places, "CALM", 0.0)
    calls.share_limits(tmp_path)
    chat_server.next(refuses(429, retry_after=0))
    assert ask_all(chat_server, 1) == [429]
    [path] = tmp_path.glob("*.json")
    assert Shared(path).read()["limit"] == 4.0
    four = threading.Event()

    def together(_: Asked) -> str:
        if chat_server.most_at_once >= 4:
            four.set()
        four.wait(60)
        return "Yes."

    chat_server.default = together
    assert ask_all(chat_server, 8) == ["Yes."] * 8
    assert 4 <= chat_server.most_at_once <= 5
    assert Shared(path).read()["limit"] > 4.0


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_pause_that_the_server_asks_for_is_everybodys(
    chat_server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(_limiter, "stopwatch_seconds", lambda: now[0])
    monkeypatch.setattr(
        _limiter, "sleep_interruptibly", lambda seconds: now.append(now.pop() + seconds)
    )
    calls.share_limits(tmp_path)
    chat_server.next(refuses(status, retry_after=30))
    assert ask_all(chat_server, 1) == [status]
    assert now == [1000.0]
    assert ask_all(chat_server, 1) == ["Understood."]
    assert 1030.0 <= now[0] <= 1031.0
    assert ask_all(chat_server, 1) == ["Understood."]
    assert now[0] <= 1031.0


def test_an_error_that_is_no_refusal_pauses_nobody(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    calls.share_limits(tmp_path)
    chat_server.next(fails(500))
    assert ask_all(chat_server, 1) == [500]
    [path] = tmp_path.glob("*.json")
    assert Shared(path).read() == {"endpoint": f"{chat_server.url} m", "places": {}}


def test_all_tries_of_one_message_are_one_turn(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    calls.share_limits(tmp_path)
    agent: Any = source_of_kind(
        agent_kinds()["openai"], f"m@{chat_server.url}", Field({}, "", "")
    ).make()
    chat_server.context = 60
    for number in range(20):
        agent.accept(f"Here is number {number}.", "Noted.")
    places: list[int] = []
    count = chat_server.count

    def look(text: str) -> int:
        places.extend(
            len(Shared(path).read().get("places", {}))
            for path in tmp_path.glob("*.json")
        )
        return count(text)

    chat_server.count = look
    with agent.turn():
        agent.reply("What now?")
    agent.close()
    assert len(chat_server.requests) > 1
    assert set(places) == {1}


@pytest.mark.skipif(
    not hasattr(signal, "getitimer"), reason="no timers to keep a limit with"
)
def test_waiting_for_a_turn_is_no_time_that_the_agent_took(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, limits = [1000.0], []

    def pause(seconds: float) -> None:
        limits.append(signal.getitimer(signal.ITIMER_REAL)[0])
        now.append(now.pop() + seconds)

    monkeypatch.setattr(_limiter, "stopwatch_seconds", lambda: now[0])
    monkeypatch.setattr(_limiter, "sleep_interruptibly", pause)
    speaker = AgentCaller(
        source_of_kind(
            agent_kinds()["openai"], f"m@{chat_server.url}", Field({}, "", "")
        ).make(),
        timeout=50.0,
    )
    chat_server.next(refuses(429, retry_after=100))
    with pytest.raises(AgentFault, match="answered 429: Slow down"):
        speaker.ask("a")
    assert speaker.ask("b").text == "Understood."
    assert limits == [0.0]
    assert now[0] >= 1100
    speaker.close()
