"""`verify RUN|BUNDLE|CARD`: checks that scores follow from the record, by scoring again without an agent."""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import find_run, own_version
from pytest_ltm.api.storage import json_text, one_line, redact_secrets
from pytest_ltm.commands.arguments import (
    RUN,
    add_flags,
    add_json,
    add_ltm_dir,
    add_option,
    add_pytest_options,
)
from pytest_ltm.commands.check_memory import verify_card
from pytest_ltm.commands.run_verification import verify_run
from pytest_ltm.commands.verification_result import Verification
from pytest_ltm.lifecycle.cards.card import is_card
from pytest_ltm.reports.discrepancies import Discrepancy

FORMAT = "pytest-ltm verification 1"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run or bundle, its data, and the extent of the checks."""
    parser.add_argument(
        "run",
        metavar="RUN|BUNDLE|CARD",
        help=f"{RUN}; or a file that ltm lab bundle or ltm check-memory wrote",
    )
    add_option(
        parser,
        "--data",
        "FILE",
        "the data set's file, whose texts a bundle does not have",
        None,
        type=Path,
    )
    add_flags(parser, record_only="compare what is recorded, without scoring it again")
    python = "score again with this Python, which has another version of pytest-ltm"
    add_option(parser, "--python", "PATH", python, sys.executable)
    add_pytest_options(parser)
    add_json(parser)
    add_ltm_dir(parser)


def verify_scores(arguments: Namespace) -> int:
    """Check that the scores of a run, bundle or memory card follow from its record.

    No agent is called, and no key is needed. Lines of journals are compared with their checksums; plans, definitions,
    results and summary with the journals; definitions with those that the seed generates; and every verdict with a
    recomputed one. Exit status 0 if everything holds, 1 if something differs, 2 if something cannot be read or checked,
    is unfinished, was amended by hand, or differs only because another version recorded it.
    """
    path = Path(arguments.run)
    if path.is_file() and is_card(path):
        return verify_card(path, as_json=arguments.json)
    with tempfile.TemporaryDirectory(prefix="ltm-verify-") as folder:
        verification = _verify_run_or_bundle(path, Path(folder), arguments)
    if arguments.json:
        print(json_text(verification_json(verification)), end="")
    else:
        lines = map(redact_secrets, _verification_lines(verification))
        print("\n  ".join(map(one_line, lines)))
    return verification.status


def _verify_run_or_bundle(path: Path, work: Path, arguments: Namespace) -> Verification:
    if not path.is_file():
        run = find_run(arguments.run, arguments.ltm_dir)
        return verify_run(run, work, arguments, foreign=False)
    from pytest_ltm.commands.bundle import open_bundle

    run, altered = open_bundle(path, work / "bundle", arguments.data)
    verification = verify_run(run, work, arguments, foreign=True)
    verification.differs.extend(altered)
    return verification


def _verification_lines(verification: Verification) -> Iterator[str]:
    recorded = ""
    if verification.made_by:
        recorded = f", recorded by pytest-ltm {verification.made_by}"
    yield f"run {verification.run}{recorded}: {verification.sentence}"
    for discrepancy in verification.differs:
        yield f"differs: {discrepancy}"
    for discrepancy in verification.of_versions:
        yield f"versions differ: {discrepancy}"
    for discrepancy in verification.unfinished:
        yield f"unfinished: {discrepancy}"
    for sentence in verification.unchecked:
        yield f"unchecked: {sentence}"
    for sentence in verification.held:
        yield f"checked: {sentence}"


def verification_json(verification: Verification) -> dict[str, Any]:
    """Return the verification as JSON values."""
    return {
        "format": FORMAT,
        "run": verification.run,
        "verdict": verification.verdict,
        "on_trust": {"amended": verification.amended, "graded": verification.graded},
        "made_by": verification.made_by,
        "checked_by": own_version(),
        "differs": _discrepancies_json(verification.differs),
        "versions_differ": _discrepancies_json(verification.of_versions),
        "unfinished": _discrepancies_json(verification.unfinished),
        "unchecked": verification.unchecked,
        "checked": verification.held,
    }


def _discrepancies_json(discrepancies: Iterable[Discrepancy]) -> list[dict[str, str]]:
    records: list[dict[str, str]] = []
    for discrepancy in discrepancies:
        what = redact_secrets(discrepancy.what)
        records.append({"place": discrepancy.place, "what": what})
    return records
