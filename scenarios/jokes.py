"""Jokes: several jokes over several hours; the agent must recall the one told a certain time ago."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from pytest_ltm import Definition, Ltm, Say, Step, Wait
from pytest_ltm.evaluators import RecallsJoke
from pytest_ltm.locales import (
    CODES,
    ENGLISH,
    Language,
    capital,
    parse_languages,
    worded,
)

from ._parameters import last_wait, whole

JOKES = (
    "Our village clock stopped at the tourist office, because it kept going round in circles.",
    "I hired a snail as a courier. The parcel is still on its way, and so is the snail.",
    "The lighthouse keeper left his wife. Every ten seconds she had seen him turn away.",
    "My umbrella and I have split up. It only ever opened up when things got gloomy.",
    "A cartographer tried baking. The pies were fine, but each of them came with a legend.",
    "I bought a used parachute and kept the receipt, in case something did not open.",
    "The beekeepers founded a choir. They are good, but so far they can only hum.",
    "My bookshelf has been on a diet and dropped three volumes within a week.",
    "A goat borrowed an atlas from our library. It will bring it back once it has digested the chapters.",
    "The plumber wrote his memoirs. They are gripping, but the ending goes down the drain.",
    "My cousin trains pigeons for parcel service. They lose the parcels, but they never miss a statue.",
    "The lift mechanic never finishes an anecdote; he always gets stuck between two storeys.",
    "The onion took acting lessons and had the audience in tears before the first scene.",
    "My sourdough has been to the doctor, who thinks that it will rise again by Thursday.",
    "A penguin was overdressed for the interview and still got a cold reception.",
    "When our tailor retired he came apart at the seams, though he left no loose ends.",
    "I lent a ladder to a philosopher. He returned it, saying that each rung raises further questions.",
    "The triangle player left the orchestra without notice. Nobody had noticed him before, either.",
    "The police have found the missing wallpaper. It had been hanging around at home.",
    "My alarm and the rooster next door held a contest, and the pillow won.",
    "A submarine cook revealed the secret of his soup: under pressure everything thickens.",
    "I entered my hedgehog in a hugging contest. He won, as all the others backed out.",
    "The ghost failed the driving test; the examiner saw right through every excuse.",
    "My tent is an introvert. It goes out at weekends and folds as soon as there is company.",
    "The carpenter became a comedian. His delivery is wooden, but he nails each punchline.",
    "I taught my parrot to be discreet. It still blabs, but adds that you did not hear it from him.",
    "The mountaineer published recipes. The starters are steep, but he peaks at dessert.",
    "Our postman became a magician. He makes letters vanish as before, but now he is applauded.",
    "The astronomer's cat knocked the telescope over. All she had wanted was a bit of space.",
    "My broom asked for a holiday: the dust would surely wait for it, it said.",
    "The scarecrow's therapist advised him to let somebody in, starting with the crows.",
    "A grandmaster opened a restaurant. The meals are excellent, but ordering takes forty moves.",
    "I moved the bathroom scales to the attic, so at least one of us has gone up without complaint.",
    "The knight's armour is a nervous character: whenever danger comes near, it squeaks up.",
    "They moved the weather forecaster to football. He now predicts a draw with scattered goals.",
    "A sloth has won the marathon in our town. It had set off in the year before last.",
    "My toaster fears commitment. As soon as things warm up, it pops out.",
    "The violinist gave me a present, but of course there were four strings attached.",
    "Our gardener consults the tomatoes on politics and finds their arguments a little seedy.",
    "The lawyer's dog does not bark. It merely reserves the right to.",
    "I painted the front door with invisible paint, and now the burglars ring at my neighbours'.",
    "The sailor tied such good knots that he missed the boat: he was tied up at the harbour.",
    "The mime has the highest phone bill in our street; he stays on the line and says nothing.",
    "My kettle would love to be a train. It has the whistle, but no platform.",
    "The librarian has named her twins Volume One and Overdue.",
    "A squirrel opened a bank in the park. The deposits are safe, but nobody knows where.",
    "The referee's wedding was touching, until he showed the cake a card for leaning.",
    "I asked the echo for its opinion, and for once we agreed completely.",
)
INTRODUCTIONS = (
    "[here's|I have|I've got|you need] a joke[ for you| from work|, a short one|]: {joke}",
    "[time for|let me tell you|I owe you] a joke[.|, brace yourself.] {joke}",
    "[have you heard|do you know] [this|my favourite|the one good] joke? {joke}",
    "[a colleague|my uncle|my hairdresser|my daughter] told me [this joke|a joke|a terrible joke]: {joke}",
    "my [joke of the day|favourite joke at the moment|attempt at a joke|joke for the wedding][, so far|]: {joke}",
)
WITHOUT_THE_WORD = (
    "[stop me if you've heard this one|you'll like this one|this made me laugh|get this|one for you]: {joke}",
    "[my niece|my barber|the postwoman|my boss] [came up with|swears by|just sent me] this one: {joke}",
    "[on a lighter note|to cheer you up|speaking of which], [I liked this one|here's one]: {joke}",
    "[heard|read|picked up] this one [on the bus|at lunch|on a cereal box|in the sauna|last night]: {joke}",
    "[here's|I have] a silly one[ for you| from the radio|]: {joke}",
)
JUST = (
    "{joke}",
    "{joke}[| Sorry.| Ha!| I'll get my coat.| Had to share that.| I can't stop giggling.]",
)
JUST_TOLD = "just_told"
WAYS = {"introductions": INTRODUCTIONS, "unmarked": WITHOUT_THE_WORD, JUST_TOLD: JUST}
"""How jokes are told; half of them without any introduction, as in most company."""
PLAIN = "Which joke did I tell you {elapsed} ago?"
QUESTIONS = (
    PLAIN,
    "[so, |]which [joke|one of the jokes] did I tell you [about |]{elapsed} ago?",
    "what was the joke [that |][I told you|you heard from me] [about |]{elapsed} ago?",
    "[please |]tell me [again |]the joke [that |][I told you|you heard from me] [about |]{elapsed} ago.",
    "[about |]{elapsed} ago I told you a joke. [Which one was it|Which was that|What was it]?",
    "do you [remember|recall] the joke from [about |]{elapsed} ago?",
    "[can|could] you repeat the joke [from|that I told you] [about |]{elapsed} ago?",
)


def jokes(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `jokes_told` (default 4) jokes, each with a wait: until i/jokes of the `last_wait`, and of 30-240 minutes.

    One in four is told as a joke, two without any introduction. One is expected. The
    question is not a step: it is made from the time that really passed.
    """
    number = whole(parameters, "jokes_told", 4, most=len(JOKES))
    telling, asking = parse_languages(parameters)
    agent = rng.sample(telling.find_text("jokes.jokes", JOKES), number)
    ways = [telling.find_text(f"jokes.{way}", WAYS[way]) for way in (*WAYS, JUST_TOLD)]
    pairs = []
    for joke in agent:
        text = worded(rng, rng.choice(ways), joke=joke)
        pairs.append((text, rng.randint(30, 240)))
    expected, question = (
        rng.choice(agent),
        worded(
            rng, asking.find_text("jokes.questions", QUESTIONS), elapsed="{elapsed}"
        ),
    )
    last = last_wait(rng, parameters)
    steps: list[Step] = []
    for i, (text, minutes) in enumerate(pairs, start=1):
        steps += [
            Say(text),
            Wait(span=i * last / number, time=timedelta(minutes=minutes)),
        ]
    return Definition(
        steps=tuple(steps),
        expected=expected,
        parameters={**parameters, "jokes": agent, "question": question},
    )


@pytest.mark.ltm(
    generate=jokes,
    skills="E",
    version="1",
    reset="Thank you. You can forget the jokes that I have told you so far.",
    languages=CODES,
)
def test_jokes(ltm: Ltm) -> None:
    """Recalls the joke that was told so many hours and minutes ago, and no other."""
    expected, parameters = ltm.definition.expected, ltm.definition.parameters
    told_at, message = ltm.now, ""
    for step in ltm.definition.steps:
        if isinstance(step, Say) and expected in step.text:
            told_at, message = ltm.now, step.text
        ltm.play([step])
    if not message:
        raise ValueError(
            f"the definition expects a joke that it never tells: {expected!r}"
        )
    said = parse_languages(parameters)
    question = capital(
        parameters.get("question", PLAIN).format(
            elapsed=length(ltm.now - told_at, said.asked)
        )
    )
    answer = ltm.ask(question, about=(message,), answer=expected)
    others = tuple(joke for joke in _told(ltm.definition) if joke != expected)
    rule = RecallsJoke(
        said.meaning(expected), tuple(map(said.meaning, others)), ltm.judge, ltm.scoring
    )
    ltm.score(said.judged(rule, [answer]))


def length(elapsed: timedelta, language: Language = ENGLISH) -> str:
    """Return `3 hours and 25 minutes`, rounded to the minute; hours go on beyond a day."""
    hours, minutes = divmod(round(elapsed.total_seconds() / 60), 60)
    parts = []
    for number, unit in ((hours, "hour"), (minutes, "minute")):
        if number:
            units = unit if number == 1 else f"{unit}s"
            parts.append(language.phrase(f"jokes.{units}", f"{{n}} {units}", n=number))
    return language.phrase("jokes.and", " and ").join(parts) or language.phrase(
        "jokes.no_time", "less than a minute"
    )


def _told(definition: Definition) -> list[str]:
    """Return the jokes as they were generated; for definitions from elsewhere a message is a joke."""
    messages = [step.text for step in definition.steps if isinstance(step, Say)]
    return list(definition.parameters.get("jokes", messages))
