"""Record the golden runs, verdicts and bundles anew, and the schema of summary.json.

Usage: `python tests/golden/refresh.py [runs|verdicts|gate|schema|bundles]`.

Read tests/whole/test_golden.py first, or tests/features/evaluators/test_recorded_verdicts.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "samples"))

import recorded_bundles
import recorded_gate
import recorded_verdicts
from golden_runs import RENAMED, played, record
from schemas import SCHEMA, interchange_schema, summary_schema

from pytest_ltm.datasets.interchange import SCHEMA as LOGS_SCHEMA

EMPTY = """\
# Names that have changed since the golden runs were recorded, old: new. They are applied to the record before it is
# compared, so that a renaming shows as these lines and nothing else. Recording anew empties both tables.
fields: {}
values: {}
"""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("all", "runs", "verdicts", "gate", "schema", "bundles"),
        default="all",
    )
    what = parser.parse_args().what
    if what in ("all", "runs"):
        with tempfile.TemporaryDirectory() as folder:
            record(played(Path(folder)))
        RENAMED.write_text(EMPTY, encoding="utf-8")
    if what in ("all", "verdicts"):
        recorded_verdicts.record()
    if what in ("all", "gate"):
        recorded_gate.record()
    if what in ("all", "bundles"):
        recorded_bundles.record()
    if what in ("all", "schema"):
        SCHEMA.write_text(
            json.dumps(summary_schema(), indent=1) + "\n", encoding="utf-8"
        )
        LOGS_SCHEMA.write_text(
            json.dumps(interchange_schema(), indent=1) + "\n", encoding="utf-8"
        )
