"""Text, tables and lists as Markdown that renders exactly what the author wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_ltm.api.storage import one_line

# An underscore between two letters or digits emphasizes nothing, and names are read without a backslash.
_SPECIAL = re.compile(r"([\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_]))")
# Characters that begin a list, a heading or a rule.
_LEADING = re.compile(r"^([-+#=]|[0-9]+(?=[.)]))")


def markdown_text(words: str) -> str:
    """Return one line of Markdown that renders as exactly these words, whatever they contain."""
    # Agents write these texts: they must not create mentions, links or HTML.
    plain = (
        one_line(words)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("@", "&#64;")
    )
    return _SPECIAL.sub(r"\\\1", plain)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells render as exactly these words."""
    return raw_table(
        list(map(markdown_text, heads)), [list(map(markdown_text, row)) for row in rows]
    )


def raw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown cells; the first column is left-aligned, the others right-aligned."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])


def bullet_list(sentences: Sequence[str]) -> list[str]:
    """Return the sentences as one list, empty without any; their first characters begin no further list."""
    items: list[str] = []
    for sentence in sentences:
        text = _LEADING.sub(_escape_first, markdown_text(sentence))
        items.append(f"- {text}")
    return ["\n".join(items)] if items else []


def _escape_first(match: re.Match[str]) -> str:
    return f"&#{ord(match[1][0])};{match[1][1:]}"


def folded_section(summary: str, body: str) -> str:
    """Return a foldable section that shows the body when its summary is opened."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
