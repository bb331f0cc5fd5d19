"""`audit FILE|STORE`: finds faults in the contents of a memory."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_ltm.api.storage import (
    ConfigurationError,
    did_you_mean,
    write_output,
)
from pytest_ltm.commands.arguments import add_json, add_option, positive_integer
from pytest_ltm.commands.store_dump import dump_store, names_store
from pytest_ltm.datasets.rows import values_within
from pytest_ltm.lifecycle.audit.audit_report import (
    Audit,
    audit_record,
    render_page,
    text_lines,
)
from pytest_ltm.lifecycle.audit.fields import find_fields, read_memories
from pytest_ltm.lifecycle.audit.findings import KINDS, Kind, find_faults
from pytest_ltm.lifecycle.audit.memory_records import SUFFIXES, Dump, read_dump

EXCEEDED = 1
"""The exit status if more memories have a fault than `--at-most` allows."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the input, its options, and the limits."""
    parser.add_argument(
        "path",
        metavar="FILE|STORE",
        help=f"what a memory holds: a file or a folder of {', '.join(SUFFIXES)}; or store:pkg.mod:Class, mcp:COMMAND",
    )
    add_option(
        parser, "--user", "NAME", "whose memories of a store are read (repeatable)", []
    )
    add_option(
        parser,
        "--at-most",
        "KIND=SHARE",
        "exit with 1 if more memories have a fault of this kind: duplicate=5%% (repeatable)",
        [],
    )
    add_option(parser, "--text", "FIELD", "the field that holds the texts")
    add_option(
        parser,
        "--scope",
        "FIELD",
        "a field that keeps memories apart, such as user_id (repeatable)",
        [],
    )
    add_option(
        parser,
        "--retrieved",
        "FILE",
        "a log of what was retrieved (JSON or JSON Lines, with ids or texts)",
    )
    add_option(
        parser,
        "--most",
        "N",
        "findings shown of each kind (default: 3)",
        3,
        type=positive_integer,
    )
    add_option(parser, "--page", "FILE", "write all findings to an HTML file")
    add_json(parser)


def audit_memory(arguments: Namespace) -> int:
    """Find duplicates, contradictions, stale facts, secrets, junk and more in a memory's dump or store.

    No model is asked: docs/audit.md states each rule. Exit status: 0, or 1 if `--at-most` is exceeded.
    """
    limits = dict(map(_read_limit, arguments.at_most))
    retrieved = read_retrieved(arguments.retrieved) if arguments.retrieved else None
    dump = _read_memory(arguments.path, arguments.user)
    fields = find_fields(dump, arguments.text, arguments.scope)
    memories = read_memories(dump, fields)
    audit = Audit(dump.name, fields, memories, find_faults(memories, retrieved))
    if arguments.page:
        write_output(Path(arguments.page), render_page(audit))
    if arguments.json:
        print(json.dumps(audit_record(audit), indent=1))
    else:
        print("\n".join(text_lines(audit, arguments.most)))
    return _check_limits(audit, limits)


def _read_memory(path: str, users: list[str]) -> Dump:
    if names_store(path):
        return dump_store(path, list(dict.fromkeys(users)))
    if users:
        raise ConfigurationError(
            "--user is for a store. Of a file, --scope names the field that keeps users apart"
        )
    return read_dump(Path(path))


def _read_limit(words: str) -> tuple[Kind, float]:
    name, equals, share = words.partition("=")
    for kind in KINDS:
        if kind == name.replace("-", " ").replace("_", " "):
            break
    else:
        hint = did_you_mean(name, KINDS)
        raise ConfigurationError(
            f"--at-most={words}: there is no kind {name!r}.{hint} Choose from {', '.join(KINDS)}"
        )
    try:
        number = float(share.removesuffix("%"))
    except ValueError:
        number = -1.0
    if share.endswith("%"):
        number /= 100
    if not equals or not 0 <= number <= 1:
        raise ConfigurationError(
            f"--at-most={words}: write KIND=SHARE, with a share such as 5% or 0.05"
        )
    return kind, number


def _check_limits(audit: Audit, limits: dict[Kind, float]) -> int:
    status = 0
    for kind, limit in limits.items():
        share = audit.share_of(kind)
        if share > limit:
            message = (
                f"{kind}: {share:.1%} of the memories, at most {limit:.1%} are allowed"
            )
            print(message, file=sys.stderr)
            status = EXCEEDED
    return status


def read_retrieved(path: str) -> frozenset[str]:
    """Return all texts and numbers of a log, whatever its field names.

    ConfigurationError if it is unreadable.
    """
    rows = list(map(dict, read_dump(Path(path)).rows))
    values = values_within(rows)
    return frozenset(str(value) for value in values if isinstance(value, (str, int)))
