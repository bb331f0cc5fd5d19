"""The judge: the model that answers `--ltm-judge`, with records, a cache, costs and checks.

The prompts are in `_core/model/judge`, because evaluators use them. This package
depends on a run: `connection` (questions of a conversation's examples: record, cache),
`model_calls` (time limit, budget), `judge_registry` (judges by name), `by_rules` (one
without a model), `chat` (one behind a server), `hidden_checks` (known answers among the
questions).
"""
