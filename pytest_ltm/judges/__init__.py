"""The judge: who answers `--ltm-judge`, and how what it is asked is recorded, remembered, counted and checked.

What it is asked stands in `_core/model/judge`, because evaluators ask. Here is what knows a
run: `connection` (where the examples of a conversation ask: record, cache),
`model_calls` (time limit, budget), `judge_registry` (judges by name), `by_rules`
(one without a model), `chat` (one behind a server), `hidden_checks` (known answers in
between).
"""
