"""Checks whether a file of a workspace has the content that a scenario expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import shorten

from pytest_ltm._core.model.score import Check

WantedText = str | Callable[[str], object]
"""A text that a file must contain, ignoring case and white space, or a function that accepts the file's text."""
_LONGEST_SHOWN = 160


def check_file(
    texts: Mapping[str, str],
    path: str,
    wanted: Sequence[WantedText],
    unwanted: Sequence[str],
) -> Check:
    """Check that a file exists, contains all wanted texts, and none of the unwanted ones."""
    parts = [f"contains {_show(text)}" for text in wanted]
    parts += [f"does not contain {text!r}" for text in unwanted]
    label = f"{path} {' and '.join(parts) or 'is there'}"
    text = texts.get(path)
    if text is None:
        file_names = ", ".join(texts) or "no files"
        return Check(f"{label}: there is {file_names}", ok=False, acted=True)
    is_right = all(_holds(text, part) for part in wanted)
    is_right = is_right and not any(_holds(text, part) for part in unwanted)
    excerpt = shorten(" ".join(text.split()), _LONGEST_SHOWN)
    return Check(label if is_right else f"{label}: {excerpt!r}", is_right, acted=True)


def _holds(text: str, part: WantedText) -> bool:
    if callable(part):
        return bool(part(text))
    return _plain(part) in _plain(text)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _show(part: WantedText) -> str:
    return part.__name__ if callable(part) else repr(part)
