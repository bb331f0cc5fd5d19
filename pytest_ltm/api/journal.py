"""The record: events and their files, the fold, results, costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.journal import cost, events, result, run_file, timings
    from pytest_ltm._core.journal.codec import (
        Chain,
        JournalRecord,
        NonNegativeInt,
        RecordCodec,
        encode_record,
        find_damages,
        flip_bit_back,
        iter_readable,
        strip_checksum,
        whole_lines,
    )
    from pytest_ltm._core.journal.cost import (
        JUDGE,
        LEDGER,
        SCRIPTED,
        Account,
        Bill,
        Limits,
        Price,
        PricedReply,
        Prices,
        Side,
        Tariff,
        is_billed,
        read_price,
        read_prices,
    )
    from pytest_ltm._core.journal.events import (
        AgentFacts,
        Event,
        Header,
        Journal,
        JudgeChecked,
        decode_event,
    )
    from pytest_ltm._core.journal.fold import ConversationRecord, Example
    from pytest_ltm._core.journal.memory_ledger import (
        Change,
        FactMemory,
        Lost,
        MemoryLedger,
        MemoryResult,
    )
    from pytest_ltm._core.journal.result import (
        DECIDED,
        FAILED,
        HALF,
        IMPORTED,
        ISOLATED,
        PASSED,
        PUBLISHED_GRADE,
        UNMEASURABLE,
        WHOLE,
        Automatic,
        CallDurations,
        Cause,
        CheckRate,
        ConversationName,
        ConversationResult,
        ExampleMetric,
        NeedleRef,
        Outcome,
        Pace,
        Precheck,
        QuestionResult,
        RunResult,
        ScenarioResult,
        at_span,
        ended_early,
        lost_examples,
        misjudged_checks,
        outcome_of,
        read_results,
        span_place,
        why_unmeasured,
        write_results,
    )
    from pytest_ltm._core.journal.retrieval import recall_at
    from pytest_ltm._core.journal.run_file import (
        CHECKPOINTS,
        FILE,
        JOURNAL,
        LATEST,
        PARTS,
        RESULTS,
        SUMMARY,
        TIMINGS,
        RunFile,
        SourceRevision,
        conversations_in,
        cut_short,
        find_run,
        folders_by_age,
        newest_first,
        own_version,
        read_run_file,
        run_parts,
        run_start_time,
        source_digest,
        source_of,
        write_run_file,
    )
    from pytest_ltm._core.journal.section import (
        FIELDS,
        Curve,
        ScreenLine,
        Section,
        as_sections,
        sections_of,
    )
    from pytest_ltm._core.journal.timings import (
        Began,
        JudgeRetry,
        JudgeTime,
        ReplyTime,
        Resumed,
        Retry,
        SettleTime,
        TellTime,
        Timing,
        Timings,
        UserRetry,
        UserTime,
        iter_timings,
        load_all_timings,
    )

__all__ = [
    "CHECKPOINTS",
    "DECIDED",
    "FAILED",
    "FIELDS",
    "FILE",
    "HALF",
    "IMPORTED",
    "ISOLATED",
    "JOURNAL",
    "JUDGE",
    "LATEST",
    "LEDGER",
    "PARTS",
    "PASSED",
    "PUBLISHED_GRADE",
    "RESULTS",
    "SCRIPTED",
    "SUMMARY",
    "TIMINGS",
    "UNMEASURABLE",
    "WHOLE",
    "Account",
    "AgentFacts",
    "Automatic",
    "Began",
    "Bill",
    "CallDurations",
    "Cause",
    "Chain",
    "Change",
    "CheckRate",
    "ConversationName",
    "ConversationRecord",
    "ConversationResult",
    "Curve",
    "Event",
    "Example",
    "ExampleMetric",
    "FactMemory",
    "Header",
    "Journal",
    "JournalRecord",
    "JudgeChecked",
    "JudgeRetry",
    "JudgeTime",
    "Limits",
    "Lost",
    "MemoryLedger",
    "MemoryResult",
    "NeedleRef",
    "NonNegativeInt",
    "Outcome",
    "Pace",
    "Precheck",
    "Price",
    "PricedReply",
    "Prices",
    "QuestionResult",
    "RecordCodec",
    "ReplyTime",
    "Resumed",
    "Retry",
    "RunFile",
    "RunResult",
    "ScenarioResult",
    "ScreenLine",
    "Section",
    "SettleTime",
    "Side",
    "SourceRevision",
    "Tariff",
    "TellTime",
    "Timing",
    "Timings",
    "UserRetry",
    "UserTime",
    "as_sections",
    "at_span",
    "conversations_in",
    "cost",
    "cut_short",
    "decode_event",
    "encode_record",
    "ended_early",
    "events",
    "find_damages",
    "find_run",
    "flip_bit_back",
    "folders_by_age",
    "is_billed",
    "iter_readable",
    "iter_timings",
    "load_all_timings",
    "lost_examples",
    "misjudged_checks",
    "newest_first",
    "outcome_of",
    "own_version",
    "read_price",
    "read_prices",
    "read_results",
    "read_run_file",
    "recall_at",
    "result",
    "run_file",
    "run_parts",
    "run_start_time",
    "sections_of",
    "source_digest",
    "source_of",
    "span_place",
    "strip_checksum",
    "timings",
    "whole_lines",
    "why_unmeasured",
    "write_results",
    "write_run_file",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "journal": "cost events result run_file timings",
        "journal.codec": (
            "Chain JournalRecord NonNegativeInt RecordCodec encode_record "
            "find_damages flip_bit_back iter_readable strip_checksum "
            "whole_lines"
        ),
        "journal.cost": (
            "Account Bill JUDGE LEDGER Limits Price PricedReply Prices "
            "SCRIPTED Side Tariff is_billed read_price read_prices"
        ),
        "journal.events": "AgentFacts Event Header Journal JudgeChecked decode_event",
        "journal.fold": "ConversationRecord Example",
        "journal.memory_ledger": "Change FactMemory Lost MemoryLedger MemoryResult",
        "journal.result": (
            "Automatic CallDurations Cause CheckRate ConversationName "
            "ConversationResult DECIDED ExampleMetric FAILED HALF "
            "IMPORTED ISOLATED NeedleRef Outcome PASSED PUBLISHED_GRADE "
            "Pace Precheck QuestionResult RunResult ScenarioResult "
            "UNMEASURABLE WHOLE at_span ended_early lost_examples "
            "misjudged_checks outcome_of read_results "
            "span_place why_unmeasured write_results"
        ),
        "journal.retrieval": "recall_at",
        "journal.run_file": (
            "CHECKPOINTS FILE JOURNAL LATEST PARTS RESULTS RunFile "
            "SUMMARY SourceRevision TIMINGS conversations_in cut_short "
            "find_run folders_by_age newest_first own_version read_run_file "
            "run_parts run_start_time source_digest source_of write_run_file"
        ),
        "journal.section": "Curve FIELDS ScreenLine Section as_sections sections_of",
        "journal.timings": (
            "Began JudgeRetry JudgeTime ReplyTime Resumed Retry "
            "SettleTime TellTime Timing Timings UserRetry UserTime "
            "iter_timings load_all_timings"
        ),
    },
)
