"""The record of probes, `probe.jsonl`: the questions to each agent, and whether it knew what another was told."""

# Annotations are evaluated here, because they define how each field is read.

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from pytest_ltm.api.journal import (
    JournalRecord,
    NonNegativeInt,
    Precheck,
    RecordCodec,
    Tariff,
    encode_record,
    iter_readable,
)
from pytest_ltm.api.model import Usage
from pytest_ltm.api.storage import (
    Appender,
    ReportedDollars,
    disk_fault,
    read_regular,
    write_whole,
)

PROBE_FILE = "probe.jsonl"
ProbeVerdict: TypeAlias = Literal["clean", "leaks", "skipped"]


class ProbeExchange(JournalRecord, tag="asked", frozen=True, kw_only=True):
    """A message of the probe and its reply."""

    agent: str
    conversation: str
    """Its `conversation_id`."""
    message: str
    message_tokens: NonNegativeInt
    reply: str
    reply_tokens: NonNegativeInt
    usage: Usage | None = None
    cost_usd: ReportedDollars | None = None
    """As reported by the agent's provider."""
    estimated: bool = False
    """Some of its tokens or dollars were not reported."""


class Decided(JournalRecord, frozen=True, kw_only=True):
    """The outcome of an agent's probe, which is not repeated in this run."""

    agent: str
    verdict: ProbeVerdict
    why: str = ""
    """A sentence on a leak, or on why the probe was not completed."""
    messages: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    cost_usd: ReportedDollars | None = None
    estimated: bool = False
    """Some of the tokens or dollars were not reported."""


Row: TypeAlias = ProbeExchange | Decided
_PROBE_LINES: RecordCodec[Row] = RecordCodec(get_args(Row), "a probe")


def append_probe_row(path: Path, row: Row) -> None:
    """Append a row, after removing a torn last line of a killed process; DiskFault if it cannot be written."""
    try:
        content = read_regular(path) if path.exists() else b""
    except OSError as error:
        raise disk_fault(path, error) from error
    if not content.endswith(b"\n"):
        write_whole(path, content[: content.rfind(b"\n") + 1])
    file = Appender(path, new=False)
    try:
        file.append(encode_record(row).encode())
    finally:
        file.close()


def read_probe(run: Path) -> list[Row]:
    """Return the rows of a run; unreadable lines are skipped."""
    return list(iter_readable(run / PROBE_FILE, _PROBE_LINES.decode))


def probe_decisions(run: Path) -> dict[str, Decided]:
    """Return the decided outcomes of a run, by agent."""
    return {row.agent: row for row in read_probe(run) if isinstance(row, Decided)}


def probe_prechecks(run: Path) -> list[Precheck]:
    """Return the outcome of each agent's probe, or the questions so far of one that was interrupted."""
    rows = read_probe(run)
    by_agent = {}
    for row in rows:
        if isinstance(row, Decided):
            by_agent[row.agent] = Precheck(
                kind="probe",
                of=row.agent,
                verdict=row.verdict,
                why=row.why,
                calls=row.messages,
                tokens=row.tokens,
                cost_usd=row.cost_usd,
                estimated=row.estimated,
            )
    for label in dict.fromkeys(row.agent for row in rows if row.agent not in by_agent):
        by_agent[label] = unfinished_precheck(
            "probe", label, probe_usage(rows, label, Tariff())
        )
    return list(by_agent.values())


class PrecheckUsage(NamedTuple):
    """The usage of a check outside the examples."""

    calls: int
    """Messages to an agent, or questions to the judge."""
    tokens: int
    usd: float | None
    """None: unknown."""
    guessed: bool
    """Some of the tokens or dollars are an estimate."""


def probe_usage(rows: Iterable[Row], agent: str, tariff: Tariff) -> PrecheckUsage:
    """Return the usage of an agent's probe."""
    exchanges = []
    charges = []
    for row in rows:
        if isinstance(row, ProbeExchange) and row.agent == agent:
            exchanges.append(row)
            counted = (row.message_tokens, row.reply_tokens)
            charges.append(tariff.charged_amounts(row, counted=counted))
    costs = [usd for usd, _ in charges if usd is not None]
    return PrecheckUsage(
        calls=len(exchanges),
        tokens=sum(tokens for _, tokens in charges),
        usd=sum(costs) if costs else None,
        guessed=any(row.estimated or tariff.estimates(row) for row in exchanges),
    )


def unfinished_precheck(
    kind: Literal["canaries", "probe"], of: str, usage: PrecheckUsage
) -> Precheck:
    """Return the entry of a check that was interrupted, with its usage so far."""
    return Precheck(
        kind=kind,
        of=of,
        verdict="unfinished",
        calls=usage.calls,
        tokens=usage.tokens,
        cost_usd=usage.usd,
        estimated=usage.guessed,
    )
