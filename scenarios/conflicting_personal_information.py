"""Conflicting Personal Information: the user's circumstances change, are put right, and are misreported by others."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import chain, starmap
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, Step, Wait, spread
from pytest_ltm.evaluators import KnowsCurrentFacts
from pytest_ltm.locales import (
    CODES,
    Language,
    filled,
    parse_languages,
    variants,
    worded,
)

from ._inventions import Inventions
from ._parameters import last_wait, whole

NAME = "conflicting_personal_information"
"""As files of languages call it."""
INVENTED = "invented"
"""Stands for a list of values: invented names of towns."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing about the user: what it is called, clauses that say it, and the question for it."""

    label: str
    named: str
    """Says it in a word of its name or the question."""
    unnamed: str
    question: str
    values: Sequence[str]
    changes: bool = True
    """False for what may only be put right, such as a year of birth."""
    noun: str = "{v}"
    """What a value is called where it is all that is said."""


TOPICS = (
    Topic(
        "where I live",
        "[I live|I'm living] in {v}",
        "my [flat|home|address] is in {v}",
        "[where do I live|which town do I live in|which town is home to me|where is home for me]?",
        INVENTED,
    ),
    Topic(
        "my sister's town",
        "my sister lives in {v}",
        "my little sis has a place in {v}",
        "[where does my sister live|which town does my sister live in|where would I go to visit my sister]?",
        INVENTED,
    ),
    Topic(
        "my job",
        "I work as a {v}",
        "[I'm a {v} by trade|I make my money as a {v}]",
        "[what do I work as|what's my job|what do I do for a living|how do I earn my living]?",
        (
            "glazier",
            "beekeeper",
            "notary",
            "cooper",
            "florist",
            "surveyor",
            "locksmith",
            "bookbinder",
            "saddler",
            "dentist",
            "plumber",
            "translator",
        ),
        noun="being a {v}",
    ),
    Topic(
        "my instrument",
        "[the instrument I play|my instrument] is the {v}",
        "[I'm in a band, on the {v}|I practise the {v} every evening]",
        "[which instrument do I play|what's my instrument|what do I make music on]?",
        (
            "oboe",
            "tuba",
            "harp",
            "banjo",
            "bassoon",
            "mandolin",
            "trombone",
            "zither",
            "viola",
            "dulcimer",
        ),
        noun="the {v}",
    ),
    Topic(
        "my pet",
        "my pet is a {v}",
        "[I share my flat with a {v}|there's a {v} at home that I feed]",
        "[what kind of pet do I have|what's my pet|which animal lives with me]?",
        (
            "tortoise",
            "parrot",
            "ferret",
            "rabbit",
            "goldfish",
            "hamster",
            "canary",
            "gecko",
            "poodle",
            "chinchilla",
        ),
        noun="the {v}",
    ),
    Topic(
        "my allergy",
        "I'm allergic to {v}",
        "[I have to keep away from {v}|I get a rash from {v}]",
        "[what am I allergic to|what's my allergy|what must I not come near]?",
        (
            "walnuts",
            "shrimps",
            "celery",
            "pollen",
            "latex",
            "strawberries",
            "mustard",
            "wasps",
            "lupins",
            "sesame",
        ),
        changes=False,
    ),
    Topic(
        "my shoe size",
        "my shoe size is {v}",
        "[I take a {v} in boots|I need boots in a {v}]",
        "[what's my shoe size|which shoe size do I have|which size of shoes fits me]?",
        tuple(map(str, range(35, 49))),
        changes=False,
        noun="size {v}",
    ),
    Topic(
        "my year of birth",
        "[I was born in|my year of birth is] {v}",
        "[I'm a child of|I came into the world in] {v}",
        "[which year was I born in|what's my year of birth|when was I born]?",
        tuple(map(str, range(1945, 2000))),
        changes=False,
    ),
    Topic(
        "my way to work",
        "I go to work by {v}",
        "[I take the {v}|it's the {v} for me] every morning",
        "[how do I go to work|how do I get to work|what's my way to work]?",
        (
            "tram",
            "ferry",
            "bicycle",
            "scooter",
            "train",
            "canoe",
            "skateboard",
            "motorbike",
            "bus",
            "taxi",
        ),
        noun="the {v}",
    ),
    Topic(
        "the language I study",
        "the language [I study|I'm studying] is {v}",
        "[I'm learning|I take classes in] {v}",
        "[which language do I study|which language am I studying|what's the language I study]?",
        (
            "Welsh",
            "Finnish",
            "Basque",
            "Swahili",
            "Icelandic",
            "Tamil",
            "Maltese",
            "Hungarian",
            "Lao",
            "Korean",
        ),
    ),
    Topic(
        "my hobby",
        "my hobby is {v}",
        "[I spend every free hour on|my weekends go on] {v}",
        "[what's my hobby|what do I do for fun|which hobby do I have]?",
        (
            "fencing",
            "juggling",
            "origami",
            "archery",
            "knitting",
            "birdwatching",
            "chess",
            "pottery",
            "rowing",
            "calligraphy",
        ),
    ),
    Topic(
        "the floor I live on",
        "I live on floor {v}",
        "[I press {v}|it's {v}] in the lift to get home",
        "[which floor do I live on|on which floor do I live|how far up do I live]?",
        tuple(map(str, range(2, 31))),
        noun="floor {v}",
    ),
)

FIRST = (
    (
        "[|by the way, |just so you know, |for the record, |you should know that |I don't think I told you: |about me: "
        "|not that it matters, but |in case it comes up: |small thing: |while I think of it: |one thing you should "
        "know: |to put you in the picture: |a bit about me: |another thing: ]{clause}[.|, as it happens.|, if you're "
        "interested.|, that's all.]"
    ),
)
CHANGED = (
    (
        "[things have changed: now|from today on,|as of this week,|news:|big news:|there's been a change:|not any "
        "more: now|since Monday,|since last week,|these days,|guess what, now|you won't believe it, but now] "
        "{clause}[.|, would you believe it.|, for better or worse.|, and no going back.|, and about time too.]"
    ),
)
CORRECTED = (
    (
        "[I told you something wrong|I made a mistake|I got it wrong|I owe you a correction|sorry, I misspoke] about "
        "{label}[: the truth is that|. In fact,|. To be exact,] {clause}[.|, really.|, I promise.|, I checked.]"
    ),
)
CORRECTED_UNNAMED = (
    (
        "[sorry, that was wrong|I misspoke|no, wait|correction|I mixed something up|a slip of mine|scratch that|let me "
        "put that right][: |. In fact, |. The truth is, ]{clause}[.|, really.|, I checked.]"
    ),
)
RUMOURED = (
    (
        "[somebody may tell you|my neighbour thinks|you may hear|an old letter says|my ex tells everybody|there's a "
        "rumour|it says on some old form|people will tell you] that {clause}[. That's not true.|. Don't believe it.|. "
        "It's wrong.|, which is nonsense.|. Ignore it.|. It was never so.|, and there's not a word of truth in it.|. "
        "Pure nonsense.]"
    ),
)
WITHDRAWN = (
    (
        "[I take back|forget|ignore|never mind] what I [told you last|said last|last told you] about {label}[: it's "
        "what I'd told you before that.|. What I said before that still stands.|. It's as I'd said before, after "
        "all.|: the thing before that was true.|. I was right the time before.]"
    ),
)
WITHDRAWN_UNNAMED = (
    (
        "[I take back|forget|ignore|never mind] what I [said|told you|claimed] about {noun}[: it's what I'd told you "
        "before that.|. What I said before that still stands.|. It's as I'd said before, after all.|: the thing before "
        "that was true.|. I was right the time before.]"
    ),
)
"""The unnamed wordings leave it to the clause, or the value, what they are about."""
WORDINGS: Mapping[str, Sequence[str]] = {
    "first": FIRST,
    "changed": CHANGED,
    "corrected": CORRECTED,
    "corrected_unnamed": CORRECTED_UNNAMED,
    "rumoured": RUMOURED,
    "withdrawn": WITHDRAWN,
    "withdrawn_unnamed": WITHDRAWN_UNNAMED,
}
NAMELESS = ("corrected", "withdrawn")
"""Kinds of statements that may leave out what they are about."""
LEADS = (
    "[|so, |as things stand, |as of now, |after all that, |tell me, |remind me: |quick question: |for this form: "
    "|just checking: |in the end, |by the way, |test question: |one more time: |hand on heart: |one for you: |say, "
    "|let's see: |now then, |be honest: |help me out: ]"
)


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
    tells: dict[str, str] = field(default_factory=dict)
    """What is so by the last statement; nothing where that was a rumour."""

    def statement(
        self, rng: random.Random, language: Language, *, plain: bool = False
    ) -> str:
        """Return the next statement; a `plain` one says of no other that it holds no longer."""
        kind = rng.choice(self._possible()) if self.told and not plain else "first"
        withdrawn = self.told.pop() if kind == "withdrawn" else None
        if not withdrawn:
            self.mentioned.append(self.values.pop())
            if kind != "rumoured":
                self.told.append(self.mentioned[-1])
        self.firm = kind in ("first", "changed", "corrected")
        self.tells = {} if kind == "rumoured" else {self.topic.label: self.told[-1]}
        named = rng.random() < 1 / 2
        value = language.word(withdrawn or self.mentioned[-1])
        label = self.topic.label
        english = {label: (self.topic.named, self.topic.unnamed)}
        clauses = language.find_text(f"{NAME}.clause", english)[label]
        part = kind if named or kind not in NAMELESS else f"{kind}_unnamed"
        return worded(
            rng,
            language.find_text(f"{NAME}.{part}", WORDINGS[part]),
            clause=filled(rng, clauses[0 if named else 1]).format(v=value),
            label=language.find_text(f"{NAME}.label", {label: (label,)})[label][0],
            noun=self.topic.noun.format(v=value),
            v=value,
        )

    def _possible(self) -> list[str]:
        kinds = ["corrected", "rumoured", "rumoured"] if self.values else []
        kinds += ["changed"] * 2 if self.topic.changes and self.values else []
        kinds += ["withdrawn"] if self.firm and len(self.told) > 1 else []
        return kinds


@dataclass(frozen=True, slots=True)
class Habit:
    """What the user does, but for an exception: `{v}` is what, and the question for it has `{when}`."""

    label: str
    clause: str
    question: str
    values: Sequence[str]


HABITS = (
    Habit(
        "drink",
        "[drink {v} with breakfast|start the morning with {v} in my cup]",
        "[what do I drink with breakfast|what's in my morning cup] {when}?",
        (
            "coffee",
            "cocoa",
            "buttermilk",
            "cider",
            "lemonade",
            "oolong",
            "water",
            "tomato juice",
        ),
    ),
    Habit(
        "ride",
        "[get to the office by {v}|take the {v} to the office]",
        "[how do I get to the office|what takes me to my desk] {when}?",
        ("tram", "ferry", "bicycle", "scooter", "train", "skateboard", "bus", "taxi"),
    ),
    Habit(
        "listen",
        "[listen to {v} in bed|put {v} on to fall asleep]",
        "[what do I fall asleep to|what's playing in my bedroom at night] {when}?",
        (
            "jazz",
            "opera",
            "audiobooks",
            "rain sounds",
            "folk songs",
            "the radio",
            "lectures",
            "tango",
        ),
    ),
    Habit(
        "lunch",
        "[have {v} for lunch|eat {v} at midday]",
        "[what do I have for lunch|what's on my plate at noon] {when}?",
        (
            "soup",
            "dumplings",
            "sandwiches",
            "omelettes",
            "pancakes",
            "leftovers",
            "noodles",
            "salad",
        ),
    ),
    Habit(
        "shoes",
        "[wear {v} at home|have {v} on around the house]",
        "[what do I wear on my feet at home|what are my feet in, indoors,] {when}?",
        (
            "clogs",
            "slippers",
            "sandals",
            "moccasins",
            "woolly socks",
            "boots",
            "flip-flops",
            "gaiters",
        ),
    ),
    Habit(
        "reading",
        "[read {v} in the evening|have {v} on my lap in the evening]",
        "[what do I read in the evening|what's my reading after dinner] {when}?",
        (
            "novels",
            "poems",
            "comics",
            "biographies",
            "cookbooks",
            "timetables",
            "fairy tales",
            "plays",
        ),
    ),
)
OCCASIONS = {
    "on Sundays": "on the day after Saturday",
    "at my mother's": "when I stay with Mum",
    "when it snows": "when everything is white outside",
    "in the holidays": "when I have weeks off",
    "on my birthday": "on the day I turn a year older",
    "when my cousin visits": "when family comes to stay",
    "during Lent": "in the weeks before Easter",
    "when I'm ill": "when I have the flu",
    "in August": "in the month after July",
    "when there's a full moon": "on nights when the moon is round",
}
"""How an occasion is told, and how else it may be asked for."""
USUAL = ("normally", "as a rule", "on an ordinary day", "most of the time")
RULES = (
    (
        "I always {clause}[.|, you can rely on that.|, and that's that.|, if you must know.|, like my mother.|, rain "
        "or shine.]"
    ),
    (
        "[as a rule|normally|day in, day out|year after year|come rain or shine], I {clause}[.|, by the way.|, like my "
        "father.|, I'm afraid.]"
    ),
    "you [should|may want to|ought to] know that I {clause}, [whatever happens|as a rule|every day|without fail].",
    (
        "[I'm a creature of habit: |It's always the same with me: |Call me dull, but ]I {clause}[.|, come what may.|, "
        "that's me.]"
    ),
    (
        "nothing [calms me|suits me] like this: I {clause}[.|, every day.|, and have for years.|, no questions "
        "asked.|, since I was a child.|, simple as that.|, so I keep at it.]"
    ),
)
EXCEPTIONS = (
    "{when}, though, I {clause}[.|, just so you know.|, to be honest.|, and like it.|, believe it or not.]",
    "[well|all right|I admit it|to be fair|mind you], {when} I {clause}[.|, but only then.|, I can't help it.]",
    "{when} I {clause}[ instead|, but not otherwise|, which is a different matter|, for a change|, I admit].",
    (
        "[the one time|the only time|the one day] I {clause} is {when}[.|, for old times' sake.|, as it happens.|, "
        "that's all.]"
    ),
    (
        "[believe it or not|oddly enough|strange as it is], {when} I {clause}[.|, and only then.|, and nobody may "
        "know.|, I grant you.|, hard to say why.]"
    ),
    "there is one exception: {when} I {clause}[.|, just for once.|, and for a good reason.|, as you will see.]",
    "I {clause} {when}, [but not else|so there|don't ask me why|I must say|for once].",
)
CHANGES, SESSIONS, EXCEPTION = "changes", "sessions", "exception"
GREETINGS = (
    "[good morning|good evening|good afternoon|here I am again|it's me again|back again|so, another day][.|!]",
)


def _with_exceptions(
    rng: random.Random, parameters: Mapping[str, Any], topics: int
) -> Definition:
    """Return a habit and its exception for each topic, in any order, and questions for the habit and the exception."""
    telling, asking = parse_languages(parameters)
    says: list[Say] = []
    asked: list[tuple[str, str, tuple[str, str], tuple[str, ...]]] = []
    for habit, when in zip(
        rng.sample(HABITS, topics), rng.sample(list(OCCASIONS), topics), strict=True
    ):
        usual, exceptional = rng.sample(habit.values, 2)
        # the same in both, so that the words of a question lead to both or neither
        english = {habit.label: (habit.clause,)}
        (clauses,) = telling.find_text(f"{NAME}.habit", english)[habit.label]
        clause = filled(rng, clauses)
        said = clause.format(v=telling.word(usual))
        rules = telling.find_text(f"{NAME}.rules", RULES)
        rule = worded(rng, rules, clause=said, habit=said)
        said = clause.format(v=telling.word(exceptional))
        exceptions = telling.find_text(f"{NAME}.exceptions", EXCEPTIONS)
        other = worded(
            rng, exceptions, clause=said, habit=said, when=telling.word(when)
        )
        subject = next(variants([habit.clause])).format(v="...")
        tells = {rule: {subject: usual}, other: {f"{subject} {when}": exceptional}}
        says += [Say(text, tells=tells[text]) for text in rng.sample([rule, other], 2)]
        then = rng.choice((when, OCCASIONS[when]))
        wordings = _questions(asking, "habit_question", habit.label, habit.question)
        for time, values in (
            (rng.choice(USUAL), (usual, exceptional)),
            (then, (exceptional, usual)),
        ):
            question = worded(rng, wordings, when=asking.word(time))
            asked.append((question, values[0], values, (rule, other)))
    rng.shuffle(says)
    rng.shuffle(asked)
    return Definition(
        steps=spread(
            [*says, *(Ask(question, about=about) for question, _, _, about in asked)],
            last_wait(rng, parameters),
        ),
        expected=[right for _, right, _, _ in asked],
        parameters={
            **parameters,
            "mentioned": [[values[1]] for _, _, values, _ in asked],
        },
    )


def _questions(language: Language, part: str, label: str, question: str) -> list[str]:
    """Return the wordings of a question behind what leads to it; `question` is the English one."""
    asked = "asked_habit" if part == "habit_question" else "asked"
    english = (LEADS + f"{{{part}}}",)
    (clause,) = language.find_text(f"{NAME}.{part}", {label: (question,)})[label]
    wordings = language.find_text(f"{NAME}.{asked}", english)
    return [wording.replace(f"{{{part}}}", clause) for wording in wordings]


def conflicting_personal_information(
    rng: random.Random, parameters: Mapping[str, Any]
) -> Definition:
    """Return `statements` (default 4) about each of `topics` (default 2), mixed, then a question for each topic.

    All messages over the span. What the user said last to be so, and did not withdraw,
    is expected. `conflict` is `changes` (default) for that; `sessions`, where each
    statement comes days after the one before, with a greeting, and does not say that
    anything has changed; or `exception` for a habit and an exception to it for each
    topic, both of which hold, with a question for either.
    """
    conflict = parameters.get("conflict", CHANGES)
    if conflict == EXCEPTION:
        return _with_exceptions(
            rng, parameters, whole(parameters, "topics", 2, 1, len(HABITS))
        )
    if conflict not in (CHANGES, SESSIONS):
        raise ValueError(
            f"conflict is {CHANGES!r}, {SESSIONS!r} or {EXCEPTION!r}, not {conflict!r}"
        )
    plain = conflict == SESSIONS
    fitting = [topic for topic in TOPICS if topic.changes or not plain]
    topics = whole(parameters, "topics", 2, 1, len(fitting))
    statements = whole(parameters, "statements", 4, 1, 9)
    telling, asking = parse_languages(parameters)
    inventions = Inventions(rng)
    stories = []
    for topic in rng.sample(fitting, topics):
        stories.append(Story(topic, _values(rng, inventions, topic, statements)))
    turns: list[Story] = []
    for story in stories:
        turns += [story] * statements
    rng.shuffle(turns)
    if plain:
        turns = []
        for _ in range(statements):
            turns += rng.sample(stories, topics)
    says: dict[str, list[Say]] = {story.topic.label: [] for story in stories}
    messages: list[Say | Ask] = []
    begins: list[str] = []
    for number, story in enumerate(turns):
        text = story.statement(rng, telling, plain=plain)
        if plain and number and number % topics == 0:
            greetings = telling.find_text(f"{NAME}.greetings", GREETINGS)
            text = f"{worded(rng, greetings)} {text}"
            begins.append(text)
        messages.append(said := Say(text, tells=story.tells))
        says[story.topic.label].append(said)
    asked = rng.sample(stories, topics)
    for story in asked:
        topic = story.topic
        wordings = _questions(asking, "question", topic.label, topic.question)
        about = tuple(say.text for say in says[topic.label])
        messages.append(Ask(worded(rng, wordings), about=about))
    steps = spread(messages, last_wait(rng, parameters))
    return Definition(
        steps=tuple(
            starmap(
                partial(_days_before, rng, begins),
                zip(steps, (*steps[1:], None), strict=True),
            )
        ),
        expected=[story.told[-1] for story in asked],
        parameters={
            **parameters,
            "mentioned": [list(_others(story)) for story in asked],
        },
    )


def _days_before(
    rng: random.Random, begins: Sequence[str], step: Step, following: Step | None
) -> Step:
    """Return a step, with days to wait before the messages that begin a session."""
    if (
        isinstance(step, Wait)
        and isinstance(following, Say)
        and following.text in begins
    ):
        return replace(step, time=timedelta(days=rng.randint(1, 6)))
    return step


def _values(
    rng: random.Random, inventions: Inventions, topic: Topic, number: int
) -> list[str]:
    if topic.values == INVENTED:
        return [inventions.name() for _ in range(number)]
    return rng.sample(topic.values, number)


def _others(story: Story) -> Iterator[str]:
    return (value for value in story.mentioned if value != story.told[-1])


@pytest.mark.ltm(
    generate=conflicting_personal_information,
    skills="R,C",
    version="2",
    floor=0.07,  # who knows the values of each topic, and draws one of them
    reset="You can forget all personal details that I have told you about my life.",
    languages=CODES,
)
def test_conflicting_personal_information(ltm: Ltm) -> None:
    """Knows what is so now, after changes, corrections, withdrawals and rumours."""
    definition = ltm.definition
    answers = ltm.play(definition, answers=map(str, definition.expected))
    expected = tuple(definition.expected)
    mentioned = tuple(map(tuple, definition.parameters.get("mentioned", ())))
    rule = KnowsCurrentFacts(expected, mentioned, scoring=ltm.scoring)
    spoken = parse_languages(definition.parameters)
    ltm.score(spoken.judged(rule, answers, (*expected, *chain(*mentioned))))
