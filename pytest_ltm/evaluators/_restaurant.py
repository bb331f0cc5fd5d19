"""Restaurant: the agent plays a guest through five stages; each stage is judged from its own reply."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm._judge import PROMPTS, Judge, ask_judge
from pytest_ltm._score import Check, Score, Scoring, Unscored
from pytest_ltm.evaluators._menu import FILLERS, Menu
from pytest_ltm.evaluators._orders import read_order
from pytest_ltm.evaluators._rules import check_scoring, standing_in
from pytest_ltm.evaluators._words import phrases, snippet, words

if TYPE_CHECKING:
    from collections.abc import Sequence

STAGES = (
    "orders a drink, as a guest",
    "orders a dish",
    "orders another dish",
    "notices the mix-up",
    "recalls the drink",
)
RULE = "restaurant/1"

_MACHINE = phrases(
    r"an? (?:\w+ ){0,3}(?:ai|assistant|chatbot)",
    "language model",
    "text based",
    r"(?:cant|cannot|dont|not able to|unable to) (?:\w+ ){0,4}(?:eat|drink|taste|consume|order)",
    "not a (?:customer|guest|diner)",
    "(?:not|no longer) in a restaurant",
)
_HOST = phrases(
    "(?:what|how) about you",
    "and you$",
    "what are you in the mood",
    "what can i (?:get|do|bring)",
    "(?:what|anything) would you like",
    "let me know (?:your|what you)",
    "can help you",
    "help you (?:decide|choose|with)",
    "happy to (?:help|assist|recommend)",
    "you (?:may|might|can|could) (?:enjoy|order|choose|also choose|opt)",
    "would you like (?:a|an|some|something|to)",
    "we (?:have|offer) a",
    "here is (?:our|the) menu",
    "are you looking for",
    r"enjoy your (?:meal|drink|food|\w+ \w+)",
)
_OTHER_SPEAKER = re.compile(
    r"^[\s*_>#-]{0,8}(?:the )?(?:waiter|waitress|server)\b[^:\n]{0,20}:", re.IGNORECASE | re.MULTILINE
)
_ORDERED = "(?:ordered|requested|asked for)"
_MISTAKE = phrases(
    r"(?:didnt|did not|never|(?:dont|do not) (?:recall|remember|think i|believe i)) "
    r"(?:order|ask|request|having)\w*",
    "didnt i (?:order|ask|request)|mine was",
    r"belongs? to (?:another|a different|the (?:next|other)|someone|somebody)",
    f"i (?:had |have |actually |clearly )?(?:originally |initially )?{_ORDERED}",
    r"mix up|mixup|mistake\w*|misunderstanding",
    "(?:not|isnt|wasnt|isnt quite) what (?:i|we)",
    "wrong (?:dish|order|meal|plate|food|one|item)",
    "supposed to (?:be|have|get)",
    "different from what",
    "changed my order",
    "my order was",
    "(?:that isnt|not) my order",
)
_VAGUE = ("house", "large", "small", "cold")
_CONTENT = phrases(
    f"(?:exactly|just|precisely) (?:what|as|like) i (?:had |have )?{_ORDERED}",
    "no mistake",
    f"thank you for (?:bringing )?(?:what|everything) i {_ORDERED}",
    f"(?:dish|meal|food|everything) i {_ORDERED}",
)


@dataclass(frozen=True, slots=True)
class Stage:
    """What one reply achieved."""

    ok: bool | None
    """None: the rule cannot tell."""
    reason: str
    items: tuple[str, ...] = ()
    """What was ordered: dishes by their full names, drinks as the guest called them."""
    sure: bool = True
    """False: another reader may see something else in the reply."""
    said: str = ""
    """The reply itself, kept where a judge may be asked about it later."""
    judged: str = ""
    """Name and version of the prompt by which a judge decided."""
    unscored: Unscored | None = None
    """Why nobody can tell."""


def orders_drink(reply: str, menu: Menu) -> Stage:
    """Stage 1: the reply is a guest's, orders a drink and no dish."""
    text = " ".join(words(reply))
    if _MACHINE.search(text):
        return Stage(False, "does not play a guest: speaks of being a machine")
    if _speaks_for_both(reply):
        return Stage(False, "speaks the waiter's part as well")
    if _HOST.search(text):
        return Stage(False, "does not play a guest: speaks as a host")
    order = read_order(reply, menu)
    if order.asked:
        return Stage(False, f"orders {order.asked[0]!r} where only a drink was asked for", order.asked)
    if not order.drinks:
        return Stage(False, "orders no drink", sure=not text)
    return Stage(True, f"orders {order.drinks[0]!r}", order.drinks, sure=False)


def orders_dish(reply: str, menu: Menu, *, before: Sequence[str] = (), unavailable: Sequence[str] = ()) -> Stage:
    """Stages 2 and 3: the reply orders a dish of the menu, not one of `before` or `unavailable`, and nothing else.

    What is ordered again beside a new dish does not count against it.
    """
    if _MACHINE.search(" ".join(words(reply))):
        return Stage(False, "does not play a guest: speaks of being a machine")
    if _speaks_for_both(reply):
        return Stage(False, "speaks the waiter's part as well")
    order = read_order(reply, menu)
    if order.strange:
        return Stage(False, f"{order.strange[0]!r} is not on the menu", order.dishes, sure=False)
    new = tuple(dish for dish in order.dishes if dish not in before and dish not in unavailable)
    if new:
        return Stage(True, f"orders {new[0]!r}", new)
    if order.dishes:
        return Stage(False, f"orders {order.dishes[0]!r} again", order.dishes, sure=False)
    return Stage(False, "orders no dish", sure=not words(reply))


def notices_mix_up(reply: str) -> Stage:
    """Stage 4: the reply says that this is not what was ordered."""
    text = " ".join(words(reply))
    if _MACHINE.search(text):
        return Stage(False, "does not play a guest: speaks of being a machine")
    found = _MISTAKE.search(_CONTENT.sub(" ", text))
    if found:
        return Stage(True, f"says {found.group()!r}")
    return Stage(False, "does not notice the mix-up", sure=not text)


def recalls_drink(reply: str, drinks: Sequence[str]) -> Stage:
    """Stage 5: the reply names a drink ordered before, by at least two thirds of its words."""
    told = set(words(reply))
    for drink in drinks:
        named = [
            word for word in words(drink) if word not in FILLERS and word not in ("house", "large", "small", "cold")
        ]
        if named and sum(word in told for word in named) * 3 >= len(named) * 2:
            return Stage(True, f"recalls {drink!r}")
    return Stage(False, f"does not recall {' or '.join(map(repr, drinks)) or 'a drink'}", sure=not told)


def _speaks_for_both(reply: str) -> bool:
    return any(found.start() > 0 and reply[: found.start()].strip() for found in _OTHER_SPEAKER.finditer(reply))


@dataclass(frozen=True, slots=True)
class PlaysGuest:
    """A fifth for each stage passed in a row; the first failure ends it.

    `waiter` are the waiter's messages in order: what was unavailable is read from the third. A missing answer fails its
    stage. `v3.5`, `paper`: a model judges those stages, so the current rules stand in. A judge, if there is one, is
    asked about each reply that the rules are not sure of, by itself; and whether the first reply plays a guest.
    """

    menu: Menu
    waiter: tuple[str, ...] = ()
    judge: Judge | None = None
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of the five stages passed."""
        passed: list[Stage] = []
        for n, answer in enumerate(answers[: len(STAGES)]):
            passed.append(self.stage(n, answer, passed))
            if not passed[-1].ok:
                break
        return self.verdict(passed, answers)

    def verdict(self, stages: Sequence[Stage], answers: Sequence[str]) -> Score | Unscored:
        """Return the share of the stages passed, given what each reply up to the first failure achieved."""
        passed = list(stages)
        if len(passed) < len(STAGES) and all(stage.ok for stage in passed):
            passed.append(Stage(False, "was not reached"))
        if passed[-1].ok is None:
            why = passed[-1].unscored or Unscored(passed[-1].reason)
            return replace(why, rule=_rule(passed), evidence=snippet(answers[len(passed) - 1]))
        score = self._score(passed, answers)
        asks = self.scoring != "current" and self.judge is None
        return standing_in(score, self.scoring, "restaurant") if asks else score

    def stage(self, n: int, reply: str, passed: Sequence[Stage]) -> Stage:
        """Return what a reply achieves in stage `n` (from 0), given the stages passed before it."""
        stage = self._by_rule(n, reply, passed)
        if self.judge is None:
            return stage
        stage = replace(stage, said=reply)
        return stage if stage.sure else _Judging(self, self.judge, passed).stage(n, stage)

    def unavailable(self, n: int) -> tuple[str, ...]:
        """Return the dishes that can be ordered no more in stage `n`."""
        return self.menu.named_in_full(self.waiter[2]) if n == 2 and len(self.waiter) > n else ()  # noqa: PLR2004 - the third

    def _by_rule(self, n: int, reply: str, passed: Sequence[Stage]) -> Stage:
        match n:
            case 0:
                return orders_drink(reply, self.menu)
            case 1:
                return orders_dish(reply, self.menu)
            case 2:
                return orders_dish(reply, self.menu, before=passed[1].items, unavailable=self.unavailable(n))
            case 3:
                return notices_mix_up(reply)
        return recalls_drink(reply, passed[0].items)

    def _score(self, passed: Sequence[Stage], answers: Sequence[str]) -> Score:
        checks = tuple(Check(label, n < len(passed) and bool(passed[n].ok)) for n, label in enumerate(STAGES))
        won = sum(check.ok for check in checks)
        at = min(len(passed), len(answers)) - 1
        evidence = snippet(answers[at]) if at >= 0 else ""
        reason = f"stage {len(passed)}: {passed[-1].reason}"
        return Score(won / len(STAGES), reason, checks=checks, rule=_rule(passed), evidence=evidence)


def _rule(stages: Sequence[Stage]) -> str:
    return "+judge/".join([RULE, *dict.fromkeys(stage.judged for stage in stages if stage.judged)])


@dataclass(frozen=True, slots=True)
class _Judging:
    """Asks a judge about the replies of one guest."""

    guest: PlaysGuest
    judge: Judge
    passed: Sequence[Stage]

    def stage(self, n: int, stage: Stage) -> Stage:
        """Return the stage as the judge sees it."""
        match n:
            case 0:
                drinks, dishes = _lines(self.guest.menu.drinks), _lines(self.guest.menu.dishes)
                return self._says(stage, "restaurant-drink", said=self._said(n), drinks=drinks, dishes=dishes)
            case 1 | 2:
                return self._dish(n, stage)
            case 3:
                ordered = " and ".join(self.passed[-1].items)
                return self._says(stage, "restaurant-mix-up", said=self._said(n), ordered=ordered)
        return self._says(stage, "restaurant-recall", order=self.passed[0].said)

    def _says(self, stage: Stage, name: str, **parts: str) -> Stage:
        decision = ask_judge(self.judge, PROMPTS[name], answer=stage.said, **parts)
        if isinstance(decision, Unscored):
            return _unscored(stage, name, decision)
        ok = decision.grade == "yes"
        reason = stage.reason if ok and stage.ok else str(decision)
        return replace(stage, ok=ok, reason=reason, judged=PROMPTS[name].id)

    def _dish(self, n: int, stage: Stage) -> Stage:
        gone = (*(self.passed[1].items if n > 1 else ()), *self.guest.unavailable(n))
        dishes = [dish for dish in self.guest.menu.dishes if dish not in gone]
        prompt = PROMPTS["restaurant-dish"]
        asked = replace(prompt, grades=(*(str(i) for i in range(1, len(dishes) + 1)), prompt.fail))
        numbered = "\n".join(f"{i}. {dish}" for i, dish in enumerate(dishes, start=1))
        decision = ask_judge(self.judge, asked, answer=stage.said, said=self._said(n), dishes=numbered)
        if isinstance(decision, Unscored):
            return _unscored(stage, prompt.name, decision)
        if decision.grade == prompt.fail:
            return replace(stage, reason=str(decision), judged=prompt.id)
        dish = dishes[int(decision.grade) - 1]
        return replace(stage, ok=True, reason=f"the judge says {dish!r}", items=(dish,), judged=prompt.id)

    def _said(self, n: int) -> str:
        return self.guest.waiter[n] if n < len(self.guest.waiter) else "(not known)"


def _unscored(stage: Stage, name: str, why: Unscored) -> Stage:
    return replace(stage, ok=None, reason=why.reason, judged=PROMPTS[name].id, unscored=why)


def _lines(names: Sequence[str]) -> str:
    return "\n".join(f"- {name}" for name in names)
