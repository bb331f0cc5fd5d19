"""Conflicting Personal Information: the user's circumstances change, are put right, and are misreported by others."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import KnowsCurrentFacts

from ._inventions import Inventions
from ._parameters import whole
from ._wording import capital, worded

INVENTED = "invented"
"""Stands for a list of values: invented names of towns."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing about the user: what it is called, a clause that says it, and the question for it."""

    label: str
    clause: str
    question: str
    values: Sequence[str]
    changes: bool = True
    """False for what may only be put right, such as a year of birth."""


TOPICS = (
    Topic("the town I live in", "I live in {v}", "In which town do I live?", INVENTED),
    Topic("my sister's town", "my sister lives in {v}", "In which town does my sister live?", INVENTED),
    Topic("my job", "I work as a {v}", "What do I work as?",
          ("glazier", "beekeeper", "notary", "cooper", "florist", "surveyor", "locksmith", "bookbinder", "saddler",
           "dentist", "plumber", "translator")),
    Topic("my instrument", "the instrument that I play is the {v}", "Which instrument do I play?",
          ("oboe", "tuba", "harp", "banjo", "bassoon", "mandolin", "trombone", "zither", "viola", "dulcimer")),
    Topic("my pet", "the pet that I keep is a {v}", "What kind of pet do I keep?",
          ("tortoise", "parrot", "ferret", "rabbit", "goldfish", "hamster", "canary", "gecko", "poodle", "chinchilla")),
    Topic("my allergy", "I am allergic to {v}", "What am I allergic to?",
          ("walnuts", "shrimps", "celery", "pollen", "latex", "strawberries", "mustard", "wasps", "lupins", "sesame"),
          changes=False),
    Topic("my shoe size", "my shoe size is {v}", "What is my shoe size?",
          tuple(map(str, range(35, 49))), changes=False),
    Topic("my year of birth", "I was born in the year {v}", "In which year was I born?",
          tuple(map(str, range(1945, 2000))), changes=False),
    Topic("my way to work", "I go to work by {v}", "How do I go to work?",
          ("tram", "ferry", "bicycle", "scooter", "train", "canoe", "skateboard", "motorbike", "bus", "taxi")),
    Topic("the language I study", "the language that I study is {v}", "Which language do I study?",
          ("Welsh", "Finnish", "Basque", "Swahili", "Icelandic", "Tamil", "Maltese", "Hungarian", "Lao", "Korean")),
    Topic("my hobby", "my hobby is {v}", "What is my hobby?",
          ("fencing", "juggling", "origami", "archery", "knitting", "birdwatching", "chess", "pottery", "rowing",
           "calligraphy")),
    Topic("the floor I live on", "I live on floor {v}", "On which floor do I live?", tuple(map(str, range(2, 31)))),
)  # fmt: skip

FIRST = ("{Clause}.", "You should know that {clause}.", "Something about me: {clause}.")
CHANGED = (
    "Things have changed: now {clause}.",
    "From today on it is different: {clause}.",
    "I have news for you. {Clause} now.",
)
CORRECTED = (
    "I told you something wrong about {label}. The truth is that {clause}.",
    "A correction about {label}: {clause}. What I said before was a slip.",
)
RUMOURED = (
    "Somebody may tell you that {clause}. That is not true.",
    "There is an old letter which says that {clause}. It is wrong, so do not believe it.",
    "My neighbour thinks that {clause}. He is mistaken.",
)
CONFIRMED = ("What I told you about {label} still holds, whatever others say.",)
WITHDRAWN = ("I take back what I told you last about {label}. What I had told you before that is true after all.",)


@dataclass
class Story:
    """What is told about one topic, and what is so after it."""

    topic: Topic
    values: list[str]
    told: list[str] = field(default_factory=list)
    """What has been said to be so and not been withdrawn; the last is so."""
    mentioned: list[str] = field(default_factory=list)
    firm: bool = False
    """The last statement said what is so, so that it can be withdrawn."""

    def statement(self, rng: random.Random) -> str:
        """Return the next statement."""
        kind = rng.choice(self._possible()) if self.told else "first"
        if kind == "withdrawn":
            self.told.pop()
        elif kind != "confirmed":
            self.mentioned.append(self.values.pop())
            if kind != "rumoured":
                self.told.append(self.mentioned[-1])
        self.firm = kind in ("first", "changed", "corrected")
        wordings = {
            "first": FIRST, "changed": CHANGED, "corrected": CORRECTED, "rumoured": RUMOURED, "confirmed": CONFIRMED,
            "withdrawn": WITHDRAWN,
        }  # fmt: skip
        clause = self.topic.clause.format(v=self.mentioned[-1])
        return rng.choice(wordings[kind]).format(
            clause=clause, Clause=clause[0].upper() + clause[1:], label=self.topic.label
        )

    def _possible(self) -> list[str]:
        kinds = ["corrected", "rumoured", "rumoured"] if self.values else []
        kinds += ["changed"] * 2 if self.topic.changes and self.values else []
        kinds += ["withdrawn"] if self.firm and len(self.told) > 1 else []
        return kinds or ["confirmed"]


@dataclass(frozen=True, slots=True)
class Habit:
    """What the user does, but for an exception: `{v}` is what, and the question for it has `{when}`."""

    clause: str
    question: str
    values: Sequence[str]


HABITS = (
    Habit("drink {v} with breakfast", "what do I drink with breakfast {when}?",
          ("coffee", "cocoa", "buttermilk", "cider", "lemonade", "oolong", "water", "tomato juice")),
    Habit("get to the office by {v}", "how do I get to the office {when}?",
          ("tram", "ferry", "bicycle", "scooter", "train", "skateboard", "bus", "taxi")),
    Habit("fall asleep to {v}", "what do I fall asleep to {when}?",
          ("jazz", "opera", "audiobooks", "rain sounds", "folk songs", "the radio", "lectures", "tango")),
    Habit("have {v} for lunch", "what do I have for lunch {when}?",
          ("soup", "dumplings", "sandwiches", "omelette", "pancakes", "leftovers", "noodles", "salad")),
    Habit("wear {v} at home", "what do I wear on my feet at home {when}?",
          ("clogs", "slippers", "sandals", "moccasins", "woolly socks", "boots", "flip-flops", "gaiters")),
    Habit("read {v} in the evening", "what do I read in the evening {when}?",
          ("novels", "poems", "comics", "biographies", "cookbooks", "timetables", "fairy tales", "plays")),
)  # fmt: skip
OCCASIONS = (
    "on Sundays", "at my mother's", "when it snows", "in the holidays", "on my birthday", "when my cousin visits",
    "during Lent", "when I am ill", "in August", "when there is a full moon",
)  # fmt: skip
USUAL = ("normally", "as a rule", "on an ordinary day", "most of the time")
RULES = (
    "I always {clause}[.|, you can rely on that.|, and that's that.|, if you must know.]",
    "[as a rule|normally|day in, day out|year after year], I {clause}[.|, by the way.|, like my father.|, I'm afraid.]",
    "you [should|may want to|ought to] know that I {clause}, [whatever happens|as a rule|every day|without fail].",
    "[I'm a creature of habit: |It's always the same with me: |Call me dull, but ]I {clause}[.|, come what may.]",
    "nothing [calms me|suits me] like this: I {clause}[.|, every day.|, and have for years.|, no questions asked.]",
)
EXCEPTIONS = (
    "{when}, though, I {clause}[.|, just so you know.|, if I may be honest.|, and like it.]",
    "[well|all right|I admit it|to be fair|mind you], {when} I {clause}[.|, but only then.|, I can't help it.]",
    "{when} I {clause}[ instead|, but not otherwise|, which is a different matter|, for a change|, I admit].",
    "[the one time|the only time|the one day] I {clause} is {when}[.|, for old times' sake.|, as it happens.]",
    "[believe it or not|oddly enough|strange as it is], {when} I {clause}[.|, and only then.|, and nobody may know.]",
    "there is one exception: {when} I {clause}[.|, just for once.|, and that has its reasons.|, as you will see.]",
    "I {clause} {when}, [but not else|so there|don't ask me why|I must say].",
)
CHANGES, EXCEPTION = "changes", "exception"


def _with_exceptions(rng: random.Random, parameters: Mapping[str, Any], topics: int) -> Definition:
    """Return a habit and its exception for each topic, in any order, and questions for the habit and the exception."""
    says: list[Say] = []
    asked: list[tuple[str, str, tuple[str, str], tuple[str, ...]]] = []
    for habit, when in zip(rng.sample(HABITS, topics), rng.sample(OCCASIONS, topics), strict=True):
        usual, exceptional = rng.sample(habit.values, 2)
        rule = worded(rng, RULES, clause=habit.clause.format(v=usual))
        other = worded(rng, EXCEPTIONS, clause=habit.clause.format(v=exceptional), when=when)
        says += [Say(text) for text in rng.sample([rule, other], 2)]
        for time, values in ((rng.choice(USUAL), (usual, exceptional)), (when, (exceptional, usual))):
            asked.append((capital(habit.question.format(when=time)), values[0], values, (rule, other)))
    rng.shuffle(says)
    rng.shuffle(asked)
    return Definition(
        steps=spread([*says, *(Ask(question, about=about) for question, _, _, about in asked)]),
        expected=[right for _, right, _, _ in asked],
        parameters={**parameters, "mentioned": [[values[1]] for _, _, values, _ in asked]},
    )


def conflicting_personal_information(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `statements` (default 4) about each of `topics` (default 2), mixed, then a question for each topic.

    All messages over 90 % of the span. What the user said last to be so, and did not withdraw, is expected. `conflict`
    is `changes` (default) for that, or `exception` for a habit and an exception to it for each topic, both of which
    hold, with a question for either.
    """
    conflict = parameters.get("conflict", CHANGES)
    if conflict == EXCEPTION:
        return _with_exceptions(rng, parameters, whole(parameters, "topics", 2, 1, len(HABITS)))
    if conflict != CHANGES:
        raise ValueError(f"conflict is {CHANGES!r} or {EXCEPTION!r}, not {conflict!r}")
    topics = whole(parameters, "topics", 2, 1, len(TOPICS))
    statements = whole(parameters, "statements", 4, 1, 9)
    inventions = Inventions(rng)
    stories = [Story(topic, _values(rng, inventions, topic, statements)) for topic in rng.sample(TOPICS, topics)]
    turns = [story for story in stories for _ in range(statements)]
    rng.shuffle(turns)
    says: dict[str, list[Say]] = {story.topic.label: [] for story in stories}
    messages: list[Say | Ask] = []
    for story in turns:
        messages.append(said := Say(story.statement(rng)))
        says[story.topic.label].append(said)
    asked = rng.sample(stories, topics)
    messages += [Ask(s.topic.question, about=tuple(say.text for say in says[s.topic.label])) for s in asked]
    return Definition(
        steps=spread(messages),
        expected=[story.told[-1] for story in asked],
        parameters={**parameters, "mentioned": [list(_others(story)) for story in asked]},
    )


def _values(rng: random.Random, inventions: Inventions, topic: Topic, number: int) -> list[str]:
    if topic.values == INVENTED:
        return [inventions.name() for _ in range(number)]
    return rng.sample(topic.values, number)


def _others(story: Story) -> Iterator[str]:
    return (value for value in story.mentioned if value != story.told[-1])


@pytest.mark.ltm(
    generate=conflicting_personal_information,
    skills="R,C",
    version="1",
    reset="You can forget all personal details that I have told you about my life.",
)
def test_conflicting_personal_information(ltm: Ltm) -> None:
    """Knows what is so now, after changes, corrections, withdrawals and rumours."""
    answers = ltm.play(ltm.definition, answers=map(str, ltm.definition.expected))
    mentioned = tuple(tuple(values) for values in ltm.definition.parameters.get("mentioned", ()))
    ltm.score(KnowsCurrentFacts(tuple(ltm.definition.expected), mentioned, scoring=ltm.scoring)(answers))
