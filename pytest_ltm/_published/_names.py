"""Labels for what was published: `Benchmark 3 - 32k #2 (isolated)`, `LTMAgentWrapper - gpt-4o-mini - 16384 - …`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MEMORY_SPANS_SINCE = 3
"""Earlier versions of the benchmark name the filler between two messages, not a memory span."""
PAPERS_NAMES = {"1k": "2k"}
"""What the paper (Castillo-Bolado et al., 2024) calls a memory span otherwise than the published folder."""

_BENCHMARK = re.compile(
    r"Benchmark (?P<version>\d+) - (?P<thousands>\d+)k(?: Filler)?(?: #(?P<run>\d+))?(?P<isolated> \(isolated\))?"
)
_VARIANTS = {"QG_JSON_USER_INFO": "LTM1", "SEMANTIC_ONLY": "LTM2"}
"""The published LTM agents, by the numbers that the benchmark's own tables give them."""
_INTERFACE = re.compile(r"(?:Chat)?(?:Session|Interface|AgentWrapper)$")
_PLAIN = {"LLM", "GPT", "Claude", "HF"}
"""Interfaces that add nothing to the model whose name follows."""
_PROVIDER = re.compile(r"^(?:together_ai|huggingface)-(?:meta-llama|[^-]+)-")
_DATE = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8})(?=-|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What the name of a published benchmark says."""

    version: int
    span_label: str
    """As in a node id: `32k`, `isolated`, `v1.10k`."""
    span: int | None
    """Tokens; None where examples are isolated, and where the name tells something else than a memory span."""
    trial: str
    """`0` for the first run, `1` for `#2`."""


def benchmark(name: str) -> Benchmark | None:
    """Return what a benchmark's name says, None if it says nothing that we know."""
    found = _BENCHMARK.fullmatch(name)
    if not found:
        return None
    version, folder = int(found["version"]), f"{found['thousands']}k"
    trial = str(int(found["run"] or 1) - 1)
    if found["isolated"]:
        return Benchmark(version=version, span_label="isolated", span=None, trial=trial)
    tokens = 1_000 * int(found["thousands"])
    if version < MEMORY_SPANS_SINCE:
        return Benchmark(version=version, span_label=f"v{version}.{folder}", span=tokens, trial=trial)
    return Benchmark(version=version, span_label=PAPERS_NAMES.get(folder, folder), span=tokens, trial=trial)


def agent_labels(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a label for each agent's published name, from pairs of benchmark and agent.

    Interface, provider and date are left out; names that would meet within one benchmark keep all of it.
    """
    within: dict[tuple[str, str], set[str]] = {}
    pairs = set(names)
    for where, name in pairs:
        within.setdefault((where, _short(name)), set()).add(name)
    clashing = {name for group in within.values() if len(group) > 1 for name in group}
    return {name: label(name) if name in clashing else _short(name) for _, name in sorted(pairs)}


def label(text: str) -> str:
    """Return a text with the characters only that a label in a node id may have."""
    return re.sub(r"[^A-Za-z0-9_.]+", "_", text).strip("_") or "_"


def _short(name: str) -> str:
    interface, *rest = name.split(" - ")
    variant = next((_VARIANTS[part] for part in rest if part in _VARIANTS), "")
    kind = variant or _INTERFACE.sub("", interface)
    parts = [_part(part) for part in rest if part not in _VARIANTS]
    return ".".join(label(part) for part in ([] if parts and kind in _PLAIN else [kind]) + parts)


def _part(text: str) -> str:
    if text.isdecimal():
        return _context(int(text))
    return _DATE.sub("", _PROVIDER.sub("", text))


def _context(tokens: int) -> str:
    """Return the length of a context as people call it: 32,768 and 32,000 tokens are both 32k."""
    thousand = 1_000 if tokens % 1_000 == 0 else 1_024
    return f"{tokens // thousand}k" if tokens % thousand == 0 else str(tokens)
