"""Shards partition any conversations: none is doubled or omitted, and all machines agree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.api.session import Shard
from pytest_ltm.modes.selection import shard_of

NAMES = st.dictionaries(
    st.text("abc-0123", min_size=1, max_size=6),
    st.integers(0, 10**6),
    min_size=1,
    max_size=20,
)


@given(NAMES, st.integers(1, 6))
def test_every_conversation_is_in_exactly_one_shard(
    expected: dict[str, int], of: int
) -> None:
    shares = [shard_of(expected, Shard(number, of)) for number in range(1, of + 1)]

    assert sorted(name for share in shares for name in share) == sorted(expected)


@given(NAMES, st.integers(1, 6), st.randoms())
def test_the_order_of_the_conversations_makes_no_difference(
    expected: dict[str, int], of: int, rng: object
) -> None:
    names = list(expected)
    rng.shuffle(names)  # type: ignore[attr-defined]
    mixed = {name: expected[name] for name in names}

    assert shard_of(mixed, Shard(1, of)) == shard_of(expected, Shard(1, of))


@given(NAMES, st.integers(1, 6))
def test_no_shard_has_more_than_another_by_more_than_one_conversation(
    expected: dict[str, int], of: int
) -> None:
    loads = [
        sum(expected[name] for name in shard_of(expected, Shard(number, of)))
        for number in range(1, of + 1)
    ]

    assert max(loads) - min(loads) <= max(expected.values())
