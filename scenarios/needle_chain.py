"""Needle Chain: a code that is known only by following who has the same code as whom."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say
from pytest_ltm.evaluators import RecallsValue
from pytest_ltm.locales import CODES, parse_languages

from ._needles import RESET, Hay, asked, laid
from ._parameters import last_wait, whole


def needle_chain(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return chains of places that have one code, of which only the last says it; the first of one is asked for.

    `hops` (default 2) is how many links lead to the code; `chains` (default 3) are
    told, mixed, over the span, all of them of the same length. The things of one chain
    are those of the others.
    """
    hops, chains = (
        whole(parameters, "hops", 2, 1, 6),
        whole(parameters, "chains", 3, 2, 12),
    )
    telling, asking = parse_languages(parameters)
    hay = Hay(rng, telling)
    first = [hay.place() for _ in range(hops + 1)]
    ways = [first]
    for _ in range(chains - 1):
        ways.append([hay.place(thing=place.thing) for place in first])
    codes = [hay.code() for _ in ways]
    told = []
    for way, code in zip(ways, codes, strict=True):
        links = []
        for a, b in pairwise(way):
            links.append(Say(hay.linked(a, b), tells={a.said(telling): b.owner}))
        last = way[-1]
        links.append(Say(hay.told(last, code), tells={last.said(telling): code}))
        told.append(links)
    says: list[Say] = []
    for links in told:
        says += links
    rng.shuffle(says)
    question = Ask(
        asked(rng, first[0], asking), about=tuple(said.text for said in told[0])
    )
    return Definition(
        steps=laid(
            [(at / len(says), said) for at, said in enumerate(says)],
            [question],
            last_wait(rng, parameters),
        ),
        expected=codes[0],
        parameters={**parameters, "other_codes": codes[1:]},
    )


@pytest.mark.ltm(
    generate=needle_chain, skills="R,I", version="1", reset=RESET, languages=CODES
)
def test_needle_chain(ltm: Ltm) -> None:
    """Follows from one thing to the next which of them have the same code."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    others = tuple(ltm.definition.parameters["other_codes"])
    rule = RecallsValue(ltm.definition.expected, others, scoring=ltm.scoring)
    ltm.score(parse_languages(ltm.definition.parameters).judged(rule, answers))
