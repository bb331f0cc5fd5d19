"""Published conversations as a run folder on disk, as a run of ours leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import ConfigurationError
from pytest_ltm._journal import FORMAT, line
from pytest_ltm._records import json_text
from pytest_ltm._result import RunResult, write_results
from pytest_ltm.reporting._summary import summary_json, verdicts_csv, write_summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ltm._published._convert import Held
    from pytest_ltm._transcript import Exchange


def write(path: Path, conversations: Sequence[Held], notices: Sequence[str]) -> RunResult:
    """Write a run folder; ConfigurationError if there is one, or it cannot be written."""
    run = RunResult(
        run_id=path.name,
        conversations=tuple(each.result for each in conversations),
        folder=str(path),
        notices=tuple(notices),
    )
    try:
        path.mkdir(parents=True)
        for each in conversations:
            _write_conversation(path, each)
        write_summary(path / "summary.json", _summary(run))
        (path / "verdicts.csv").write_text(verdicts_csv(run), encoding="utf-8", errors="backslashreplace")
    except FileExistsError:
        raise ConfigurationError(f"{str(path)!r} exists already. Name a run that does not") from None
    except OSError as error:
        raise ConfigurationError(f"cannot write {str(path)!r}: {error.strerror}. Name a folder that can be") from error
    return run


def _write_conversation(run: Path, each: Held) -> None:
    result = each.result
    folder = run / f"{result.agent}~{result.span_label}~{result.trial}"
    folder.mkdir()
    (folder / "plan.json").write_bytes(json_text(each.plan.to_json()).encode())
    write_results(folder / "results.json", result)
    if each.talk.exchanges:
        (folder / "journal.jsonl").write_bytes("".join(_events(each)).encode())


def _summary(run: RunResult) -> dict[str, Any]:
    from importlib.metadata import version  # noqa: PLC0415 - slow to import

    return summary_json(run, pytest_ltm_version=version("pytest-ltm"), seed=0, plan={})


def _events(each: Held) -> Iterator[str]:
    """Yield the journal: what was said in order, each example's begin before its first and its end after its last."""
    result, exchanges = each.result, each.talk.exchanges
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for exchange in exchanges:
        if exchange.by:
            first.setdefault(exchange.by, exchange.number)
            last[exchange.by] = exchange.number
    yield line(
        "header",
        format=FORMAT,
        plan=each.plan.to_json(),
        plan_fingerprint=result.plan_fingerprint,
        agent_fingerprint=result.agent_fingerprint,
    )
    for exchange in exchanges:
        if first.get(exchange.by) == exchange.number:
            yield line("begin", example=exchange.by, position=exchange.start, now=exchange.now.isoformat())
        yield from _said(exchange)
        if last.get(exchange.by) == exchange.number:
            yield line("end", example=exchange.by)
    for row in result.scenarios:
        said = {"reason": row.reason, "rule": row.rule, "evidence": row.evidence}
        yield line("verdict", example=row.id, score=row.score, **said, checks=[])
    yield line("end", reason="complete")


def _said(exchange: Exchange) -> Iterator[str]:
    yield line(
        "message",
        exchange=exchange.number,
        by=exchange.by,
        kind=exchange.kind,
        text=exchange.message,
        tokens=exchange.message_tokens,
        position=exchange.start,
        now=exchange.now.isoformat(),
    )
    yield line("reply", exchange=exchange.number, text=exchange.reply, tokens=exchange.reply_tokens)
