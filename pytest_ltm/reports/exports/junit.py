"""Runs as JUnit XML, with the names, properties and outcomes of pytest's `--junitxml`."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm.api.storage import for_screen, one_line, write_output
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.reports.exports.output import ExportTarget
from pytest_ltm.reports.exports.result_rows import seconds_of
from pytest_ltm.reports.failure import failure_text
from pytest_ltm.reports.html.report_data import run_origin
from pytest_ltm.reports.summary import user_properties

if TYPE_CHECKING:
    from pytest_ltm.reports.exports.loaded import Results


def outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return one file: a test suite per run, a test case per example."""

    def write(path: Path) -> None:
        top = ET.Element("testsuites", name="pytest-ltm")
        for run in results.runs:
            # An empty suite would look like one that passed.
            if run.conversations:
                cases = list(_case_elements(run))
                outcomes = Counter[str](row.outcome for row in run.result.scenarios)
                names = {"failures": "failed", "errors": "error", "skipped": "skipped"}
                counts = {
                    "tests": len(cases),
                    **{name: outcomes[outcome] for name, outcome in names.items()},
                }
                seconds = sum(float(case.get("time", 0)) for case in cases)
                suite = ET.SubElement(
                    top,
                    "testsuite",
                    name=_xml_safe_text(run.result.run_id),
                    time=f"{seconds:.3f}",
                )
                suite.attrib |= {name: str(number) for name, number in counts.items()}
                suite.extend(cases)
        write_output(
            path, ET.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n"
        )

    return [ExportTarget(to, write)]


def _case_elements(run: LoadedRun) -> Iterator[ET.Element]:
    command = run_origin(run).command
    for conversation in run.conversations:
        record = conversation.record()
        timed = seconds_of(conversation.path)
        for result in conversation.result.scenarios:
            exchanges = record.transcript.exchanges_of(result.id) if record else ()
            nodeid = (
                result.nodeid
                or f"{result.scenario}::{result.scenario}[{result.conversation}-{result.example}]"
            )
            # Parameters may contain `::` and slashes, so split them off first.
            address, bracket, parameters = nodeid.partition("[")
            file, *names = address.split("::")
            *classes, name = [file.removesuffix(".py").replace("/", "."), *names]
            where = {
                "classname": ".".join(classes),
                "name": name + bracket + parameters,
            }
            case = ET.Element(
                "testcase", {key: _xml_safe_text(text) for key, text in where.items()}
            )
            listed = ET.SubElement(case, "properties")
            for name, value in user_properties(result):
                ET.SubElement(
                    listed,
                    "property",
                    name=_xml_safe_text(name),
                    value=_xml_safe_text(str(value)),
                )
            if result.outcome != "passed":
                tag = "failure" if result.outcome == "failed" else result.outcome
                failure = ET.SubElement(
                    case, tag, message=_xml_safe_text(one_line(result.reason))
                )
                if result.outcome != "skipped":
                    failure.text = _xml_safe_text(
                        failure_text(
                            result, record.transcript if record else (), command
                        )
                    )
            # Only the example's own exchanges: the filler between them is shared by all
            # examples.
            case.set(
                "time",
                f"{sum(timed.get(exchange.number, 0.0) for exchange in exchanges):.3f}",
            )
            yield case


_NOT_XML = re.compile("[\ufffe\uffff]")


def _xml_safe_text(text: str) -> str:
    """Return the text without secrets or characters that XML forbids."""
    return _NOT_XML.sub(lambda result: f"\\u{ord(result[0]):04x}", for_screen(text))
