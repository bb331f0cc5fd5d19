"""Filler is true, unrelated to the scenarios, never repeated, and exactly as long as requested."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from benchmark_data import TRIVIAQA

from pytest_ltm.api.model import TokenCounter, token_counter
from pytest_ltm.api.storage import FillerError
from pytest_ltm.fillers import (
    INSTRUCTION,
    QuizFact,
    TriviaFiller,
    answers_of,
    filler_from_spec,
    reply_of,
)
from pytest_ltm.fillers.deck import VERSION, Pool, built_in, shuffled_range
from pytest_ltm.fillers.knowledge import arithmetic_facts, known_facts
from pytest_ltm.fillers.quiz import cost_of
from pytest_ltm.fillers.trivia import pool_of_file

LIMIT = 4096
CL100K = token_counter("cl100k_base")
FACTS = tuple(known_facts())
ANSWERS = dict(FACTS)


def new(
    seed: int = 0, counts: TokenCounter = CL100K, pool: Pool | None = None
) -> TriviaFiller:
    return TriviaFiller(Random(seed), counts, pool)


def questions(message: str) -> list[str]:
    return re.findall(r"^Q: (.*) A: .*$", message, re.MULTILINE)


def small_pool(n: int = 10) -> Pool:
    return Pool(
        [QuizFact(f"What is number {i}?", f"answer {i}") for i in range(n)], "test"
    )


# --- the facts


def test_there_are_thousands_of_facts_and_no_question_occurs_twice() -> None:
    assert len(FACTS) == len(ANSWERS) > 10_000


def test_a_changed_fact_needs_a_new_version() -> None:
    digest = hashlib.sha256(json.dumps(FACTS).encode()).hexdigest()
    assert (VERSION, digest[:12]) == (1, "935622134d7f")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of Estonia?", "Tallinn"),
        ("Which country has the two-letter ISO 3166 code CH?", None),
        ("What is the three-letter ISO 3166 code of Germany?", "DEU"),
        ("Which chemical element has the atomic number 74?", "tungsten"),
        ("What is the chemical symbol of potassium?", "K"),
        ("What is the atomic number of oganesson?", "118"),
        ("On which day of the week falls 20 July 1969?", None),
        ("Is 1900 a leap year in the Gregorian calendar?", "no"),
        ("Is 2000 a leap year in the Gregorian calendar?", "yes"),
        ("How many days has February in a common year?", "28"),
        ("What is the Morse code of Q?", "dash dash dot dash"),
        ("What is the Morse code of 7?", "dash dash dot dot dot"),
        ("Which place has omega in the Greek alphabet?", "24"),
        ("Which letter lies to the right of G on a QWERTY keyboard?", "H"),
        ("How many inches are 6 feet?", "72"),
        ("How many degrees Fahrenheit are 100 degrees Celsius?", "212"),
        ("Which power of ten does the SI prefix nano stand for?", "minus 9"),
        (
            "How many degrees do the interior angles of a convex polygon with 5 sides sum up to?",
            "540",
        ),
        ("How many diagonals has a convex polygon with 5 sides?", "5"),
        ("What is the 168th prime number?", "997"),
        ("What is the factorial of 10?", "3628800"),
        (
            "If the Fibonacci sequence begins with 1 and 1, what is its 12th number?",
            "144",
        ),
        ("Which planet of the solar system is the third from the Sun?", "Earth"),
        ("How many edges has the solid called icosahedron?", "30"),
    ],
)
def test_a_well_known_fact_is_told_right_if_at_all(question: str, answer: Any) -> None:
    assert ANSWERS.get(question) == answer


ROMAN = dict(zip("IVXLCDM", (1, 5, 10, 50, 100, 500, 1000), strict=True))


def from_roman(text: str) -> int:
    values = [ROMAN[letter] for letter in text] + [0]
    return sum(-a if a < b else a for a, b in pairwise(values))


def zeller(day: int, month: int, year: int) -> int:
    """Return 0 for Saturday to 6 for Friday (Zeller's congruence)."""
    m, y = (month, year) if month > 2 else (month + 12, year - 1)
    return (
        day
        + 13 * (m + 1) // 5
        + y % 100
        + y % 100 // 4
        + y // 100 // 4
        + 5 * (y // 100)
    ) % 7


MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
ZELLER = ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]


@pytest.mark.parametrize(
    ("pattern", "answer", "at_least"),
    [
        (
            r"How is the number (\d+) written in Roman numerals\?",
            lambda n, a: from_roman(a) == int(n),
            300,
        ),
        (
            r"Which number do the Roman numerals (\w+) stand for\?",
            lambda n, a: from_roman(n) == int(a),
            300,
        ),
        (
            r"How is the decimal number (\d+) written in binary\?",
            lambda n, a: int(a, 2) == int(n),
            100,
        ),
        (
            r"How is the decimal number (\d+) written in octal\?",
            lambda n, a: int(a, 8) == int(n),
            100,
        ),
        (
            r"What is the hexadecimal number (\w+) in decimal\?",
            lambda n, a: int(n, 16) == int(a),
            200,
        ),
        (
            r"What is the square root of (\d+)\?",
            lambda n, a: int(a) ** 2 == int(n),
            100,
        ),
        (
            r"On which day of the week falls (\d+) (\w+) (\d+)\?",
            lambda d, m, y, a: ZELLER[zeller(int(d), MONTHS.index(m) + 1, int(y))] == a,
            500,
        ),
        (
            r"How is the word '(\w+)' spelled backwards\?",
            lambda w, a: "".join(reversed(w)) == a,
            200,
        ),
        (
            r"How long is the longest side of a right .* measure (\d+) and (\d+)\?",
            lambda a, b, c: int(a) ** 2 + int(b) ** 2 == int(c) ** 2,
            100,
        ),
        (
            r"Is (\d+) a prime number\?",
            lambda n, a: (a == "yes") == all(int(n) % d for d in range(2, int(n))),
            100,
        ),
    ],
)
def test_computed_facts_agree_with_another_way_to_compute_them(
    pattern: str, answer: Any, at_least: int
) -> None:
    checked = 0
    for fact in FACTS:
        match = re.fullmatch(pattern, fact.question)
        if match:
            assert answer(*match.groups(), fact.answer), fact
            checked += 1
    assert checked >= at_least


def test_codes_and_symbols_lead_back_to_what_they_stand_for() -> None:
    for there, back in [
        ("What is the capital of {}?", "Of which country is {} the capital?"),
        (
            "What is the two-letter ISO 3166 code of {}?",
            "Which country has the two-letter ISO 3166 code {}?",
        ),
        (
            "What is the chemical symbol of {}?",
            "Which chemical element has the symbol {}?",
        ),
        ("What is the Morse code of {}?", "What does {} stand for in Morse code?"),
    ]:
        pattern = re.compile(re.escape(there).replace(r"\{\}", "(.+)"))
        pairs = [(match[1], a) for q, a in FACTS if (match := pattern.fullmatch(q))]
        assert len(pairs) > 30
        assert [ANSWERS[back.format(answer)] for _, answer in pairs] == [
            subject for subject, _ in pairs
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "red blue green yellow orange purple pink brown black white grey gray gold silver violet turquoise crimson",
        "joke jokes quote quotes author said chapter book books novel poem spy meet meeting agent secret password",
        "restaurant menu waiter dish drink food wine beer tea coffee bread milk apple banana cheese shopping basket",
        "street avenue park cafe museum town directions north south east west favourite favorite name names trigger",
        "charlie juliett mike oscar romeo victor jordan chad georgia sofia sally anne john mary peter",
    ],
)
def test_no_fact_touches_what_scenarios_talk_about(words: str) -> None:
    # compass words occur only in names of countries
    forbidden = set(words.split()) - {
        "north",
        "south",
    }
    for fact in FACTS:
        found = (
            set(re.findall(r"[a-z]+", f"{fact.question} {fact.answer}".lower()))
            & forbidden
        )
        assert not found, fact


@pytest.mark.slow
def test_arithmetic_is_right_and_goes_on() -> None:
    exact: dict[str, Callable[..., int]] = {
        r"What is (\d+) \+ (\d+) \+ (\d+)\?": lambda a, b, c: a + b + c,
        r"Add (\d+) and (\d+), then double (\d+) .* modulo 1000\?": lambda a, b, c: (
            (a + b + c + c) % 1000
        ),
        r"What remains when the sum of (\d+) and (\d+) is divided by (\d+)\?": lambda a, b, c: (
            divmod(a + b, c)[1]
        ),
        r"What is the product of (\d+) and (\d+), plus (\d+), modulo 997\?": lambda a, b, c: (
            (b * a + c) % 997
        ),
        r"What is the difference between .* of (\d+), (\d+) and (\d+)\?": lambda *n: (
            sorted(n)[2] - min(n)
        ),
        r"Which of (\d+), (\d+) and (\d+) comes second .*\?": lambda *n: (
            sum(n) - max(n) - min(n)
        ),
        r"How far is (\d+) \+ (\d+) from (\d+)\?": lambda a, b, c: abs(c - a - b),
    }
    made = [fact for fact, _ in islice(arithmetic_facts(Random(3), CL100K), 20_000)]
    assert len(set(made)) == 20_000
    kinds = set()
    for question, answer in made:
        [(pattern, match)] = [(p, m) for p in exact if (m := re.fullmatch(p, question))]
        assert exact[pattern](*map(int, match.groups())) == int(answer)
        kinds.add(pattern)
    assert kinds == set(exact)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "approx"])
def test_the_cost_of_arithmetic_is_its_true_count(name: str) -> None:
    for fact, cost in islice(arithmetic_facts(Random(5), token_counter(name)), 2_000):
        assert cost == cost_of(fact, token_counter(name))


# --- messages


def test_a_reader_finds_the_answers_that_are_expected() -> None:
    made = new().make(2_000, LIMIT)
    assert made.message.startswith(INSTRUCTION)
    assert answers_of(made.message) == json.loads(made.expected_reply)
    assert [ANSWERS[q] for q in questions(made.message)] == json.loads(
        made.expected_reply
    )


def test_other_messages_are_no_trivia() -> None:
    assert answers_of("Q: What is this? A: nothing") is None
    assert answers_of("") is None


@pytest.mark.slow
def test_no_question_comes_twice_in_a_conversation_even_after_the_pool() -> None:
    filler = new()
    asked: list[str] = []
    while len(asked) < len(FACTS) + 5_000:
        asked += questions(filler.make(20_000, 50_000).message)
    assert len(set(asked)) == len(asked)


def test_a_pool_that_was_given_begins_again_when_it_is_used_up() -> None:
    filler = new(pool=small_pool(100))
    asked = [q for _ in range(30) for q in questions(filler.make(200, LIMIT).message)]
    assert {q for q, _ in small_pool(100).facts} == set(asked)
    assert len(asked) > 150


def test_a_pool_smaller_than_the_message_serves() -> None:
    assert len(questions(new(pool=small_pool(3)).make(1_000, LIMIT).message)) > 20


def test_the_same_seed_makes_the_same_filler_and_another_seed_another() -> None:
    first, same, other = (
        [new(seed).make(n, LIMIT) for n in (300, 0, 900)] for seed in (1, 1, 2)
    )
    assert first == same != other


def test_the_message_limit_comes_before_the_target() -> None:
    made = new().make(100_000, 500)
    assert 460 < CL100K.count(made.message) <= 500


def test_a_limit_that_not_even_one_question_keeps_is_an_error() -> None:
    with pytest.raises(
        FillerError,
        match=r"does not fit into messages of 30 tokens\. Let the agent take longer ones",
    ):
        new().make(100, 30)


def test_zero_asks_for_one_question() -> None:
    assert len(questions(new().make(0, LIMIT).message)) == 1


def test_every_fact_is_counted_once_in_a_process() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return CL100K.count(text)

    counting = TokenCounter("counting", count, additive=True)
    pool = Pool(
        [QuizFact(f"What is number {i}?", f"answer {i}") for i in range(500)], "test"
    )
    for seed in (1, 2):
        filler = TriviaFiller(Random(seed), counting, pool)
        for _ in range(10):
            filler.make(3_000, LIMIT)
    lines = [text for text in counted if text.startswith("Q: ")]
    assert len(lines) == len(set(lines)) == 500


def test_counts_that_do_not_add_up_are_made_good() -> None:
    # A quarter of a token per character: a line's count is rounded down, so the sum is
    # too small.
    quarters = TokenCounter("quarters", lambda text: len(text) // 4)
    made = new(counts=quarters).make(5_000, 800)
    assert 700 < quarters.count(made.message) <= 800
    made = new(counts=quarters).make(3_000, 10_000)
    assert (
        2_950
        < quarters.count(made.message) + quarters.count(made.expected_reply)
        < 3_050
    )


def test_a_counter_that_counts_nothing_gets_filler_all_the_same() -> None:
    nothing = TokenCounter("nothing", lambda _text: 0)
    assert questions(new(counts=nothing).make(50, LIMIT).message)


def test_a_shuffle_is_a_permutation_that_depends_on_the_seed() -> None:
    assert sorted(shuffled_range(1_000, Random(1))) == list(range(1_000))
    assert (
        list(shuffled_range(50, Random(1)))
        != list(shuffled_range(50, Random(2)))
        != list(range(50))
    )


# --- files


def write(path: Path, content: object) -> str:
    path.write_text(
        content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
    )
    return str(path)


RECORD = {
    "Question": "Which  pond\nis deep?",
    "AnswerValue": "This one",
    "QuestionSource": "nowhere",
}
NESTED = {
    "Question": "Which pond is deeper?",
    "Answer": {"Value": "That one", "Aliases": []},
}


def test_both_layouts_of_triviaqa_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "quiz.json", {"Data": [RECORD, NESTED]})
    made = filler_from_spec(f"trivia:{path}", Random(1), CL100K).make(60, LIMIT)
    assert set(pool_of_file(path).facts) == {
        ("Which pond is deep?", "This one"),
        ("Which pond is deeper?", "That one"),
    }
    assert set(questions(made.message)) <= {
        "Which pond is deep?",
        "Which pond is deeper?",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", r"quiz\.json' cannot be read as JSON"),
        (
            [RECORD],
            r"quiz\.json': field 'Data' must be a list of questions that is not empty",
        ),
        ({"Data": []}, r"field 'Data' must be a list of questions that is not empty"),
        (
            {"Data": [RECORD, 7]},
            r"quiz\.json', Data\[1\] must be a mapping with 'Question' and 'AnswerValue', not 7",
        ),
        (
            {"Data": [{"AnswerValue": "x"}]},
            r"Data\[0\]: no field 'Question'; its fields: 'AnswerValue'",
        ),
        (
            {"Data": [{"Question": "x"}]},
            r"no field 'AnswerValue' \(nor 'Answer' with 'Value'\); its fields: 'Question'",
        ),
        (
            {"Data": [{**RECORD, "AnswerValue": 3}]},
            r"field 'AnswerValue' must be a non-empty text, not 3",
        ),
        (
            {"Data": [{**RECORD, "Question": " "}]},
            r"field 'Question' must be a non-empty text, not ' '",
        ),
        (
            {"Data": [{**NESTED, "Answer": {"Value": None}}]},
            r"field 'AnswerValue' must be a non-empty text, not None",
        ),
        ({"Data": [{**RECORD, "AnswerValue": "x A: y"}]}, r"no question left"),
    ],
)
def test_a_bad_file_is_an_error_that_names_file_and_field(
    tmp_path: Path, content: object, message: str
) -> None:
    path = write(tmp_path / "quiz.json", content)
    with pytest.raises(FillerError, match=message):
        filler_from_spec(f"trivia:{path}", Random(1), CL100K)


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(
        FillerError, match=r"filler file 'no/such\.json' cannot be read \(No such file"
    ):
        filler_from_spec("trivia:no/such.json", Random(1), CL100K)


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "quiz.json", {"Data": [RECORD]})
    assert len(pool_of_file(path).facts) == 1
    assert pool_of_file(path) is pool_of_file(path)
    write(tmp_path / "quiz.json", {"Data": [RECORD, NESTED]})
    assert len(pool_of_file(path).facts) == 2


def test_the_fingerprint_of_a_file_is_its_content_not_its_place(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", {"Data": [RECORD]})
    second = write(tmp_path / "b.json", {"Data": [RECORD]})
    other = write(tmp_path / "c.json", {"Data": [NESTED]})
    prints = [
        filler_from_spec(f"trivia:{p}", Random(1), CL100K).configuration()
        for p in (first, second, other)
    ]
    assert prints[0] == prints[1] != prints[2]
    assert hashlib.sha256(Path(first).read_bytes()).hexdigest() in json.dumps(prints[0])
    assert new().configuration() == {"filler": "trivia", "facts": built_in().identity}


@pytest.mark.published
def test_the_published_questions_fill_as_well() -> None:
    filler = filler_from_spec(f"trivia:{TRIVIAQA}", Random(1), CL100K)
    for tokens in (80, 500, 3_000, 3_000):
        made = filler.make(tokens, LIMIT)
        assert answers_of(made.message) == json.loads(made.expected_reply)
        assert (
            tokens
            <= CL100K.count(made.message) + CL100K.count(made.expected_reply)
            <= tokens + 8
        )
    assert len(pool_of_file(str(TRIVIAQA)).facts) > 10_000


# --- specs


def test_trivia_is_the_built_in_filler() -> None:
    made = filler_from_spec("trivia", Random(4), CL100K).make(300, LIMIT)
    assert made == new(4).make(300, LIMIT)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "trivial",
            r"unknown filler 'trivial'\. Did you mean 'trivia'\? Known: varied, letters, trivia, trivia:PATH",
        ),
        ("trivia:", r"filler 'trivia:' names no file"),
        (
            "no_such_module:make",
            r"filler 'no_such_module:make': there is no module 'no_such_module'",
        ),
        ("bad_filler:nothing", r"module 'bad_filler'.* has no 'nothing'"),
        (
            "bad_filler:number",
            r"filler 'bad_filler:number' must be a factory that takes \(rng, counter\), not 7",
        ),
        (
            "bad_filler:raising",
            r"filler 'bad_filler:raising' could not be made: ZeroDivisionError",
        ),
        (
            "bad_filler:takes_none",
            r"filler 'bad_filler:takes_none' could not be made: TypeError",
        ),
        (
            "bad_filler:empty",
            r"filler 'bad_filler:empty' returned None, which has no method 'make and no configur",
        ),
    ],
)
def test_a_spec_that_cannot_work_is_an_error_with_a_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, message: str
) -> None:
    (tmp_path / "bad_filler.py").write_text(
        "number = 7\ndef raising(rng, counter): 1/0\ndef takes_none(): pass\ndef empty(rng, counter): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bad_filler", raising=False)
    with pytest.raises(FillerError, match=message):
        filler_from_spec(spec, Random(1), CL100K)


def test_a_factory_of_the_user_gets_the_generator_and_the_counter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_filler.py").write_text(
        "class Filler:\n"
        "    def __init__(self, rng, counter): self.given = rng, counter\n"
        "    def make(self, tokens, max_message_tokens): ...\n"
        "    def configuration(self): return 'mine'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    rng = Random(1)
    made = filler_from_spec("my_filler:Filler", rng, CL100K)
    assert made.configuration() == "mine"
    assert made.given == (rng, CL100K)  # type: ignore[attr-defined]


def test_the_filler_of_the_documentation_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "filler.md").read_text(
        encoding="utf-8"
    )
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "weather_filler.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    made = filler_from_spec("weather_filler:Weather", Random(1), CL100K).make(
        200, LIMIT
    )
    assert 200 <= CL100K.count(made.message) + CL100K.count(made.expected_reply) < 215


def test_the_reply_is_json_as_people_write_it() -> None:
    assert reply_of(["Zürich", 'a "b"']) == '["Zürich", "a \\"b\\""]'


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base", "approx"])
def test_the_tokens_that_filler_says_it_has_are_those_of_its_message(
    encoding: str,
) -> None:
    counts = token_counter(encoding)
    filler = TriviaFiller(Random(5), counts)
    for size in (0, 60, 150, 700, 2_000, 4_000, 9_000, *range(300, 900, 7)):
        made = filler.make(size, 4096)
        assert made.message_tokens == counts.count(made.message)


def test_a_pool_of_the_users_own_is_counted_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(
        '{"Data": [{"Question": "Who?", "AnswerValue": "Me"}]}', encoding="utf-8"
    )
    filler = filler_from_spec(f"trivia:{path}", Random(0), token_counter("cl100k_base"))
    assert filler.make(100, 4096).message_tokens is None
