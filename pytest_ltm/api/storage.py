"""Input and output: files, locks, the clock, secrets, screens; errors and wording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.storage import errors, schema
    from pytest_ltm._core.storage.choices import one_of
    from pytest_ltm._core.storage.clock import (
        START,
        WAKE,
        Clock,
        SimulatedClock,
        WallClock,
        can_interrupt,
        describe_duration,
        duration,
        goes_on,
        paused_since,
        process_pauses,
        sleep_interruptibly,
        stopwatch_seconds,
        thread_seconds,
        wall_time,
    )
    from pytest_ltm._core.storage.disk import (
        Appender,
        build_folder,
        disk_fault,
        image_type,
        make_private,
        open_regular,
        open_text,
        read_image,
        read_regular,
        read_text,
        refuse_named_pipe,
        write_output,
        write_whole,
    )
    from pytest_ltm._core.storage.dotted import (
        DottedPath,
        has_source,
        is_dotted,
        lazy,
    )
    from pytest_ltm._core.storage.errors import (
        AgentError,
        AgentFault,
        BudgetSpent,
        ConfigurationError,
        ConversationOver,
        DatasetError,
        DefinitionError,
        DiskFault,
        Divergence,
        FillerError,
        JudgeError,
        LtmError,
        LtmInternalError,
        ScenarioError,
        Stopped,
        Traceback,
        TransientFault,
        Unmeasured,
        UserError,
        describe_error,
        did_you_mean,
        nearest_name,
        text_of,
    )
    from pytest_ltm._core.storage.locks import (
        OWNER,
        FolderLock,
        Shared,
        lock_holder,
        lock_owner,
    )
    from pytest_ltm._core.storage.patterns import lazy_pattern, made_later
    from pytest_ltm._core.storage.sanitize import (
        COLOR,
        LineSanitizer,
        Screen,
        csv_cell,
        escape_unprintable,
        fit_for,
        for_file,
        for_library,
        for_screen,
        is_plain,
    )
    from pytest_ltm._core.storage.schema import (
        SPARSE,
        Field,
        ReportedDollars,
        escape_json_text,
        fields_of,
        from_record,
        json_text,
        load_packaged_yaml,
        load_yaml,
        number_or_text,
        parse_record,
        show_value,
        to_record,
    )
    from pytest_ltm._core.storage.secrets import (
        HIDDEN,
        dump_json_redacted,
        is_secret_name,
        known_secrets,
        redact_secrets,
        redacted_data,
        remember_secret,
        without_credentials,
    )
    from pytest_ltm._core.storage.wording import (
        first_and_rest,
        join_some,
        join_words,
        one_line,
        pluralize,
    )
    from pytest_ltm._core.storage.workspace import (
        COMMAND_SCHEMA,
        TemporaryFolder,
        TextFolder,
    )

__all__ = [
    "COLOR",
    "COMMAND_SCHEMA",
    "HIDDEN",
    "OWNER",
    "SPARSE",
    "START",
    "WAKE",
    "AgentError",
    "AgentFault",
    "Appender",
    "BudgetSpent",
    "Clock",
    "ConfigurationError",
    "ConversationOver",
    "DatasetError",
    "DefinitionError",
    "DiskFault",
    "Divergence",
    "DottedPath",
    "Field",
    "FillerError",
    "FolderLock",
    "JudgeError",
    "LineSanitizer",
    "LtmError",
    "LtmInternalError",
    "ReportedDollars",
    "ScenarioError",
    "Screen",
    "Shared",
    "SimulatedClock",
    "Stopped",
    "TemporaryFolder",
    "TextFolder",
    "Traceback",
    "TransientFault",
    "Unmeasured",
    "UserError",
    "WallClock",
    "build_folder",
    "can_interrupt",
    "csv_cell",
    "describe_duration",
    "describe_error",
    "did_you_mean",
    "disk_fault",
    "dump_json_redacted",
    "duration",
    "errors",
    "escape_json_text",
    "escape_unprintable",
    "fields_of",
    "first_and_rest",
    "fit_for",
    "for_file",
    "for_library",
    "for_screen",
    "from_record",
    "goes_on",
    "has_source",
    "image_type",
    "is_dotted",
    "is_plain",
    "is_secret_name",
    "join_some",
    "join_words",
    "json_text",
    "known_secrets",
    "lazy",
    "lazy_exports",
    "lazy_pattern",
    "load_packaged_yaml",
    "load_yaml",
    "lock_holder",
    "lock_owner",
    "made_later",
    "make_private",
    "nearest_name",
    "number_or_text",
    "one_line",
    "one_of",
    "open_regular",
    "open_text",
    "parse_record",
    "paused_since",
    "pluralize",
    "process_pauses",
    "read_image",
    "read_regular",
    "read_text",
    "redact_secrets",
    "redacted_data",
    "refuse_named_pipe",
    "remember_secret",
    "schema",
    "show_value",
    "sleep_interruptibly",
    "stopwatch_seconds",
    "text_of",
    "thread_seconds",
    "to_record",
    "wall_time",
    "without_credentials",
    "write_output",
    "write_whole",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "storage": "errors schema",
        "storage.choices": "one_of",
        "storage.clock": (
            "WallClock Clock START SimulatedClock WAKE can_interrupt "
            "describe_duration duration goes_on paused_since "
            "process_pauses sleep_interruptibly stopwatch_seconds "
            "thread_seconds wall_time"
        ),
        "storage.disk": (
            "Appender build_folder disk_fault image_type make_private "
            "open_regular open_text read_image read_regular read_text "
            "refuse_named_pipe write_output write_whole"
        ),
        "storage.dotted": "DottedPath has_source is_dotted lazy lazy_exports",
        "storage.errors": (
            "AgentError AgentFault BudgetSpent ConfigurationError "
            "ConversationOver DatasetError DefinitionError DiskFault "
            "Divergence FillerError JudgeError LtmError LtmInternalError "
            "ScenarioError Stopped Traceback TransientFault Unmeasured "
            "UserError describe_error did_you_mean nearest_name "
            "text_of"
        ),
        "storage.locks": "FolderLock OWNER Shared lock_holder lock_owner",
        "storage.patterns": "lazy_pattern made_later",
        "storage.sanitize": (
            "COLOR LineSanitizer Screen csv_cell escape_unprintable "
            "fit_for for_file for_library for_screen is_plain"
        ),
        "storage.schema": (
            "Field ReportedDollars SPARSE escape_json_text fields_of "
            "from_record json_text load_packaged_yaml load_yaml "
            "number_or_text parse_record show_value to_record"
        ),
        "storage.secrets": (
            "HIDDEN dump_json_redacted is_secret_name known_secrets "
            "redact_secrets redacted_data remember_secret "
            "without_credentials"
        ),
        "storage.wording": "first_and_rest join_some join_words one_line pluralize",
        "storage.workspace": "COMMAND_SCHEMA TemporaryFolder TextFolder",
    },
)
