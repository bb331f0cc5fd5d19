"""The reader stores texts that no rule understands, and finds them quickly by their words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.agents.reader.general import _significant_words, _Statements
from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook

WORDS = st.lists(
    st.sampled_from(["kelvin", "ochre", "harbour", "violin", "marble"]), max_size=4
).map(" ".join)


def notebook(
    statements: list[str], hidden: frozenset[int] = frozenset()
) -> tuple[ReaderNotebook, list[int]]:
    seen: list[int] = []

    def sees(position: int) -> bool:
        seen.append(position)
        return position not in hidden

    notes = ReaderNotebook(sees)
    for position, text in enumerate(statements):
        notes.add(
            IncomingTurn(text=text, position=position, now=None), "statement", text
        )
    return notes, seen


@pytest.mark.slow
@given(st.lists(WORDS, max_size=12), st.frozensets(st.integers(0, 11)), WORDS)
def test_the_visible_statement_with_most_words_is_found_the_newest_of_equals(
    statements: list[str], hidden: frozenset[int], question: str
) -> None:
    notes, _ = notebook(statements, hidden)
    shared = [
        (len(_significant_words(question) & _significant_words(text)), at)
        for at, text in enumerate(statements)
        if at not in hidden
    ]
    most, at = max(shared, default=(0, 0))
    expected = f"You told me: {statements[at]}" if most else "I do not know."
    assert _Statements().nearest_statement(question, notes) == expected


def test_of_many_equal_statements_only_the_newest_is_looked_at() -> None:
    notes, seen = notebook(["My cat is called Kelvin."] * 1_000)
    assert (
        _Statements().nearest_statement("What is my cat called?", notes)
        == "You told me: My cat is called Kelvin."
    )
    assert seen == [999]
