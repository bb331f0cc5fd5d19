"""Words, tables and lists as Markdown that shows exactly what their author wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_ltm.api.storage import one_line

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
# What begins a list, a heading or a rule.
_LEADING = re.compile(r"^([-+#=]|[0-9]+(?=[.)]))")


def markdown_text(words: str) -> str:
    """Return words as Markdown that shows exactly them, on one line, whatever they hold."""
    # Agents write these texts: nothing in them may become a mention, a link or HTML.
    plain = (
        one_line(words)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("@", "&#64;")
    )
    return _SPECIAL.sub(r"\\\1", plain)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells show exactly these words."""
    return raw_table(
        list(map(markdown_text, heads)), [list(map(markdown_text, row)) for row in rows]
    )


def raw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown; the first column is on the left, the others on the right."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])


def bullet_list(sentences: Sequence[str]) -> list[str]:
    """Return the sentences as one list, none where there are none; no first character begins a list of its own."""
    plain = [
        _LEADING.sub(
            lambda result: f"&#{ord(result[1][0])};{result[1][1:]}",
            markdown_text(sentence),
        )
        for sentence in sentences
    ]
    if plain:
        return ["\n".join(f"- {text}" for text in plain)]
    return []


def folded_section(summary: str, body: str) -> str:
    """Return a body that is shown once somebody opens its summary."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
