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


def conflicting_personal_information(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `statements` (default 4) about each of `topics` (default 2), mixed, then a question for each topic.

    All messages over 90 % of the span. What the user said last to be so, and did not withdraw, is expected.
    """
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
