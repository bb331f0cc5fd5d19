"""The judge: who answers `--ltm-judge`, and how what it is asked is recorded, remembered, counted and checked.

What it is asked stands in `_core/model/judge`, because evaluators ask. Here is what knows a
run: `_connection` (where the examples of a conversation ask: record, cache),
`_model_calls` (time limit, budget), `_judge_registry` (judges by name), `_by_rules`
(one without a model), `_chat` (one behind a server), `_hidden_checks` (known answers in
between).
"""
