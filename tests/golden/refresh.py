"""Record the golden runs anew: `python tests/golden/refresh.py`. Read tests/plugin/test_golden.py first."""

from __future__ import annotations

import tempfile
from pathlib import Path

from golden_runs import RENAMED, played, record

EMPTY = """\
# Names that have changed since the golden runs were recorded, old: new. They are applied to the record before it is
# compared, so that a renaming shows as these lines and nothing else. Recording anew empties both tables.
fields: {}
values: {}
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        record(played(Path(folder)))
    RENAMED.write_text(EMPTY, encoding="utf-8")
