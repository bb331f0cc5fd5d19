"""Wherever a run with simulated users is cut off, their models' replies are replayed, and the end is the same."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import journals
from _examples import share
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_ltm import Ltm
from pytest_ltm.api.journal import Journal, events
from pytest_ltm.records.recording import (
    cut_back,
    read_recording,
)
from pytest_ltm.testing import run_conversation

HEADER = journals.header()
FACT = "allergic to nuts"


class Moody:
    """A model whose replies depend only on the prompt: messages, ends, faults and nonsense."""

    def __init__(self, mood: int, nonsense: int) -> None:
        self.mood, self.nonsense, self.calls = mood, nonsense, 0

    def __call__(self, prompt: str) -> str:
        self.calls += 1
        draw = int(hashlib.sha256(f"{self.mood} {prompt}".encode()).hexdigest(), 16)
        if draw % 11 < self.nonsense:
            return ["", "Assistant: Hi.", '{"message": 1}', "x" * 300_000][
                draw // 11 % 4
            ]
        if draw % 97 < self.nonsense:
            raise ConnectionRefusedError("nobody is there")
        text = f"Thing {draw % 1000}" + f": Ana is {FACT}." * (draw % 3 == 0)
        return (
            json.dumps({"message": text, "done": draw % 5 == 0})
            if draw % 2
            else text + "\nDONE" * (draw % 5 == 0)
        )


def played(path: Path, model: Moody, turns: int) -> dict[str, str]:
    """Resume from the record in a file, and return the endings of the examples."""

    def scenario(number: int) -> Callable[[Ltm], object]:
        def body(ltm: Ltm) -> None:
            user = ltm.user(
                f"Speak of all that belongs to matter {number}",
                model=model,
                facts=[FACT],
                turns=turns,
            )
            user.talk(turns=1)
            ltm.wait(tokens=40)
            user.talk()
            ltm.say("That was it.")
            ltm.check("echoed", FACT in ltm.ask("Of what?", about=user.telling(FACT)))

        return body

    journal = Journal.resuming(path)
    journal.write(HEADER)
    scenarios = {f"s{number}": scenario(number) for number in range(3)}
    found = run_conversation(
        scenarios, lambda message: f"You said: {message}", span=600, journal=journal
    )
    return {
        key: f"{ending.verdict} {ending.error}" for key, ending in found.endings.items()
    }


@settings(
    max_examples=share(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.integers(0, 10_000), st.integers(0, 3), st.integers(1, 5), st.floats(0, 1))
def test_a_run_with_users_that_is_cut_anywhere_grows_into_the_whole_one_again(
    mood: int, nonsense: int, turns: int, share: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        whole, first = Moody(mood, nonsense), None
        first = played(path, whole, turns)
        journal = path.read_bytes()
        start = journal.index(b"\n") + 1
        path.write_bytes(journal[: start + round(share * (len(journal) - start))])
        cut_back(Path(folder), read_recording(path))
        recording = read_recording(path)
        kept = (
            []
            if recording is None
            else [
                one for row in recording.record.examples.values() for one in row.voiced
            ]
        )
        rest = Moody(mood, nonsense)
        assert played(path, rest, turns) == first
        assert path.read_bytes() == journal
        assert rest.calls == whole.calls - len(kept)
        assert all(isinstance(one, events.UserModelAsked) for one in kept)
