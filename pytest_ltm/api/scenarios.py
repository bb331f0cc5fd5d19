"""Questions and expectations: scenarios, suites, data sets, plans, and requests to a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.model import suite
    from pytest_ltm._core.model.dataset import (
        INDEX_FOLDER,
        Dataset,
        DatasetOption,
        DatasetSuite,
        KeptHistory,
        ToldConversation,
        label_of,
        number_of,
        parse_token_limit,
        some_of,
        split_comma_list,
        told_after,
    )
    from pytest_ltm._core.model.handle import Ltm
    from pytest_ltm._core.model.judge import (
        CUT,
        PROMPTS,
        AnsweredBy,
        Inquiry,
        Judge,
        JudgeDecision,
        JudgePrompt,
        JudgeRequest,
        LtmJudge,
        ask_judge,
        decide_by_votes,
        fence_text,
        full_thoughts,
        parse_grade,
        shorten_for_judge,
    )
    from pytest_ltm._core.model.judge_spec import NO_JUDGE, JudgeSpec
    from pytest_ltm._core.model.opinion import KnownQuestion
    from pytest_ltm._core.model.own_suite import OwnSuite
    from pytest_ltm._core.model.plan import (
        FRESH,
        Plan,
        PlannedExample,
        Questions,
        agent_fingerprint,
        compared_definition,
        definition_rng,
        is_of_source,
        natural_sort_key,
        plan_differences,
        user_seed,
    )
    from pytest_ltm._core.model.scenario import (
        Ask,
        Compact,
        Definition,
        Say,
        Step,
        Wait,
        format_json,
        from_json,
        kind_of_request,
        read_definition,
        read_json,
        to_json,
        write_definition,
    )
    from pytest_ltm._core.model.suite import (
        NONE,
        SETTINGS,
        SUFFIX,
        Suite,
        SuiteEntry,
        built_in,
        built_in_names,
        import_scenario,
        scenario_names,
        scenarios_folder,
    )
    from pytest_ltm._core.model.suite_spec import SuiteSpec, fold_recorded_options

__all__ = [
    "CUT",
    "FRESH",
    "INDEX_FOLDER",
    "NONE",
    "NO_JUDGE",
    "PROMPTS",
    "SETTINGS",
    "SUFFIX",
    "AnsweredBy",
    "Ask",
    "Compact",
    "Dataset",
    "DatasetOption",
    "DatasetSuite",
    "Definition",
    "Inquiry",
    "Judge",
    "JudgeDecision",
    "JudgePrompt",
    "JudgeRequest",
    "JudgeSpec",
    "KeptHistory",
    "KnownQuestion",
    "Ltm",
    "LtmJudge",
    "OwnSuite",
    "Plan",
    "PlannedExample",
    "Questions",
    "Say",
    "Step",
    "Suite",
    "SuiteEntry",
    "SuiteSpec",
    "ToldConversation",
    "Wait",
    "agent_fingerprint",
    "ask_judge",
    "built_in",
    "built_in_names",
    "compared_definition",
    "decide_by_votes",
    "definition_rng",
    "fence_text",
    "fold_recorded_options",
    "format_json",
    "from_json",
    "full_thoughts",
    "import_scenario",
    "is_of_source",
    "kind_of_request",
    "label_of",
    "natural_sort_key",
    "number_of",
    "parse_grade",
    "parse_token_limit",
    "plan_differences",
    "read_definition",
    "read_json",
    "scenario_names",
    "scenarios_folder",
    "shorten_for_judge",
    "some_of",
    "split_comma_list",
    "suite",
    "to_json",
    "told_after",
    "user_seed",
    "write_definition",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "model": "suite",
        "model.dataset": (
            "Dataset DatasetOption DatasetSuite INDEX_FOLDER KeptHistory "
            "ToldConversation label_of number_of "
            "parse_token_limit some_of split_comma_list told_after"
        ),
        "model.handle": "Ltm",
        "model.judge": (
            "AnsweredBy CUT Inquiry Judge JudgeDecision "
            "JudgePrompt JudgeRequest LtmJudge PROMPTS ask_judge "
            "decide_by_votes fence_text full_thoughts parse_grade "
            "shorten_for_judge"
        ),
        "model.judge_spec": "JudgeSpec NO_JUDGE",
        "model.opinion": "KnownQuestion",
        "model.own_suite": "OwnSuite",
        "model.plan": (
            "FRESH Plan PlannedExample Questions agent_fingerprint "
            "compared_definition definition_rng is_of_source "
            "natural_sort_key plan_differences user_seed"
        ),
        "model.scenario": (
            "Ask Compact Definition Say Step Wait format_json from_json "
            "kind_of_request read_definition read_json to_json "
            "write_definition"
        ),
        "model.suite": (
            "NONE SETTINGS SUFFIX Suite SuiteEntry built_in "
            "built_in_names import_scenario scenario_names "
            "scenarios_folder"
        ),
        "model.suite_spec": "SuiteSpec fold_recorded_options",
    },
)
