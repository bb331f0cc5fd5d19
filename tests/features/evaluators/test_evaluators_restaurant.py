from __future__ import annotations

import pytest

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.evaluators import (
    Menu,
    PlaysGuest,
    notices_mix_up,
    orders_dish,
    orders_drink,
    read_order,
    recalls_drink,
)
from pytest_ltm.testing import FakeJudge

PRINTED = """Waiter: Good evening, please have a look:

Starters:
1. Roasted Beetroot with Walnuts and Goat Cheese
2. Crispy Anchovies, served with Saffron Mayonnaise

Mains:
3. Grilled Trout with Almond Butter, Parsley Potatoes and Fennel
4. Venison Goulash with Red Cabbage and Dumplings
5. Chickpea Tagine with Apricots, served over Couscous

Desserts:
6. Plum Crumble with Vanilla Custard

Drinks:
7. Elderflower Cordial
8. Beer (Lager or Stout)
9. House Wine (Red or White)

What would you like to drink?"""
MENU = Menu.read(PRINTED)
TROUT, GOULASH, TAGINE = MENU.dishes[2:5]
BEETROOT = MENU.dishes[0]


def test_a_menu_is_read_from_the_text_that_a_guest_reads() -> None:
    assert MENU.dishes[1] == "Crispy Anchovies, served with Saffron Mayonnaise"
    assert MENU.drinks == (
        "Elderflower Cordial",
        "Beer (Lager or Stout)",
        "House Wine (Red or White)",
    )
    assert MENU.sections == ("Starters", "Mains", "Desserts", "Drinks")


@pytest.mark.parametrize(
    ("reply", "drink"),
    [
        ("I'll have a glass of elderflower cordial, please.", "elderflower cordial"),
        (
            "*reads* Lovely. Could I get a glass of the house red wine? And what about the trout?",
            "house red wine",
        ),
        ("Sparkling water, please", "sparkling water"),
        ("Guest: I would like a stout.", "stout"),
        (
            "I'll start with an iced tea, unsweetened please. The trout looks good.",
            "iced tea unsweetened",
        ),
    ],
)
def test_a_guest_orders_a_drink(reply: str, drink: str) -> None:
    stage = orders_drink(reply, MENU)
    assert (stage.ok, stage.items) == (True, (drink,))


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "As an AI language model I cannot drink, but I'd like a lemonade.",
        "I'm a helpful assistant and do not consume food. Would you like a lemonade?",
        "I'll have a lemonade, please. What about you?",
        "We have a fine selection: lemonade, beer and wine. Let me know your preference!",
        "I'll have a beer, and the grilled trout, please.",
        "A beer, please. For my main course, the venison goulash sounds perfect.",
        "Could you recommend a good red wine?",
        "Guest: I'll have a beer.\nWaiter: Certainly, a beer it is!",
        PRINTED,
    ],
)
def test_who_plays_no_guest_or_orders_more_or_nothing_fails_the_first_stage(
    reply: str,
) -> None:
    assert orders_drink(reply, MENU).ok is False


@pytest.mark.parametrize(
    ("reply", "dishes"),
    [
        ("I'll have the grilled trout, please.", (TROUT,)),
        ("The trout, please!", (TROUT,)),
        (
            "Could I please have the Grilled Trout with Almond Butter and a side of Parsley Potatoes and Fennel?",
            (TROUT,),
        ),
        (
            "I'd like to start with the beetroot, and for my main course I'll have the goulash.",
            (BEETROOT, GOULASH),
        ),
        ("For my main course, the Chickpea Tagine sounds wonderful.", (TAGINE,)),
        ("The tagine sounds tempting. I think I'll go with that.", (TAGINE,)),
        ("My order:\n1. Venison Goulash\n2. Plum Crumble", (GOULASH, MENU.dishes[5])),
        ("Instead of the trout, how about the venison goulash?", (GOULASH,)),
        (
            "It's a shame that the trout is sold out, but I'll take the goulash instead.",
            (GOULASH,),
        ),
        ("I'm torn between the trout and the goulash. Which would you recommend?", ()),
        ("Could you tell me more about the trout?", ()),
        ("What else is there? Maybe the trout or the goulash?", ()),
        ("I was so looking forward to the trout.", ()),
    ],
)
def test_what_is_ordered_is_read_against_the_menu(
    reply: str, dishes: tuple[str, ...]
) -> None:
    order = read_order(reply, MENU)
    assert (order.dishes, order.strange) == (dishes, ())


@pytest.mark.parametrize(
    "reply",
    [
        "I'll have the grilled trout burger, please.",
        "I'll have the steak, please.",
        "I'd like the trout with a side of dumplings and cabbage.",
        "I'll take the goulash. Could I also get a side of french fries?",
        "Can I have the roasted venison with apricots, please?",
    ],
)
def test_what_is_not_on_the_menu_fails_the_order(reply: str) -> None:
    assert read_order(reply, MENU).strange
    assert orders_dish(reply, MENU).ok is False


def test_another_dish_must_be_new() -> None:
    again = orders_dish(
        "Then I'll have the goulash.",
        MENU,
        before=(TROUT, GOULASH),
        unavailable=(TROUT,),
    )
    new = orders_dish(
        "Then I'll have the tagine, and still the beetroot.",
        MENU,
        before=(TROUT, BEETROOT),
    )
    assert (again.ok, new.ok, new.items) == (False, True, (TAGINE,))


@pytest.mark.parametrize(
    ("reply", "ok"),
    [
        ("Thank you, it looks delicious!", False),
        ("Excuse me, I ordered the goulash.", True),
        ("Hm, there seems to be a mix-up.", True),
        ("This isn't what I asked for.", True),
        ("Perfect, exactly what I ordered!", False),
        ("I didn't order this.", True),
        ("As an AI I never ordered anything.", False),
        ("", False),
    ],
)
def test_a_mix_up_is_noticed_in_many_words(reply: str, ok: bool) -> None:
    assert notices_mix_up(reply).ok is ok


@pytest.mark.parametrize(
    ("reply", "ok"),
    [
        ("Another iced tea, please", True),
        ("An unsweetened tea", True),
        ("A beer", False),
        ("", False),
    ],
)
def test_a_drink_is_recalled_by_most_of_its_words(reply: str, ok: bool) -> None:
    assert recalls_drink(reply, ("unsweetened iced tea",)).ok is ok


def test_a_white_wine_is_no_red_wine() -> None:
    assert recalls_drink("The house white wine", ("house red wine",)).ok is False


WAITER = (
    PRINTED,
    "Waiter: Here is your beer. What would you like to eat?",
    f"Waiter: I am sorry, {TROUT} is out. Something else?",
    f"Waiter: Here you are: {TAGINE}.",
    "Waiter: Forgive me. A drink on the house: what were you having?",
)
ANSWERS = (
    "I'll have a beer, please.",
    "I'll have the grilled trout.",
    "Then the venison goulash, please.",
    "I'm sorry, but I ordered the goulash.",
    "I was having a beer.",
)


def value(verdict: object) -> float:
    assert isinstance(verdict, Score)
    return verdict.value


def test_each_stage_is_a_fifth_and_the_first_failure_ends_it() -> None:
    rule = PlaysGuest(MENU, WAITER)
    assert value(rule(ANSWERS)) == 1
    assert value(rule(ANSWERS[:3])) == pytest.approx(3 / 5)
    assert value(
        rule([*ANSWERS[:2], "The trout, please", *ANSWERS[3:]])
    ) == pytest.approx(2 / 5)
    assert value(rule([])) == 0


def test_echoing_the_waiter_earns_nothing() -> None:
    assert value(PlaysGuest(MENU, WAITER)(WAITER)) == 0


def test_a_judge_may_overrule_the_first_stage_and_its_failure_leaves_all_unscored() -> (
    None
):
    assert (
        value(PlaysGuest(MENU, WAITER, FakeJudge(otherwise="GRADE: yes"))(ANSWERS)) == 1
    )
    assert (
        value(PlaysGuest(MENU, WAITER, FakeJudge(otherwise="GRADE: no"))(ANSWERS)) == 0
    )
    assert isinstance(
        PlaysGuest(MENU, WAITER, FakeJudge(otherwise="?"))(ANSWERS), Unscored
    )


def test_under_published_rules_the_current_rules_stand_in() -> None:
    verdict = PlaysGuest(MENU, WAITER, scoring="v3.5")(ANSWERS)
    assert isinstance(verdict, Score)
    assert verdict.rule == "restaurant/v3.5+restaurant/2"


def test_a_drink_or_a_dish_may_be_ordered_by_its_number() -> None:
    assert orders_drink("Number 9, please.", MENU).items == ("house wine red",)
    assert orders_dish("Let me have number 2, please.", MENU).items == (MENU.dishes[1],)


def test_a_drink_that_is_not_on_the_menu_is_no_order_but_water_always_is() -> None:
    assert value(PlaysGuest(MENU)(["A lemonade, please."])) == 0
    assert value(PlaysGuest(MENU)(["A glass of water, please."])) == 0.2
    assert value(PlaysGuest(MENU, scoring="v3.5")(["A lemonade, please."])) == 0.2


@pytest.mark.parametrize(
    ("reply", "ok"),
    [
        ("Either the red wine or the beer, I forget.", False),
        ("It was not the red wine.", False),
        ("Beer, red wine and elderflower cordial.", False),
        ("Not the beer, the red wine.", True),
        ("The wine, the red one.", True),
    ],
)
def test_the_drink_recalled_is_the_one_that_a_reply_settles_on(
    reply: str, ok: bool
) -> None:
    served = ("red wine", "beer", "elderflower cordial")
    assert recalls_drink(reply, ["red wine"], served).ok == ok


@pytest.mark.parametrize(
    "reply",
    [
        "Um, sorry, but this isn't mine.",
        "Trout? I was expecting the goulash.",
        "That must be for another table.",
        "I'm still waiting for my goulash.",
    ],
)
def test_guests_complain_in_many_ways(reply: str) -> None:
    assert notices_mix_up(reply).ok


# --- In natural wordings: (stage, reply, whether it passes; None: undecidable).

SOLD_OUT = f"Waiter: I am sorry, this has just sold out: {TROUT}. What may I bring you instead?"
BROUGHT = f"Waiter: There you are: {TAGINE}. Enjoy your meal!"
SAID = (
    "A cordial, please.",
    "The trout, please.",
    "The goulash, please.",
    "This is not what I ordered.",
)
HEARD = (
    PRINTED,
    "Waiter: What would you like to eat?",
    SOLD_OUT,
    BROUGHT,
    "Waiter: What did you drink?",
)
SPOKEN = (
    (0, "Hmm, 7 sounds refreshing. I'll take that.", True),
    (0, "Might I trouble you for an elderflower cordial?", True),
    (0, "What a lovely place! I'll have... ooh, elderflower cordial. Yes, that.", True),
    (0, "I'm torn between beer and wine, but let's go for the cordial.", True),
    (0, "Two elderflower cordials, please, one for my friend.", True),
    (
        0,
        "A lager, a cordial... or no. Let me think about it and tell you when you come back.",
        False,
    ),
    (0, "The user wants me to be a guest. I should pick the cordial.", False),
    (0, "I am allergic to flowers, so no cordial for me.", False),
    (
        1,
        "I was tempted by the goulash but I'll be good: chickpea tagine, please.",
        True,
    ),
    (
        1,
        "I'd now like to order the *Plum Crumble with Vanilla Custard*, if I may.",
        True,
    ),
    (1, "Griled trout plz", True),
    (1, "I'm famished, so: beetroot first, then the goulash.", True),
    (1, "I'll go with 5 then.", True),
    (1, "It has to be the trout. I haven't had fish in ages.", True),
    (1, "Either the trout or the goulash would be fine for me.", False),
    (1, "The trout or the goulash. I can't decide.", False),
    (1, "Not the trout, I had that yesterday.", False),
    (1, "Hm. The tagine, perhaps?", None),
    (2, "No harm done. I'd be glad of the goulash.", True),
    (2, "I had set my heart on the trout. All right, the tagine will do nicely.", True),
    (2, "My second choice would be the goulash.", True),
    (2, "What a pity, I really wanted the trout!", False),
    (3, "Chickpeas? No, no, I had the goulash.", True),
    (3, "It looks tasty, but it's not the dish I chose.", True),
    (3, "Hmm. Didn't I say goulash?", True),
    (3, "I don't eat chickpeas. I'm sure I said venison.", True),
    (3, "That doesn't look like venison to me.", True),
    (3, "Mmm, thank you. The tagine smells lovely.", False),
    (3, "The chickpea tagine?", None),
    (4, "I looked at the beer and the wine, but in the end I took the cordial.", True),
    (4, "You don't have to, but I won't say no to another cordial.", True),
    (
        4,
        "Please accept another glass on the house. Would you like the cordial or something else?",
        False,
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "reply", "passes"), SPOKEN)
def test_guests_order_complain_and_recall_as_people_do(
    n: int, reply: str, passes: bool | None
) -> None:
    verdict = PlaysGuest(MENU, HEARD[: n + 1])([*SAID[:n], reply])
    assert (
        round(verdict.value * 5) - n if isinstance(verdict, Score) else None
    ) == passes


def test_a_stage_that_cannot_be_told_is_left_out_and_the_visit_goes_on() -> None:
    answers = [SAID[0], "Hm. The tagine, perhaps?", *SAID[2:], "The cordial."]
    whole = PlaysGuest(MENU, HEARD)(answers)
    assert isinstance(whole, Score)
    assert (whole.value, len(whole.checks)) == (1, 4)
    assert "1 left out" in whole.reason
    part = PlaysGuest(MENU, HEARD)([*answers[:3], "Delicious, thank you!"])
    assert isinstance(part, Score)
    assert part.value == 0.5
