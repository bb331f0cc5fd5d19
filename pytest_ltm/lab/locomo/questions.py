"""Questions of all five categories with golds and evidence, from the utterances alone, not the event graph.

Maharana et al. (2024), section 4.1, defines the categories. The tests answer the same questions from the graph, so that
each checks the other.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property

from msgspec import Struct, structs

from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.lab.locomo.dialogue_text import (
    CAUSE,
    HAPPENED,
    PLAN,
    GeneratedTurn,
    next_step,
)
from pytest_ltm.lab.locomo.world import (
    SINCE,
    Event,
    Tellable,
    World,
    draw_value,
    load_habits,
    load_storylines,
    load_texts,
    phrase_meaning,
    tellable_kinds,
)
from pytest_ltm.language.dates import MONTHS


class GeneratedQuestion(Struct, frozen=True):
    """One generated question."""

    category: Category
    pattern: str
    """Its text before names and things are filled in."""
    filling: Mapping[str, str]
    """The values filled in: `who`, `theme` ..."""
    gold: str
    """For an adversarial question, its wrong suggestion."""
    evidence: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text of the question."""
        return self.pattern.format(**self.filling)


class FactMention(Struct, frozen=True):
    """One fact as mentioned in a turn."""

    turn: GeneratedTurn
    event: Event
    """Only its person, its kind and the turn's content are used."""
    value: str

    @property
    def kind(self) -> Tellable:
        """The kind of fact."""
        return tellable_kinds()[self.event.kind]


class MentionedFacts(Struct, frozen=True, dict=True):
    """All facts mentioned in a conversation, by type."""

    speakers: tuple[str, str]
    days: Mapping[int, date]
    """Days of the sessions, by number."""
    turns: Sequence[GeneratedTurn]

    @cached_property
    def facts(self) -> Mapping[tuple[str, str], FactMention]:
        """Facts by event id and role, in the order of their turns."""
        facts = {}
        for turn in self.turns:
            for reveal in turn.reveals:
                fact = FactMention(turn, reveal.event, reveal.value)
                facts[reveal.event.id, reveal.role] = fact
        return facts

    def happened_facts(self) -> Iterator[FactMention]:
        """Yield events and states without their details."""
        for (_, kind), mention in self.facts.items():
            if kind == HAPPENED:
                yield mention

    def is_mentioned(self, words: str, by: str | None = None) -> bool:
        """Whether the words occur in a turn or caption (of that speaker), in any case."""
        folded = words.casefold()
        texts = [self._texts[by]] if by else self._texts.values()
        pattern = re.compile(rf"(?<!\w){re.escape(folded)}(?!\w)")
        return any(folded in text and pattern.search(text) for text in texts)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        texts = dict.fromkeys(self.speakers, "")
        for turn in self.turns:
            texts[turn.speaker] += f"{turn.text} {turn.caption}\n".casefold()
        return texts

    @cached_property
    def pools(self) -> Mapping[str, str]:
        """The pool of each theme that was mentioned."""
        lines = load_storylines()
        pools = {}
        for mention in self.happened_facts():
            event = mention.event
            if "theme" in event.roles:
                storyline = lines[event.kind.partition("/")[0]]
                pools[event.roles["theme"]] = storyline.theme
        return pools


def question_slots(event: Event) -> dict[str, str]:
    """Return the values that a question about the event may name."""
    slots = {"who": event.who}
    for name in ("theme", "new", "job"):
        if name in event.roles:
            slots[name] = event.roles[name]
    return slots


def third_person_value(value: str) -> str:
    """Return a value in the third person: `my aunt Greta` becomes `aunt Greta`."""
    return re.sub(r"^my ", "", value, flags=re.IGNORECASE).replace(" my ", " their ")


# --- Questions answered by one turn: single-hop, temporal and (with common knowledge)
# open-domain ones.

WHEN = "When did {{who}} {do}?"
PLANNED_DATE_QUESTION = "When did {{who}} plan to {do}?"
BETWEEN = "How many days lay between the day when {{who}} {one} and the day when {{who}} {two}?"


def single_hop(mentions: MentionedFacts) -> Iterator[GeneratedQuestion]:
    """Yield the questions about details, about the speakers themselves, and about states before a change."""
    for (_, kind), tellings in mentions.facts.items():
        if kind == HAPPENED and tellings.kind.question:
            if tellings.kind.key.endswith("/change"):
                was = tellings.event.roles["old"]
            else:
                was = tellings.value
            yield _make_question(
                Category.SINGLE_HOP, tellings.kind.question, tellings, was
            )
        for detail in tellings.kind.details:
            if detail.role == kind and detail.question not in {"", SINCE}:
                yield _make_question(
                    Category.SINGLE_HOP, detail.question, tellings, tellings.value
                )


def temporal_questions(mentions: MentionedFacts) -> Iterator[GeneratedQuestion]:
    """Yield the questions about days, months, years and the time between two events."""
    for (_, role), tellings in mentions.facts.items():
        today = mentions.days[tellings.turn.session]
        kind = tellings.kind
        value = tellings.value
        if role == HAPPENED and kind.do:
            yield _make_question(
                Category.TEMPORAL,
                WHEN.format(do=kind.do),
                tellings,
                phrase_meaning(value, today),
            )
        if role == PLAN:
            question = PLANNED_DATE_QUESTION.format(do=next_step(kind).do)
            yield _make_question(
                Category.TEMPORAL, question, tellings, phrase_meaning(value, today)
            )
        details = [detail for detail in kind.details if detail.question == SINCE]
        if role in [detail.role for detail in details]:
            yield _make_question(
                Category.TEMPORAL, kind.since, tellings, str(today.year - int(value))
            )
    for tellings in mentions.happened_facts():
        for cause in tellings.event.causes:
            cause_mention = mentions.facts[cause, HAPPENED]
            cause_day = _known_day(cause_mention, mentions)
            day = _known_day(tellings, mentions)
            if cause_day and day:
                pattern = BETWEEN.format(
                    one=cause_mention.kind.did, two=tellings.kind.did
                )
                apart = (day - cause_day).days
                gold = f"{apart} day{'s' if apart != 1 else ''}"
                evidence = (cause_mention.turn.id, tellings.turn.id)
                yield GeneratedQuestion(
                    Category.TEMPORAL,
                    pattern,
                    question_slots(tellings.event),
                    gold,
                    evidence,
                )


def _known_day(mention: FactMention, mentions: MentionedFacts) -> date | None:
    """Return the day on which something happened; None if it is known to the week or month only."""
    gold = phrase_meaning(mention.value, mentions.days[mention.turn.session])
    day = re.fullmatch(r"(\d+) (\w+) (\d{4})", gold)
    if day is None:
        return None
    return date(int(day[3]), MONTHS.index(day[2]) + 1, int(day[1]))


def open_domain(mentions: MentionedFacts) -> Iterator[GeneratedQuestion]:
    """Yield the questions whose answers follow only from the conversation plus common knowledge."""
    texts = load_texts("personas")
    for telling in mentions.happened_facts():
        for question, answer in telling.kind.conclusions:
            yield _make_question(
                Category.OPEN_DOMAIN,
                question,
                telling,
                answer.format(who=telling.event.who),
            )
        if telling.kind.key == "trip/1":
            answers = texts["cities"][telling.event.roles["theme"]]
            for question, answer in zip(texts["city_questions"], answers, strict=False):
                yield _make_question(Category.OPEN_DOMAIN, question, telling, answer)


def _make_question(
    category: Category, pattern: str, fact: FactMention, gold: str
) -> GeneratedQuestion:
    slots = question_slots(fact.event)
    value = third_person_value(gold)
    return GeneratedQuestion(category, pattern, slots, value, (fact.turn.id,))


# --- Questions that need several turns: lists over storylines, causes, and changes.

LED_TO = "What had {{who}} done that led to this: {{who}} {did}?"
_LONGEST = 8  # longer lists are not asked for


def list_questions(mentions: MentionedFacts) -> Iterator[GeneratedQuestion]:
    """Yield the questions for lists of things, and for changes."""
    for line in load_storylines().values():
        for speaker in mentions.speakers:
            beginnings = []
            for fact in mentions.happened_facts():
                if fact.event.who == speaker and fact.kind.key == f"{line.name}/0":
                    beginnings.append(fact)
            if 1 < len(beginnings) <= _LONGEST:
                yield _list_question(
                    line.listing,
                    beginnings,
                    [mention.event.roles["theme"] for mention in beginnings],
                )
    for habit in load_habits():
        stages = []
        for fact in mentions.happened_facts():
            if fact.kind in {habit.first, habit.change}:
                stages.append(fact)
        if len(stages) > 1:
            values = [stage.value for stage in stages]
            yield _list_question(habit.latest, stages, values[-1:])
            yield _list_question(habit.listing, stages, values)


def cause_questions(mentions: MentionedFacts) -> Iterator[GeneratedQuestion]:
    """Yield the questions for the cause of an event."""
    for (event, kind), tellings in mentions.facts.items():
        if kind == CAUSE:
            cause = mentions.facts[tellings.event.causes[0], HAPPENED]
            both = [cause, mentions.facts[event, HAPPENED]]
            yield _list_question(
                LED_TO.format(did=tellings.kind.did), both, [tellings.value]
            )


def _list_question(
    pattern: str, facts: list[FactMention], gold: list[str]
) -> GeneratedQuestion:
    evidence = tuple(dict.fromkeys(fact.turn.id for fact in facts))
    slots = question_slots(facts[0].event)
    return GeneratedQuestion(
        Category.MULTI_HOP, pattern, slots, ", ".join(gold), evidence
    )


# --- Questions that the conversation does not answer, although it seems to.

_TRIES = 5


def adversarial_questions(
    mentions: MentionedFacts,
    answerable: Sequence[GeneratedQuestion],
    rng: random.Random,
) -> Iterator[GeneratedQuestion]:
    """Yield questions made unanswerable by changing the speaker or the theme."""
    for question in answerable:
        theme = question.filling.get("theme", "")
        changed = dict[str, str]()
        if rng.random() < 0.6:
            who = question.filling["who"]
            (substitute,) = [name for name in mentions.speakers if name != who]
            if not (theme and mentions.is_mentioned(theme, by=substitute)):
                changed["who"] = substitute
        elif pool := mentions.pools.get(theme, ""):
            drawn = (draw_value(pool, rng) for _ in range(_TRIES))
            for substitute in drawn:
                if not mentions.is_mentioned(substitute):
                    changed["theme"] = substitute
                    break
        if changed:
            yield structs.replace(
                question,
                filling={**question.filling, **changed},
                category=Category.ADVERSARIAL,
            )


# Shares of the categories, as in the published file.
SHARES = dict(zip(Category, (0.14, 0.16, 0.05, 0.42, 0.23), strict=True))


def generate_questions(
    world: World, turns: Sequence[GeneratedTurn], count: int, rng: random.Random
) -> list[GeneratedQuestion]:
    """Return at most `count` questions, by each category's share: fewer if not enough was said for one."""
    mentions = MentionedFacts(
        world.speakers,
        {n: moment.date() for n, moment in enumerate(world.dates, start=1)},
        turns,
    )
    # Rounded shares, at least one of each if the count allows, the rest single-hop.
    counts = {}
    for category, share in SHARES.items():
        counts[category] = max(round(count * share), 1)
    counts[Category.SINGLE_HOP] += count - sum(counts.values())
    if counts[Category.SINGLE_HOP] < 0:
        for number, category in enumerate(Category, start=1):
            counts[category] = int(number <= count)
    generated_questions: list[GeneratedQuestion] = []

    def take(candidates: Iterable[GeneratedQuestion], limit: int) -> None:
        """Add candidates in random order, without duplicate texts."""
        fresh: dict[str, GeneratedQuestion] = {}
        for candidate in candidates:
            fresh.setdefault(candidate.text, candidate)
        for generated_question in generated_questions:
            fresh.pop(generated_question.text, None)
        generated_questions.extend(
            rng.sample(list(fresh.values()), min(limit, len(fresh)))
        )

    take(
        [*list_questions(mentions), *cause_questions(mentions)],
        counts[Category.MULTI_HOP],
    )
    dated = list(temporal_questions(mentions))
    single = list(single_hop(mentions))
    take(dated, counts[Category.TEMPORAL])
    take(open_domain(mentions), counts[Category.OPEN_DOMAIN])
    take(single, counts[Category.SINGLE_HOP])
    # an adversarial question resembles one that is asked
    cited = set[str]().union(*(question.evidence for question in generated_questions))
    answerable = []
    for question in (*single, *dated):
        if cited.issuperset(question.evidence):
            answerable.append(question)
    take(adversarial_questions(mentions, answerable, rng), counts[Category.ADVERSARIAL])
    return generated_questions
