"""The cost of a message in memory systems as a conversation grows: storing it, replying to it, saving the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from random import Random
from statistics import fmean, median
from time import process_time
from typing import Any

from pytest_ltm.agents.memory.parameters import PRESETS
from pytest_ltm.agents.reader.memory_policies import ENCODING
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.model import FillerExchange, token_counter
from pytest_ltm.fillers import filler_from_spec

_EXCHANGE = 250
"""Approximate tokens of an exchange."""
_BEGIN = datetime(2024, 3, 4, 9, tzinfo=timezone.utc)
_A_SESSION = 30
"""Exchanges between pauses of two hours: several sessions a day."""
_QUESTIONS = 5
_FEWEST = 30


def linear(size: int, repeats: int) -> Iterator[str]:
    """Yield for each preset the milliseconds per message at a hundredth, a tenth and all of the tokens."""
    sizes = (size // 100, size // 10, size)
    yield (
        "ms of the processor at "
        + ", ".join(f"{one:,}" for one in sizes)
        + " tokens, by rules"
    )
    yield f"{'preset':<20} {'storing an exchange':>24} {'a reply':>24} {'saving all':>24}"
    for name in PRESETS:
        runs = [_grown(name, sizes) for _ in range(repeats)]
        columns = [
            [median(run[at][part] for run in runs) for at in range(len(sizes))]
            for part in range(3)
        ]
        yield f"{name:<20} " + " ".join(
            "".join(f"{ms:8.2f}" for ms in column) for column in columns
        )


def _grown(name: str, sizes: tuple[int, ...]) -> list[tuple[float, float, float]]:
    """Return the times to store, reply and save at each size."""
    agent: Any = find_agent(f"memory:rules?preset={name}").make()
    found: list[tuple[float, float, float]] = []
    storing: list[float] = []
    tokens, questions = (
        0,
        [f"What did I say about number {number}?" for number in range(_QUESTIONS)],
    )
    for number, one in enumerate(_exchanges(sizes[-1])):
        agent.tell_time(
            _BEGIN + timedelta(minutes=2 * number, hours=2 * (number // _A_SESSION))
        )
        storing.append(_milliseconds(agent.accept, one.message, one.expected_reply))
        tokens += one.message_tokens or _EXCHANGE
        if tokens >= sizes[len(found)]:
            last = storing[-max(_FEWEST, len(storing) // 5) :]
            replies = [_milliseconds(agent.reply, text) for text in questions]
            found.append((fmean(last), median(replies), _milliseconds(agent.save)))
            if len(found) == len(sizes):
                break
    agent.close()
    return found


def _exchanges(tokens: int) -> Iterator[FillerExchange]:
    filler = filler_from_spec("trivia", Random(1), token_counter(ENCODING))
    while True:
        yield filler.make(min(_EXCHANGE, tokens), tokens)


def _milliseconds(act: Callable[..., object], *given: str) -> float:
    began = process_time()
    act(*given)
    return (process_time() - began) * 1e3
