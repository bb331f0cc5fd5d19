from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pytest_ltm.scenarios import trigger_response
from scenario_runs import generated, published, scores

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import Score, content_stems, plain_words, word_stem
from pytest_ltm.evaluators import SaysAtEachTrigger
from pytest_ltm.locales import ENGLISH, variants
from pytest_ltm.testing import ScriptedAgent

BODY = trigger_response.test_trigger_response
FULL = make_reader("full")
GENERATE = trigger_response.trigger_response


def scored(verdict: object) -> Score:
    assert isinstance(verdict, Score)
    return verdict


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(5))
def test_full_says_the_sentence_each_time(span: int | None, seed: int) -> None:
    assert scores(BODY, generated(GENERATE, seed=seed), FULL, span=span) == [1.0] * 3


@pytest.mark.slow
@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert scores(BODY, generated(GENERATE, 20), agent, span=span) == [0.0] * 20


def test_a_window_loses_the_rule() -> None:
    assert (
        scores(BODY, generated(GENERATE), make_reader("window", "8k"), span=32_000)
        == [0.0] * 3
    )


def test_each_activation_counts_for_itself() -> None:
    definition = generated(GENERATE, 1)[0]
    sentence = definition.expected[0]
    agent = lambda: ScriptedAgent(  # noqa: E731
        "", "", f"Oh dear. {sentence}", "", "Oh dear.", sentence.upper()
    )
    assert scores(BODY, [definition], agent, span=None) == [pytest.approx(2 / 3)]


def test_an_agent_that_always_says_it_earns_nothing() -> None:
    definitions = generated(GENERATE, 5)
    for definition in definitions:
        always = lambda said=definition.expected[0]: ScriptedAgent(*[said] * 6)  # noqa: E731
        assert scores(BODY, [definition], always, span=None) == [0.0]


def test_a_false_alarm_costs_its_share() -> None:
    definition = generated(GENERATE, 1)[0]
    sentence = definition.expected[0]
    agent = lambda: ScriptedAgent("", sentence, sentence, "", sentence, sentence)  # noqa: E731 - one use
    assert scores(BODY, [definition], agent, span=None) == [0.5]


@pytest.mark.parametrize("number", [0, 1, 2, 7])
def test_as_many_controls_as_asked_for_come_before_the_mentions(number: int) -> None:
    definition = generated(GENERATE, 1, trigger_controls=number)[0]
    places = definition.parameters["controls"]
    assert len(definition.questions) == 3 + number
    assert len(places) == number
    assert 2 + number not in places


@pytest.mark.parametrize("thing", trigger_response.TRIGGERS)
def test_no_control_mentions_a_thing(thing: str) -> None:
    core = plain_words(thing)[-1]
    for text in (*trigger_response.NEAR[thing], *trigger_response.ORDINARY):
        assert word_stem(core) not in {word_stem(word) for word in plain_words(text)}


@pytest.mark.parametrize("thing", trigger_response.TRIGGERS)
def test_each_message_mentions_its_thing_and_no_other(thing: str) -> None:
    for mention in trigger_response.TRIGGERS[thing][1]:
        said = mention.lower()
        assert [other for other in trigger_response.TRIGGERS if other in said] == [
            thing
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", trigger_response._rules(ENGLISH), ids=lambda rule: rule[0]
)
def test_no_message_says_a_sentence_nor_is_one_sentence_like_another(
    rule: tuple[str, str, Any, Any],
) -> None:
    _, sentence, _, _ = rule
    others = [
        said for _, said, _, _ in trigger_response._rules(ENGLISH) if said != sentence
    ]
    everything = [
        text
        for _, _, messages, near in trigger_response._rules(ENGLISH)
        for text in (*messages, *near)
    ]
    assert [
        text
        for text in (*others, *everything)
        if scored(SaysAtEachTrigger(sentence, 1)([text])).value
    ] == []


def test_more_than_half_of_the_rules_go_by_meaning_and_no_message_has_a_telling_word_of_its_rule() -> (
    None
):
    assert len(trigger_response.MEANT) > len(trigger_response.TRIGGERS)
    for what, (_, messages, near) in trigger_response.MEANT.items():
        assert [
            text for text in messages if content_stems(text) & content_stems(what)
        ] == []
        assert (len(messages), len(near)) == (4, 3)


@pytest.mark.slow
@pytest.mark.parametrize("what", trigger_response.MEANT)
def test_full_tells_what_is_meant_from_what_is_near(what: str) -> None:
    sentence, messages, near = trigger_response.MEANT[what]
    reader = FULL()
    assert reader.reply(f'Whenever I {what}, please say: "{sentence}"') == "I will."
    assert [text for text in messages if reader.reply(text) != sentence] == []
    assert [
        text
        for text in (*near, *trigger_response.ORDINARY)
        if reader.reply(text) == sentence
    ] == []


def test_sixty_wordings_and_more_of_the_rule_and_of_what_comes_later() -> None:
    wordings = list(variants(trigger_response.INSTRUCTIONS))
    assert len(set(wordings)) == len(wordings) >= 60
    assert all(
        "I {what}, " in wording and wording.endswith(': "{said}"')
        for wording in wordings
    )
    assert (
        len(
            {
                text
                for _, _, messages, _ in trigger_response._rules(ENGLISH)
                for text in messages
            }
        )
        >= 60
    )
    assert (
        len(
            {
                text
                for _, _, _, near in trigger_response._rules(ENGLISH)
                for text in near
            }
        )
        >= 60
    )


def test_no_thing_comes_up_in_another_scenario() -> None:
    folder = Path(trigger_response.__file__).parent
    others = "\n".join(
        path.read_text()
        for path in folder.glob("*.py")
        if path.stem != "trigger_response"
    )
    said = {word_stem(word) for word in plain_words(others)}
    things = {word_stem(plain_words(thing)[-1]) for thing in trigger_response.TRIGGERS}
    assert things & said == set()


@pytest.mark.parametrize("number", [1, 4, 11])
def test_as_many_activations_as_asked_for(number: int) -> None:
    definition = generated(GENERATE, 1, trigger_activations=number)[0]
    controls = definition.parameters["controls"]
    mentions = [
        one.text
        for place, one in enumerate(definition.questions)
        if place not in controls
    ]
    assert len(mentions) == len(definition.expected) == number
    assert len(set(mentions)) == min(number, 4)


@pytest.mark.parametrize("number", [0, "3", 2.0, True])
def test_a_wrong_number_of_activations_is_named(number: object) -> None:
    with pytest.raises(
        ValueError, match="trigger_activations is a whole number of at least 1, not"
    ):
        GENERATE(random.Random(0), {"trigger_activations": number})


def test_full_drops_the_rule_when_asked_to() -> None:
    definition = generated(GENERATE, 1)[0]
    rule, *asked = (step.text for step in definition.steps if hasattr(step, "text"))
    mentions = [
        text
        for place, text in enumerate(asked)
        if place not in definition.parameters["controls"]
    ]
    reader = FULL()
    reader.reply(rule)
    assert reader.reply(mentions[0]) == definition.expected[0]
    reader.reply(BODY.pytestmark[0].kwargs["reset"])
    assert reader.reply(mentions[1]) != definition.expected[0]


@pytest.mark.parametrize(
    ("rule", "about", "other"),
    [
        (
            "Whenever I write 'teh' then say: \"You meant 'the'\"",
            "This is teh end.",
            "This is the end.",
        ),
        (
            "Whenever I hum with &#x27;Hmmm!&#x27; then say: 'Take your time'",
            "Hmm!",
            "Ho ho!",
        ),
        (
            "Whenever I say that I am cold or freezing then say: 'Put on a coat'",
            "I am so cold.",
            "I am hungry.",
        ),
    ],
)
def test_full_follows_rules_of_other_kinds(rule: str, about: str, other: str) -> None:
    reader = FULL()
    assert reader.reply(rule) == "I will."
    assert reader.reply(about) in ("You meant 'the'", "Take your time", "Put on a coat")
    assert reader.reply(other) == "Noted."


@pytest.mark.slow
@pytest.mark.published
def test_full_earns_full_marks_on_the_published_definitions() -> None:
    definitions = published("Trigger Response", "trigger_response")
    assert len(definitions) > 10
    assert scores(BODY, definitions, FULL, span=32_000) == [1.0] * len(definitions)
