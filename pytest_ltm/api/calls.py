"""Calls of foreign code: the airlock, threads, time limits, retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.calls import airlock
    from pytest_ltm._core.calls.airlock import (
        LONGEST_REPLY,
        Refusal,
        Refuse,
        check_json,
        class_members,
        class_name,
        exact_items,
        exact_scalar,
        exact_text,
        exact_tree,
        inherits,
        is_amount,
        is_count,
        is_of_package,
        is_scalar,
        look,
        read_attribute,
        read_flag,
        settle_error,
        shown,
        true_classes,
    )
    from pytest_ltm._core.calls.conversation_thread import (
        IGNORED,
        OWN_THREAD,
        REPEAT,
        SAYING,
        SERVING,
        OutOfTime,
        call_in_own_thread,
        own_thread,
        own_time,
        runs_in_own_thread,
        sleep_here,
        throw_into,
    )
    from pytest_ltm._core.calls.event_loop import (
        LoopShare,
        blocked_seconds,
        close_loops,
        has_thread,
        share_in_thread,
        shares_loop,
    )
    from pytest_ltm._core.calls.foreign import UNBLOCK, ForeignCaller
    from pytest_ltm._core.calls.passing import UNTAKEN, Chance, sort_refusal
    from pytest_ltm._core.calls.retry import (
        Failed,
        RemoteCause,
        Retries,
        Trouble,
        broken_off,
        classify_failure,
    )
    from pytest_ltm._core.calls.time_limits import (
        FORK_MESSAGE,
        call_within,
        copied,
        end_copy,
        limits_aside,
        unlimited,
        when_hung,
    )
    from pytest_ltm._core.calls.trace_context import add_trace, carry_over, carry_trace

__all__ = [
    "FORK_MESSAGE",
    "IGNORED",
    "LONGEST_REPLY",
    "OWN_THREAD",
    "REPEAT",
    "SAYING",
    "SERVING",
    "UNBLOCK",
    "UNTAKEN",
    "Chance",
    "Failed",
    "ForeignCaller",
    "LoopShare",
    "OutOfTime",
    "Refusal",
    "Refuse",
    "RemoteCause",
    "Retries",
    "Trouble",
    "add_trace",
    "airlock",
    "blocked_seconds",
    "broken_off",
    "call_in_own_thread",
    "call_within",
    "carry_over",
    "carry_trace",
    "check_json",
    "class_members",
    "class_name",
    "classify_failure",
    "close_loops",
    "copied",
    "end_copy",
    "exact_items",
    "exact_scalar",
    "exact_text",
    "exact_tree",
    "has_thread",
    "inherits",
    "is_amount",
    "is_count",
    "is_of_package",
    "is_scalar",
    "limits_aside",
    "look",
    "own_thread",
    "own_time",
    "read_attribute",
    "read_flag",
    "runs_in_own_thread",
    "settle_error",
    "share_in_thread",
    "shares_loop",
    "shown",
    "sleep_here",
    "sort_refusal",
    "throw_into",
    "true_classes",
    "unlimited",
    "when_hung",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "calls": "airlock",
        "calls.airlock": (
            "LONGEST_REPLY Refusal Refuse check_json class_members "
            "class_name exact_items exact_scalar exact_text exact_tree "
            "inherits is_amount is_count is_of_package is_scalar look read_attribute read_flag "
            "settle_error shown true_classes"
        ),
        "calls.conversation_thread": (
            "sleep_here IGNORED OWN_THREAD OutOfTime REPEAT SAYING SERVING "
            "call_in_own_thread own_thread own_time runs_in_own_thread "
            "throw_into"
        ),
        "calls.event_loop": (
            "LoopShare blocked_seconds close_loops has_thread "
            "share_in_thread shares_loop"
        ),
        "calls.foreign": "ForeignCaller UNBLOCK",
        "calls.passing": "Chance UNTAKEN sort_refusal",
        "calls.retry": (
            "Failed RemoteCause Retries Trouble broken_off classify_failure"
        ),
        "calls.time_limits": (
            "FORK_MESSAGE call_within copied end_copy limits_aside unlimited when_hung"
        ),
        "calls.trace_context": "add_trace carry_over carry_trace",
    },
)
