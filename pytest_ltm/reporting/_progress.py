"""One line that tells how far a conversation is."""

from __future__ import annotations

from pytest_ltm.reporting._text import amount, clip, columns_of, one_line

_BAR = 20


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
    head = f"{one_line(agent)} at {one_line(span_label)}{trial and f', trial {one_line(trial)}'}: "
    bar = f"[{'=' * int(_BAR * min(tokens / target_tokens, 1)):.<{_BAR}}] " if target_tokens > 0 else ""
    target = f" of ~{amount(target_tokens)}" if target_tokens > tokens else ""
    said = f"{amount(tokens)}{target} tokens"
    examples = f"{done} of {total} examples done"
    score = [f"score {score_sum:.2f} of {scored}"] if scored else []
    choices = (
        head + bar + ", ".join([said, f"{in_progress} open", examples, *score]),
        head + ", ".join([said, f"{in_progress} open", examples, *score]),
        head + ", ".join([said, examples, *score]),
        head + ", ".join([said, f"{done}/{total} done", *score]),
        head + ", ".join([f"{done}/{total} done", *score]),
    )
    fitting = [line for line in choices if columns_of(line) <= width]
    return fitting[0] if fitting else clip(choices[-1], width)
