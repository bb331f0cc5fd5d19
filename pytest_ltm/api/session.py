"""The pytest session: options, items, planning, and the composition of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.session import conversation_setup, dataset, options
    from pytest_ltm._core.session.collection import deselect
    from pytest_ltm._core.session.conversation_run import PlayedConversation
    from pytest_ltm._core.session.conversation_setup import (
        ConversationInputs,
        ConversationMode,
        KnownCost,
        KnownQuestions,
        OpenConversation,
        RunJudge,
        run_judge,
        write_plan,
    )
    from pytest_ltm._core.session.dataset import conversation_start, told_in
    from pytest_ltm._core.session.item_body import ItemBody
    from pytest_ltm._core.session.items import (
        LTM_ITEM,
        UNWRITTEN,
        LtmItem,
        is_built_in,
        items_by_conversation,
    )
    from pytest_ltm._core.session.options import (
        DEFAULTS,
        IntegerParser,
        Option,
        OptionGroup,
        is_given,
        name_option_in_errors,
        option_or_ini,
        option_table,
        option_value,
        path_base,
        read_option,
        span_of,
    )
    from pytest_ltm._core.session.planning import plan_for, regenerate_definitions
    from pytest_ltm._core.session.recorded_run import (
        RUN_FOLDER,
        SELECTING,
        is_recorded_option,
        resume_identity,
    )
    from pytest_ltm._core.session.session import LtmRun
    from pytest_ltm._core.session.settings import AgentChoice, RunSettings, Shard
    from pytest_ltm._core.session.state import (
        LANE,
        RUN_STATE,
        agents_traceback,
        is_in_body,
        is_unreached,
        mark_unreached,
        not_reached,
    )

__all__ = [
    "DEFAULTS",
    "LANE",
    "LTM_ITEM",
    "RUN_FOLDER",
    "RUN_STATE",
    "SELECTING",
    "UNWRITTEN",
    "AgentChoice",
    "ConversationInputs",
    "ConversationMode",
    "IntegerParser",
    "ItemBody",
    "KnownCost",
    "KnownQuestions",
    "LtmItem",
    "LtmRun",
    "OpenConversation",
    "Option",
    "OptionGroup",
    "PlayedConversation",
    "RunJudge",
    "RunSettings",
    "Shard",
    "agents_traceback",
    "conversation_setup",
    "conversation_start",
    "dataset",
    "deselect",
    "is_built_in",
    "is_given",
    "is_in_body",
    "is_recorded_option",
    "is_unreached",
    "items_by_conversation",
    "mark_unreached",
    "name_option_in_errors",
    "not_reached",
    "option_or_ini",
    "option_table",
    "option_value",
    "options",
    "path_base",
    "plan_for",
    "read_option",
    "regenerate_definitions",
    "resume_identity",
    "run_judge",
    "span_of",
    "told_in",
    "write_plan",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "session": "conversation_setup dataset options",
        "session.collection": "deselect",
        "session.conversation_run": "PlayedConversation",
        "session.conversation_setup": (
            "ConversationInputs ConversationMode KnownCost KnownQuestions "
            "OpenConversation RunJudge run_judge write_plan"
        ),
        "session.dataset": "conversation_start told_in",
        "session.item_body": "ItemBody",
        "session.items": "LTM_ITEM LtmItem UNWRITTEN is_built_in items_by_conversation",
        "session.options": (
            "DEFAULTS IntegerParser Option OptionGroup is_given "
            "name_option_in_errors option_or_ini option_table "
            "option_value path_base read_option span_of"
        ),
        "session.planning": "plan_for regenerate_definitions",
        "session.recorded_run": "RUN_FOLDER SELECTING is_recorded_option resume_identity",
        "session.session": "LtmRun",
        "session.settings": "AgentChoice RunSettings Shard",
        "session.state": (
            "LANE RUN_STATE agents_traceback is_in_body is_unreached "
            "mark_unreached not_reached"
        ),
    },
)
