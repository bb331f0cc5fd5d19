"""Settings: a memory system's four control points and their parameters; presets and overrides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct, field, structs

from pytest_ltm.agents.memory.reading import NoteReading, parse_reading
from pytest_ltm.api.storage import (
    AgentError,
    Field,
    did_you_mean,
    lazy_pattern,
    load_yaml,
    to_record,
)

T = TypeVar("T")
Unit: TypeAlias = Literal[
    "turn", "round", "session", "fact", "observation", "summary", "chunk"
]
Query: TypeAlias = Literal["plain", "generated", "keyphrases", "time-aware", "tools"]
_FOLDER = Path(__file__).with_name("presets")
_PROMPTS = "prompts"


class Value(Struct, frozen=True):
    """The unit that is stored, and found, as one memory."""

    unit: Unit
    """An observation is a fact extracted from a whole session."""
    size: int = 0
    """Tokens of a chunk."""
    overlap: float = 0.0
    """The share of a chunk that the next one repeats."""


class QuerySettings(Struct, frozen=True):
    """The queries of a search."""

    kind: Query = "plain"
    """`keyphrases`: the message's keyphrases, too. `tools`: only searches by tool."""
    count: int = 0
    """Generated queries, in addition to the message itself."""


class NotebookSettings(Struct, frozen=True):
    """A record on the user, kept separately from the memories and shown with each message."""

    kind: Literal["none", "json", "text", "summary", "portrait", "core"] = "none"
    size: int = 0
    """Maximum size in tokens; for a core block, in characters."""


class RetrievalSettings(Struct, frozen=True, kw_only=True):
    """How memories are searched."""

    candidates: int = 250
    """For each query."""
    query: int = 0
    """Tokens of a query, from its beginning; 0: all."""
    distinct: float = 1.0
    """The share of a memory that other shown memories may already cover."""
    expand: tuple[int, int] | None = None
    """Minimum and maximum tokens shown on each side of a chunk, up to the end of a line."""
    capacity: int = 0
    """Maximum number of memories, the newest; 0: unlimited."""


class Pressure(Struct, frozen=True, kw_only=True):
    """What happens as the message queue grows; shares are of the window."""

    window: int = 16_000
    warn: float = 0.75
    evict: float = 0.75
    """The share of the queue, oldest first, that a summary replaces."""
    keep: int = 3
    """Messages that are never evicted."""
    at: int = 0
    """Evict after a reply whose prompt exceeds this many tokens; 0: before a prompt that would not fit."""


class MemorySettings(Struct, frozen=True, kw_only=True):
    """A memory system."""

    value: Value = field(default_factory=lambda: Value("round"))
    key: tuple[str, ...] = ("value",)
    """The search keys of a memory."""
    join: Literal["merge", "replace", "ranks"] = "merge"
    """How additional keys combine with the value: in one text, in its place, or each with its own ranking."""
    index: str = "bm25"
    query: QuerySettings = field(default_factory=QuerySettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    notebook: NotebookSettings = field(default_factory=NotebookSettings)
    reading: NoteReading = field(default_factory=NoteReading)
    window: int = 16_384
    """Tokens of the whole prompt of a reply."""
    recent: float | int = 0.5
    """The latest exchanges: as a share of the window (below 1), or their number."""
    pause: timedelta = timedelta(hours=1)
    """A longer pause begins a new session."""
    day: int = 0
    """Tokens after which a day has passed, whatever the clock says; 0: by the clock only."""
    pressure: Pressure | None = None
    forgetting: Literal["paper", "code", "off"] = "off"
    filler: Literal["stored", "skipped"] = "stored"
    """Whether exchanges that are told without asking for a reply are kept."""
    mode: Literal["code", "paper"] = "paper"
    """Whether the paper or its code is followed where they differ."""
    draw: int = 0
    """The seed of random forgetting."""

    @property
    def longest_prompt(self) -> int:
        """Tokens of the largest prompt for a reply."""
        if self.pressure is not None:
            return self.pressure.at or self.window
        is_count = isinstance(self.recent, int) and self.recent
        recent = self.window // 2 if is_count else round(self.window * self.recent)
        return min(self.window, self.reading.budget + recent)

    def record(self) -> dict[str, Any]:
        """Return the settings as JSON values, in the form of the fingerprint."""
        fields: dict[str, Any] = to_record(structs.replace(self, pause=timedelta(0)))
        return fields | {"pause": self.pause.total_seconds()}


# --- From a file, a preset or a spec's query to settings.

_WRITTEN_KEYS = ("facts", "keyphrases", "summary")
_KEYS = ("value", *_WRITTEN_KEYS, "user", *(f"user-{kind}" for kind in _WRITTEN_KEYS))
_CHUNK = lazy_pattern(r"chunk:([1-9]\d{0,3})(?:/(0(?:\.\d+)?))?")
_UNITS: tuple[Unit, ...] = (
    "turn",
    "round",
    "session",
    "fact",
    "observation",
    "summary",
)
_QUERIES: tuple[Query, ...] = ("plain", "keyphrases", "time-aware", "tools")
_COUNTED = lazy_pattern(r"generated:([1-9])")
_SIZED = lazy_pattern(r"(json|text|summary|portrait|core)(?::(\d{1,6}))?")
_SIZES = {"json": 1000, "text": 1000, "summary": 2000, "portrait": 1000, "core": 2000}
_LEAST_WINDOW = 256
_RECENT = "a number of exchanges, or a share of the window"


def _parse_key(given: Field) -> tuple[str, ...]:
    if isinstance(given.value, str):
        keys = given.value.split()
    else:
        keys = [part.value for part in given.items("keys")]
    for key in keys:
        if key not in _KEYS:
            raise given.error(
                f"a list of {', '.join(_KEYS)}", _spelling_hint(key, _KEYS)
            )
    if not keys or len(set(keys)) < len(keys):
        raise given.error(f"a list of {', '.join(_KEYS)}, each once")
    return tuple(keys)


def _one_of(*names: str) -> Callable[[Field], Any]:
    def read(given: Field) -> Any:
        # YAML reads `off` as false.
        value = "off" if given.value is False else given.value
        if value not in names:
            raise given.error(
                " or ".join(map(repr, names)), _spelling_hint(given.value, names)
            )
        return value

    return read


def _word_or(
    words: Mapping[str, T],
    pattern: re.Pattern[str],
    make: Callable[[re.Match[str]], T],
    expected: str,
    *near: str,
) -> Callable[[Field], T]:
    """Return a parser for certain words, or a word with numbers.

    `near`: the words that a hint may suggest.
    """

    def read(given: Field) -> T:
        text = given.value if isinstance(given.value, str) else ""
        match = pattern.fullmatch(text)
        if match is None and text not in words:
            raise given.error(expected, _spelling_hint(given.value, near))
        return words[text] if match is None else make(match)

    return read


def _parse_window(given: Field) -> int:
    tokens = given.tokens()
    if tokens < _LEAST_WINDOW:
        raise given.error(f"at least {_LEAST_WINDOW} tokens")
    return tokens


def _parse_share(given: Field) -> float:
    return given.number(0.05, 1, "a share")


def _parse_expand(given: Field) -> tuple[int, int] | None:
    if given.value in ("none", False):
        return None
    parts = given.items("two numbers of tokens")
    if len(parts) != 2:
        raise given.error("a list of two numbers of tokens, such as [8, 128]")
    least, most = (part.whole() for part in parts)
    if least > most:
        raise given.error("the least and the most tokens on each side")
    return least, most


_PRESSURE: Mapping[str, Callable[[Field], Any]] = {
    "window": _parse_window,
    "warn": _parse_share,
    "evict": _parse_share,
    "keep": Field.whole,
    "at": Field.whole,
}
_RETRIEVAL: Mapping[str, Callable[[Field], Any]] = {
    "candidates": lambda given: given.whole(least=1),
    "query": Field.whole,
    "distinct": _parse_share,
    "expand": _parse_expand,
    "capacity": Field.whole,
}
_READERS: Mapping[str, Callable[[Field], Any]] = {
    "value": _word_or(
        {unit: Value(unit) for unit in _UNITS},
        _CHUNK,
        lambda match: Value("chunk", int(match[1]), float(match[2] or 0)),
        f"{', '.join(_UNITS)}, or chunk:TOKENS/OVERLAP such as 'chunk:32/0.5'",
        *_UNITS,
    ),
    "query": _word_or(
        {kind: QuerySettings(kind) for kind in _QUERIES},
        _COUNTED,
        lambda match: QuerySettings("generated", int(match[1])),
        f"{', '.join(_QUERIES)}, or generated:COUNT such as 'generated:2'",
    ),
    "notebook": _word_or(
        {"none": NotebookSettings()},
        _SIZED,
        lambda match: NotebookSettings(
            cast("Any", match[1]), int(match[2] or _SIZES[match[1]])
        ),
        "none, json, text, summary, portrait or core, with a size such as 'json:500' if wanted",
    ),
    "key": _parse_key,
    "index": lambda given: given.text(
        "bm25, minilm, openai:MODEL, or a dotted path such as mypkg.vectors:embed"
    ),
    "window": _parse_window,
    "pause": Field.duration,
    "day": Field.whole,
    "draw": Field.whole,
    # Not isinstance: Python counts true and false as integers.
    "recent": lambda given: (
        given.whole() if type(given.value) is int else given.number(0, 0.9, _RECENT)
    ),
    "join": _one_of("merge", "replace", "ranks"),
    "forgetting": _one_of("paper", "code", "off"),
    "filler": _one_of("stored", "skipped"),
    "mode": _one_of("code", "paper"),
}
GROUPS = ("reading", "retrieval", "pressure")
"""Names whose members are given separately, as in `reading.k=5`."""
NAMES = ("preset", *MemorySettings.__struct_fields__)
"""All parameters of a memory system."""


def memory_settings(fields: Mapping[str, Field]) -> MemorySettings:
    """Return the settings in the fields; missing ones are those of the preset, or defaults.

    Raises DefinitionError with the place for a wrong value, or for incompatible
    settings.
    """
    preset = fields.get("preset")
    base = preset_settings(preset.value, preset) if preset else MemorySettings()
    settings = _override_settings(
        base, {name: one for name, one in fields.items() if name != "preset"}
    )
    paged = {
        "notebook": settings.notebook.kind == "core",
        "query": settings.query.kind == "tools",
        "pressure": settings.pressure,
    }
    if any(paged.values()) and not all(paged.values()):
        place = next(
            (fields[name] for name in paged if name in fields),
            next(iter(fields.values())),
        )
        differing = ", ".join(name for name, fits in paged.items() if not fits)
        together = f"notebook: core:SIZE, query: tools and pressure go together, and {differing} differs"
        raise place.fault(f"{together}. Begin with preset: memgpt")
    if settings.key != ("value",) and settings.value.unit in {
        "fact",
        "observation",
        "summary",
        "chunk",
    }:
        raise fields.get("key", next(iter(fields.values()))).fault(
            f"only a turn, a round or a session has keys of its own, and the value is {settings.value.unit!r}."
        )
    if settings.pressure is None:
        return settings
    return structs.replace(settings, window=settings.pressure.window)


def preset_settings(name: str, place: Field | None = None) -> MemorySettings:
    """Return the settings of a preset; AgentError (in a file, with the place) if there is none."""
    if name not in PRESETS:
        message = f"there is no preset {name!r}.{_spelling_hint(name, PRESETS)} Choose from {', '.join(PRESETS)}."
        raise AgentError(message) if place is None else place.fault(message)
    file = load_yaml(_FOLDER / f"{name}.yml").mapping(known=["agent", "parameters"])
    return _override_settings(MemorySettings(), file["parameters"].mapping())


def preset_file_text(name: str) -> str:
    """Return the file of a preset, to copy and change, or of the `prompts` for models.

    Raises AgentError if there is no preset of this name.
    """
    if name == _PROMPTS:
        return _FOLDER.with_name(f"{_PROMPTS}.yml").read_text(encoding="utf-8")
    preset_settings(name)
    return (_FOLDER / f"{name}.yml").read_text(encoding="utf-8")


PRESETS = tuple(sorted(path.stem for path in _FOLDER.glob("*.yml")))
"""The names of all presets."""


def _override_settings(
    base: MemorySettings, fields: Mapping[str, Field]
) -> MemorySettings:
    changed: dict[str, Any] = {}
    for name, child in fields.items():
        if name in _READERS:
            changed[name] = _READERS[name](child)
    if "reading" in fields:
        changed["reading"] = parse_reading(
            fields["reading"].mapping(known=NoteReading.__struct_fields__), base.reading
        )
    if "retrieval" in fields:
        changed["retrieval"] = _override_group(
            base.retrieval, fields["retrieval"], _RETRIEVAL
        )
    if "pressure" in fields:
        pressure = base.pressure or Pressure()
        is_off = fields["pressure"].value in ("off", False)
        if is_off:
            changed["pressure"] = None
        else:
            changed["pressure"] = _override_group(
                pressure, fields["pressure"], _PRESSURE
            )
    return structs.replace(base, **changed)


def _override_group(
    base: T, given: Field, readers: Mapping[str, Callable[[Field], Any]]
) -> T:
    entries = {}
    for name, child in given.mapping(known=list(readers)).items():
        entries[name] = readers[name](child)
    return structs.replace(base, **entries)  # type: ignore[type-var]


def _spelling_hint(value: object, names: Iterable[str]) -> str:
    if isinstance(value, str):
        return did_you_mean(value, names)
    return ""
