"""First names that the user goes by, and the sentences that tell them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pytest_ltm import Say
from pytest_ltm.locales import ENGLISH, Language, either, worded

from ._parameters import whole

GIVEN_NAMES = tuple(
    """Abigail Adelaide Adrian Agatha Agnes Aisha Alasdair Albert Alejandra Alfred Alice Alistair Amelia Amos Anders
    Andrew Angus Anita Annika Anthony Antonia Arthur Astrid Aubrey Audrey Augusta Barbara Barnaby Bartholomew
    Beatrice Belinda Benedict Benjamin Bernadette Bernard Bertha Bethany Bianca Blanche Boris Brenda Brendan Bridget
    Bronwyn Bryony Caitlin Callum Camille Carlotta Caroline Cassandra Catherine Cecilia Cedric Celeste Charlotte
    Christopher Clarence Claudia Clement Clifford Clive Colette Conrad Constance Cordelia Cornelius Cressida Cynthia
    Cyril Damian Daniel Daphne Davina Deborah Deirdre Delilah Denise Derek Desmond Diana Dominic Donald Dorothy
    Douglas Duncan Edgar Edith Edmund Edward Eileen Eleanor Elias Elizabeth Elliott Elmira Elspeth Emily Emmanuel
    Enid Enrique Eric Ernest Esme Esther Ethan Eugene Eunice Evangeline Evelyn Ezra Felicity Felix Fergus Fernando
    Finlay Fiona Florian Frances Francisco Frederick Freya Gabriel Gareth Gemma Geoffrey Georgina Gerald Gertrude
    Gideon Gilbert Gillian Giselle Gladys Godfrey Gordon Graham Gregory Greta Gwendolyn Hamish Hannah Harold Harriet
    Harvey Hector Helga Henrietta Herbert Hermione Hilary Hilda Horace Howard Hubert Hugo Humphrey Ignatius Imogen
    Ingrid Irene Isaac Isabel Ismael Jacqueline Jamal Janet Jasper Jemima Jennifer Jeremy Jerome Jessica Joachim
    Joanna Jocelyn Jonathan Joseph Judith Julian Juliet Katherine Keith Kenneth Kieran Kirsten Lachlan Lambert
    Lavinia Lawrence Leander Leonard Leopold Lester Lillian Lionel Lorenzo Lorraine Louise Lucinda Ludwig Luther
    Lydia Mabel Madeleine Magnus Malcolm Marcus Margaret Marianne Marigold Marina Marjorie Martha Matilda Matthew
    Maureen Maurice Maximilian Melanie Melissa Meredith Michael Mildred Millicent Miriam Mohammed Monica Mortimer
    Muriel Murray Nadia Naomi Natasha Nathaniel Neil Nicholas Nicola Nigel Noemi Norbert Odette Oliver Olympia Oscar
    Osvaldo Ottilie Padraig Pamela Patricia Pauline Penelope Percival Philippa Phoebe Pierre Quentin Rafael Ramona
    Raymond Rebecca Reginald Reuben Ricardo Roderick Roger Roland Rosalind Rowena Rupert Sabrina Salvatore Samantha
    Samuel Sebastian Seraphina Sheila Sidney Sigmund Silvia Siobhan Solomon Sophie Stanley Stephanie Susannah
    Sylvester Tabitha Tamsin Tatiana Teresa Thaddeus Theodore Thomas Tiberius Timothy Tristan Ulrich Ursula Valerie
    Vanessa Vincent Viola Vivienne Walter Wanda Wendy Wilfred Wilhelmina Winifred Winston Xavier Yolanda Yvette
    Yvonne Zachary Zelda Zoe""".split()  # noqa: SIM905 - reads best
)
"""Given names that are heard in English-speaking countries, put together for this scenario; frozen, because equal seeds
must give equal texts, whatever is installed. With any change the scenarios that draw
them go up in version."""
ORDINARY_WORDS = frozenset(
    """amber angel april ariel austin autumn bill brandy brook brooke brooklyn carmel carol carter chad chase chelsea
    cherie cheyenne christian cody cole crystal daisy dakota dale dawn dean destiny diamond don drew earl ebony eden
    eve faith faye gene glen grace grant guy harry heather holly hunter india ivy jack jade jasmine jay jean jersey
    jesus jordan josh joy kane kelvin kent kerry kirby lacey lance lane leigh london mark martin mary mason max may
    melody mercedes mike miles miracle misty nick norm olive paige parker pat patty pearce penny perry pierce preston
    rachel raven ray reece regan rich rick robin rod rose rosemary rowan ruby rusty sandy savannah sean shay shelby
    sherry sierra skip spencer stone storm sue summer sydney tanner taylor terry tia tiffany tobias tom tony tory tracy
    trey troy una victor virginia ward warren wayne whitney will willow woody""".split()  # noqa: SIM905 - reads best
)
"""Names that are also colours, things, places, months or words of other texts: they are not drawn, in any locale."""

INTRODUCTIONS = (
    "[by the way, |I should have said: |before we go on, |]my name is {name}.",
    "[you may|feel free to|please|you can] call me {name}[.|, everybody does.|, that's easiest.]",
    "[I have not introduced myself yet|Where are my manners|We haven't met]: [I'm|I am] {name}.",
    "people [usually |mostly |]call me {name}[.|, for short.|, for some reason.]",
    "I go by [the name of |]{name}[.|, as it happens.|, in case you need it.]",
    "{name} is [what I am called|my name][, by the way|, if you were wondering|, nice to meet you|].",
    "hello, [this is {name}|{name} here|it's {name}]. [I talk a lot, so be warned.|How are things?|Bear with me.]",
    "this is {name} [speaking|writing][, hello|, as you'll have guessed|, in a good mood|].",
    "you're talking to {name}[.|, by the way.|, who else.]",
)
CHANGES = (
    "from [today|now] on [my name is|I go by the name of|I want to be called] {name}.",
    "I have taken another name. [Please call|Call] me {name}[ from here on| now|, will you].",
    "I don't use [my former|my old|that] name any longer; [my new name is|call me] {name}.",
    "I [have changed|changed|am changing] my name to {name}.",
    "a change again: [people call|they call|my sister calls] me {name} now.",
    "drop the name [that I had|you have for me]: I am {name} [from this moment|from now on].",
    "my name [has changed to|is now] {name}[, by the way|. It's official|, since the wedding|].",
    "[start calling|call] me {name}[ instead|, please| from now on].",
    "refer to me as {name}[, please| from now on|].",
    "{name} is [what I am called|my name] [now|these days|from today on].",
)
WITHOUT_THE_WORD = (
    "I'm {name} [now|these days|from today on], [by the way|believe it or not|so get used to it].",
    "it's {name} [now|these days|from here on][, by the way|, please|. I'll explain another time].",
    "I've settled on {name}[.| for now.| instead.| after a lot of thought.]",
    "make that {name}[, please|. I've thought it over|, it sounds better|].",
    "just {name} [will do|is fine] [now|from now on|these days].",
    "you're talking to {name} [now|these days|from here on][.|, in a manner of speaking.]",
    "{name}, [please|if you don't mind], [from now on|from here on|as of today].",
    "I [signed the lease|enrolled|checked in] as {name} [today|this morning], and I'm keeping that.",
    "I've become {name}[ since the wedding| for good| at last|, on the advice of my agent].",
    "[sorry|no], not that any more: {name}[, please|].",
    "everybody [at work|at the club|at home] says {name} to me [now|these days].",
)
"""How people go on once it is known what they were called."""
TRIES = 200
"""Draws for each name, before the names of a locale are called too few."""
RESET = (
    "Please forget every name that I have given myself. For the time being I have none."
)


def first_names(
    rng: random.Random,
    number: int,
    locale: str | None = None,
    language: Language = ENGLISH,
) -> list[str]:
    """Return different names; none is a part of another, so that every rule can tell them apart.

    `locale`: one of Faker's, such as `de_DE`; None: those of the language. ValueError
    where Faker is not installed, has no such locale, or has too few names of letters
    alone.
    """
    draw = _drawer(rng, locale, language.find_text("names.given", GIVEN_NAMES))
    drawn: list[str] = []
    for name in (draw() for _ in range(TRIES * number)):
        if (
            name.isalpha()
            and name.lower() not in ORDINARY_WORDS
            and not _alike(name, drawn)
        ):
            drawn.append(name)
        if len(drawn) == number:
            return drawn
    raise ValueError(
        f"locale {locale!r} has too few first names that differ: {len(drawn)} of {number}"
    )


def _alike(name: str, others: list[str]) -> bool:
    for other in others:
        if name.lower() in other.lower() or other.lower() in name.lower():
            return True
    return False


def _drawer(
    rng: random.Random, locale: str | None, given: Sequence[str]
) -> Callable[[], str]:
    if locale is None:
        return partial(rng.choice, given)
    try:
        from faker import Factory
    except ModuleNotFoundError:
        raise ValueError(
            f"locale {locale!r} needs Faker: pip install 'pytest-ltm[faker]'"
        ) from None
    try:
        maker: Any = Factory.create(locale, providers=["faker.providers.person"])
    except AttributeError:
        raise ValueError(
            f"locale {locale!r} is none of Faker's, such as 'de_DE'"
        ) from None
    maker.seed_instance(rng.getrandbits(64))
    return lambda: str(maker.first_name())


def told(
    rng: random.Random,
    names: list[str],
    language: Language = ENGLISH,
    *,
    lasting: bool = False,
) -> list[Say]:
    """Return one statement for each name: an introduction, then changes, of which half do not say that they are one.

    `lasting`: former names are still wanted, so that none is out of date.
    """
    introductions = language.find_text("names.introductions", INTRODUCTIONS)
    changes = language.find_text("names.changes", CHANGES)
    unmarked = language.find_text("names.unmarked", WITHOUT_THE_WORD)
    says = []
    for place, name in enumerate(names):
        wordings = either(rng, changes, unmarked) if place else introductions
        label = f"name {place + 1}" if lasting else "name"
        says.append(Say(worded(rng, wordings, name=name), tells={label: name}))
    return says


def number_of_names(parameters: Mapping[str, Any], default: int) -> int:
    """Return `name_changes`, how many names are told; ValueError unless it is a whole number from 1 to 50."""
    return whole(parameters, "name_changes", default, most=50)


def locale(parameters: Mapping[str, Any]) -> str | None:
    """Return `locale`, whose names are drawn; None where it is absent; ValueError unless it is a text."""
    value = parameters.get("locale")
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"locale is one of Faker's, such as 'de_DE', not {value!r}")
