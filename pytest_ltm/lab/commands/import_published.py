"""`data import-published FILE...`: published results of the LTM Benchmark as a run for reports."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any

from pytest_ltm.api.journal import (
    IMPORTED,
    CallDurations,
    Chain,
    ConversationResult,
    Pace,
    RunResult,
    events,
    own_version,
    write_results,
)
from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import (
    ConfigurationError,
    DatasetError,
    build_folder,
    json_text,
    pluralize,
)
from pytest_ltm.commands.arguments import add_ltm_dir, add_option, new_run_folder
from pytest_ltm.datasets.rows import load_json
from pytest_ltm.figures.columns import Column, result_columns
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.lab.published_results import (
    MEMORY_SPANS_SINCE,
    PAPERS_NAMES,
    TOKENIZER,
    PublishedConversation,
    PublishedResult,
    RunStats,
    agent_labels,
    by_conversation,
    merge_branches,
    parse_benchmark,
    published_conversation,
    read_published,
    read_run_stats,
    scenario_name,
)
from pytest_ltm.reports.summary import summary_json, write_summary, write_verdicts

# The exit status if a number differs from the leaderboard's.
DIFFERENT = 1


def add_arguments(parser: ArgumentParser) -> None:
    """Add the files, the new run, and the selection and check."""
    files = "result files (.jsonl, .jsonl.gz), or a folder"
    parser.add_argument("files", type=Path, nargs="+", metavar="DIR|FILE", help=files)
    output = "the run to write; without it, only totals are printed"
    parser.add_argument("-o", "--output", metavar="RUN", help=output)
    ref = "only results of this branch (repeatable)"
    add_option(parser, "--ref", "BRANCH", ref, [])
    benchmark = "only benchmarks whose names begin with this"
    add_option(parser, "--benchmark", "NAME", benchmark)
    check = "compare with a published leaderboard (JSON)"
    add_option(parser, "--check", "FILE", check, None, type=Path)
    add_ltm_dir(parser)


def import_published(arguments: Namespace) -> int:
    """Turn published results of the LTM Benchmark into a run folder for all reports.

    Exit status 1 if a total differs from the leaderboard of --check.
    """
    all_results = read_published(arguments.files)
    branches = sorted({row.ref for row in all_results})
    for ref in arguments.ref:
        if ref not in branches:
            raise ConfigurationError(
                f"--ref: no results of branch {ref!r}. Choose from {', '.join(branches)}"
            )
    refs = arguments.ref or branches
    published_results = [
        row
        for row in all_results
        if row.benchmark.startswith(arguments.benchmark) and row.ref in refs
    ]
    if not published_results:
        names = ", ".join(sorted({row.benchmark for row in all_results}))
        raise ConfigurationError(
            f"--benchmark: no results of {arguments.benchmark!r}. Choose from {names}"
        )
    rows = merge_branches(published_results)
    conversations = import_conversations(rows, read_run_stats(arguments.files))
    if arguments.output is None:
        run = published_run(conversations)
    else:
        run = write_published_run(
            new_run_folder(arguments.output, arguments.ltm_dir),
            conversations,
            import_notices(rows),
        )
    for line in table_lines(run):
        print(line.rstrip())
    if arguments.output is not None:
        print(f"{pluralize(len(conversations), 'conversation')} in {run.folder}")
    if arguments.check is None:
        return 0
    compared, differences = check_leaderboard(published_results, arguments.check)
    for text in differences:
        print(text)
    equal = "total, accuracy, LTM score and the mean of every scenario"
    print(
        f"{pluralize(compared, 'published run')} compared ({equal}): {len(differences):,} differences"
    )
    return DIFFERENT if differences else 0


def published_run(
    conversations: Sequence[PublishedConversation], **fields: Any
) -> RunResult:
    """Return a run made of these conversations, with the published times."""
    seconds: dict[tuple[str, str], float] = {}
    for conversation in conversations:
        if conversation.seconds is not None:
            key = conversation.result.agent, conversation.result.span_label
            seconds[key] = seconds.get(key, 0.0) + conversation.seconds
    paces = []
    for (agent, span), total in seconds.items():
        asking = CallDurations(total=total)
        paces.append(Pace(agent=agent, span_label=span, asking=asking))
    results = tuple(conversation.result for conversation in conversations)
    return RunResult(
        **{
            "run_id": "published",
            "conversations": results,
            "paces": tuple(paces),
            **fields,
        }
    )


def import_conversations(
    rows: Sequence[PublishedResult],
    stats: Mapping[tuple[str, str], RunStats] = MappingProxyType({}),
) -> list[PublishedConversation]:
    """Return the conversations of these rows; DatasetError names a benchmark with an unknown form.

    `stats`: cost and time by benchmark and agent.
    """
    labels = agent_labels((row.benchmark, row.agent) for row in rows)
    # without transcripts there is nothing to count, and a tokenizer loads slowly
    count = token_counter(TOKENIZER).count if any(row.log for row in rows) else len
    conversations = []
    for key, mine in by_conversation(rows).items():
        conversations.append(
            published_conversation(mine, labels[key[1]], count, stats.get(key))
        )
    return conversations


def import_notices(rows: Sequence[PublishedResult]) -> list[str]:
    """Return caveats about imported results, a sentence each."""
    missing = sum(not row.log for row in rows)
    lines = [
        f"{IMPORTED}: verdicts and measured spans are as published, nothing was scored again"
    ]
    older = []
    for name in sorted({row.benchmark for row in rows}):
        benchmark = parse_benchmark(name)
        if benchmark and benchmark.span_label in PAPERS_NAMES.values():
            lines.append(
                f"{name!r} is labelled 2k as in the paper; the memory span of its configuration is 1,000 tokens"
            )
        if benchmark and benchmark.version < MEMORY_SPANS_SINCE:
            older.append(name)
    if older:
        lines.append(
            f"{', '.join(older)}: these versions name the filler between messages, not a memory span"
        )
    if missing:
        lines.append(
            f"the transcripts of {missing:,} of {pluralize(len(rows), 'example')} are missing"
        )
    if missing < len(rows):
        lines.append(
            "tokens and places in the conversation count only the exchanges that are there; filler is missing"
        )
    return lines


# --- Totals

NOTHING = "-"
# Marks the mean of several runs.
SEVERAL = "*"
_TOLERANCE = 1e-5  # published totals have six digits
_TOKENS = 0.01  # published LTM scores have three digits


def imported_totals(run: RunResult) -> dict[str, dict[str, tuple[float, int]]]:
    """Return by agent and span label the mean total of its runs, and their number."""
    places = group_by(
        run.conversations,
        lambda conversation: (conversation.agent, conversation.span_label),
    )
    totals: dict[str, dict[str, tuple[float, int]]] = {}
    for (agent, span), conversations in places.items():
        values = [_column_of(conversation).total for conversation in conversations]
        totals.setdefault(agent, {})[span] = fmean(values), len(values)
    return totals


def table_lines(run: RunResult) -> list[str]:
    """Return the totals as a text table of agents by memory spans, those with most spans first."""
    entries = imported_totals(run)
    span_by_label = {}
    for conversation in run.conversations:
        span_by_label[conversation.span_label] = conversation.span
    # isolated first, older versions last
    spans = sorted(
        span_by_label, key=lambda text: ("." in text, span_by_label[text] or 0, text)
    )
    width = max(map(len, entries))
    lines = [" ".join([" " * width, *(f"{span:>9}" for span in spans)])]
    has_means = False
    for agent in sorted(
        entries, key=lambda agent: (-len(entries[agent]), agent.lower())
    ):
        cells = [f"{agent:<{width}}"]
        for span in spans:
            if span not in entries[agent]:
                cells.append(f"{NOTHING:>8} ")
                continue
            value, runs = entries[agent][span]
            cells.append(f"{value:>8.2f}{SEVERAL if runs > 1 else ' '}")
            has_means |= runs > 1
        lines.append(" ".join(cells))
    if has_means:
        lines.append(f"{SEVERAL}: mean of the totals of two or more runs")
    return lines


def _column_of(conversation: ConversationResult) -> Column:
    """Return the column of one conversation, as in every report."""
    (column,) = result_columns(RunResult(run_id="", conversations=(conversation,)))
    return column


def check_leaderboard(
    rows: Sequence[PublishedResult], leaderboard: Path
) -> tuple[int, list[str]]:
    """Compare each published run, branch by branch, with the leaderboard's numbers.

    Returns the number of compared runs, and a sentence for each number that differs.
    """
    published = load_json(leaderboard)
    if not isinstance(published, dict):
        raise DatasetError(
            f"{leaderboard}: expected an object of branches, benchmarks and agents"
        )
    compared = 0
    differences = []
    for ref in sorted({row.ref for row in rows}):
        merged = merge_branches(row for row in rows if row.ref == ref)
        for (name, agent), conversation in by_conversation(merged).items():
            place = f"{ref}, {name}, {agent}"
            entry = published.get(ref, {}).get(name, {}).get(agent)
            if entry is None:
                differences.append(f"{place}: not in the leaderboard")
                continue
            compared += 1
            texts = _leaderboard_differences(conversation, entry)
            differences += [f"{place}: {text}" for text in texts]
    return compared, differences


def _leaderboard_differences(
    rows: Sequence[PublishedResult], entry: Mapping[str, Any]
) -> Iterator[str]:
    column = _column_of(published_conversation(rows, "agent", len).result)
    datasets = {scenario_name(row): row.dataset for row in rows}
    pairs: list[tuple[str, float | None, float | None, float]] = [
        ("total", column.total, entry["score"], _TOLERANCE),
        ("out of", column.out_of, entry["max_score"], 0),
        ("results", len(column.rows), entry["n_results"], 0),
        ("accuracy", 100 * (column.accuracy or 0), entry["accuracy"], 100 * _TOLERANCE),
        ("LTM score", column.ltm_score_paper or 0, entry["ltm"], _TOKENS),
    ]
    for name, cell in column.cells.items():
        dataset = datasets[name]
        published = entry["by_dataset"].get(dataset)
        pairs.append((dataset, cell.mean, published, _TOLERANCE))
    for name, ours, theirs, near in pairs:
        if ours is None or theirs is None or abs(ours - theirs) > near:
            yield f"{name} is {ours!r} here and {theirs!r} there"


# --- A run folder like those of our own runs


def write_published_run(
    path: Path, conversations: Sequence[PublishedConversation], notices: Sequence[str]
) -> RunResult:
    """Write a run folder; LtmError if it cannot be written."""
    run = published_run(
        conversations, run_id=path.name, folder=str(path), notices=tuple(notices)
    )
    with build_folder(path) as beside:
        for conversation in conversations:
            result = conversation.result
            folder = beside / result.name.folder
            folder.mkdir()
            (folder / "plan.json").write_bytes(
                json_text(conversation.plan.to_json()).encode()
            )
            if conversation.talk.exchanges:
                chain = Chain()
                lines = []
                for event in _published_events(conversation):
                    lines.append(chain.seal_line(events.encode_event(event)))
                (folder / "journal.jsonl").write_bytes("".join(lines).encode())
                result = replace(result, journal=chain.head)
            write_results(folder / "results.json", result)
        summary = summary_json(run, pytest_ltm_version=own_version(), seed=0, plan={})
        write_summary(beside / "summary.json", summary)
        write_verdicts(beside, run)
    return run


def _published_events(conversation: PublishedConversation) -> Iterator[events.Event]:
    """Yield the journal: exchanges in order, each example's begin and end around its own."""
    result = conversation.result
    exchanges = conversation.talk.exchanges
    first = {exchange.by: exchange.number for exchange in reversed(exchanges)}
    last = {exchange.by: exchange.number for exchange in exchanges}
    yield events.Header(
        plan=conversation.plan.to_json(),
        plan_fingerprint=result.plan_fingerprint,
        agent_fingerprint=result.agent_fingerprint,
    )
    for exchange in exchanges:
        number = exchange.number
        by = exchange.by
        if by and first[by] == number:
            yield events.Begin(example=by, position=exchange.start, now=exchange.now)
        yield events.MessageSent(
            exchange=number,
            by=by,
            kind=exchange.kind,
            text=exchange.message,
            tokens=exchange.message_tokens,
            position=exchange.start,
            now=exchange.now,
        )
        yield events.ReplyReceived(
            exchange=number, text=exchange.reply, tokens=exchange.reply_tokens
        )
        if by and last[by] == number:
            yield events.End(example=by)
    for row in result.scenarios:
        yield events.VerdictRecorded(
            example=row.id,
            score=row.score,
            reason=row.reason,
            rule=row.rule,
            evidence=row.evidence,
            checks=(),
            upper=row.upper,
        )
    yield events.End(reason="complete")
