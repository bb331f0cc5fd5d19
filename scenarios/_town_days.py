"""The days of the town between its changes: market, weather, talk. Nothing here says who lives, works or owns what."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ._town import Person

PLACES = (
    "on the market square",
    "by the harbour wall",
    "on the long bench by the pump",
    "on the footbridge",
    "on the chapel steps",
    "at the end of the pier",
    "in the tea room",
    "between the fish stalls",
    "by the horse trough",
    "at the bend of the river",
    "among the dunes",
    "under the bandstand",
    "outside the barber's",
    "in the reading room",
    "on the allotments",
    "by the lock",
    "under the lime trees",
    "by the fountain",
    "in the queue for the ferry",
    "at the edge of the bowling green",
)
FOODS = (
    "a bag of shrimps",
    "half a rye loaf",
    "a dish of stewed pears",
    "two smoked herrings",
    "a slice of seed cake",
    "a bowl of pea soup",
    "a cone of roast chestnuts",
    "a jar of pickled beans",
    "a plum tart",
    "a pot of dripping",
    "a wedge of sheep's cheese",
    "an apple turnover",
    "a handful of hazelnuts",
    "a mug of hot cider",
    "a plate of fried sprats",
)
WEATHER = (
    "A fine drizzle hung over the roofs.",
    "The wind had gone round to the east.",
    "It was one of those bright, windless mornings on which every sound carries.",
    "Fog lay on the water and would not lift.",
    "Hail rattled on the awnings and was gone again.",
    "The heat stood between the houses like a guest who will not leave.",
    "Clouds came up from the sea in the shape of loaves.",
    "There had been frost, and the puddles creaked.",
    "It rained as if somebody had been paid for it.",
    "The evening was mild and smelt of tar.",
    "A gale was blowing, and the signs swung on their hooks.",
    "The sun came out just in time to go down.",
    "It was so still that the flags hung like washing.",
    "Thunder rolled about behind the ridge.",
    "The first snow fell and did not stay.",
    "The air was full of thistledown.",
)
OPINIONS = (
    "The harbour fees will be the end of us",
    "You cannot trust a tide table that was printed inland",
    "There were more swallows last year",
    "A town without a bell is only a large village",
    "Nobody bakes with proper salt any more",
    "They should have built the bridge lower down",
    "The new schoolmaster will not last the winter",
    "I have seen better regattas in a bath tub",
    "It will be a hard year for barley",
    "The mayor says one thing and signs another",
    "You can tell a man by the way he coils a rope",
    "I would not cross that bog for a bag of coins",
    "The doctor swears by onions",
    "My knee says rain, and my knee is never wrong",
    "The band has only one tune, and they play it twice",
    "A net dries best when nobody looks at it",
    "They have put the price of candles up again",
    "There is no harm in the tax collector, only no good",
    "The mail coach is late because the horses are clever",
    "I dreamt of herrings again, a whole street of them",
    "The actors are coming back in autumn, if they are paid",
    "Some people will argue with a signpost",
    "A good winter coat is half a religion",
    "One ought to write these things down",
    "Whoever painted that inn sign had never seen a swan",
    "The ferry is the only honest business here",
    "It is always the quiet dogs that eat the sausages",
    "There is something wrong with the town clock's eyesight",
)
TOPICS = (
    "the price of rope",
    "the election of the harbour master",
    "whether eels can hear",
    "the missing church bell",
    "the new gas lamps",
    "the proper way to salt butter",
    "an old quarrel about a fence",
    "the regatta",
    "the toll on the river road",
    "a comet that nobody had seen",
    "the mayor's speech",
    "the date of the fair",
    "ghosts, for and against",
    "the best cure for a cough",
    "a lawsuit about ducks",
    "the railway that never came",
    "the height of the spring tide",
    "the choir's latest disgrace",
)
ANIMALS = (
    "a gull",
    "the verger's cat",
    "a loose pig",
    "somebody's goose",
    "a dog with three legs",
    "a jackdaw",
    "a stray goat",
    "the baker's terrier",
    "a heron",
    "an old cart horse",
)
SOUNDS = (
    "A door banged somewhere.",
    "The town clock struck, a little late.",
    "Far out a ship's horn sounded twice.",
    "Somebody laughed behind a shutter.",
    "Children were singing a counting rhyme.",
    "A cart went by, loaded with cabbages.",
    "The pump squeaked.",
    "Two cats were arguing on a roof.",
    "From the school came the drone of the multiplication table.",
    "A bucket rolled down the lane.",
)
BEATS = (
    "{weather} {a} stood {place} with {his} collar up and thought about {topic}. {sound}",
    "{a} met {b} {place}. “{opinion},” said {b}. {a} only nodded, for {he} had heard it before.",
    "“{opinion},” said {a}, who was eating {food} {place}. “{opinion2},” said {b}. They agreed on neither.",
    "{sound} {a} looked up, counted slowly to twenty, and went on with {food}.",
    "There was a small crowd {place}. {a} was explaining {topic}, and {b} was explaining that {a} was mistaken.",
    "{animal_} had got into the vegetable stall. {a} shouted, {b} laughed, and the stallholder did both.",
    "{a} bought {food} and carried it home through the back lanes, nodding to everybody on the way.",
    "{weather} On such days nobody in town hurried, least of all {a}, who spent an hour {place} and called it duty.",
    "{b} had a letter to write and no ink. {a} lent {his} own bottle, with the remark that it was half water.",
    "At noon the market closed. {a} helped to fold the awnings and was given {food} for it.",
    "“What would you do with a hundred crowns?” asked {a}. {b} thought for some time {place}. “Worry,” {b} said.",
    "{a} tried to teach {b} to whistle through two fingers. {animal_} came, but no whistle.",
    "There was a new sheet on the notice board. {a} read it aloud: it was about {topic}.",
    "{sound} “That will be the mail,” said {a}, although it never was.",
    "In the evening there was talk of {topic}. {a} took one side, {b} the other, and at ten they exchanged sides.",
    "{a} had a cold and a red nose, and told everyone {he} met that {he} had neither.",
    "Two strangers asked the way to the river road. {a} sent them left, {b} sent them right, and they took the ferry.",
    "{weather} The washing was taken in all along the street, and then it was hung out again.",
    "{a} sat {place} and shelled peas into a hat. “{opinion},” {he} said to nobody in particular.",
    "Somebody had left {food} on a wall. {a} looked for the owner, but {animal} was quicker.",
    "{b} told the story of the drowned piper again. {a} had heard it nine times and held {his} breath all the same.",
    "The barber had a new mirror. {a} looked into it and decided to come back in spring.",
    "“You are late,” said {b}. “I am not,” said {a}, “the day is early.” {sound}",
    "{a} counted the boats that came in: eleven, and one of them backwards.",
    "A fiddler played {place} until {a} paid him to play somewhere else.",
    "{weather} {b} was for staying indoors. {a} was for going out, and so they talked through the door.",
    "The children had made a dam in the gutter. {a} stepped over it with great respect.",
    "{animal_} followed {a} all the way along the quay and then pretended that it had not.",
    "{a} had promised to be silent for one day. {b} came by every hour {place} and asked {him} about {topic}.",
    "They were painting the railings. {a} leaned on them, and for a week everybody knew it.",
    "At the fair {a} guessed the weight of the cheese to the ounce. The prize was {food}.",
    "“{opinion},” read {a} from the newspaper. “Who says so?” asked {b}. “You do,” said {a}, “on page four.”",
    "The tide brought in planks and a single boot. {a} set the boot on the wall, where it stayed for weeks.",
    "Somebody had chalked a ship on the pavement. {a} walked round it, so as not to get wet.",
    "{a} and {b} carried a ladder through the town, and nobody was hurt, which was remarked upon.",
    "{weather} {sound} It was a good day for {food} and a chair by the window.",
    "The choir practised with the windows open. {a} closed {his} own.",
    "{b} was sure to have seen {animal} {place}. “At this time of year?” said {a}. {b} was no longer sure.",
    "A pedlar came with needles, almanacs and lies. {a} bought an almanac, and the lies were free.",
    "{a} had a birthday and told nobody. {b} brought {food} all the same.",
    "There was a meeting about {topic}. It began late, it ended late, and in between there was a vote on the stove.",
    "{a} fell asleep {place} with {his} hat over {his} face. {sound} {He} did not wake.",
    "“If you ask me,” said {a}, and nobody had, “{opinion_low}.”",
    "They had a wager, {a} and {b}, that it would rain before the clock struck. {weather}",
    "It was washing day, and the whole street smelt of soap. {a} sneezed nine times and was congratulated.",
    "The ferryman told {a} that {opinion_low}. {a} told {b}, and by nightfall it was in everybody's mouth.",
    "{a} dug over a bed on the allotments and found a clay pipe, a button and a good many worms.",
    "For a whole afternoon {a} and {b} sorted beans {place}, the spotted from the plain, and spoke about {topic}.",
    "{sound} {weather} And then for a while nothing happened at all, which the town did better than most.",
    "{b} passed with a basket. “What is in it?” asked {a}. “{food_},” said {b}, and held it a little higher.",
    "The schoolmaster asked {a} to speak to the children about {topic}. They drew ducks on their slates.",
    "{a} wrote a long letter {place}, read it through, and made a boat of it.",
    "Late at night a light went to and fro along the quay. {a} saw it, and {b} saw it, and neither spoke of it.",
    "There was a queue for {food}. {a} stood in it out of habit and {b} out of curiosity.",
    "{a} had lost a glove. It turned up {place}, on the hand of a small boy, who gave it back for {food}.",
    "“{opinion},” said the verger. {a} took off {his} hat to that, and {b} put {a}'s back on.",
    "{weather} The river had risen by a hand. {a} put a stick in the mud to see if it went on.",
    "An organ grinder set up {place}. {animal_} listened with every sign of pain.",
    "{a} could not sleep, and walked the length of the pier and back, counting planks.",
    "{b} asked {a} for advice about {topic}, listened carefully, and did the opposite.",
)
TITLES = (
    "A Change in the Wind",
    "Herring Week",
    "What the Ferryman Heard",
    "Small Change",
    "The Long Bench",
    "Candles",
    "Low Water",
    "A Letter Without a Stamp",
    "The Fair",
    "High Tide",
    "An Ordinary Week",
    "Fog",
    "Of Ropes and Butter",
    "The Second Kettle",
    "Chestnuts",
    "A Wager",
    "The Shortest Day",
    "Under the Lime Trees",
    "Thaw",
    "The Bell That Was Not There",
    "Windfall",
    "Lamplight",
    "The Quiet Dogs",
    "Across the River",
)


class Days:
    """An endless supply of paragraphs; every pattern is used once before any is used again."""

    def __init__(self, rng: random.Random, people: Sequence[Person]) -> None:
        self._rng = rng
        self._people = people
        self._beats = self._in_turn(BEATS)
        self._opinions = self._in_turn(OPINIONS)
        self._lists = {
            name: self._in_turn(values)
            for name, values in {
                "place": PLACES,
                "food": FOODS,
                "weather": WEATHER,
                "topic": TOPICS,
                "animal": ANIMALS,
                "sound": SOUNDS,
            }.items()
        }

    def beat(self) -> str:
        """Return the next few sentences."""
        a, b = self._rng.sample(list(self._people), 2)
        slots = {name: next(values) for name, values in self._lists.items()}
        opinion = next(self._opinions)
        return next(self._beats).format(
            a=a.name,
            b=b.name,
            he=a.he,
            He=a.he.capitalize(),
            him=a.him,
            his=a.his,
            opinion=opinion,
            opinion2=next(self._opinions),
            opinion_low=_lowered(opinion),
            animal_=_raised(slots["animal"]),
            food_=_raised(slots["food"]),
            **slots,
        )

    def _in_turn(self, values: Sequence[str]) -> Iterator[str]:
        while True:
            yield from self._rng.sample(values, len(values))


def _raised(text: str) -> str:
    return text[0].upper() + text[1:]


def _lowered(text: str) -> str:
    return text if text.startswith("I ") else text[0].lower() + text[1:]
