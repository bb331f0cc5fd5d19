"""A result as an in-toto statement of the proposed kind `eval-result` (attestation proposals 575 and 565).

It is not signed here: `cosign attest-blob` and GitHub's attestations do that.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from pytest_ltm._results.columns import result_columns
from pytest_ltm._results.gate.gate_rules import parse_limit_rule
from pytest_ltm._results.gate.verdict import decide_gate
from pytest_ltm.reporting.summary import user_properties

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._results.gate.gate_rules import Rule
    from pytest_ltm._results.run_loading import LoadedRun


STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/eval-result/v0.1"


def eval_statements(run: LoadedRun, name: str, digest: str, claim: Rule | None) -> Mapping[str, dict[str, Any]]:
    """Return a statement for each agent and span, by `agent-span`, about the file of this name and sha256.

    `claim`: the limit that a metric is said to keep; None: the mean that was reached.
    """
    statements = {}
    for column in result_columns(run.result):
        place = (column.agent, column.span_label)
        held = tuple(one for one in run.result.conversations if (one.agent, one.span_label) == place)
        rule = claim or parse_limit_rule(f"mean:{int((column.accuracy or 0) * 1000) / 1000:g}")
        part = structs.replace(run.result, conversations=held)
        passed = decide_gate(part, [rule]).state == "passed"
        samples = [{"id": row.nodeid, "outcome": row.outcome, **dict(user_properties(row))} for row in part.scenarios]
        leaves = [json.dumps(sample, sort_keys=True).encode() for sample in samples]
        plans = sorted(one.plan_fingerprint for one in held)
        comparator = ">=" if rule.metric.higher_is_better else "<="
        suite = run.result.suite.partition(" ")[0] or "definitions"
        statements[f"{column.agent}-{column.span_label}"] = {
            "_type": STATEMENT,
            "subject": [{"name": name, "digest": {"sha256": digest}}],
            "predicateType": PREDICATE,
            "predicate": {
                "harness": {
                    "name": "pytest-ltm", "version": version("pytest-ltm"), "digest": {"sha256": harness_digest()},
                },
                "metric": f"{suite}@{column.span_label}/{rule.metric.name}", "comparator": comparator,
                "threshold": rule.limit, "passed": passed, "sampleSize": len(part.scenarios),
                "samplesRoot": merkle_root(leaves),
                "model": {"name": column.agent, "digest": {"sha256": _plain(held[0].agent_fingerprint)}},
                "data": {"digest": {"sha256": sha256("\n".join(plans).encode()).hexdigest()}},
                "assuranceLevel": "self_attested",
            },
        }  # fmt: skip
    return statements


def merkle_root(leaves: Sequence[bytes]) -> str:
    """Return the root of a Merkle tree over these (RFC 6962, section 2.1), in hexadecimal."""
    return _tree_hash(leaves).hex()


def _tree_hash(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) < 2:
        return sha256(b"".join(b"\0" + leaf for leaf in leaves)).digest()
    middle = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1" + _tree_hash(leaves[:middle]) + _tree_hash(leaves[middle:])).digest()


@cache
def harness_digest() -> str:
    """Return a sha256 over the package's own code, by its names."""
    package = Path(__file__).parents[2]
    whole = sha256()
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).as_posix()):
        whole.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _plain(fingerprint: str) -> str:
    return fingerprint.removeprefix("sha256:")
