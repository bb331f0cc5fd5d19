"""Parses the values of `--ltm-filler`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, cast

from pytest_ltm.api.model import Filler, TokenCounter
from pytest_ltm.api.storage import (
    DottedPath,
    FillerError,
    describe_error,
    did_you_mean,
    lazy,
)

if TYPE_CHECKING:
    from pytest_ltm.locales import Language

# Imported lazily: a run has one filler, and need not read the texts of the others.
_talk = lazy("pytest_ltm.fillers._talk:TalkFiller")
_talk_of_suite = lazy("pytest_ltm.fillers._talk:talk_of_suite")
_trivia = lazy("pytest_ltm.fillers.trivia:TriviaFiller")
_pool_of_file = lazy("pytest_ltm.fillers.trivia:pool_of_file")
_quiz_in_language = lazy("pytest_ltm.fillers._language_quiz:QuizFiller")
_OWN: dict[str, Callable[[Random, TokenCounter], Filler]] = {
    "varied": _talk,
    "letters": partial(_talk, letters=True),
    "mixed": lazy("pytest_ltm.fillers._mixed:MixedFiller"),
}


def _make_own_filler(spec: str, rng: Random, counter: TokenCounter) -> Filler:
    kind, colon, suite = spec.partition(":")
    if colon and kind == "varied":
        return cast("Filler", _talk_of_suite(suite, rng, counter))
    if colon:
        raise FillerError(
            f"filler {spec!r}: {kind!r} has texts of its own and takes no more. Write {kind!r}"
        )
    return _OWN[kind](rng, counter)


def filler_from_spec(
    spec: str, rng: Random, counter: TokenCounter, language: Language | None = None
) -> Filler:
    """Return a new filler for one conversation.

    `spec`: `varied`, `varied:SUITE`, `letters`, `trivia`, `trivia:PATH`, `mixed` or
    `package.module:factory`. A factory is called as `factory(rng, counter)`.
    `language`: the language of our own texts (None: English); in other languages they
    are always quizzes. Raises FillerError.
    """
    kind, colon, path = spec.partition(":")
    if language is not None and (spec in {"trivia", *_OWN} or kind == "varied"):
        return cast("Filler", _quiz_in_language(rng, counter, language))
    if kind == "trivia":
        if colon and not path:
            raise FillerError(
                "filler 'trivia:' names no file; write 'trivia' or 'trivia:PATH'"
            )
        pool = _pool_of_file(path) if path else None
        return cast("Filler", _trivia(rng, counter, pool))
    if kind in _OWN:
        return _make_own_filler(spec, rng, counter)
    if not colon:
        raise FillerError(
            f"unknown filler {spec!r}.{did_you_mean(spec, [*_OWN, 'trivia'])} "
            "Known: varied, letters, trivia, trivia:PATH, mixed, varied:SUITE, or 'package.module:factory'"
        )
    factory = DottedPath(spec, what="filler", error=FillerError).resolve()
    if not callable(factory):
        raise FillerError(
            f"filler {spec!r} must be a factory that takes (rng, counter), not {factory!r}"
        )
    try:
        filler = factory(rng, counter)
    except Exception as exc:
        raise FillerError(
            f"filler {spec!r} could not be made: {describe_error(exc)}"
        ) from exc
    names = ("make", "configuration")
    missing = [name for name in names if not callable(getattr(filler, name, None))]
    if missing:
        raise FillerError(
            f"filler {spec!r} returned {filler!r}, which has no method {' and no '.join(missing)!r}"
        )
    return cast("Filler", filler)
