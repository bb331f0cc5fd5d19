"""The result of `ltm audit` as text, as JSON and as a page."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from pytest_ltm.api.storage import one_line
from pytest_ltm.figures.text import clip_text
from pytest_ltm.lifecycle.audit.fields import Fields, Memory
from pytest_ltm.lifecycle.audit.findings import (
    KINDS,
    MEANINGS,
    Finding,
    Kind,
    quote_safely,
)

_WIDTH = 100


class Audit(Struct, frozen=True):
    """The records of a memory with their faults."""

    name: str
    fields: Fields
    memories: Sequence[Memory]
    findings: Sequence[Finding]

    def of_kind(self, kind: Kind) -> list[Finding]:
        """Return the findings of a kind."""
        return [finding for finding in self.findings if finding.kind == kind]

    def share_of(self, kind: Kind) -> float:
        """Return the share of memories that have a finding of this kind."""
        return len(self.of_kind(kind)) / len(self.memories)

    @property
    def clean_count(self) -> int:
        """Number of memories without a finding."""
        return len(self.memories) - len({finding.place for finding in self.findings})


def text_lines(audit: Audit, limit: int) -> Iterator[str]:
    """Yield the counts by kind, each with its first findings."""
    yield f"{len(audit.memories):,} memories in {audit.name}: {describe_fields(audit.fields)}"
    for kind in KINDS:
        findings = audit.of_kind(kind)
        if not findings:
            continue
        yield f"{len(findings):>8,}  {audit.share_of(kind):6.1%}  {kind}: {MEANINGS[kind]}"
        for finding in findings[:limit]:
            for line in _evidence_lines(audit, finding):
                yield clip_text(f"{'':18}{line}", _WIDTH)
        if len(findings) > limit:
            yield f"{'':18}… and {len(findings) - limit:,} more"
    clean = audit.clean_count
    yield f"{clean:>8,}  {clean / len(audit.memories):6.1%}  without a finding"


def describe_fields(fields: Fields) -> str:
    """Return a sentence on how the fields were identified."""
    parts = [f"text from {fields.text}"]
    if fields.id:
        parts.append(f"ids from {fields.id}")
    if fields.date:
        parts.append(f"dates from {fields.date}")
    if fields.uses:
        parts.append(f"uses from {fields.uses}")
    if fields.links:
        parts.append(f"links from {', '.join(fields.links)}")
    if fields.scope:
        parts.append(f"apart by {', '.join(fields.scope)}")
    return ", ".join(parts)


def _evidence_lines(audit: Audit, finding: Finding) -> Iterator[str]:
    yield one_line(f"{audit.memories[finding.place].place}: {finding.evidence}")
    if finding.other is not None:
        other_memory = audit.memories[finding.other]
        yield one_line(
            f"  beside {other_memory.place}: {quote_safely(other_memory.text)}"
        )


def audit_record(audit: Audit) -> dict[str, Any]:
    """Return counts, shares and all findings as JSON values."""
    kinds: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        kinds[kind] = {
            "count": len(audit.of_kind(kind)),
            "share": round(audit.share_of(kind), 6),
            "meaning": MEANINGS[kind],
        }
    return {
        "name": audit.name,
        "memories": len(audit.memories),
        "fields": {
            "text": audit.fields.text,
            "id": audit.fields.id,
            "date": audit.fields.date,
            "scope": list(audit.fields.scope),
            "links": list(audit.fields.links),
            "uses": audit.fields.uses,
        },
        "clean": audit.clean_count,
        "kinds": kinds,
        "findings": [_finding_record(audit, finding) for finding in audit.findings],
    }


def _finding_record(audit: Audit, finding: Finding) -> dict[str, Any]:
    record: dict[str, Any] = {
        "kind": finding.kind,
        "place": audit.memories[finding.place].place,
        "evidence": finding.evidence,
    }
    if finding.other is not None:
        record["beside"] = audit.memories[finding.other].place
    return record


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit of {name}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
summary {{ cursor: pointer; }}
summary b {{ display: inline-block; min-width: 9rem; }}
li {{ overflow-wrap: anywhere; margin-bottom: 0.5rem; }}
code {{ opacity: 0.75; }}
</style>
</head>
<body>
<h1>Audit of {name}</h1>
<p>{count} memories: {fields}. {clean} of them have no finding.</p>
{kinds}
</body>
</html>
"""


def render_page(audit: Audit) -> str:
    """Return a page with a section for each kind of finding."""
    return _PAGE.format(
        name=html.escape(audit.name),
        count=f"{len(audit.memories):,}",
        fields=html.escape(describe_fields(audit.fields)),
        clean=f"{audit.clean_count:,}",
        kinds="\n".join(_kind_section(audit, kind) for kind in KINDS),
    )


def _kind_section(audit: Audit, kind: Kind) -> str:
    findings = audit.of_kind(kind)
    if not findings:
        return ""
    items = "\n".join(_finding_item(audit, finding) for finding in findings)
    heading = (
        f"<b>{kind}</b> {len(findings):,}, {audit.share_of(kind):.1%}: {MEANINGS[kind]}"
    )
    return f"<details>\n<summary>{heading}</summary>\n<ul>\n{items}\n</ul>\n</details>"


def _finding_item(audit: Audit, finding: Finding) -> str:
    lines = "<br>".join(map(html.escape, _evidence_lines(audit, finding)))
    return f"<li>{lines}</li>"
