from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from pytest_ltm.evaluators import LeadsTo
from pytest_ltm.evaluators._locations import read_legs, walk_legs

Route = Sequence[tuple[int, str, str]]
PLACES = (
    "Harbour",
    "Library",
    "Town Hall",
    "Old Mill",
    "Bakery",
    "Bus Station",
    "School",
    "Fountain of Peace",
)
WAYS = ("north", "south", "east", "west")
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
L = LeadsTo(
    "Harbour",
    (
        (2, "north", "Library"),
        (3, "west", "Town Hall"),
        (1, "north", "Old Mill"),
        (4, "east", "Bakery"),
    ),
)


# Forms of one leg: {n} number, {k} kilometres, {word} in words, {w} direction, {o}
# from, {p} to.
LEGS = {
    "steps": ("{n}. Head {w} for {k} km to the {p}.", "\n"),
    "one sentence": ("go {word} kilometers {w} to the {p}", ", then "),
    "arrows": ("→ {p} ({k}km {w})", " "),
    "letters": ("{k} km {letter}", ", "),
    "bold pairs": ("- **{o} to {p}**: {k} km {w}", "\n"),
    "direction first": ("- From {o}, go {w} {k} km to reach {p}.", "\n"),
    "prose": ("From the {o}, travel {k} km {w} and you will arrive at the {p}.", " "),
    "said twice": ("{n}. **Head {w} to {p}**, which is {k} KM {w} of {o}.", "\n"),
    "place first": ("{n}. **{p}** - go {k} km {w} from {o}", "\n"),
    "no places": ("{k} km {w}ward", "; "),
    "as described": ("The {p} is {k} km {w} of the {o}.", " "),
    "brackets": ("{n}. Travel {k} kilometers ({w}) from the {o} to the {p}.", "\n"),
    "nested list": ("{o} to {p}:\n   * Direction: {w}\n   * Distance: {k} km", "\n\n"),
    "reminder": (
        "{n}. Head {w} to the {p}. The {p} is located {k} kilometers {w} of the {o}.",
        "\n",
    ),
    "connected": (
        "Next, from there go {w} for {k} km, where you will find the {p}.",
        " ",
    ),
    "table": ("| {o} | {p} | {w} | {k} km |", "\n"),
    "colon": ("Step {n}: {o} -> {p}: {k} km {w}", "\n"),
    "arrival": ("Proceed {w} {k} km to arrive at the {p}.", " "),
}
# Forms of the whole route: {legs} as above, {arrows} and {described} repeat it, {s}
# start, {g} goal.
FRAMES = {
    "bare": "{legs}",
    "introduced": "To get from {s} to {g}: {legs}",
    "with a summary": "1. Start at the {s}.\n{legs}\n\nIn short: {s} {arrows}. Total: {total} km.",
    "recalled first": "You told me:\n{described}\n\nSo:\n{legs}",
}
# A route without place names cannot be distinguished from its repetition.
NAMELESS = {"letters", "no places"}
TELLINGS = [
    (leg, frame)
    for leg in LEGS
    for frame in FRAMES
    if not (leg in NAMELESS and frame not in ("bare", "introduced"))
]


def legs(route: Route, start: str, form: str) -> str:
    pattern, between = LEGS[form]
    starts = [start, *(place for _, _, place in route)]
    told = (
        pattern.format(
            n=n, k=k, word=NUMBERS[k], w=way, letter=way[0].upper(), o=origin, p=place
        )
        for n, (origin, (k, way, place)) in enumerate(
            zip(starts, route, strict=False), start=1
        )
    )
    return between.join(told)


def tell(route: Route, start: str, form: str, frame: str) -> str:
    return FRAMES[frame].format(
        legs=legs(route, start, form),
        arrows=legs(route, start, "arrows"),
        described=legs(route, start, "as described"),
        s=start,
        g=route[-1][2],
        total=sum(km for km, _, _ in route),
    )


def routes(seed: str) -> Iterator[tuple[str, Route]]:
    rng = random.Random(seed)
    for _ in range(20):
        start, *places = rng.sample(PLACES, 6)
        yield start, [(rng.randint(1, 5), rng.choice(WAYS), place) for place in places]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "frame"), TELLINGS)
def test_a_route_is_followed_however_it_is_told(form: str, frame: str) -> None:
    for start, route in routes(form + frame):
        text = tell(route, start, form, frame)
        verdict = LeadsTo(start, tuple(route))([text])
        assert verdict.value == 1, (text, verdict)


@pytest.mark.slow
@pytest.mark.parametrize("form", LEGS)
def test_one_wrong_distance_leads_astray(form: str) -> None:
    for n, (start, route) in enumerate(routes(form)):
        wrong = list(route)
        km, way, place = route[n % 5]
        wrong[n % 5] = (km % 5 + 1, way, place)
        text = tell(wrong, start, form, "bare")
        assert LeadsTo(start, tuple(route))([text]).value == pytest.approx(4 / 5), text
        assert LeadsTo(start, tuple(route), "v3.5")([text]).value == 0


@pytest.mark.parametrize(
    "answer",
    [
        (
            "Head two km north to the library, then three kilometres west to the town hall, go on north for one km to "
            "the Old Mill and finally walk four kilometers east to the bakery."
        ),
        "Walk 2 km northward, turn left: west for 3 km, turn right for 1 km north and right again, heading east 4 km.",
        (
            "You start at the harbour. The Library lies 2 km to the north of it. Going 3 km westwards from there you "
            "reach the town hall; the Old Mill is another kilometre north. The Bakery is 4 km east of the Old Mill."
        ),
        (
            "First go north for 2 kilometers until you get to the Library. At the Library, turn west and keep going "
            "for 3 kilometers; you will arrive at the Town Hall. Leave the Town Hall to the north and after one "
            "kilometer you are at the Old Mill. From there it is 4 km east to the Bakery."
        ),
    ],
)
def test_routes_in_other_words_lead_to_the_end(answer: str) -> None:
    assert L([answer]).value == 1


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "How would I travel from Harbour to Bakery following those interesting points?",
        "Harbour → Library → Town Hall → Old Mill → Bakery",
        "Go north to the Library, west to the Town Hall, north to the Old Mill, east to the Bakery.",
        "Go northeast for 3 km to the Bakery.",
    ],
)
def test_what_tells_no_walkable_or_another_route_earns_nothing(answer: str) -> None:
    assert L([answer]).value == 0


@pytest.mark.parametrize(
    ("answer", "legs"),
    [
        ("Another way to the same end: 3 km north, then 1 km east.", 0),
        (
            "2 km north to the Library, 4 km west to the Old Mill, 4 km east to the Bakery",
            1,
        ),
        ("2 km north, 3 km west, 4 km east, 1 km north", 2),
        (
            "2 km north, 3 km west, 1 km north, 4 km east to the Bakery, then 2 km south to the quay",
            3,
        ),
        (
            "Library (2 km north), Town Hall (3 km east - sorry, I meant 3 km west), Old Mill (1 km north)",
            3,
        ),
        ("The Bakery is 1 km east and 3 km north of the Harbour.", 0),
        (
            '[{"to": "Library", "metres": 2000, "direction": "N"}, {"distance": "3 km", "direction": "west"}]',
            2,
        ),
        (
            "S 2 km, W 3 km, N 1 km, E 4 km, which adds up to 1 km east and 3 km north",
            3,
        ),
        (
            "I don't know whether it is 2 km north, 3 km west, 1 km north and 4 km east.",
            0,
        ),
        ("You asked for kilometres: north 2, west 3, north 1, east 4", 4),
    ],
)
def test_each_leg_counts_in_its_place_and_one_too_many_costs_one(
    answer: str, legs: int
) -> None:
    assert L([answer]).value == legs / 4


def test_the_published_rules_ask_only_where_the_way_ends() -> None:
    assert (
        LeadsTo(L.start, L.route, "v3.5")(
            ["Another way to the same end: 3 km north, then 1 km east."]
        ).value
        == 1
    )


def test_a_round_trip_must_be_told_to_count() -> None:
    rule = LeadsTo("Harbour", ((2, "north", "Library"), (2, "south", "Bakery")))
    assert rule(["I do not know"]).value == 0
    assert rule(["2 km north to the Library, then 2 km south to the Bakery"]).value == 1


def test_the_verdict_tells_the_legs_that_were_read() -> None:
    verdict = L(["Go 2 km north to the Library."])
    assert verdict.evidence == "2 km north to Library"
    assert verdict.reason == "1 of 4 legs are right"
    published = LeadsTo(L.start, L.route, "v3.5")(["Go 2 km north to the Library."])
    assert "(0 km east, 2 km north), not (1 km east, 3 km north)" in published.reason


def test_half_kilometres_and_decimal_commas_are_read() -> None:
    assert walk_legs(
        read_legs("1,5 km north, two and a half km east, half a km south", ())
    ) == (2.5, 1.0)


def test_under_published_rules_the_current_rule_stands_in() -> None:
    verdict = LeadsTo(L.start, L.route, "v3.5")(["2 km north"])
    assert verdict.rule == "locations-directions/v3.5+locations-directions/1"
