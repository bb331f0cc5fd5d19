"""ChapterBreak: a book is read out, then several beginnings of its next chapter, one of which fits."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, Wait
from pytest_ltm.datasets import chapter_from_book, chapter_from_dataset
from pytest_ltm.evaluators import PicksOption

from ._parameters import whole
from ._town import Beginning, Fact, Told, Town, beginnings, town_of
from ._town_days import TITLES, Days
from ._town_words import Words

OPTIONS, CLAIMS, KEPT = 6, 3, 3
"""Beginnings to choose from, facts that each takes for granted, facts of the first chapter that stay for good."""
SHORT, LEAST_SPAN = 16_000, 16_000
"""Characters of a text that is read in any span; tokens of the shortest span in which a longer one is read."""

OPENING = "I am going to read to you from a book, page by page. You need not say anything; just listen."
PROMISE = (
    " It is a book that tells everything: unless it says so, nobody moves house, changes work, or gives anything "
    "away, and nothing breaks or is put right. Between its chapters nothing of that kind happens."
)
INTERLUDE = (
    "That was the last page for now. You are going to hear several beginnings that the next chapter might have. "
    "Only one of them fits what you have heard."
)
QUESTION = (
    "Which of these beginnings is that of the real next chapter? "
    "Answer with the number of that option, as a digit, and with nothing else."
)

_SENTENCE_END = re.compile(r"[.!?][\"”’)]*\s+(?![a-z\s])")


def chapter_break(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return pages of a book, six beginnings of its next chapter, and the question which is the true one.

    The book is our own, of `chapters` (default 8) of about `chapter_characters`
    (default 4200), each with `changes` (default 3) changes in the town; or the file
    `book` (plain text, chapters under headings); or the ChapterBreak file `dataset`
    (`split` is "ao3", "pg19", or "all"). Pages have at most `page_characters` (default
    4000), unless a sentence is longer; of a file at most the last `context_characters`
    (default 36000) are read out. The number of the true beginning is expected. In every
    second example the opening says that our book tells everything that changes.
    """
    if "book" in parameters or "dataset" in parameters:
        return _from_file(rng, parameters)
    town = town_of(
        rng, whole(parameters, "chapters", 8), whole(parameters, "changes", 3), KEPT
    )
    words, days = Words(rng, town.people), Days(rng, town.people)
    told: list[tuple[str, Fact]] = []
    text = _book(rng, parameters, town, days, words, told)
    made = beginnings(town, rng, OPTIONS, CLAIMS)
    opening = OPENING + (PROMISE if rng.random() < 1 / 2 else "")
    heading = f"Chapter {len(town.chapters) + 1}"
    texts = [f"{heading}\n\n{_beginning(beginning, days, words)}" for beginning in made]
    last = {fact.key: sentence for sentence, fact in told}
    needles = [last[beginning.broken.key] for beginning in made if beginning.broken]
    return _definition(rng, parameters, text, texts, opening, needles, told)


def pages(text: str, characters: int) -> list[str]:
    """Return the text cut at ends of sentences into pages of at most so many characters; joined they are the text.

    A sentence that is longer than a page is a page of its own.
    """
    made, start, end = [], 0, 0
    for stop in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        if stop - start > characters and end > start:
            made.append(text[start:end])
            start = end
        end = stop
    return [*made, text[start:]]


def _book(
    rng: random.Random,
    parameters: Mapping[str, Any],
    town: Town,
    days: Days,
    words: Words,
    sentences: list[tuple[str, Fact]],
) -> str:
    """Return the text; `sentences` takes up, in order, all that tell a fact."""
    titles = [
        title
        for _ in range(-(-len(town.chapters) // len(TITLES)))
        for title in rng.sample(TITLES, len(TITLES))
    ]
    length = whole(parameters, "chapter_characters", 4200)
    chapters = []
    for number, told in enumerate(town.chapters, start=1):
        pairs = [(one, words.told(one)) for one in told]
        sentences += [(sentence, one.fact) for one, sentence in pairs]
        chapters.append(
            f"Chapter {number}: {titles[number - 1]}\n\n{_chapter(rng, days, pairs, length)}"
        )
    return "\n\n".join(chapters)


def _chapter(
    rng: random.Random, days: Days, said: Sequence[tuple[Told, str]], length: int
) -> str:
    """Return paragraphs of about `length` characters with the sentences in their order, at random places."""
    beats = [days.beat()]
    size = len(beats[0]) + sum(len(sentence) for _, sentence in said)
    while size < length:
        beats.append(days.beat())
        size += len(beats[-1]) + 1
    places = sorted(rng.randrange(len(beats)) for _ in said)
    parts: list[list[str]] = [[beat] for beat in beats]
    for place, (_, sentence) in zip(places, said, strict=True):
        parts[place].append(sentence)
    paragraphs: list[str] = []
    while parts:
        taken = rng.randint(1, 3)
        paragraphs.append(
            " ".join(sentence for part in parts[:taken] for sentence in part)
        )
        del parts[:taken]
    return "\n\n".join(paragraphs)


def _beginning(beginning: Beginning, days: Days, words: Words) -> str:
    parts = [days.beat()]
    for fact in beginning.facts:
        parts += [words.claim(fact), days.beat()]
    return " ".join(parts)


def _from_file(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    limit = whole(parameters, "context_characters", 36000)
    if "book" in parameters:
        chapter = chapter_from_book(
            parameters["book"], rng, others=OPTIONS - 1, context_characters=limit
        )
    else:
        split = parameters.get("split", "all")
        chapter = chapter_from_dataset(
            parameters["dataset"], rng, split=split, context_characters=limit
        )
    read = {**parameters, "work": chapter.work}
    return _definition(
        rng, read, chapter.context, [chapter.true, *chapter.others], OPENING
    )


def _definition(
    rng: random.Random,
    parameters: Mapping[str, Any],
    text: str,
    options: Sequence[str],
    opening: str,
    needles: Sequence[str] = (),
    told: Sequence[tuple[str, Fact]] = (),
) -> Definition:
    """Return the conversation about a text with its sentences that tell facts; the first option is the true one."""
    cut = pages(text, whole(parameters, "page_characters", 4000))
    facts = [
        {
            f"{fact.kind} of {fact.subject}": fact.value
            for sentence, fact in told
            if sentence in page and fact.kind != "whole"
        }
        for page in cut
    ]
    read = [
        Say(f"Page {n} of {len(cut)}:\n\n{page}", tells=facts[n - 1])
        for n, page in enumerate(cut, start=1)
    ]
    order = rng.sample(range(len(options)), len(options))
    offered = [
        Say(f"Option {number}:\n\n{options[place]}")
        for number, place in enumerate(order, start=1)
    ]
    about = [
        page.text for page in read if any(needle in page.text for needle in needles)
    ]
    return Definition(
        steps=(
            Say(opening),
            *read,
            Say(INTERLUDE),
            *offered,
            Ask(QUESTION, about=tuple(about)),
        ),
        expected=order.index(0) + 1,
        parameters=parameters,
    )


@pytest.mark.ltm(
    generate=chapter_break,
    skills="R,I",
    floor=1 / OPTIONS,
    version="2",
    reset="You can forget the book that I read to you, and the beginnings of its next chapter.",
)
def test_chapter_break(ltm: Ltm) -> None:
    """Picks the beginning of the next chapter that contradicts nothing that the book has told."""
    long = (
        sum(
            len(step.text)
            for step in ltm.definition.steps
            if not isinstance(step, Wait)
        )
        > SHORT
    )
    if long and ltm.span is not None and ltm.span < LEAST_SPAN:
        pytest.skip(
            f"a book in one go leaves no room for others in {ltm.span:,} tokens: give it a span of 16k or more"
        )
    answers = ltm.play(ltm.definition, answers=[str(ltm.definition.expected)])
    ltm.score(PicksOption(int(ltm.definition.expected), scoring=ltm.scoring)(answers))
