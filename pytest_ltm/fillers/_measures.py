"""Facts about units of measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNITS = (
    ("kilometres", "metres", 1000), ("metres", "centimetres", 100), ("centimetres", "millimetres", 10),
    ("kilograms", "grams", 1000), ("tonnes", "kilograms", 1000), ("grams", "milligrams", 1000),
    ("feet", "inches", 12), ("yards", "feet", 3), ("yards", "inches", 36), ("furlongs", "yards", 220),
    ("hectares", "square metres", 10_000), ("square kilometres", "hectares", 100),
    ("minutes", "seconds", 60), ("hours", "minutes", 60), ("days", "hours", 24), ("weeks", "days", 7),
    ("hours", "seconds", 3600), ("centuries", "years", 100), ("decades", "years", 10),
    ("bytes", "bits", 8), ("kibibytes", "bytes", 1024), ("dozen", "single pieces", 12),
    ("gross", "single pieces", 144), ("right angles", "degrees", 90), ("degrees of arc", "minutes of arc", 60),
    ("kilowatt hours", "watt hours", 1000), ("cubic metres", "litres", 1000), ("litres", "millilitres", 1000),
)  # fmt: skip
"""Larger unit, smaller unit, how many of these are one of those."""
_PREFIXES = {
    "quetta": 30, "ronna": 27, "yotta": 24, "zetta": 21, "exa": 18, "peta": 15, "tera": 12, "giga": 9, "mega": 6,
    "kilo": 3, "hecto": 2, "deca": 1, "deci": -1, "centi": -2, "milli": -3, "micro": -6, "nano": -9, "pico": -12,
    "femto": -15, "atto": -18, "zepto": -21, "yocto": -24, "ronto": -27, "quecto": -30,
}  # fmt: skip
_FREEZING, _STEPS = 32, (9, 5)


def facts() -> Iterator[tuple[str, object]]:
    """Yield questions with their answers."""
    for large, small, factor in _UNITS:
        for n in range(2, 27):
            yield f"How many {small} are {n} {large}?", n * factor
        for n in range(27, 42):
            yield f"How many {large} are {n * factor} {small}?", n
    for prefix, power in _PREFIXES.items():
        size = f"minus {-power}" if power < 0 else str(power)
        yield f"Which power of ten does the SI prefix {prefix} stand for?", size
        yield f"Which SI prefix stands for 10 to the power of {size}?", prefix
    for celsius in range(5, 305, 5):
        fahrenheit = celsius * _STEPS[0] // _STEPS[1] + _FREEZING
        yield f"How many degrees Fahrenheit are {celsius} degrees Celsius?", fahrenheit
    for offset in range(1, 13):
        for hour in range(offset % 3, 24, 3):
            yield (
                f"What does a clock set to UTC+{offset} show when it is {hour:02d}:00 UTC?",
                f"{(hour + offset) % 24:02d}:00",
            )
            yield (
                f"What does a clock set to UTC-{offset} show when it is {hour:02d}:30 UTC?",
                f"{(hour - offset) % 24:02d}:30",
            )
