"""The shared data: agents, replies, tokens, tools, transcripts, scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.model.account import (
        ACCOUNTS,
        SCORED,
        Account,
        Outcome,
        account_of,
        has_word,
        name_end,
        sort_end,
        split_words,
        stems_of,
    )
    from pytest_ltm._core.model.agent import (
        CAPABILITIES,
        COMPACTION,
        CUT_OFF,
        ENDED_SOMEHOW,
        HANDED_ON,
        LONGEST_RECORD,
        MOST_OPERATIONS,
        NAMED_WHERE_NEEDED,
        NOT_RESTORABLE,
        SAVES_REFERENCE,
        SEES_CLOCK,
        AcceptsHistory,
        AcceptsImages,
        Agent,
        Announced,
        AnswersAlone,
        Apart,
        Capabilities,
        Checkpointable,
        Compacts,
        Configured,
        CountsTokens,
        DeletesRecords,
        ExpectedReply,
        KeepsUsers,
        LimitsMessages,
        MemoryOperation,
        Mishap,
        OperationKind,
        Promised,
        Prompted,
        Reply,
        ReportsUsage,
        Resettable,
        SeparatesUsers,
        Settles,
        ShowsContext,
        ShowsRetrieval,
        ShowsWrites,
        Stateless,
        TakesTools,
        TakesTurns,
        TimeAware,
        Usage,
        add_mishaps,
        check_operations,
        escape_surrogates,
        memory_operation,
        operation_rows,
        usage_of,
    )
    from pytest_ltm._core.model.filler import (
        Filler,
        FillerExchange,
        PastExchange,
        is_cut,
        split_by_tokens,
    )
    from pytest_ltm._core.model.schedule import (
        Finish,
        JumpTime,
        ResumeLane,
        Start,
        cannot_come_back,
    )
    from pytest_ltm._core.model.score import (
        NO_ORACLE,
        SCORINGS,
        UNDECIDED,
        Check,
        Evaluator,
        Replies,
        Score,
        Scoring,
        Unscored,
    )
    from pytest_ltm._core.model.spec_files import spec_text
    from pytest_ltm._core.model.tokens import (
        APPROX,
        TokenCounter,
        load_encoding,
        token_counter,
    )
    from pytest_ltm._core.model.tools import (
        WORKSPACE,
        AnsweredCall,
        Call,
        CallRule,
        Tool,
        Tools,
        make_tool,
        read_shown_tools,
        shown_tools,
    )
    from pytest_ltm._core.model.transcript import (
        RAW,
        SPOKEN,
        Count,
        Exchange,
        Kind,
        Reading,
        TextFile,
        count_option,
        needle_gap,
    )
    from pytest_ltm._core.model.words import (
        BULLET,
        STOP_WORDS,
        casefold_plain,
        content_of,
        content_stems,
        evidence_snippet,
        has_phrase,
        has_value,
        plain_words,
        space_delimited,
        strip_punctuation,
        upper_first,
        word_stem,
    )

__all__ = [
    "ACCOUNTS",
    "APPROX",
    "BULLET",
    "CAPABILITIES",
    "COMPACTION",
    "CUT_OFF",
    "ENDED_SOMEHOW",
    "HANDED_ON",
    "LONGEST_RECORD",
    "MOST_OPERATIONS",
    "NAMED_WHERE_NEEDED",
    "NOT_RESTORABLE",
    "NO_ORACLE",
    "RAW",
    "SAVES_REFERENCE",
    "SCORED",
    "SCORINGS",
    "SEES_CLOCK",
    "SPOKEN",
    "STOP_WORDS",
    "UNDECIDED",
    "WORKSPACE",
    "AcceptsHistory",
    "AcceptsImages",
    "Account",
    "Agent",
    "Announced",
    "AnsweredCall",
    "AnswersAlone",
    "Apart",
    "Call",
    "CallRule",
    "Capabilities",
    "Check",
    "Checkpointable",
    "Compacts",
    "Configured",
    "Count",
    "CountsTokens",
    "DeletesRecords",
    "Evaluator",
    "Exchange",
    "ExpectedReply",
    "Filler",
    "FillerExchange",
    "Finish",
    "JumpTime",
    "KeepsUsers",
    "Kind",
    "LimitsMessages",
    "MemoryOperation",
    "Mishap",
    "OperationKind",
    "Outcome",
    "PastExchange",
    "Promised",
    "Prompted",
    "Reading",
    "Replies",
    "Reply",
    "ReportsUsage",
    "Resettable",
    "ResumeLane",
    "Score",
    "Scoring",
    "SeparatesUsers",
    "Settles",
    "ShowsContext",
    "ShowsRetrieval",
    "ShowsWrites",
    "Start",
    "Stateless",
    "TakesTools",
    "TakesTurns",
    "TextFile",
    "TimeAware",
    "TokenCounter",
    "Tool",
    "Tools",
    "Unscored",
    "Usage",
    "account_of",
    "add_mishaps",
    "cannot_come_back",
    "casefold_plain",
    "check_operations",
    "content_of",
    "content_stems",
    "count_option",
    "escape_surrogates",
    "evidence_snippet",
    "has_phrase",
    "has_value",
    "has_word",
    "is_cut",
    "load_encoding",
    "make_tool",
    "memory_operation",
    "name_end",
    "needle_gap",
    "operation_rows",
    "plain_words",
    "read_shown_tools",
    "shown_tools",
    "sort_end",
    "space_delimited",
    "spec_text",
    "split_by_tokens",
    "split_words",
    "stems_of",
    "strip_punctuation",
    "token_counter",
    "upper_first",
    "usage_of",
    "word_stem",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "model.account": (
            "ACCOUNTS Account Outcome SCORED account_of has_word name_end "
            "sort_end split_words stems_of"
        ),
        "model.agent": (
            "LONGEST_RECORD AcceptsHistory AcceptsImages Agent Announced AnswersAlone "
            "Apart CAPABILITIES COMPACTION CUT_OFF Capabilities "
            "Checkpointable Compacts Configured CountsTokens "
            "DeletesRecords ENDED_SOMEHOW ExpectedReply HANDED_ON "
            "KeepsUsers LimitsMessages MOST_OPERATIONS MemoryOperation "
            "Mishap NAMED_WHERE_NEEDED NOT_RESTORABLE OperationKind "
            "Promised Prompted Reply ReportsUsage Resettable "
            "SAVES_REFERENCE SEES_CLOCK SeparatesUsers Settles "
            "ShowsContext ShowsRetrieval ShowsWrites Stateless TakesTools "
            "TakesTurns TimeAware Usage add_mishaps check_operations "
            "escape_surrogates "
            "memory_operation operation_rows usage_of"
        ),
        "model.filler": "Filler FillerExchange PastExchange is_cut split_by_tokens",
        "model.schedule": "Finish JumpTime ResumeLane Start cannot_come_back",
        "model.score": (
            "Check Evaluator NO_ORACLE Replies SCORINGS Score Scoring "
            "UNDECIDED Unscored"
        ),
        "model.spec_files": "spec_text",
        "model.tokens": "APPROX TokenCounter load_encoding token_counter",
        "model.tools": (
            "AnsweredCall Call CallRule Tool Tools WORKSPACE make_tool "
            "read_shown_tools shown_tools"
        ),
        "model.transcript": (
            "Count Exchange Kind RAW Reading SPOKEN TextFile count_option needle_gap"
        ),
        "model.words": (
            "BULLET STOP_WORDS casefold_plain content_of content_stems "
            "evidence_snippet has_phrase has_value "
            "plain_words "
            "space_delimited strip_punctuation upper_first word_stem"
        ),
    },
)
