"""The prompt of a chat model, for any conversation and any limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.agents.chat_agent import SILENCE, History, kept_share
from pytest_ltm.agents.unbuilt import FRAME

TEXTS = st.text(alphabet="ab c", max_size=30)
STEPS = st.lists(st.tuples(TEXTS, TEXTS, st.integers(0, 400)), max_size=30)


@given(STEPS, st.sampled_from([None, "Be kind."]))
def test_the_newest_exchanges_that_fit_are_shown_in_order_and_their_size_is_known(
    steps: list[tuple[str, str, int]], system: str | None
) -> None:
    history = History(system, len)
    said: list[tuple[str, str]] = []
    for message, reply, limit in steps:
        size = history.size_of(message)
        before = len(history)
        history.drop_oldest(size, limit)
        shown = [part["content"] for part in history.prompt(message)]
        own = [system] if system else []
        middle = shown[len(own) : -1]
        pairs = list(zip(middle[::2], middle[1::2], strict=True))
        assert shown == [*own, *middle, message]
        assert pairs == said[len(said) - len(pairs) :]
        assert history.estimate(size) == sum(len(text) + FRAME for text in shown)
        assert history.estimate(size) <= limit or not pairs
        if len(pairs) < before:
            # no unnecessary cuts: the prompt fits, in blocks, and half of the room
            # stays in use
            dropped = sum(
                len(text) + FRAME for text in said[len(said) - len(pairs) - 1]
            )
            own_size = size + sum(len(text) + FRAME for text in own)
            fair = own_size + (limit - own_size) / 2
            left = history.estimate(size)
            assert left + dropped > limit or (
                left + dropped > kept_share(limit) * limit and left >= fair
            )
        history.add(message, size, reply)
        said.append((message, reply if reply.strip() else SILENCE))


@given(STEPS)
def test_a_history_that_was_saved_is_the_same(
    steps: list[tuple[str, str, int]],
) -> None:
    one, other = History("system", len), History("system", len)
    for message, reply, limit in steps:
        one.drop_oldest(0, limit)
        one.add(message, one.size_of(message), reply)
    other.restore(one.state())
    assert other.state() == one.state()
    assert (other.prompt("a"), other.estimate(5)) == (one.prompt("a"), one.estimate(5))
