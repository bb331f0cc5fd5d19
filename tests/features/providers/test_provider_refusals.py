"""Messages of many chat servers about prompts that are too long."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ltm.providers.refusal import (
    TooLong,
    too_long,
)


@pytest.mark.parametrize(
    ("text", "limit", "asked"),
    [
        (
            "maximum context length is 8192 tokens. But you requested 8203 tokens (7691 in the messages)",
            8192,
            7691,
        ),
        (
            "The maximum context length is 16384 tokens. However, you requested about 94307 tokens",
            16384,
            94307,
        ),
        ("prompt is too long: 210,000 tokens > 200,000 maximum", 200000, 210000),
        (
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000",
            200000,
            178959,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1048576,
            1200000,
        ),
        (
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            4096,
            5000,
        ),
        (
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            4096,
            5000,
        ),
        (
            "Input tokens exceed the limit of 272000 tokens. Your messages resulted in 300000 tokens.",
            272000,
            300000,
        ),
        (
            "Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000",
            30000,
            40000,
        ),
        ("Your input exceeds the context window of this model.", None, None),
        (
            "your request has 8 input tokens. This model's maximum context length is 2048 tokens",
            2048,
            8,
        ),
        ("max_tokens must be at least 1, got -452.", None, None),
        (
            "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
            32768,
            40000,
        ),
        (
            "You passed 4097 input tokens. However, the model's context length is only 4096 tokens",
            4096,
            4097,
        ),
        (
            "'max_tokens' is too large: 1000. maximum context length is 2048 and it has 1500 input tokens",
            2048,
            1500,
        ),
        (
            "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            32768,
            65673,
        ),
        (
            "maximum context length is 32768 tokens. However, you requested about 40000 tokens (39000 of text input)",
            32768,
            39000,
        ),
        (
            "exceed_context_size_error', 'n_prompt_tokens': 5000, 'n_ctx': 4096}",
            4096,
            5000,
        ),
        (
            "Trying to keep the first 5000 tokens when context overflows. context length of only 4096",
            4096,
            5000,
        ),
        (
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.",
            4081,
            5000,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 250000 tokens.",
            131072,
            250000,
        ),
        (
            "The prompt is too long: 40000, model maximum context length: 32767",
            32767,
            40000,
        ),
        (
            "reduce the length of the messages or completion. Current length is 8500 while limit is 8192",
            8192,
            8500,
        ),
        (
            "maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4000 tokens from the input",
            4096,
            4000,
        ),
        (
            "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
            4096,
            5000,
        ),
        (
            "Messages have 140000 tokens, which exceeds the max limit of 131072 tokens.",
            131072,
            140000,
        ),
        (
            "Your request exceeded model token limit: 262144 (requested: 291351)",
            262144,
            291351,
        ),
        ("Prompt exceeds max length", None, None),
        ("prompt token count of 130000 exceeds the limit of 128000", 128000, 130000),
        ("Range of input length should be [1, 30720]", 30720, None),
        ("Input is too long for requested model.", None, None),
        (
            "The prompt length (672.0) should not exceed max_num_tokens (500)",
            500,
            672,
        ),
    ],
)
def test_what_servers_say_of_a_prompt_that_is_too_long_is_understood(
    text: str, limit: Any, asked: Any
) -> None:
    assert too_long(400, text) == TooLong(limit, asked)


def test_the_status_on_the_page_of_a_gateway_is_no_limit() -> None:
    page = "<html>413 Request Entity Too Large</html>"

    assert too_long(413, page) == TooLong(None, None)


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached: Limit 500, Used 499",
        "Too many tokens, please wait before trying again.",
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
        "Unsupported value: 'temperature'",
        "Invalid value: max_tokens must be at most 8192",
        "bad",
    ],
)
def test_other_refusals_are_no_matter_of_length(text: str) -> None:
    assert too_long(429, text) is None
