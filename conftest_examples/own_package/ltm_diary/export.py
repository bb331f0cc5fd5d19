"""An export format: a line per example."""

from __future__ import annotations

from pytest_ltm.reports.exports.output import ExportTarget


def outputs(results, to):
    """Return the single file to write."""
    lines = [f"{row.agent}: {row.scenario} {row.score}" for row in results.examples]
    return [ExportTarget(to, lambda path: path.write_text("\n".join(lines) + "\n"))]
