"""Price: dollars for a million tokens; as given by the user, or of a small dated table of public list prices."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MILLION = 1_000_000
JUDGE = "judge"
"""The label under which the price of the judge is given."""
LISTED = "2025-08"
"""When the table below was true, year and month."""
SOURCES: Mapping[str, str] = MappingProxyType(
    {"https://api.openai.com/v1": "openai.com/api/pricing", "https://api.anthropic.com/v1": "anthropic.com/pricing"}
)
"""Where list prices were taken from, by the address of the endpoint."""

_LABELLED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*=(.*)", re.DOTALL)
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)")
_FORM = "Write dollars per million tokens in and out, as in 3/15 or, with the price of cached tokens, 3/15/0.3"
_PARTS = (2, 3)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens in, out, and in from the provider's cache (None: as any other in)."""

    tokens_in: float
    tokens_out: float
    cached: float | None = None

    def of(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """Return the dollars for so many tokens; `cached` are among `tokens_in`."""
        rate = self.tokens_in if self.cached is None else self.cached
        kept = min(cached, tokens_in)
        return ((tokens_in - kept) * self.tokens_in + kept * rate + tokens_out * self.tokens_out) / MILLION

    def __str__(self) -> str:
        parts = [self.tokens_in, self.tokens_out, *([] if self.cached is None else [self.cached])]
        return "/".join(f"{part:g}" for part in parts)


@dataclass(frozen=True, slots=True)
class Prices:
    """What the user says that tokens cost."""

    any: Price | None = None
    """Of every agent without a price of its own; never of the judge."""
    by_label: Mapping[str, Price] = field(default_factory=dict)

    def of(self, label: str) -> Price | None:
        """Return the price of an agent, or of the judge (`JUDGE`); None if none was given."""
        return self.by_label.get(label, None if label == JUDGE else self.any)


def read_prices(given: Iterable[str]) -> Prices:
    """Return what `IN/OUT[/CACHED]` and `LABEL=IN/OUT[/CACHED]` say; the last word on a label holds.

    Raises ConfigurationError for what is no price.
    """
    common: Price | None = None
    found: dict[str, Price] = {}
    for text in given:
        labelled = _LABELLED.fullmatch(text)
        if labelled:
            found[labelled[1]] = read_price(labelled[2])
        else:
            common = read_price(text)
    return Prices(common, found)


def read_price(text: str) -> Price:
    """Return the price that `IN/OUT[/CACHED]` says; ConfigurationError if it says none."""
    try:
        parts = [float(part) for part in text.split("/")]
    except ValueError:
        parts = []
    if len(parts) not in _PARTS or not all(0 <= part < math.inf for part in parts):
        raise ConfigurationError(f"{text.strip()!r} is no price. {_FORM}")
    return Price(*parts)


def list_price(model: str, base_url: str) -> Price | None:
    """Return the public list price of a model at its maker's own endpoint in `LISTED`; None if it is not known."""
    known = _LIST.get(base_url, {})
    return known.get(model) or known.get(_DATED.sub("", model))


_LIST: Mapping[str, Mapping[str, Price]] = {
    "https://api.openai.com/v1": {
        "gpt-5": Price(1.25, 10, 0.125),
        "gpt-5-mini": Price(0.25, 2, 0.025),
        "gpt-5-nano": Price(0.05, 0.4, 0.005),
        "gpt-4.1": Price(2, 8, 0.5),
        "gpt-4.1-mini": Price(0.4, 1.6, 0.1),
        "gpt-4.1-nano": Price(0.1, 0.4, 0.025),
        "gpt-4o": Price(2.5, 10, 1.25),
        "gpt-4o-mini": Price(0.15, 0.6, 0.075),
        "o3": Price(2, 8, 0.5),
        "o4-mini": Price(1.1, 4.4, 0.275),
    },
    "https://api.anthropic.com/v1": {
        "claude-opus-4": Price(15, 75),
        "claude-sonnet-4": Price(3, 15),
        "claude-3-7-sonnet": Price(3, 15),
        "claude-3-5-haiku": Price(0.8, 4),
        "claude-3-haiku": Price(0.25, 1.25),
    },
}
"""By endpoint and model; without the date that names a version. Cached prices where the endpoint caches by itself."""
