"""What the options of LoCoMo say: what is asked, how it is told and when, what stands beside the scores."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm.datasets.locomo._asking import ASKINGS
from pytest_ltm.datasets.locomo._delivery import TELLINGS, photos_in
from pytest_ltm.datasets.locomo._dialogue import TURNS
from pytest_ltm.datasets.locomo._next_turn import embedding
from pytest_ltm.datasets.locomo._tasks import TASKS, tasks_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm.datasets.locomo._audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the options say."""

    asking: str = "official"
    telling: str = "turns"
    after: int | None = None
    """So many tokens after its evidence a question is asked; None: after the whole history."""
    seed: int = 0
    audit: Audit | None = None
    """Corrections that are shown beside the published answers."""
    photos: Mapping[str, str] = field(default_factory=dict)
    """Files of photos by name."""
    tasks: tuple[str, ...] = TASKS[:1]
    next_turns: int = TURNS
    """So many turns of each conversation are asked for."""
    embeddings: str = ""
    """The dotted path of a function that gives vectors of texts; "": none."""


def choices_of(options: Mapping[str, str], seed: int, audit: Audit | None = None) -> Choices:
    """Return what the options say; ConfigurationError names the option that cannot be."""
    return Choices(
        asking=_one_of(options, "asking", ASKINGS),
        telling=_one_of(options, "telling", TELLINGS),
        after=_tokens(options.get("after", "")),
        seed=seed,
        audit=audit,
        photos=photos_in(Path(options["images"])) if options.get("images") else {},
        tasks=tasks_in(options.get("tasks", "")),
        next_turns=_turns(options.get("next_turns", "")),
        embeddings=_embeddings(options.get("embeddings", "")),
    )


def _tokens(text: str) -> int | None:
    """Return a number of tokens from `2000` or `2k`; None for none."""
    if not text.strip():
        return None
    found = re.fullmatch(r"([0-9]+)(k?)", text.strip().lower())
    if found is None:
        raise ConfigurationError(f"--ltm-locomo-after: expected a number of tokens such as 2000 or 2k, got {text!r}")
    return int(found[1]) * (1000 if found[2] else 1)


def _turns(text: str) -> int:
    if not text.strip():
        return TURNS
    if not text.strip().isdecimal() or int(text) < 1:
        raise ConfigurationError(f"--ltm-locomo-next-turns: expected a number of turns such as 5, got {text!r}")
    return int(text)


def _embeddings(path: str) -> str:
    """Return the path as it is; ConfigurationError if it names no function."""
    if path:
        embedding(path)
    return path


def _one_of(options: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    given = options.get(name) or known[0]
    if given not in known:
        raise ConfigurationError(
            f"--ltm-locomo-{name}: {given!r} is not one of {', '.join(known)}.{did_you_mean(given, known)}"
        )
    return given
