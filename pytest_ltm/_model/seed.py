"""Seed: where all chance of a run comes from: a number that anybody may know, one drawn for the run, or a secret."""

from __future__ import annotations

import hashlib
import os
import secrets

from msgspec import Struct

from pytest_ltm._storage.errors import ConfigurationError

FRESH, _VARIABLE = "fresh", "env:"
# A shorter secret could be found by its digest, which is public.
_SHORTEST = 16
_DRAWN_BELOW = 2**31


class Seed(Struct, frozen=True, kw_only=True):
    """The seed of a run, and where it comes from."""

    value: int
    source: str = ""
    """`fresh` if it was drawn for the run, `env:NAME` for a secret; "" for a number that was given."""
    digest: str = ""
    """What is written down in place of a secret."""

    def __str__(self) -> str:
        return f"{self.recorded} ({self.source})" if self.source else str(self.value)

    @property
    def recorded(self) -> int | str:
        """What files and screens show: equal where the seeds are equal."""
        return self.digest or self.value

    @property
    def option(self) -> str:
        """The value of `--ltm-seed` that gives this seed again."""
        return f"{FRESH}:{self.value}" if self.source == FRESH else self.source or str(self.value)

    @property
    def publicity(self) -> str:
        """Whether an agent can have learned the texts that it makes, as a clause."""
        if self.digest:
            return "the seed is a secret"
        if self.source == FRESH:
            return "the seed was drawn for this run"
        return f"the texts of seed {self.value} are public" + " (--ltm-seed=env:NAME: a secret one)" * (not self.value)

    @property
    def variable(self) -> str:
        """The environment variable that holds the secret; "" if there is none."""
        return self.source.removeprefix(_VARIABLE) if self.digest else ""


def parse_seed(text: str) -> Seed:
    """Return the seed that `N`, `fresh`, `fresh:N` (drawn earlier) or `env:NAME` stands for.

    Raises ConfigurationError for any other text, and for a variable that is not set or too short to be a secret.
    """
    if text == FRESH:
        return Seed(value=secrets.randbelow(_DRAWN_BELOW), source=FRESH)
    if text.startswith(_VARIABLE):
        return _read_secret(text.removeprefix(_VARIABLE))
    try:
        value = int(text.removeprefix(f"{FRESH}:"))
    except ValueError:
        raise ConfigurationError(f"{text!r} is not a whole number, 'fresh' or 'env:NAME'") from None
    return Seed(value=value, source=FRESH if text.startswith(FRESH) else "")


def _read_secret(name: str) -> Seed:
    text = os.environ.get(name, "").strip()
    if not text:
        raise ConfigurationError(
            f"the environment variable {name!r} is not set. Let it hold 16 random characters or more"
        )
    if len(text) < _SHORTEST:
        raise ConfigurationError(
            f"{name!r} holds {len(text)} characters, which can be guessed from the digest that files show. "
            f"Use {_SHORTEST} random characters or more, such as those of: openssl rand -hex 16"
        )
    # Different prefixes, so that the digest says nothing about the value that texts are made from.
    value, digest = (hashlib.sha256(f"pytest-ltm {use} {text}".encode()).hexdigest() for use in ("seed", "digest"))
    return Seed(value=int(value[:15], 16), source=f"{_VARIABLE}{name}", digest=f"sha256:{digest[:16]}")
