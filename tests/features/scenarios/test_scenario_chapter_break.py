from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import GOODAI, lines_of
from pytest_ltm.scenarios import _town, _town_days, _town_words
from pytest_ltm.scenarios import chapter_break as scenario
from pytest_ltm.scenarios.chapter_break import QUESTION, chapter_break

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import Reader, make_reader
from pytest_ltm.agents.reader.stories import town_statement, town_statements
from pytest_ltm.api.model import Score, plain_words, token_counter
from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait, from_json, to_json
from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets import chapter_from_book, chapter_from_dataset
from pytest_ltm.evaluators import PicksOption
from pytest_ltm.testing import run_scenario

MARKS: Mapping[str, Any] = scenario.test_chapter_break.pytestmark[0].kwargs


def book(seed: int, **parameters: Any) -> Definition:
    made: Definition = chapter_break(random.Random(seed), parameters)
    return made


def heard(reader: Reader, definition: Definition) -> str:
    answer = ""
    for step in definition.steps:
        assert not isinstance(step, Wait)
        answer = reader.reply(step.text)
    return answer


def value(agent: object, definition: Definition, span: int | None = 32_000) -> float:
    ending = run_scenario(
        scenario.test_chapter_break, agent, definition=definition, span=span
    )
    assert isinstance(ending.verdict, Score), ending
    return ending.verdict.value


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "parameters", [{}, {"chapters": 1}, {"chapters": 30, "changes": 1}, {"changes": 12}]
)
def test_the_full_reader_earns_full_marks_at_any_length(
    seed: int, parameters: dict[str, Any]
) -> None:
    definition = book(seed, **parameters)
    assert (
        PicksOption(definition.expected)(
            [heard(make_reader("full")(), definition)]
        ).value
        == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("seed", range(6))
def test_echo_and_silent_earn_nothing(agent: Callable[[], object], seed: int) -> None:
    assert value(agent(), book(seed)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_window_that_does_not_hold_the_first_chapter_earns_nothing(seed: int) -> None:
    assert (
        PicksOption(book(seed).expected)(
            [heard(make_reader("window", "8k")(), book(seed))]
        ).value
        == 0
    )


@pytest.mark.slow
def test_always_saying_the_same_number_earns_a_sixth() -> None:
    hits = sum(
        book(seed, chapters=1, chapter_characters=1).expected == 3
        for seed in range(600)
    )
    assert 70 <= hits <= 130


def test_a_second_book_after_the_reset_message_is_not_confused_with_the_first() -> None:
    reader = make_reader("full")()
    for seed in range(4):
        assert heard(reader, book(seed)) == str(book(seed).expected)
        assert reader.reply(MARKS["reset"]) == "All right."


def test_the_default_book_fits_32k_and_is_longer_than_2k() -> None:
    tokens = token_counter("cl100k_base")
    sizes = [
        sum(
            tokens.count(step.text)
            for step in book(seed).steps
            if not isinstance(step, Wait)
        )
        for seed in range(5)
    ]
    assert all(8_500 < size < 10_500 for size in sizes)


def test_a_span_shorter_than_the_book_skips_it_with_the_reason() -> None:
    ending = run_scenario(
        scenario.test_chapter_break, Silent(), definition=book(0), span=2_000
    )
    assert ending.verdict is None
    assert "its text alone" in str(ending.unplayable)


@pytest.mark.parametrize(
    ("span", "played"), [(15_999, False), (16_000, True), (None, True)]
)
def test_a_book_of_full_length_is_skipped_with_the_reason_below_16k(
    span: int | None, *, played: bool
) -> None:
    ending = run_scenario(
        scenario.test_chapter_break,
        make_reader("full")(),
        definition=book(0),
        span=span,
    )
    assert (ending.verdict is not None) is played
    assert played or "give it a span of 16k or more" in str(ending)


def test_a_short_book_is_read_in_any_span() -> None:
    assert (
        value(
            make_reader("full")(),
            book(0, chapters=2, chapter_characters=500),
            span=4_000,
        )
        == 1
    )


@pytest.mark.slow
def test_the_promise_that_the_book_tells_everything_stands_in_every_second_example() -> (
    None
):
    promised = [scenario.PROMISE in said(book(seed).steps[0]) for seed in range(200)]
    assert 80 <= sum(promised) <= 120
    assert all(book(seed).questions[-1].about for seed in range(20))


def said(step: object) -> str:
    assert isinstance(step, Say)
    return step.text


def test_facts_come_in_sixty_forms_and_more_and_half_of_them_without_the_usual_verb() -> (
    None
):
    tables = (_town_words.INTRODUCED, _town_words.CHANGED, _town_words.CLAIMED)
    told = {text for table in tables for texts in table.values() for text in texts}
    told |= {
        *_town_words.BROKE,
        *_town_words.MENDED,
        *_town_words.BROKEN,
        *_town_words.SOUND,
    }
    usual = {
        text
        for text in told
        if {"lived", "worked", "belonged", "owned", "broke", "broken", "mended"}
        & set(plain_words(text))
    }
    assert len(told) >= 100
    assert len(usual) < len(told) / 2


@pytest.mark.slow
def test_every_wording_of_a_fact_is_understood_and_no_ordinary_day_tells_one() -> None:
    rng = random.Random(5)
    for _ in range(60):
        town = _town.town_of(rng, 5, 4, 3)
        words, days = (
            _town_words.Words(rng, town.people),
            _town_days.Days(rng, town.people),
        )
        facts = [
            (words.told(told), told.fact)
            for chapter in town.chapters
            for told in chapter
        ]
        facts += [
            (words.claim(fact), fact)
            for beginning in _town.beginnings(town, rng, 6, 3)
            for fact in beginning.facts
        ]
        wrong = [
            sentence
            for sentence, fact in facts
            if town_statement(sentence) != (fact.kind, fact.subject, fact.value)
        ]
        assert wrong == []
        assert [
            said
            for _ in range(len(_town_days.BEATS))
            if (said := town_statements(days.beat()))
        ] == []


def test_false_beginnings_contradict_the_first_chapter_thrice_and_something_later_twice() -> (
    None
):
    town = _town.town_of(random.Random(2), 8, 3, 3)
    false = [
        beginning.broken
        for beginning in _town.beginnings(town, random.Random(2), 6, 3)
        if beginning.broken
    ]
    last = town.last_told()
    assert [fact.key in town.kept for fact in false] == [True, True, True, False, False]
    assert all(last[fact.key] not in town.chapters[0] for fact in false[3:])


def test_the_question_names_no_number() -> None:
    assert [
        n
        for n in range(1, 7)
        if PicksOption(n)([QUESTION]).value
        or PicksOption(n, scoring="v3.5")([QUESTION]).value
    ] == []


def test_a_definition_survives_being_written_and_read() -> None:
    definition = book(3, note="mine")
    assert (
        from_json(json.loads(json.dumps(to_json(definition))), where="here")
        == definition
    )


@pytest.mark.parametrize(
    "name", ["chapters", "changes", "chapter_characters", "page_characters"]
)
@pytest.mark.parametrize("wrong", [0, "3", True, 2.5])
def test_a_wrong_parameter_is_named(name: str, wrong: object) -> None:
    with pytest.raises(
        ValueError, match=f"{name} is a whole number of at least 1, not {wrong!r}"
    ):
        book(0, **{name: wrong})


RECORD = {
    "ctx": "It rained. " * 40,
    "pos": "At last the rain ended.",
    "negs": [f"Wrong beginning {n}." for n in range(5)],
}


def written(tmp_path: Path, data: object) -> Path:
    path = tmp_path / "chapterbreak_ctx_8192.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    "data", [{"pg19": {}, "ao3": {"17": [RECORD, RECORD]}}, {"17": [RECORD]}]
)
def test_the_original_data_set_is_played_with_or_without_its_splits(
    tmp_path: Path, data: object
) -> None:
    definition = book(
        1,
        dataset=str(written(tmp_path, data)),
        context_characters=100,
        page_characters=50,
    )
    said = [step.text for step in definition.steps if not isinstance(step, Wait)]
    assert f"Option {definition.expected}:\n\nAt last the rain ended." in said
    assert sum(text.startswith("Option ") for text in said) == 6
    assert (
        "".join(
            text.split(":\n\n", 1)[1] for text in said if text.startswith("Page ")
        ).count("It rained.")
        == 8
    )
    assert definition.parameters["work"].startswith("17_")
    assert "nothing breaks" not in said[0]
    assert definition.steps[-1] == Ask(QUESTION)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected a mapping of work ids"),
        ({"ao3": {}}, "no records"),
        ({"17": 3}, "expected a list of records, got int"),
        (
            {"17": ["x"]},
            "work '17', record 0: expected a record with ctx, pos and negs",
        ),
        ({"17": [{**RECORD, "negs": []}]}, "expected 'negs', a list of texts"),
        ({"17": [{**RECORD, "negs": [4]}]}, "expected 'negs', a non-empty text"),
        ({"17": [{**RECORD, "pos": " "}]}, "expected 'pos', a non-empty text"),
    ],
)
def test_a_broken_data_set_names_file_and_record(
    tmp_path: Path, data: object, message: str
) -> None:
    with pytest.raises(DatasetError, match=f"chapterbreak_ctx_8192.json.*{message}"):
        chapter_from_dataset(
            written(tmp_path, data), random.Random(0), context_characters=1000
        )


def test_a_split_that_is_unknown_or_empty_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"ao3": {"17": [RECORD]}})
    with pytest.raises(
        DatasetError, match=r"split 'a03' is unknown.*Did you mean 'ao3'"
    ):
        chapter_from_dataset(
            path, random.Random(0), split="a03", context_characters=1000
        )
    with pytest.raises(DatasetError, match="no records in the split 'pg19'"):
        chapter_from_dataset(
            path, random.Random(0), split="pg19", context_characters=1000
        )


def test_a_file_that_is_missing_or_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.json: cannot be read"):
        chapter_from_dataset(
            tmp_path / "none.json", random.Random(0), context_characters=1000
        )
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DatasetError, match=r"bad\.json: not JSON"):
        chapter_from_dataset(
            tmp_path / "bad.json", random.Random(0), context_characters=1000
        )


def own_book(tmp_path: Path, chapters: int) -> Path:
    bodies = [
        f"In part {chr(96 + n)} a heron came. " + "It stood there for a while. " * 60
        for n in range(1, chapters + 1)
    ]
    contents = "".join(f"Chapter {n}\n" for n in range(1, chapters + 1))
    text = "".join(
        f"\nChapter {n}: Herons\n\n{body}\n" for n, body in enumerate(bodies, start=1)
    )
    (tmp_path / "herons.txt").write_text(f"HERONS\n\n{contents}\n{text}")
    return tmp_path / "herons.txt"


def test_an_own_book_offers_the_next_chapter_and_five_later_ones_without_their_headings(
    tmp_path: Path,
) -> None:
    for seed in range(12):
        chapter = chapter_from_book(
            own_book(tmp_path, 9),
            random.Random(seed),
            others=5,
            context_characters=10**6,
        )
        last = int(chapter.work.rpartition("_")[2])
        letters = [text.split()[2] for text in (chapter.true, *chapter.others)]
        assert letters[0] == chr(97 + last)
        assert all(letter > letters[0] for letter in letters[1:])
        assert len(set(letters)) == 6
        assert chapter.context.count("a heron came") == last
        assert all(
            "Chapter" not in text and len(text) <= 900
            for text in (chapter.true, *chapter.others)
        )


def test_an_own_book_is_played(tmp_path: Path) -> None:
    definition = book(1, book=str(own_book(tmp_path, 8)))
    assert value(Silent(), definition) == 0
    assert definition.parameters["book"].endswith("herons.txt")


def test_an_own_book_with_too_few_chapters_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"herons\.txt: 6 chapters found, at least 7 needed"
    ):
        book(0, book=str(own_book(tmp_path, 6)))
    with pytest.raises(DatasetError, match=r"none\.txt: cannot be read"):
        book(0, book=str(tmp_path / "none.txt"))


@pytest.mark.slow
@pytest.mark.published
def test_the_reader_answers_published_definitions_with_one_of_their_numbers() -> None:
    books = [
        row
        for row in lines_of(GOODAI / "definitions.jsonl.gz")
        if "/ChapterBreak/" in row["path"]
    ]
    assert len(books) > 30
    for row in books:
        reader = make_reader("full")()
        answers = [reader.reply(text) for text in row["script"]]
        assert answers[-1] in set("123456"), row["path"]
        assert set(answers[:-1]) == {"All right.", "I am listening.", "Ready."}


def test_a_book_that_says_nothing_of_the_kind_is_guessed_from_its_words() -> None:
    reader = make_reader("full")()
    reader.reply("I am going to read you some chapters of a book. A few pages. Okay?")
    reader.reply(
        "1st and last page:\n\nZephyrine sailed the schooner to Marrakand and found pearls."
    )
    for number, text in enumerate(
        ("Rain fell on Bolton.", "Zephyrine sold pearls.", "Nobody came to tea."),
        start=1,
    ):
        reader.reply(f"Option {number}:\n\n{text}")
    assert (
        reader.reply(
            "Which option do you think is the true next-chapter beginning?\nAnswer with a digit."
        )
        == "2"
    )


def test_a_single_digit_number_is_no_choice_so_that_an_echo_of_the_published_question_earns_nothing() -> (
    None
):
    asked = "Answer with a single-digit number, corresponding to the option number."
    assert [n for n in range(1, 7) if PicksOption(n)([asked]).value] == []
    assert PicksOption(3)(["Option three."]).value == 1
