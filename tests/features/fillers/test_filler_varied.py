"""The default filler: small talk of all lengths, hardly distinguishable from scenarios by its form."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest
from suite_texts import said

from pytest_ltm.agents.reader import ABILITIES, IncomingTurn, ReaderNotebook
from pytest_ltm.api.model import Filler, FillerExchange, token_counter
from pytest_ltm.api.scenarios import built_in_names, scenarios_folder
from pytest_ltm.api.session import DEFAULTS
from pytest_ltm.api.storage import FillerError
from pytest_ltm.fillers import answers_of, filler_from_spec
from pytest_ltm.lab.cheat_agents import (
    LONG,
    FormSample,
    form_of,
    learn_tree,
    says_filler,
    share_told_apart,
)
from pytest_ltm.language.small_talk import is_relayed, is_small_talk, read_templates
from pytest_ltm.locales import load_language

LIMIT = 4096
SHARES = ((0.05, 8, 13), (0.84, 14, 45), (0.06, 45, 180), (0.05, 500, 2500))
"""The intended distribution: share of exchanges, fewest and most tokens."""
CL100K = token_counter("cl100k_base")
OF_SUITES = ("varied:restraint", "varied:trust")
GAPS = (60, 150, 350, 700, 1200, 2200, 3400, 4800, 9000)


def new(seed: int = 0, spec: str = "varied") -> Filler:
    return filler_from_spec(spec, Random(seed), CL100K)


def size(made: FillerExchange) -> int:
    return CL100K.count(made.message) + CL100K.count(made.expected_reply)


def filled(
    seed: int = 0, gaps: tuple[int, ...] = GAPS, spec: str = "varied"
) -> Iterator[FillerExchange]:
    """Yield the filler exchanges that a conversation would use for the gaps."""
    filler = new(seed, spec)
    for left in gaps:
        while left > 0:
            made = filler.make(left, LIMIT)
            left -= size(made)  # noqa: PLW2901 - the gap is used up
            yield made


def test_it_is_the_default() -> None:
    assert DEFAULTS["ltm_filler"] == "varied"


def test_changed_texts_need_a_new_version() -> None:
    texts = [[made.message, made.expected_reply] for made in filled()]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    told: Any = new().configuration()
    assert (told["version"], digest[:12]) == (6, "f93f984579cd")


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [15, 40, 150, 700, 3000])
def test_a_gap_is_just_reached(tokens: int) -> None:
    over = [sum(map(size, filled(seed, (tokens,)))) - tokens for seed in range(40)]
    assert min(over) >= 0
    assert sum(over) / len(over) < 4


def test_it_asks_for_no_form_of_reply() -> None:
    talk = " ".join(made.message for made in filled())
    assert not re.search(r"json|in one word|as a list|answer with", talk, re.IGNORECASE)
    assert not any(answers_of(made.message) for made in filled())


def test_exchanges_are_of_the_lengths_that_are_meant() -> None:
    filler = new()
    lengths = [size(filler.make(10**6, LIMIT)) for _ in range(300)]
    for share, least, most in SHARES:
        held = sum(least <= length < most for length in lengths) / len(lengths)
        assert held == pytest.approx(share, abs=0.12)


def test_letters_fill_a_gap_with_as_few_messages_as_the_agent_allows() -> None:
    filler = filler_from_spec("letters", Random(0), CL100K)
    sizes = list[int]()
    while sum(sizes) < 9000:
        sizes.append(size(filler.make(9000 - sum(sizes), LIMIT)))
    assert len(sizes) == 3
    assert sum(sizes) < 9004


def test_no_short_message_comes_often() -> None:
    filler = new()
    told = [filler.make(10**6, LIMIT).message for _ in range(400)]
    assert len(set(told)) > 380


def test_the_limit_of_messages_is_kept_and_one_that_no_sentence_keeps_is_an_error() -> (
    None
):
    filler = new()
    assert max(CL100K.count(filler.make(3000, 90).message) for _ in range(50)) <= 90
    with pytest.raises(FillerError, match="does not fit into messages of 2 tokens"):
        new().make(50, 2)


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("spec", ["varied", *OF_SUITES])
def test_the_embedded_reader_keeps_nothing_of_it(spec: str, told: bool) -> None:
    notes = ReaderNotebook(lambda _: True)
    for place, made in enumerate(filled(spec=spec), start=1):
        assert is_small_talk(made.message) or is_relayed(made.message)
        turn = IncomingTurn(
            text=made.message,
            position=place,
            now=None,
            told=told,
            reply=made.expected_reply if told else "",
        )
        assert (
            next(
                r
                for ability in ABILITIES
                if (r := ability.respond(turn, notes)) is not None
            )
            == "Noted."
        )
    assert notes.lines() == []


@pytest.mark.slow
def test_three_questions_about_form_tell_it_from_scenarios_in_less_than_four_of_five_messages() -> (
    None
):
    def samples(seed: int) -> list[FormSample]:
        messages = [
            message
            for suite in ("standard", "extended")
            for _, message, *_ in said(suite, seed)
        ]
        talk = islice((made.message for made in filled(seed, GAPS * 4)), len(messages))
        return [FormSample(text, is_filler=False) for text in messages] + [
            FormSample(text, is_filler=True) for text in talk
        ]

    tree = learn_tree([*samples(1), *samples(2)])
    assert share_told_apart(tree, samples(3)) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("spec", OF_SUITES)
def test_three_questions_about_form_keep_most_filler_of_a_suite_beside_its_messages(
    spec: str,
) -> None:
    suite = spec.partition(":")[2]
    messages = [FormSample(text, is_filler=False) for _, text, *_ in said(suite, 1)]
    talk = [
        FormSample(made.message, is_filler=True)
        for made in filled(1, (12_000, 12_000), spec)
    ]
    tree = learn_tree([*messages[::2], *talk[::2]])
    held_out = [*messages[1::2], *talk[1::2]]
    assert share_told_apart(tree, held_out) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("suite", sorted(set(built_in_names()) - {"paper"}))
def test_no_answer_that_a_scenario_wants_stands_in_it(suite: str) -> None:
    answers = {
        reply.strip(" .").lower()
        for seed in (1, 2)
        for kind, _, reply, _ in said(suite, seed)
        if kind == "ask"
    }
    talk = re.sub(
        r"[][|\s]+",
        " ",
        json.dumps([read_templates()["slots"], read_templates()["sentences"]]),
    ).lower()
    found = {
        answer
        for answer in answers
        if len(answer) > 3 and re.search(rf"\b{re.escape(answer)}\b", talk)
    }
    assert not found


def test_nearly_all_of_it_is_told_by_somebody_whom_no_scenario_knows() -> None:
    messages = [made.message for made in filled()]
    assert sum(map(is_relayed, messages)) > 0.8 * len(messages)


@pytest.mark.slow
@pytest.mark.parametrize("suite", sorted(set(built_in_names()) - {"paper"}))
def test_no_message_of_a_scenario_is_taken_for_somebody_elses(suite: str) -> None:
    assert not [text for _, text, *_ in said(suite, 1) if is_relayed(text)]


@pytest.mark.parametrize(
    ("text", "relayed"),
    [
        ("The guest with the allergy to walnuts is my aunt Ines.", False),
        ("My flat is in the same house as that of Ines", False),
        ("I live in Ghent now. Ines", True),
        ("These are my guests:\n- Dina\n- an aunt Ines.", True),
    ],
)
def test_a_name_at_the_end_signs_only_what_is_whole(text: str, relayed: bool) -> None:
    assert is_relayed(text) is relayed


def test_the_names_are_of_nobody_in_a_scenario() -> None:
    texts = "\n".join(
        path.read_text("utf-8") for path in scenarios_folder().glob("*.py")
    )
    words = set(re.findall(r"\w+", texts))
    assert not words & set(read_templates()["names"])


@pytest.mark.slow
@pytest.mark.parametrize("spec", OF_SUITES)
def test_filler_of_a_suite_has_most_words_of_its_messages(spec: str) -> None:
    suite = spec.partition(":")[2]
    words = _long_words(text for _, text, *_ in said(suite, 1))
    ours = _long_words(made.message for made in filled(2, GAPS * 2, spec))
    others = _long_words(made.message for made in filled(2, GAPS * 2))
    assert len(words & ours) > 0.8 * len(words)
    assert len(words & ours) > len(words & others)


def _long_words(texts: Iterable[str]) -> set[str]:
    """Return the words without names, of at least four letters."""
    return set(re.findall(r"\b[a-z]{4,}\b", " ".join(texts)))


def test_guests_in_filler_are_people_whom_no_scenario_knows() -> None:
    filler = filler_from_spec("varied:restraint", Random(1), CL100K)
    texts = [filler.make(10**6, LIMIT).message for _ in range(3_000)]
    guests = re.findall(
        r"\bthis is (\w+), (?:borrowing|on some|a guest)", " ".join(texts)
    )
    assert len(guests) > 20
    assert set(guests) <= set(read_templates()["names"])


@pytest.mark.parametrize("spec", OF_SUITES)
def test_who_skips_pages_hears_more_of_it_than_a_window_holds(spec: str) -> None:
    brief = [
        size(made)
        for made in filled(1, (24_000,), spec)
        if not says_filler(LONG, form_of(made.message))
    ]
    assert sum(brief) > 8_000


@pytest.mark.parametrize("name", ["acting", "nonsense", ""])
def test_a_suite_whose_texts_nobody_else_can_tell_is_refused(name: str) -> None:
    with pytest.raises(FillerError, match=rf"'varied:{name}': .* Choose from .*trust"):
        filler_from_spec(f"varied:{name}", Random(0), CL100K)


def test_the_suite_is_in_what_decides_the_filler() -> None:
    made = [new(spec=spec).configuration() for spec in ("varied", *OF_SUITES)]
    assert made[0] != made[1] != made[2]


def test_in_other_languages_it_is_a_quiz() -> None:
    german = load_language("de")
    filler = filler_from_spec("varied:trust", Random(0), CL100K, german)
    assert answers_of(filler.make(200, LIMIT).message)


def test_the_same_seed_makes_the_same_and_another_another() -> None:
    assert list(filled(1)) == list(filled(1))
    assert list(filled(1)) != list(filled(2))
    assert new(1).configuration() == new(2).configuration()
