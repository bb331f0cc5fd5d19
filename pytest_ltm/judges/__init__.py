"""The judge: what it is asked and how a reply becomes a grade, who answers `--ltm-judge`, and how good a judge is.

Low in the package, because evaluators ask: `_inquiry` (one question, the agent's words fenced), `_prompts` (all of
them, from `prompts.yml`), `_ask` (grades, votes, the handle `ltm_judge`). High, because they know a run: `_connection`
(where the examples of a conversation ask: record, cache, budget, time limit), `_named` (judges by name, and those
without a model), `_chat` (one behind a server), `_check` (a judge measured on `labelled.yml`, and its canaries).
"""
