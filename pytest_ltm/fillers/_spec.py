"""Which filler a value of `--ltm-filler` names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from pytest_ltm._storage.dotted import DottedPath
from pytest_ltm._storage.errors import FillerError, describe_error, did_you_mean
from pytest_ltm.fillers._languages import QuizFiller
from pytest_ltm.fillers._talk import TalkFiller
from pytest_ltm.fillers._trivia import MixedFiller, TriviaFiller, pool_of_file
from pytest_ltm.locales import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pytest_ltm._model.filler import Filler
    from pytest_ltm._model.tokens import TokenCounter
    from pytest_ltm.locales import Language


_OWN: dict[str, Callable[[Random, TokenCounter], Filler]] = {
    "varied": TalkFiller,
    "letters": partial(TalkFiller, letters=True),
    "mixed": MixedFiller,
}


def filler_from_spec(spec: str, rng: Random, counter: TokenCounter, language: Language = ENGLISH) -> Filler:
    """Return a new filler for one conversation.

    `spec`: `varied`, `letters`, `trivia`, `trivia:PATH`, `mixed` or `package.module:factory`. A factory is called
    as `factory(rng, counter)`. Of texts of our own, those in the `language` are taken: other ones than English are
    quizzes, whatever the kind. Raises FillerError.
    """
    kind, colon, rest = spec.partition(":")
    if language is not ENGLISH and not colon and kind in {"trivia", *_OWN}:
        return QuizFiller(rng, counter, language)
    if kind == "trivia":
        if colon and not rest:
            raise FillerError("filler 'trivia:' names no file; write 'trivia' or 'trivia:PATH'")
        return TriviaFiller(rng, counter, pool_of_file(rest) if rest else None)
    if kind in _OWN:
        if colon:
            raise FillerError(f"filler {spec!r}: {kind!r} has texts of its own and takes no more. Write {kind!r}")
        return _OWN[kind](rng, counter)
    if not colon:
        raise FillerError(
            f"unknown filler {spec!r}.{did_you_mean(spec, [*_OWN, 'trivia'])} "
            "Known: varied, letters, trivia, trivia:PATH, mixed, or 'package.module:factory'"
        )
    return _make_filler(spec, DottedPath(spec, what="filler", error=FillerError).resolve(), rng, counter)


def _make_filler(spec: str, factory: object, rng: Random, counter: TokenCounter) -> Filler:
    if not callable(factory):
        raise FillerError(f"filler {spec!r} must be a factory that takes (rng, counter), not {factory!r}")
    try:
        made = factory(rng, counter)
    except Exception as exc:
        raise FillerError(f"filler {spec!r} could not be made: {describe_error(exc)}") from exc
    missing = [name for name in ("make", "configuration") if not callable(getattr(made, name, None))]
    if missing:
        raise FillerError(f"filler {spec!r} returned {made!r}, which has no method {' and no '.join(missing)!r}")
    return cast("Filler", made)
