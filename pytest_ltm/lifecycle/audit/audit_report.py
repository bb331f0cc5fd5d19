"""The result of `ltm audit` as text, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, to_builtins

from pytest_ltm.api.journal import Section
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
from pytest_ltm.reports.html.page import render_sections
from pytest_ltm.reports.section_tables import SectionTable, section_with_tables

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
            yield clip_text(f"{'':18}{_evidence(audit, finding)}", _WIDTH)
            if rival := _rival(audit, finding):
                yield clip_text(f"{'':18}  beside {rival}", _WIDTH)
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


def _evidence(audit: Audit, finding: Finding) -> str:
    """Return the place of a finding's memory, and the evidence."""
    return one_line(f"{audit.memories[finding.place].place}: {finding.evidence}")


def _rival(audit: Audit, finding: Finding) -> str:
    """Return the memory that a finding's memory is compared with, or ""."""
    if finding.other is None:
        return ""
    memory = audit.memories[finding.other]
    return one_line(f"{memory.place}: {quote_safely(memory.text)}")


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
        "fields": to_builtins(audit.fields),
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


def render_page(audit: Audit) -> bytes:
    """Return a page with a section for each kind of finding."""
    about = (
        f"{len(audit.memories):,} memories: {describe_fields(audit.fields)}. "
        f"{audit.clean_count:,} of them have no finding."
    )
    sections = [_kind_section(audit, kind) for kind in KINDS if audit.of_kind(kind)]
    return render_sections(f"Audit of {audit.name}", about, sections)


def _kind_section(audit: Audit, kind: Kind) -> Section:
    findings = audit.of_kind(kind)
    rows = [(_evidence(audit, finding), _rival(audit, finding)) for finding in findings]
    count = f"{len(findings):,}, {audit.share_of(kind):.1%}: {MEANINGS[kind]}"
    table = SectionTable("Evidence", ("memory", "beside"), tuple(rows))
    return section_with_tables(kind, [count], [table])
