"""Settings: a memory system's four control points and their parameters; presets and overrides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias

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
_UNITS = ("turn", "round", "session", "fact", "observation", "summary")
_QUERIES = ("plain", "keyphrases", "time-aware", "tools")
_COUNTED = lazy_pattern(r"generated:([1-9])")
_SIZED = lazy_pattern(r"(json|text|summary|portrait|core)(?::(\d{1,6}))?")
_SIZES = {"json": 1000, "text": 1000, "summary": 2000, "portrait": 1000, "core": 2000}
_LEAST_WINDOW = 256
_RECENT = "a number of exchanges, or a share of the window"


def _parse_value(field: Field) -> Value:
    if match := _CHUNK.fullmatch(str(field.value)):
        return Value("chunk", int(match[1]), float(match[2] or 0))
    if field.value in _UNITS:
        return Value(field.value)
    raise field.error(
        f"{', '.join(_UNITS)}, or chunk:TOKENS/OVERLAP such as 'chunk:32/0.5'",
        did_you_mean(str(field.value), _UNITS),
    )


def _parse_key(field: Field) -> tuple[str, ...]:
    if isinstance(field.value, str):
        keys = field.value.split()
    else:
        keys = [part.value for part in field.items("keys")]
    for key in keys:
        if key not in _KEYS:
            raise field.error(
                f"a list of {', '.join(_KEYS)}", did_you_mean(str(key), _KEYS)
            )
    if not keys or len(set(keys)) < len(keys):
        raise field.error(f"a list of {', '.join(_KEYS)}, each once")
    return tuple(keys)


def _parse_query(field: Field) -> QuerySettings:
    if match := _COUNTED.fullmatch(str(field.value)):
        return QuerySettings("generated", int(match[1]))
    if field.value in _QUERIES:
        return QuerySettings(field.value)
    raise field.error(
        f"{', '.join(_QUERIES)}, or generated:COUNT such as 'generated:2'"
    )


def _parse_notebook(field: Field) -> NotebookSettings:
    if match := _SIZED.fullmatch(str(field.value)):
        kind: Any = match[1]
        return NotebookSettings(kind, int(match[2] or _SIZES[kind]))
    if field.value == "none":
        return NotebookSettings()
    raise field.error(
        "none, json, text, summary, portrait or core, with a size such as 'json:500' if wanted"
    )


def _parse_window(field: Field) -> int:
    tokens = field.tokens()
    if tokens < _LEAST_WINDOW:
        raise field.error(f"at least {_LEAST_WINDOW} tokens")
    return tokens


def _parse_share(field: Field) -> float:
    return field.number(0.05, 1, "a share")


def _parse_expand(field: Field) -> tuple[int, int] | None:
    if field.value in ("none", False):
        return None
    parts = field.items("two numbers of tokens")
    if len(parts) != 2:
        raise field.error("a list of two numbers of tokens, such as [8, 128]")
    least, most = (part.whole() for part in parts)
    if least > most:
        raise field.error("the least and the most tokens on each side")
    return least, most


def _choice(*names: str) -> Callable[[Field], Any]:
    return lambda field: field.choice(names)


def _parse_forgetting(field: Field) -> Any:
    # YAML reads `off` as false.
    return "off" if field.value is False else field.choice(("paper", "code", "off"))


_PRESSURE: Mapping[str, Callable[[Field], Any]] = {
    "window": _parse_window,
    "warn": _parse_share,
    "evict": _parse_share,
    "keep": Field.whole,
    "at": Field.whole,
}
_RETRIEVAL: Mapping[str, Callable[[Field], Any]] = {
    "candidates": lambda field: field.whole(least=1),
    "query": Field.whole,
    "distinct": _parse_share,
    "expand": _parse_expand,
    "capacity": Field.whole,
}
_READERS: Mapping[str, Callable[[Field], Any]] = {
    "value": _parse_value,
    "key": _parse_key,
    "query": _parse_query,
    "notebook": _parse_notebook,
    "index": lambda field: field.text(
        "bm25, minilm, openai:MODEL, or a dotted path such as mypkg.vectors:embed"
    ),
    "window": _parse_window,
    "pause": Field.duration,
    "day": Field.whole,
    "draw": Field.whole,
    # Not isinstance: Python counts true and false as integers.
    "recent": lambda field: (
        field.whole() if type(field.value) is int else field.number(0, 0.9, _RECENT)
    ),
    "join": _choice("merge", "replace", "ranks"),
    "forgetting": _parse_forgetting,
    "filler": _choice("stored", "skipped"),
    "mode": _choice("code", "paper"),
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
    settings = _override_settings(base, fields)
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
        message = f"there is no preset {name!r}.{did_you_mean(str(name), PRESETS)} Choose from {', '.join(PRESETS)}."
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
    for name, read in _READERS.items():
        if name in fields:
            changed[name] = read(fields[name])
    if "reading" in fields:
        reading = fields["reading"].mapping(known=NoteReading.__struct_fields__)
        changed["reading"] = parse_reading(reading, base.reading)
    if "retrieval" in fields:
        retrieval = fields["retrieval"].read_fields(_RETRIEVAL)
        changed["retrieval"] = structs.replace(base.retrieval, **retrieval)
    if "pressure" in fields:
        changed["pressure"] = _override_pressure(base.pressure, fields["pressure"])
    return structs.replace(base, **changed)


def _override_pressure(base: Pressure | None, field: Field) -> Pressure | None:
    if field.value in ("off", False):
        return None
    return structs.replace(base or Pressure(), **field.read_fields(_PRESSURE))
