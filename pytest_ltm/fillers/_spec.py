"""Which filler a value of `--ltm-filler` names."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pytest_ltm._dotted import DottedPath
from pytest_ltm._errors import FillerError, did_you_mean
from pytest_ltm.fillers._mixed import MixedFiller
from pytest_ltm.fillers._trivia import TriviaFiller
from pytest_ltm.fillers._triviaqa import pool_of_file

if TYPE_CHECKING:
    from random import Random

    from pytest_ltm._filler import Filler
    from pytest_ltm._tokens import TokenCounter


def filler_from_spec(spec: str, rng: Random, counter: TokenCounter) -> Filler:
    """Return a new filler for one conversation: `trivia`, `trivia:PATH`, `mixed` or `package.module:factory`.

    A factory is called as `factory(rng, counter)`. Raises FillerError.
    """
    kind, colon, rest = spec.partition(":")
    if kind == "trivia":
        if colon and not rest:
            raise FillerError("filler 'trivia:' names no file; write 'trivia' or 'trivia:PATH'")
        return TriviaFiller(rng, counter, pool_of_file(rest) if rest else None)
    if kind == "mixed":
        if colon:
            raise FillerError(f"filler {spec!r}: 'mixed' has texts of its own and takes no more. Write 'mixed'")
        return MixedFiller(rng, counter)
    if not colon:
        raise FillerError(
            f"unknown filler {spec!r}.{did_you_mean(spec, ['trivia', 'mixed'])} "
            "Known: trivia, trivia:PATH, mixed, or 'package.module:factory'"
        )
    return _made(spec, DottedPath(spec, what="filler", error=FillerError).resolve(), rng, counter)


def _made(spec: str, factory: object, rng: Random, counter: TokenCounter) -> Filler:
    if not callable(factory):
        raise FillerError(f"filler {spec!r} is no factory that takes (rng, counter): {factory!r}")
    try:
        made = factory(rng, counter)
    except Exception as exc:
        raise FillerError(f"filler {spec!r} could not be made: {type(exc).__name__}: {exc}") from exc
    missing = [name for name in ("make", "configuration") if not callable(getattr(made, name, None))]
    if missing:
        raise FillerError(f"filler {spec!r} returned {made!r}, which has no method {' and no '.join(missing)!r}")
    return cast("Filler", made)
