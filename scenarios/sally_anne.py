"""Sally-Anne: a puppet play told line by line; where a puppet will look depends on what it has seen."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import AnswersWord
from pytest_ltm.locales import CODES, Language, either, parse_languages, worded

from ._parameters import last_wait, whole

PUPPETS = (
    "Apollonia",
    "Crispin",
    "Fanchette",
    "Grimbold",
    "Hildegund",
    "Isidor",
    "Kunigunde",
    "Melchior",
    "Odila",
    "Pankraz",
    "Rosamund",
    "Wendelin",
)
ROOMS = (
    "ballroom",
    "cloakroom",
    "dungeon",
    "pantry",
    "scullery",
    "stable",
    "turret",
    "washhouse",
)
CONTAINERS = (
    "barrel",
    "casket",
    "cauldron",
    "cupboard",
    "drawer",
    "hamper",
    "hatbox",
    "pouch",
    "sack",
    "satchel",
    "trunk",
    "urn",
)
THINGS = (
    "crown",
    "feather",
    "horseshoe",
    "marble",
    "medal",
    "puzzle",
    "slipper",
    "thimble",
    "trumpet",
    "wig",
)

OPENINGS = (
    "I am [watching|at] a puppet play, with {cast}, and I will tell you what happens in it.",
    "There is a puppet play in the [park|square|town hall] tonight. The puppets are {cast}. I will keep you posted.",
    "The puppets today are {cast}. I will tell you about it [as it goes on|bit by bit], and then I have a question.",
    "Guess where I am: at a puppet theatre! {cast} are on, and you get to hear [all about it|every bit of it].",
)
RULE = (
    "A puppet sees everything that is or happens in the room it is in, and nothing of other rooms.",
    "Mind you: a puppet sees what is or happens in its own room, and nothing else.",
)
"""How puppets see; every second opening says it."""
NAMED = (
    "Puppet play: ",
    "In the puppet play, ",
    "On the puppet stage, ",
    "The puppets again: ",
)
UNNAMED = ("", "Now ", "Meanwhile, ", "And then ", "A little later, ", "Next, ")
"""How lines begin: those of one list name the play, those of the other do not."""
ENTERS = (
    "{who} [comes|walks|steps|hurries|tiptoes|strides] into the {room}[.|, whistling.|, out of breath.]",
    "into the {room} [comes|walks|bursts] {who}[.|, all smiles.|, with a bow.]",
)
LEAVES = (
    "{who} [leaves|walks out of|goes away from|hurries out of] the {room}[.|, whistling.|, with a sigh.]",
    "out of the {room} [goes|walks|strides] {who}[.|, nose in the air.|, without a word.]",
)
LIES = (
    "the {thing} [lies|is|is kept] in the {box} of the {room}[.|, in full view.|, plain to see.]",
    "in the {room}, the {thing} [lies|is kept|is] in the {box}[.|, where it belongs.|, of all places.]",
)
MOVES = (
    "{who} [puts|moves|drops|throws|stuffs] the {thing} into the {box}[.|, just like that.|, humming.]",
    "into the {box} goes the {thing}, and it is {who} who [puts|moves|drops] it there[.|, with a grin.]",
)
REMARKS = (
    "{who} [sneezes|yawns|hiccups|claps] [twice|loudly|for joy].",
    "{who} sings about a {thing}.",
    "{who} has dreamt of a {thing}[.|, in summer.|, long ago.]",
    "{who} [wishes for|would love|hates the thought of] a {thing}.",
    "{who} is proud of a new pair of [boots|gloves].",
    "{who} laughs at [nothing in particular|the audience|a child in the front row].",
    "{who} says that a {thing} is [worth nothing|worth a fortune|never where it should be].",
    "{who} [trips over|quarrels with] [a string|the scenery|the stage hand].",
)
LINES = {
    "enters": ENTERS,
    "leaves": LEAVES,
    "lies": LIES,
    "moves": MOVES,
    "remarks": REMARKS,
}
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "first": (
        "Where will {who} look for the {thing}?",
        "Where will {who} go to find the {thing}?",
        "Where does {who} think that the {thing} is?",
    ),
    "second": (
        "Where does {who} believe that {whom} will look for the {thing}?",
        "Where does {who} think that {whom} will look for the {thing}?",
    ),
    "start": (
        "Where was the {thing} at the very beginning?",
        "Where was the {thing} at first?",
    ),
    "end": (
        "Where is the {thing} really, now at the end?",
        "Where is the {thing} in truth by now?",
    ),
}
OVER = (
    "The puppet play is over.",
    "The puppets have taken their bows.",
    "End of the puppet play!",
)
DONE = (
    "That was it.",
    "Applause, and everybody is going home.",
    "The curtain is down, and I am on my way home.",
)
"""How the end is told, with the play by its name or without."""
CLOSINGS = (
    'Reply as JSON with the one place it is kept in, like {{"answer": "place"}}.',
    'Please give me the answer as JSON, with one word for what it is kept in, like this: {{"answer": "word"}}',
    'Answer in JSON, as specifically as you can, with the one thing that it is kept in: {{"answer": "..."}}',
)
KINDS: Mapping[str, tuple[str, ...]] = {
    "theory_of_mind": ("first", "second"),
    "world": ("start", "end"),
    "any": ("first", "second", "start", "end"),
}
SHORTEST, LONGEST = 9, 12
"""Lines of a play by default."""
LEAST, MOST = 6, 40
"""Lines that a play may be asked for: fewer have no room for what must happen."""


class Stage:
    """Who is where, where the things are, and who has come to believe what: a puppet sees the room it is in.

    People who are in one room with a thing know where it is, and know of each other
    that they do.
    """

    def __init__(self) -> None:
        self.rooms: dict[str, str | None] = {}
        """Where everybody is; None: nowhere in sight."""
        self.things: dict[str, list[tuple[str | None, str]]] = {}
        """The rooms and containers in which each thing has been, in order."""
        self.beliefs: dict[tuple[str, str], str] = {}
        """By person and thing: the container that it is in as far as they know."""
        self.second: dict[tuple[str, str, str], str] = {}
        """By person, other person and thing: what the first believes that the second believes."""

    def enter(self, who: str, room: str) -> None:
        """Somebody comes into a room and sees what is there."""
        self.rooms[who] = room
        self._look(room)

    def leave(self, who: str) -> None:
        """Somebody leaves and sees nothing any more."""
        self.rooms[who] = None

    def put(self, thing: str, box: str, room: str | None) -> None:
        """A thing is in a container of a room, from the beginning or moved there."""
        self.things.setdefault(thing, []).append((room, box))
        self._look(room)

    def present(self, room: str | None) -> list[str]:
        """Return who is in a room, in the order of their first appearance."""
        present = []
        for who, place in self.rooms.items():
            if place == room and place is not None:
                present.append(who)
        return present

    def _look(self, room: str | None) -> None:
        people = self.present(room)
        for thing, places in self.things.items():
            place, box = places[-1]
            if place == room:
                for person in people:
                    self.beliefs[person, thing] = box
                    for other in people:
                        self.second[person, other, thing] = box


@dataclass
class Story:
    """A play in the making: its lines, and the stage they lead to."""

    rng: random.Random
    language: Language
    stage: Stage = field(default_factory=Stage)
    lines: list[Say] = field(default_factory=list)
    puppets: list[str] = field(default_factory=list)
    visits: dict[str, int] = field(default_factory=dict)
    """How often each puppet has come into the room of the thing."""

    def tell(self, kind: str, **names: str) -> None:
        """Add a line of one kind of LINES."""
        named, unnamed = (
            self.language.find_text("sally_anne.named", NAMED),
            self.language.find_text("sally_anne.unnamed", UNNAMED),
        )
        beginning = self.rng.choice(either(self.rng, named, unnamed))
        wordings = self.language.find_text(f"sally_anne.{kind}", LINES[kind])
        words = {slot: self.language.word(name) for slot, name in names.items()}
        # Of the places a question may need any: none replaces another.
        where = (
            {f"the {names['thing']}, line {len(self.lines) + 1}": str(words["box"])}
            if "box" in names
            else {}
        )
        self.lines.append(
            Say(
                worded(
                    self.rng, [beginning + wording for wording in wordings], **words
                ),
                tells=where,
            )
        )


def sally_anne(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return a play of `least_lines` (default 9) to `most_lines` (12) over the span, then a question.

    `question_type` is "theory_of_mind" (default: where somebody will look, or is
    believed to look), "world" (where the thing was or is) or "any". Two of three
    answers about beliefs are false beliefs. Expected is the container.
    """
    kind = parameters.get("question_type", "theory_of_mind")
    if kind not in KINDS:
        raise ValueError(
            f"question_type is one of {', '.join(map(repr, KINDS))}, not {kind!r}"
        )
    shortest = whole(parameters, "least_lines", SHORTEST, LEAST, MOST - 3)
    longest = whole(
        parameters, "most_lines", max(LONGEST, shortest + 3), shortest + 3, MOST
    )
    asked, false = rng.choice(KINDS[kind]), rng.random() < 2 / 3
    telling, asking = parse_languages(parameters)
    fitting: list[_Candidate] = []
    while not fitting:
        thing, *others = rng.sample(THINGS, 4)
        story = _story(rng, thing, others, shortest, telling)
        if len(story.lines) <= longest:
            for candidate in _candidates(story, thing, asked):
                if asked in KINDS["world"] or candidate.false == false:
                    fitting.append(candidate)
    chosen = rng.choice(fitting)
    over = asking.find_text("sally_anne.over", OVER)
    done = asking.find_text("sally_anne.done", DONE)
    closings = asking.find_text("sally_anne.closings", CLOSINGS)
    question = rng.choice(asking.find_text(f"sally_anne.{asked}", QUESTIONS[asked]))
    question = question.format(
        who=chosen.who, whom=chosen.whom, thing=asking.word(thing)
    )
    question = f"{rng.choice(either(rng, over, done))} {question} {rng.choice(closings).format()}"
    first, *rest = rng.sample(story.puppets, len(story.puppets))
    cast = telling.phrase(
        "sally_anne.cast",
        "{others} and {first}",
        others=telling.phrase("sally_anne.comma", ", ").join(rest),
        first=first,
    )
    opening = worded(rng, telling.find_text("sally_anne.openings", OPENINGS), cast=cast)
    opening += (
        f" {rng.choice(telling.find_text('sally_anne.rule', RULE))}"
        if rng.random() < 1 / 2
        else ""
    )
    steps = spread(
        [Say(opening), *story.lines, Ask(question)], last_wait(rng, parameters)
    )
    boxes = dict.fromkeys(box for _, box in story.stage.things[thing])
    extra = {
        "question": asked,
        "other_places": [box for box in boxes if box != chosen.answer],
    }
    return Definition(
        steps=steps,
        expected=str(asking.word(chosen.answer)),
        parameters={**parameters, **extra},
    )


@dataclass(frozen=True)
class _Candidate:
    answer: str
    false: bool
    """The answer is not where the thing really is."""
    who: str = ""
    whom: str = ""


def _candidates(story: Story, thing: str, asked: str) -> Iterator[_Candidate]:
    """Yield the questions of one kind that the story answers beyond doubt.

    Second-order questions are about puppets that entered the room only once: one that
    comes back and finds the thing elsewhere may wonder who was there meanwhile.
    """
    stage, places = story.stage, [box for _, box in story.stage.things[thing]]
    if asked in ("start", "end"):
        yield _Candidate(places[0] if asked == "start" else places[-1], false=False)
    elif asked == "first":
        for (who, _), box in stage.beliefs.items():
            yield _Candidate(box, box != places[-1], who)
    else:
        for (who, whom, _), box in stage.second.items():
            if who != whom and story.visits[who] == 1:
                yield _Candidate(box, box != places[-1], who, whom)


def _story(
    rng: random.Random, thing: str, others: list[str], shortest: int, language: Language
) -> Story:
    """Return a play of so many lines or more.

    The thing is moved two or three times, and so has been in three or more places.
    """
    story = Story(rng, language, puppets=rng.sample(PUPPETS, 3))
    puppets, boxes = story.puppets, rng.sample(CONTAINERS, 4)
    room, side = rng.sample(ROOMS, 2)
    for puppet in puppets[:2]:
        _enter(story, puppet, room)
    story.stage.put(thing, boxes.pop(), room)
    story.tell("lies", thing=thing, box=story.stage.things[thing][-1][1], room=room)
    moves = rng.choice((2, 3))
    while moves or len(story.lines) < shortest:
        inside = story.stage.present(room)
        act = rng.choice(("enter", "leave", "move", "move", "remark"))
        if act == "move" and moves and inside:
            _move(story, rng.choice(inside), thing, boxes.pop())
            moves -= 1
        elif act == "enter" and len(inside) < len(puppets):
            _enter(
                story,
                rng.choice([puppet for puppet in puppets if puppet not in inside]),
                rng.choice((room, room, side)),
            )
        elif act == "leave" and inside:
            _leave(story, rng.choice(inside))
        elif act == "remark":
            story.tell("remarks", who=rng.choice(puppets), thing=rng.choice(others))
    return story


def _enter(story: Story, who: str, room: str) -> None:
    if story.stage.rooms.get(who) == room:
        return
    if story.stage.rooms.get(who):
        _leave(story, who)
    story.stage.enter(who, room)
    story.visits[who] = story.visits.get(who, 0) + 1
    story.tell("enters", who=who, room=room)


def _leave(story: Story, who: str) -> None:
    story.tell("leaves", who=who, room=str(story.stage.rooms[who]))
    story.stage.leave(who)


def _move(story: Story, who: str, thing: str, box: str) -> None:
    story.stage.put(thing, box, story.stage.rooms[who])
    story.tell("moves", who=who, thing=thing, box=box)


@pytest.mark.ltm(
    generate=sally_anne,
    skills="T",
    floor=1 / 3,  # the thing was in three places at least
    version="2",
    reset="You can forget the puppet play and everybody in it.",
    languages=CODES,
)
def test_sally_anne(ltm: Ltm) -> None:
    """Knows where a puppet of the play will look, or is believed to look, for a thing that was moved meanwhile."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    others = tuple(ltm.definition.parameters.get("other_places", ()))
    said = parse_languages(ltm.definition.parameters)
    ltm.score(
        said.judged(
            AnswersWord(
                said.meaning(ltm.definition.expected), others, scoring=ltm.scoring
            ),
            answers,
        )
    )
