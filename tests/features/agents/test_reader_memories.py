from __future__ import annotations

import pytest

from pytest_ltm.agents.reader.memory_policies import Memory, Retrieving, make_memory
from pytest_ltm.api.storage import ConfigurationError


def filled(
    policy: str, argument: str, exchanges: int, text: str = "filler talk about nothing"
) -> Memory:
    memory = make_memory(policy, argument)()
    for number in range(exchanges):
        memory.add_message(f"{text} {number}")
        memory.leave("fine")
    return memory


def ask(memory: Memory, message: str) -> None:
    memory.add_message(message)


def seen(memory: Memory, exchanges: int) -> set[int]:
    return {position for position in range(exchanges) if memory.can_see(position)}


def test_bm25_finds_an_old_exchange_by_its_words() -> None:
    memory = make_memory("bm25", "60")()
    memory.add_message("The umbrella stands behind the piano.")
    memory.leave("I see.")
    for number in range(100):
        memory.add_message(f"Here is some unrelated talk, part {number}.")
        memory.leave("fine")
    ask(memory, "Where is my umbrella?")
    assert 0 in seen(memory, 102)


def test_bm25_does_not_see_an_old_exchange_without_common_words() -> None:
    memory = make_memory("bm25", "60")()
    memory.add_message("The umbrella stands behind the piano.")
    memory.leave("I see.")
    for number in range(100):
        memory.add_message(f"Here is some unrelated talk, part {number}.")
        memory.leave("fine")
    ask(memory, "Tell me some unrelated talk.")
    assert 0 not in seen(memory, 102)


def test_bm25_sees_no_more_tokens_than_it_may() -> None:
    memory = filled("bm25", "100", 200)
    ask(memory, "nothing about filler talk")
    assert 5 <= len(seen(memory, 201)) <= 15  # about 8 tokens per exchange


def test_bm25_always_sees_the_newest_exchanges() -> None:
    memory = filled("bm25", "100", 50)
    ask(memory, "xyzzy")
    assert {49, 50} <= seen(memory, 51)


def test_forgetful_forgets_about_its_share_and_always_the_same() -> None:
    lost = 1000 - len(seen(filled("forgetful", "0.2", 1000), 1000))
    assert 150 < lost < 250
    assert seen(filled("forgetful", "0.2", 1000), 1000) == seen(
        filled("forgetful", "0.2", 1000), 1000
    )


def test_forgetful_sees_the_message_that_it_answers() -> None:
    assert filled("forgetful", "1", 5).can_see(4)


@pytest.mark.parametrize("argument", ["", "x", "2", "-0.1", "nan"])
def test_a_share_that_is_none_is_refused_with_the_cure(argument: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Write it as in 'forgetful:0.2'"):
        make_memory("forgetful", argument)


@pytest.mark.parametrize(
    ("policy", "argument"), [("bm25", "60"), ("forgetful", "0.5"), ("window", "50")]
)
def test_a_restored_memory_sees_the_same(policy: str, argument: str) -> None:
    memory = filled(policy, argument, 40)
    again = make_memory(policy, argument)()
    again.restore(memory.state())
    if isinstance(memory, Retrieving) and isinstance(again, Retrieving):
        # whose exchanges are saved line by line
        again.take(memory.lines())
    ask(memory, "filler talk 7")
    ask(again, "filler talk 7")
    assert seen(memory, 41) == seen(again, 41)
