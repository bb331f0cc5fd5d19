"""`badge RUN -o FILE`: what an agent earned, in a few words, as SVG or as the JSON of an endpoint badge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._journal.run_file import find_run
from pytest_ltm._results.gate.baseline import load
from pytest_ltm._results.text import one_line
from pytest_ltm._storage.errors import ConfigurationError, LtmError
from pytest_ltm._storage.sanitize import for_file
from pytest_ltm.reporting.badge import GREY, badge_of, endpoint_json, svg
from pytest_ltm.reporting.history import Past, read_past, standings

if TYPE_CHECKING:
    from argparse import Namespace

    from pytest_ltm.reporting.history import HistoricalScore


WRITTEN = {".svg": svg, ".json": endpoint_json}
"""By the end of a file's name."""


def run(given: Namespace) -> int:
    """Write the badge, also one without a score; LtmError if there is no such run, agent or span, or no such folder."""
    if given.output.suffix not in WRITTEN:
        raise ConfigurationError(f"-o: {str(given.output)!r}: a badge is a file {' or '.join(WRITTEN)}")
    past = _past(given)
    made = badge_of(past, _chosen(past, given), given.label)
    try:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_bytes(for_file(WRITTEN[given.output.suffix](made)))
    except OSError as error:
        raise LtmError(f"cannot write {str(given.output)!r}: {error.strerror or error}") from error
    print(one_line(made.title), file=sys.stderr if made.colour == GREY else sys.stdout)
    return 0


def _past(given: Namespace) -> Past:
    path = Path(given.run)
    if not path.is_file():
        return read_past(find_run(given.run, given.ltm_dir))
    return Past(name=path.stem, path=path, at=None, state="finished", standings=standings(load(path).result))


def _chosen(past: Past, given: Namespace) -> HistoricalScore | None:
    """Return what the badge is about: the agent under test at the longest of its spans; None where nothing is known."""
    if not past.standings:
        return None
    found = [each for each in past.standings if given.agent in ("", each.agent)]
    if not given.agent:
        found = [each for each in found if each.own] or found
    found = [each for each in found if given.span in ("", each.span_label)]
    agents = {each.agent for each in found}
    if len(agents) == 1:
        return max(found, key=lambda each: each.span or 0)
    why = (
        "tests several agents" if agents else "has no such agent or span" if given.agent else "tests no agent of yours"
    )
    raise ConfigurationError(
        f"{past.name} {why}. Choose with --agent and --span: agents {', '.join(map(one_line, past.agents))}; spans "
        f"{', '.join(map(one_line, past.spans))}"
    )
