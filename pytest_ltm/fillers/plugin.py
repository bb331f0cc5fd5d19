"""Fillers by their specs: ours, and objects of dotted paths."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    from pytest_ltm.api import Filler, TokenCounter


@hookimpl(trylast=True)
def pytest_ltm_make_filler(
    spec: str, rng: Random, counter: TokenCounter, language: str
) -> Filler:
    """Return the filler that a spec names; FillerError if there is none."""
    from pytest_ltm.fillers import filler_from_spec

    # filler is told, so `en:de` has English filler; most runs load no other language
    if language.partition(":")[0] == "en":
        return filler_from_spec(spec, rng, counter)
    from pytest_ltm.locales import parse_languages

    told = parse_languages({"language": language}).told
    return filler_from_spec(spec, rng, counter, told)
