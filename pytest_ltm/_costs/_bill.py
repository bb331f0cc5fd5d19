"""Bill: what the replies of one conversation cost and used; Tariff: dollars where a reply tells tokens only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pytest_ltm._costs._prices import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """What replies cost that do not tell their dollars."""

    price: Price | None = None
    """Of the reported tokens or, where none are reported, of those that were counted here."""
    free: bool = False
    """Without a price they cost nothing; else nobody knows."""

    def cost(self, event: Mapping[str, Any], *, message_tokens: int = 0) -> float | None:
        """Return the dollars of a recorded reply of agent or judge; None where nobody tells."""
        usd = event.get("cost_usd")
        if usd is None and self.price is not None:
            asked, said, cached = _used(event, message_tokens)
            usd = self.price.of(asked, said, cached)
        return None if usd is None else float(usd)

    def spent(self, event: Mapping[str, Any], *, message_tokens: int = 0) -> tuple[float | None, int]:
        """Return what a budget is charged with: dollars (None: nobody knows) and tokens; nothing if hypothetical."""
        if event.get("hypothetical"):
            return 0.0, 0
        usd = self.cost(event, message_tokens=message_tokens)
        asked, said, _ = _used(event, message_tokens)
        return (0.0 if usd is None and self.free else usd), asked + said


@dataclass(slots=True)
class Bill:
    """What the replies of one conversation cost and used, be they recorded or new."""

    tariff: Tariff
    costs: dict[int, float] = field(default_factory=dict)
    """Dollars by exchange, where they are known."""
    hypothetical: bool = False
    """Nothing of it is spent."""
    input_tokens: int | None = None
    """As the agent's provider counts them; None where no reply told."""
    output_tokens: int | None = None
    cached_tokens: int | None = None

    def add(self, exchange: int, event: Mapping[str, Any], *, message_tokens: int) -> None:
        """Count one reply."""
        self.hypothetical |= bool(event.get("hypothetical"))
        usd = self.tariff.cost(event, message_tokens=message_tokens)
        if usd is not None:
            self.costs[exchange] = usd
        usage = event.get("usage")
        if usage is not None:
            self.input_tokens = (self.input_tokens or 0) + int(usage.get("input_tokens", 0))
            self.output_tokens = (self.output_tokens or 0) + int(usage.get("output_tokens", 0))
            self.cached_tokens = (self.cached_tokens or 0) + int(usage.get("cached_tokens", 0))

    @property
    def usd(self) -> float | None:
        """All dollars together; None where nothing is known."""
        return sum(self.costs.values()) if self.costs else None

    def of(self, exchanges: Collection[int]) -> float | None:
        """Return the dollars of these exchanges; None where no reply tells what it costs."""
        return sum((cost for number, cost in self.costs.items() if number in exchanges), 0.0) if self.costs else None


def _used(event: Mapping[str, Any], message_tokens: int) -> tuple[int, int, int]:
    """Return tokens in, out, and from the cache: as reported, else those of the message and the reply alone."""
    usage = event.get("usage")
    if usage is None:
        return message_tokens, int(event.get("tokens", 0)), 0
    return int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0)), int(usage.get("cached_tokens", 0))
