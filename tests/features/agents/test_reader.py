from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

from pytest_ltm.agents import (
    AcceptsHistory,
    Agent,
    Checkpointable,
    Configured,
    Resettable,
    TimeAware,
)
from pytest_ltm.agents.reader.reader import Reader, make_reader
from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import AgentError, ConfigurationError
from pytest_ltm.fillers import QuizFact, message_of, reply_of

START = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)
QUIZ = message_of(
    [
        QuizFact("How many legs has a spider?", "8"),
        QuizFact("Which letter follows A: or B?", "C"),
    ]
)
LONG_QUIZ = message_of(
    [QuizFact(f"What is {n} plus 1?", str(n + 1)) for n in range(100)]
)


def full() -> Reader:
    return make_reader("full")()


def heard(reader: Reader, *messages: str) -> list[str]:
    return [reader.reply(message) for message in messages]


def test_the_colour_told_last_is_the_answer() -> None:
    reader = full()
    *_, answer = heard(
        reader,
        "My favourite colour is teal.",
        "Now I prefer ochre.",
        "What is my favourite colour?",
    )
    assert "ochre" in answer
    assert "teal" not in answer


def test_a_reader_with_notes_answers_what_meant_nothing_to_readers_without() -> None:
    questions = [
        "What is my favourite colour?",
        "What is my name?",
        "What is my cat called?",
        "Which song do I like best?",
    ]
    statements = [
        "My favourite colour is ochre.",
        "My name is Odile.",
        "My cat is called Kelvin.",
        "My best-loved song is Halcyon.",
    ]
    before = heard(full(), *questions)
    after = heard(full(), *statements, *questions)[len(statements) :]
    told = ["ochre", "Odile", "Kelvin", "Halcyon"]
    assert not any(word in text for word, text in zip(told, before, strict=True))
    assert all(word in text for word, text in zip(told, after, strict=True)), after
    assert heard(full(), *questions) == before


def test_short_words_tell_statements_of_one_form_apart() -> None:
    *_, cat, dog = heard(
        full(),
        "My cat is called Kelvin.",
        "My dog is called Ohm.",
        "What is my cat called?",
        "What is my dog called?",
    )
    assert ("Kelvin" in cat, "Ohm" in dog) == (True, True)


def test_a_colour_that_is_in_no_list_is_understood_in_the_usual_sentence() -> None:
    *_, answer = heard(
        full(), "My favourite colour is greige.", "What is my favorite color?"
    )
    assert "greige" in answer


@pytest.mark.parametrize(
    "message",
    [
        "Nobody likes the red colour of our bus.",
        "I painted my door blue.",
        "Which colour do I love most, red or blue?",
        "Forget that I like the colour red.",
    ],
)
def test_what_tells_no_favourite_colour_is_not_taken_for_one(message: str) -> None:
    *_, answer = heard(full(), message, "What is my favourite colour?")
    assert answer == "You have not told me."


def test_a_colour_is_forgotten_on_request() -> None:
    *_, answer = heard(
        full(),
        "My favourite colour is teal.",
        "Forget about my favourite colour.",
        "What is my favourite colour?",
    )
    assert answer == "You have not told me."


def at(reader: Reader, minutes: int, message: str) -> str:
    reader.tell_time(START + timedelta(minutes=minutes))
    return reader.reply(message)


@pytest.mark.parametrize(
    ("elapsed", "told"),
    [
        ("3 hours and 25 minutes", "first"),
        ("about 2 hours 0 minutes ", "second"),
        ("1 day, 1 hour and 25 minutes", "oldest"),
        ("35 minutes", "third"),
    ],
)
def test_a_joke_is_found_by_the_time_since_it_was_told(elapsed: str, told: str) -> None:
    reader = full()
    at(reader, 0, "A joke for you: the oldest was no chicken.")
    at(reader, 22 * 60, "Here is a joke: the first was a fish.")
    at(reader, 23 * 60 + 25, "The second was a bird, and it never said a word.")
    at(reader, 24 * 60 + 50, "Time for a joke. The third was a goat.")
    assert told in at(reader, 25 * 60 + 25, f"Which joke did I tell you {elapsed} ago?")


def test_at_one_moment_a_joke_comes_before_any_other_statement() -> None:
    reader = full()
    at(reader, 0, "There is a market in my home town.")
    at(reader, 0, "Here is a joke: my kettle wants to be a train.")
    at(reader, 0, "There is a bank north of it.")
    assert "kettle" in at(reader, 60, "Which joke did I tell you 1 hour ago?")


def test_a_joke_may_speak_of_you_in_its_second_sentence() -> None:
    reader = full()
    parrot = (
        "I taught my parrot to be quiet. It says that you did not hear it from him."
    )
    at(reader, 0, parrot)
    at(reader, 0, "The clock in the hall is out of step.")
    assert "parrot" in at(reader, 60, "Which joke did I tell you 1 hour ago?")


def test_what_has_a_date_is_no_joke() -> None:
    reader = full()
    at(reader, 0, "The carpenter became a comedian. He nails each punchline.")
    at(
        reader,
        0,
        "I had meant to change to Ystorvia as my piano teacher on 26 February, but I thought better of it.",
    )
    assert "carpenter" in at(
        reader, 60, "What was the joke I told you about 1 hour ago?"
    )


def test_jokes_are_forgotten_on_request() -> None:
    reader = full()
    at(reader, 0, "Here is a joke: my kettle wants to be a train.")
    at(reader, 1, "Please forget all the jokes.")
    assert "kettle" not in at(reader, 60, "Which joke did I tell you 1 hour ago?")


QUOTE = "A kettle is a patient volcano."


@pytest.mark.parametrize(
    "statement",
    [
        f"'{QUOTE}' - Orla Quist",
        f'"{QUOTE}" - Orla Quist',
        f"In the wise words of a poet, Orla Quist, '{QUOTE}'",
    ],
)
@pytest.mark.parametrize(
    ("instruction", "due"),
    [
        (
            "Please append the quote from Orla Quist to your 3rd response. This response is the first.",
            3,
        ),
        (
            "Please append the quote from Orla Quist, to your 2nd response, counting this one.",
            2,
        ),
        ("Please recite the quote by Orla Quist after the next 3 statements.", 4),
        (
            "Recite the quote from Orla Quist in the response to the 2nd new message after this one.",
            3,
        ),
    ],
)
def test_a_quote_is_appended_to_the_reply_asked_for_and_to_no_other(
    statement: str, instruction: str, due: int
) -> None:
    replies = heard(
        full(),
        statement,
        instruction,
        QUIZ,
        "My favourite colour is teal.",
        QUIZ,
        "Hello.",
    )[1:]
    assert [n for n, reply in enumerate(replies, start=1) if QUOTE in reply] == [due]


def test_a_reply_keeps_its_own_answer_when_a_quote_is_appended() -> None:
    *_, reply = heard(
        full(),
        f"'{QUOTE}' - Orla Quist",
        "My favourite colour is teal.",
        "Please append the quote from Orla Quist to your 2nd response. This response is the first.",
        "What is my favourite colour?",
    )
    assert reply == f"Your favourite colour is teal.\n{QUOTE}"


def test_of_two_quotes_the_author_decides() -> None:
    *_, reply = heard(
        full(),
        f"'{QUOTE}' - Orla Quist",
        "'A spoon is a shy shovel.' - Bo Lund",
        "Please append the quote from Orla Quist to your 2nd response. This response is the first.",
        QUIZ,
    )
    assert reply.endswith(QUOTE)


def test_an_instruction_is_dropped_on_request() -> None:
    replies = heard(
        full(),
        f"'{QUOTE}' - Orla Quist",
        "Please append the quote from Orla Quist to your 3rd response. This response is the first.",
        "Forget my instruction to append a quote to one of your replies.",
        QUIZ,
        QUIZ,
    )
    assert not any(QUOTE in reply for reply in replies)


def test_trivia_gets_its_answers_as_a_json_list() -> None:
    assert full().reply(QUIZ) == reply_of(["8", "C"])


def test_trivia_in_another_wording_gets_its_answers_too() -> None:
    pairs = 'Q: "Which sea, A: or B:?", A: Aral\nQ: 1+1?, A: 2\n'
    message = f'Some trivia for you. Return all answers as json, like ["x"].\n{pairs}'
    assert json.loads(full().reply(message)) == ["Aral", "2"]


def test_trivia_leaves_no_trace() -> None:
    reader, empty = full(), len(full().save())
    for _ in range(200):
        reader.reply(QUIZ)
        reader.accept(QUIZ, reply_of(["8", "C"]))
    assert len(reader.save()) - empty < 10


def test_an_explanation_is_just_agreed_to() -> None:
    assert (
        full().reply(
            "I am going to tell you many things. Keep your answers short. Understood?"
        )
        == "Understood."
    )


def test_a_question_of_unknown_kind_gets_the_statement_nearest_in_words() -> None:
    *_, answer = heard(
        full(),
        "My sister lives in Porto.",
        "My brother breeds llamas.",
        "Where does my sister live?",
    )
    assert "Porto" in answer


def test_nothing_is_known_of_what_was_never_told() -> None:
    assert full().reply("Where does my sister live?") == "I do not know."


def test_what_is_accepted_as_history_is_known() -> None:
    reader = full()
    reader.accept("My favourite colour is teal.", "How nice.")
    assert "teal" in reader.reply("What is my favourite colour?")


@pytest.mark.parametrize("policy", [("full", ""), ("window", "8k")])
def test_reset_forgets_everything(policy: tuple[str, str]) -> None:
    reader = make_reader(*policy)()
    fresh = reader.save()
    at(reader, 0, "My favourite colour is teal.")
    reader.reset()
    assert reader.save() == fresh
    assert reader.reply("What is my favourite colour?") == "You have not told me."


def test_two_readers_of_one_factory_share_nothing() -> None:
    factory = make_reader("full")
    factory().reply("My favourite colour is teal.")
    assert factory().reply("What is my favourite colour?") == "You have not told me."


def test_a_window_sees_exactly_what_fits_into_it() -> None:
    told, question = "My favourite colour is teal.", "What is my favourite colour?"
    size = sum(
        map(token_counter("cl100k_base").count, (told, full().reply(told), question))
    )
    assert "teal" in heard(make_reader("window", str(size))(), told, question)[-1]
    assert (
        heard(make_reader("window", str(size - 1))(), told, question)[-1]
        == "You have not told me."
    )


def test_a_window_loses_what_filler_pushed_out_of_it_even_if_it_was_only_told() -> None:
    reader = make_reader("window", "1k")()
    reader.reply("My favourite colour is teal.")
    reader.accept(LONG_QUIZ, "[]")
    assert reader.reply("What is my favourite colour?") == "You have not told me."


def test_a_window_carries_out_no_instruction_whose_quote_has_left_it() -> None:
    reader = make_reader("window", "1k")()
    *_, reply = heard(
        reader,
        f"'{QUOTE}' - Orla Quist",
        LONG_QUIZ,
        "Please append the quote from Orla Quist to your 2nd response. This response is the first.",
        "Hello.",
    )
    assert QUOTE not in reply


STORY = (
    "My favourite colour is teal.",
    f"'{QUOTE}' - Orla Quist",
    "Here is a joke: my kettle wants to be a train.",
    QUIZ,
    "Please append the quote from Orla Quist to your 3rd response. This response is the first.",
    "Which joke did I tell you 2 minutes ago?",
    "What is my favourite colour?",
    "Where is the train?",
)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [("full", ""), ("window", "150"), ("window", "8k")])
@pytest.mark.parametrize("stop", range(len(STORY) + 1))
def test_a_saved_reader_goes_on_as_if_nothing_had_happened(
    policy: tuple[str, str], stop: int
) -> None:
    undisturbed, saved, loaded = (make_reader(*policy)() for _ in range(3))
    expected = [at(undisturbed, n, message) for n, message in enumerate(STORY)]
    for n in range(stop):
        at(saved, n, STORY[n])
    loaded.reply("My favourite colour is red.")
    loaded.load(saved.save())
    assert [at(loaded, n, STORY[n]) for n in range(stop, len(STORY))] == expected[stop:]
    assert loaded.save() == undisturbed.save()


def test_a_state_of_another_memory_is_refused() -> None:
    with pytest.raises(
        AgentError,
        match=r"'full'; reader 8 with memory 'window:8k' cannot resume from it",
    ):
        make_reader("window", "8k")().load(full().save())


def test_the_reader_has_the_capabilities_that_the_engine_looks_for() -> None:
    for capability in (
        Agent,
        Resettable,
        Checkpointable,
        AcceptsHistory,
        TimeAware,
        Configured,
    ):
        assert isinstance(full(), capability)


def test_the_configuration_tells_readers_of_different_memories_apart() -> None:
    assert make_reader("window", "8k")().configuration() == {
        "reader": 8,
        "memory": "window:8k",
    }
    assert full().configuration() == {"reader": 8, "memory": "full"}


@pytest.mark.parametrize(
    ("policy", "argument", "cure"),
    [
        ("ful", "", "Did you mean 'full'"),
        ("full", "8k", "Write 'full'"),
        ("window", "", "Write it as in 'window:8k'"),
        ("window", "0", "Write it as in 'window:8k'"),
        ("window", "eight", "Write it as in 'window:8k'"),
        ("window", "-8k", "Write it as in 'window:8k'"),
    ],
)
def test_a_wrong_memory_policy_is_refused_with_a_cure(
    policy: str, argument: str, cure: str
) -> None:
    with pytest.raises(ConfigurationError, match=cure):
        make_reader(policy, argument)


@pytest.mark.parametrize(
    "message",
    ["", " ", "\ud800", "?" * 100_000, "'" * 5_000, '"a' * 600, "joke " * 240, "\x00"],
)
def test_any_message_gets_a_reply_and_can_be_saved(message: str) -> None:
    reader = full()
    assert isinstance(reader.reply(message), str)
    reader.load(reader.save())


OFFERS = "\n".join(
    f"- {town}: {crowns} crowns, 3 years old, 4 pounds, {miles} miles away"
    for town, crowns, miles in (("Oslo", 5, 30), ("Turku", 6, 40))
)
FAR = "9" * 400


@pytest.mark.parametrize(
    ("told", "asked", "reply"),
    [
        (
            "Remind me to water the plants early in the morning.",
            "Hello there.",
            "Noted.",
        ),
        (
            "Please remind me to water the plants in zero minutes.",
            "Hello there.",
            "Noted.",
        ),
        (f"Remind me to water the plants every {FAR} minutes.", "Hello.", "Noted."),
        (f"Remind me to water the plants in {FAR} minutes.", "Hello.", "Noted."),
        (
            "By the harbour rule I take the nearest that is not what is more than 5 miles away.",
            f"What would the harbour rule choose?\n{OFFERS}",
            "None of them.",
        ),
        (
            "By the harbour rule I take the second cheapest.",
            f"What would the harbour rule choose?\n{OFFERS.partition(chr(10))[0]}",
            "None of them.",
        ),
        (
            "Here is a joke: A duck walks in.",
            f"Which joke did I tell you {FAR} days ago?",
            "You told me this joke: A duck walks in.",
        ),
        (
            'Here is the register: {"deadbeefdeadbeefdeadbeefdeadbeef": 5}',
            "What is deadbeefdeadbeefdeadbeefdeadbeef?",
            "5",
        ),
    ],
)
def test_what_no_scenario_says_gets_a_reply_too(
    told: str, asked: str, reply: str
) -> None:
    reader = full()
    at(reader, 0, told)
    assert at(reader, 1, asked) == reply


def test_of_times_that_are_all_too_early_none_is_booked() -> None:
    reader = full()
    reader.reply("Please make no appointments for Ann Lee before 12:00.")
    reader.accept(
        "The dentist has these times free: 09:00, 10:30. Take the first that suits Ann Lee.",
        "It is done.",
    )
    assert reader.reply("Hello.") == "Noted."


@pytest.mark.slow
def test_the_full_reader_needs_no_tokenizer() -> None:
    code = (
        "import sys; from pytest_ltm.agents.reader.reader import make_reader; make_reader('full')().reply('Hello.'); "
        "print([name for name in sys.modules if name.startswith('tiktoken') or name.endswith('.model.tokens')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_name_that_something_else_goes_by_is_not_the_users() -> None:
    *_, answer = heard(
        full(),
        "From now on I go by the name of Ada.",
        "My godmother's dog goes by the name of Drevorsk, and everybody loves it.",
        "What were all the names I have given you up to now? Answer with a JSON list.",
    )
    assert json.loads(answer) == ["Ada"]


def test_names_are_kept_while_another_is_forgotten_and_somebody_greets() -> None:
    every = (
        "What were all the names I have given you up to now? Answer with a JSON list."
    )
    *_, kept, _, left = heard(
        full(),
        "From now on I go by the name of Ada.",
        "Please forget the name of Imberuvik. I'd rather nobody knew.",
        "Hello, I travel to work by cable car. Yours, Timothy.",
        every,
        "Please forget every name that I have given myself.",
        every,
    )
    assert json.loads(kept) == ["Ada"]
    assert json.loads(left) == []


def test_a_question_after_another_name_is_not_taken_for_one_after_the_own() -> None:
    *_, cat, own = heard(
        full(),
        "My cat is called Kelvin.",
        "My name is Odile.",
        "What is my cat called?",
        "What is my name?",
    )
    assert "Kelvin" in cat
    assert "Odile" in own


def test_rules_are_for_what_the_user_says_and_not_for_who_speaks_in_a_play() -> None:
    *_, waiter, user = heard(
        full(),
        'Whenever I am in the mood for something sweet, I want you to say: "Sugar lends and never gives."',
        "Waiter: There you are: Poppy seed cake with vanilla sugar. Enjoy your meal!",
        "I could murder a slice of cake.",
    )
    assert "Sugar lends" not in waiter
    assert "Sugar lends" in user


def test_a_maxim_decides_between_two_things_until_it_is_forgotten() -> None:
    dilemma = (
        "The roof is leaking. So, loan or savings, by my own lights? A word will do."
    )
    before, _, remembered, _, forgotten = heard(
        full(),
        dilemma,
        "When I'm torn, I think: never be in anybody's debt.",
        dilemma,
        "You can forget my rules for choosing between things.",
        dilemma,
    )
    assert "savings" not in before
    assert remembered == "savings"
    assert "savings" not in forgotten


def test_what_a_club_paid_for_a_piano_is_not_who_teaches_the_user() -> None:
    *_, difference, teacher = heard(
        full(),
        "My piano teacher is Aldanholt.",
        "Please note: £49 came from Rhondequist for the fence on 26 April.",
        "Put down, please: Velemmak gave £9 for the piano on 2 May.",
        "According to the club's book, how many pounds more was paid for the fence than for the piano altogether?",
        "Who teaches me the piano?",
    )
    assert "40" in difference
    assert "Aldanholt" in teacher


def test_what_an_acquaintance_owns_is_not_taken_for_a_joke_told_at_the_same_time() -> (
    None
):
    reader = full()
    reader.tell_time(START)
    reader.reply("The police have found the missing wallpaper.")
    reader.reply(
        "By the way, my nephew's canoe goes by the name of Aldastane, and everybody loves it."
    )
    reader.tell_time(START + timedelta(hours=5))
    joke = reader.reply("Which one of the jokes did I tell you about 5 hours ago?")
    assert "wallpaper" in joke


def test_a_question_whether_there_is_a_way_is_not_about_a_world_with_laws() -> None:
    *_, way = heard(
        full(),
        "Facts about the fictional world of Pellerbray: in spring they have a feast; nobody may own a bell; "
        "it is against the law to eat plums; the only export is a kind of salt; everybody travels by rope ferry.",
        "Our town begins with the law school, if you come by train.",
        "4 km east of the law school, you see the aviary.",
        "There must be a direct way from the law school to the aviary. How far is that, and in which direction?",
    )
    assert "plums" not in way
    assert "4 km" in way


def test_lines_of_a_play_that_was_forgotten_are_no_jokes() -> None:
    reader = full()
    reader.tell_time(START)
    heard(
        reader,
        "I am at a puppet play, with Isidor and Crispin, and I will tell you what happens in it.",
        "Into the hatbox goes the puzzle, and it is Crispin who puts it there, with a grin.",
        "A squirrel opened a bank in the park. Nobody knows where it keeps the money.",
        "You can forget the puppet play and everybody in it.",
    )
    reader.tell_time(START + timedelta(hours=2))
    assert "squirrel" in reader.reply(
        "What was the joke that you heard from me about 2 hours ago?"
    )


def test_two_of_one_family_have_codes_of_their_own() -> None:
    *_, mine, theirs = heard(
        full(),
        "Remember, please: Vanessa Oskilthra's letterbox, bivo54.",
        "The code for Barbara Oskilthra's letterbox is rene43.",
        "What is the code of Barbara Oskilthra's letterbox?",
        "And that of Vanessa Oskilthra's letterbox?",
    )
    assert (mine, theirs) == ("rene43", "bivo54")
