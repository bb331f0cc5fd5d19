"""For any request, a compiled history has its length, its order and its evidence."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import pairwise
from random import Random

from _examples import share
from hypothesis import given, settings
from hypothesis import strategies as st
from longmemeval_solver import solve

from pytest_ltm.api.model import token_counter
from pytest_ltm.datasets.longmemeval.record import read_date
from pytest_ltm.lab.longmemeval.histories import (
    GeneratedFillers,
    NeedleRecord,
    compile_history,
    evidence_places,
    parse_needle,
    session_dates,
)
from pytest_ltm.lab.longmemeval.needles import generate_needles, needle_record
from pytest_ltm.lab.longmemeval.session_text import (
    cache_counter,
    load_themes,
    write_session,
)

count = cache_counter(token_counter("cl100k_base"))


@cache
def parse_needles() -> list[NeedleRecord]:
    """Return some generated questions with their evidence, created on first use because that is slow."""
    return [
        parse_needle(needle_record(needle, f"p {number}", count), f"p {number}")
        for number, needle in enumerate(generate_needles(22, 0))
    ]


START = datetime(2023, 5, 1, tzinfo=timezone.utc)
records = st.deferred(lambda: st.sampled_from(parse_needles()))
minutes = st.integers(min_value=-100_000, max_value=100_000)
seeds = st.integers(min_value=0, max_value=2**32)


@given(st.data(), seeds)
def test_evidence_keeps_its_places_dates_and_order(
    data: st.DataObject, seed: int
) -> None:
    anchors = sorted(
        START + timedelta(minutes=one)
        for one in data.draw(st.lists(minutes, min_size=1, max_size=6))
    )
    total = data.draw(st.integers(min_value=len(anchors), max_value=60))
    asked = START + timedelta(minutes=data.draw(minutes))
    rng = Random(seed)

    taken = evidence_places(rng, len(anchors), total)
    found = session_dates(rng, list(zip(taken, anchors, strict=True)), total, asked)

    assert len(found) == total
    assert len(set(taken)) == len(anchors)
    assert [found[place] for place in taken] == anchors
    assert all(one <= other for one, other in pairwise(found))
    assert found[-1] <= max(asked, anchors[-1])


@settings(max_examples=share(40), deadline=None)
@given(
    records, st.integers(min_value=16_000, max_value=40_000), seeds
)  # evidence: up to 13,530
def test_a_history_reaches_its_tokens_within_two_percent_and_never_exceeds_them(
    one: object, tokens: int, seed: int
) -> None:
    chosen = next(record for record in parse_needles() if record is one)
    row = compile_history(
        chosen, GeneratedFillers(count), tokens=tokens, seed=seed, count=count
    )

    whole = sum(
        token_counter("cl100k_base").count(turn["content"])
        for said in row["haystack_sessions"]
        for turn in said
    )

    assert 0.98 * tokens <= whole <= tokens
    at = [read_date(when) for when in row["haystack_dates"]]
    assert all(
        first <= second
        for first, second in pairwise([one for one in at if one is not None])
    )
    cited = [
        name
        for name in row["haystack_session_ids"]
        if name in row["answer_session_ids"]
    ]
    assert cited == [evidence.id for evidence in chosen.evidence]


@settings(max_examples=share(25), deadline=None)
@given(records, st.integers(min_value=5, max_value=30), seeds)
def test_the_same_seed_gives_the_same_history_of_as_many_sessions_as_asked_for(
    one: object, sessions: int, seed: int
) -> None:
    chosen = next(record for record in parse_needles() if record is one)
    first, second = (
        compile_history(
            chosen, GeneratedFillers(count), sessions=sessions, seed=seed, count=count
        )
        for _ in range(2)
    )

    assert first == second
    assert len(first["haystack_sessions"]) == sessions
    assert len(set(first["haystack_session_ids"])) == sessions


@given(
    st.sampled_from(sorted(load_themes())),
    st.integers(min_value=80, max_value=5000),
    seeds,
)
@settings(deadline=None)
def test_a_session_has_rounds_of_two_and_about_the_tokens_asked_for(
    theme: str, tokens: int, seed: int
) -> None:
    said = write_session(Random(seed), load_themes()[theme], count, tokens=tokens)

    assert [turn["role"] for turn in said] == ["user", "assistant"] * (len(said) // 2)
    assert all(turn["content"].strip() for turn in said)
    assert sum(count(turn["content"]) for turn in said) <= tokens + 40


@settings(max_examples=share(30), deadline=None)
@given(seeds)
def test_the_golds_of_any_seed_follow_from_the_facts(seed: int) -> None:
    for needle in generate_needles(22, seed):
        found = solve(needle)
        assert (found is None) == needle.abstains
        assert (
            found is None
            or str(needle.answer) == found
            or str(needle.answer).startswith(f"{found}. ")
        )
