"""What each agent was asked before its conversations, and whether it knew what another was told: `probe.jsonl`."""

# Annotations are evaluated here, because they say how each field is read.

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
    """As the agent's provider reports it."""
    estimated: bool = False
    """Some of its tokens or dollars were not reported."""


class Decided(JournalRecord, frozen=True, kw_only=True):
    """The outcome of an agent's probe; it is never probed again in this run."""

    agent: str
    verdict: ProbeVerdict
    why: str = ""
    """A sentence on a leak, or why it was not probed to the end."""
    messages: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    cost_usd: ReportedDollars | None = None
    estimated: bool = False
    """Some of the tokens or dollars were not reported."""


Row: TypeAlias = ProbeExchange | Decided
_PROBE_LINES: RecordCodec[Row] = RecordCodec(get_args(Row), "a probe")


def append_probe_row(path: Path, row: Row) -> None:
    """Append a row; a torn last line, of a process that was killed, is taken away. DiskFault if it cannot be kept."""
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
    """Return the rows of a run; lines that cannot be read are left out."""
    return list(iter_readable(run / PROBE_FILE, _PROBE_LINES.decode))


def probe_decisions(run: Path) -> dict[str, Decided]:
    """Return what was decided in a run, by agent."""
    return {row.agent: row for row in read_probe(run) if isinstance(row, Decided)}


def probe_prechecks(run: Path) -> list[Precheck]:
    """Return the outcome of each agent's probe; of one that was cut off, what was asked until then."""
    rows = read_probe(run)
    by_agent = {
        row.agent: Precheck(
            kind="probe",
            of=row.agent,
            verdict=row.verdict,
            why=row.why,
            calls=row.messages,
            tokens=row.tokens,
            cost_usd=row.cost_usd,
            estimated=row.estimated,
        )
        for row in rows
        if isinstance(row, Decided)
    }
    for label in dict.fromkeys(row.agent for row in rows if row.agent not in by_agent):
        by_agent[label] = unfinished_precheck(
            "probe", label, probe_usage(rows, label, Tariff())
        )
    return list(by_agent.values())


class PrecheckUsage(NamedTuple):
    """What a check beside the examples has used."""

    calls: int
    """Messages to an agent, or questions to the judge."""
    tokens: int
    usd: float | None
    """None: nobody knows."""
    guessed: bool
    """Some of the tokens or dollars are an estimate."""


def probe_usage(rows: Iterable[Row], agent: str, tariff: Tariff) -> PrecheckUsage:
    """Return what the messages used that an agent was asked."""
    exchanges = [
        row for row in rows if isinstance(row, ProbeExchange) and row.agent == agent
    ]
    charges = [
        tariff.charged_amounts(row, counted=(row.message_tokens, row.reply_tokens))
        for row in exchanges
    ]
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
    """Return what stands for a check that was cut off, with what it used until then."""
    return Precheck(
        kind=kind,
        of=of,
        verdict="unfinished",
        calls=usage.calls,
        tokens=usage.tokens,
        cost_usd=usage.usd,
        estimated=usage.guessed,
    )
