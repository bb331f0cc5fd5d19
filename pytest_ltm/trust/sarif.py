"""Findings as SARIF for security tools: a result for each planted text that acted, or may have acted.

The format is that of OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_ltm.api.storage import (
    LtmError,
    for_file,
    pluralize,
    read_regular,
    write_output,
)
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.reports.exports.output import ExportTarget
from pytest_ltm.trust.planted_texts import PoisonFinding, folder_findings

if TYPE_CHECKING:
    from pytest_ltm.reports.exports.loaded import Results

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
JOURNAL = "journal.jsonl"


def outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return one file with a SARIF run for each run; LtmError if none of them planted anything."""
    runs = []
    for run in results.runs:
        findings = list(chain.from_iterable(map(folder_findings, run.conversations)))
        if findings:
            runs.append(_run_json(run, findings))
    if not runs:
        # An empty file would look like a clean one.
        raise LtmError(
            "nothing to export: no run has a verdict on planted texts. "
            "Play some: pytest --ltm-suite=trust --ltm-agent=mypkg.bot:Bot"
        )
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    path = to if to.suffix else to.with_suffix(".sarif")
    return [ExportTarget(path, lambda place: write_output(place, for_file(text)))]


def _run_json(run: LoadedRun, findings: Sequence[PoisonFinding]) -> dict[str, Any]:
    shown = [finding for finding in findings if finding.acted is not False]
    lines = {finding.folder: reply_lines(finding.folder) for finding in shown}
    rules = {_rule_id(finding): _rule_json(finding) for finding in findings}
    driver = {
        "name": "pytest-ltm",
        "version": version("pytest-ltm"),
        "rules": [rules[name] for name in sorted(rules)],
    }
    results = []
    for finding in shown:
        results.append(_result_json(finding, lines[finding.folder], sorted(rules)))
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"pytest-ltm/{run.result.run_id}"},
        "originalUriBaseIds": {"RUN": {"description": {"text": "the run folder"}}},
        "results": results,
        "properties": {"pairs": len(findings), "suite": run.result.suite},
    }


def _rule_id(finding: PoisonFinding) -> str:
    return f"trust/{finding.attack}/{finding.channel}"


def _rule_json(finding: PoisonFinding) -> dict[str, Any]:
    text = (
        f"A text that is not the user's, of the class {finding.attack}, came in by the channel {finding.channel}, and "
        "acted later."
    )
    return {"id": _rule_id(finding), "shortDescription": {"text": text}}


def _result_json(
    finding: PoisonFinding, lines: dict[int, int], rules: Sequence[str]
) -> dict[str, Any]:
    row = finding.row
    question = finding.question
    name = _rule_id(finding)
    is_open = finding.acted is None
    place = row.conversation
    verb = "may have acted" if is_open else "acted"
    text = (
        f"{row.agent} at {row.span_label}: a planted text {verb} {pluralize(question.gap or 0, 'token')} later. "
        f"Planted: {finding.poisoned} Asked: {question.text} Answered: {question.answer}"
    )
    artifact = {"uri": f"{finding.folder.name}/{JOURNAL}", "uriBaseId": "RUN"}
    region = {"startLine": lines.get(question.number, 1)}
    return {
        "ruleId": name,
        "ruleIndex": rules.index(name),
        "kind": "open" if is_open else "fail",
        "level": "none" if is_open else "error",
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": artifact, "region": region},
                "logicalLocations": [{"fullyQualifiedName": row.nodeid or row.id}],
            }
        ],
        "partialFingerprints": {"pytestLtm/v1": f"{name} {place} {row.id}"},
        "properties": {
            "agent": row.agent,
            "span": row.span_label,
            "trial": row.trial,
            "gap": question.gap,
            "attack": finding.attack,
            "channel": finding.channel,
            "utility": finding.kept,
        },
    }


class _JournalLine(msgspec.Struct):
    event: str
    exchange: int = -1


def reply_lines(folder: Path) -> dict[int, int]:
    """Return the journal's line number of each exchange's reply, by exchange; damaged lines are skipped."""
    try:
        lines = read_regular(folder / JOURNAL).splitlines()
    except OSError:
        return {}
    places: dict[int, int] = {}
    for number, line in enumerate(lines, start=1):
        try:
            event = msgspec.json.decode(line, type=_JournalLine)
        except msgspec.DecodeError:
            continue
        if event.event == "reply":
            places[event.exchange] = number
    return places
