"""Command lines in which `?name=value` is shorthand for a parameter of the suite."""

from __future__ import annotations

from collections.abc import Iterable


def with_parameters(words: Iterable[str]) -> list[str]:
    """Move each `?name=value` into the value of `--ltm-suite`; of two with the same name, the last counts."""
    kept: list[str] = []
    parameters: dict[str, str] = {}
    for word in words:
        if word.startswith("?"):
            name, _, value = word[1:].partition("=")
            parameters[name] = value
        else:
            kept.append(word)
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    return [
        f"{word}?{query}" if query and word.startswith("--ltm-suite=") else word
        for word in kept
    ]
