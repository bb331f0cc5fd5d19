"""Dresses: forms in which models wrap one and the same answer."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE = lazy_pattern(r"\{(answer|recalled|question)(?::(nbsp|nfd|curly|crlf))?\}")


@cache
def dress_templates() -> Mapping[str, str]:
    """Return the templates by name."""
    import yaml

    templates: dict[str, str] = yaml.safe_load(files(__package__).joinpath("dresses.yml").read_text("utf-8"))
    return templates


def dress_up(template: str, answer: str, *, recalled: str = "", question: str = "") -> str:
    """Return an answer in the dress of a template."""
    values = {"answer": answer, "recalled": recalled, "question": question}
    return _PLACE.sub(lambda match: _typeset_text(values[match[1]], match[2]), template)


def _typeset_text(text: str, form: str | None) -> str:
    if form == "nbsp":
        return text.replace(" ", "\u202f").replace("-", "\u2011")
    if form == "curly":
        return re.sub(r"(?<!\w)'|\"(?=\w)", "\u201c", text.replace("'", "\u2019")).replace('"', "\u201d")
    if form == "crlf":
        return text.replace("\n", "\r\n")
    return unicodedata.normalize("NFD", text) if form == "nfd" else text
