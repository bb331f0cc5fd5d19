"""Texts relayed by `varied`: conversations with one seed share them."""

from __future__ import annotations

from itertools import islice

from pytest_ltm.fillers._relays import iter_relayed_texts


def test_texts_of_one_seed_are_the_same_whoever_asks_first_and_however_many() -> None:
    first = iter_relayed_texts(7, "restraint", shared=3)
    second = iter_relayed_texts(7, "restraint", shared=3)
    texts = [*islice(first, 10)]
    assert [*islice(second, 200)] == [*texts, *islice(first, 190)]
    assert [*islice(iter_relayed_texts(8, "restraint", shared=3), 10)] != texts
