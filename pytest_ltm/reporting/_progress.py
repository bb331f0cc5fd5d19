"""One line that tells how far a conversation is."""

from __future__ import annotations

from pytest_ltm.reporting._text import amount, clip, columns_of, one_line, shorten

_BAR = 20
_NAME = 24
"""Columns that are left of a long name before it is told no longer how much was said."""


def progress_line(
    *,
    agent: str,
    span_label: str,
    tokens: int,
    target_tokens: int,
    in_progress: int,
    done: int,
    total: int,
    score_sum: float,
    scored: int,
    width: int,
    trial: str = "",
) -> str:
    """Return the state of a conversation in at most `width` columns, without a line feed.

    `target_tokens`: where the conversation is expected to end, 0 if unknown; `in_progress`, `done` and `total`
    count examples; `score_sum` is over the `scored` ones. What matters least goes first where there is no room.
    """
    where = f" at {one_line(span_label)}{trial and f', trial {one_line(trial)}'}: "
    name = one_line(agent)
    bar = f"[{'=' * int(_BAR * min(tokens / target_tokens, 1)):.<{_BAR}}] " if target_tokens > 0 else ""
    target = f" of ~{amount(target_tokens)}" if target_tokens > tokens else ""
    said = f"{amount(tokens)}{target} tokens"
    examples = f"{done} of {total} examples done"
    score = [f"score {score_sum:.2f} of {scored}"] if scored else []
    states = (
        bar + ", ".join([said, f"{in_progress} open", examples, *score]),
        ", ".join([said, f"{in_progress} open", examples, *score]),
        ", ".join([said, examples, *score]),
        ", ".join([said, f"{done}/{total} done", *score]),
        ", ".join([f"{amount(tokens)} tokens", f"{done}/{total} done", *score]),
    )
    least = (", ".join([f"{done}/{total} done", *score]), f"{done}/{total} done")
    heads = (name + where, shorten(name, _NAME, mark="…") + where)
    choices = [head + state for group in (states, least) for head in heads for state in group]
    fitting = [line for line in choices if columns_of(line) <= width]
    return fitting[0] if fitting else clip(choices[-1], width)
