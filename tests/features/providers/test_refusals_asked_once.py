"""Final refusals are not retried, transient ones are, and unclear ones at most twice, in any format."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from pytest_ltm.api.calls import Chance
from pytest_ltm.providers.refusal import read_refusal

FINAL = (
    (500, "Streaming is not supported for this deployment."),
    (500, "max_tokens must be less than 4097"),
    (500, "Invalid role in message 3"),
    (500, "The stop sequence is too long."),
    (500, "Internal error: unknown parameter 'top_q'"),
    (503, "The model 'm-7b' does not exist."),
    (502, "Malformed JSON in request body"),
    (501, "Not implemented"),
    (500, "temperature: value 3 is not allowed"),
    (500, "response_format is only available for newer models"),
    (400, "Bad Request"),
    (400, "messages: at least one message is required"),
    (400, "Unknown field 'seed'"),
    (400, "Extra inputs are not permitted"),
    (400, "Your account has no credits."),
    (401, "Incorrect key"),
    (401, "Unauthorized"),
    (402, "Payment required"),
    (402, "Insufficient balance"),
    (403, "Forbidden"),
    (403, "Your region cannot be served."),
    (403, "This organization has been disabled."),
    (404, "Not Found"),
    (404, "no such deployment"),
    (405, "Method Not Allowed"),
    (406, "Not acceptable"),
    (410, "The model was retired in May."),
    (413, "Body too big"),
    (415, "Unsupported media type"),
    (422, "Unprocessable Entity"),
    (422, "Field required: model"),
    (429, "You exceeded your current quota, check your billing."),
    (429, "Monthly spend limit: add payment method"),
    (451, "Unavailable For Legal Reasons"),
    (200, "Unsupported image format"),
    (200, "This key is not permitted to use the model"),
    (200, "Prompt violates the usage policies"),
    (200, "tool_choice requires tools"),
    (200, "参数无效"),
    (200, "该模型不支持图片"),
)
PASSING = (
    (500, "Internal Server Error"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (503, "Model is loading, 20 seconds left"),
    (424, "The model is scaling up from zero, retry later"),
    (504, "Gateway Time-out"),
    (520, "Web server is returning an unknown error"),
    (524, "A timeout occurred"),
    (529, "Overloaded"),
    (408, "Request Timeout"),
    (409, "Conflict"),
    (425, "Too Early"),
    (429, "Too Many Requests"),
    (429, "Slow down"),
    (429, "Tokens per minute reached, retry after 3s"),
    (498, "Temporarily over capacity"),
    (499, "Client closed request"),
    (400, "The upstream is busy, please retry"),
    (403, "Rate limited: too many requests from this address"),
    (200, "All replicas are busy"),
    (200, "Inference timed out"),
    (200, "Backend temporarily unavailable"),
    (200, "The engine is overloaded, try again later"),
    (200, "服务器繁忙，请稍后重试"),
    (200, "请求超时"),
)
UNSETTLED = (
    (500, "Something went wrong on our side."),
    (500, "CUDA device lost, worker died"),
    (500, "An unexpected error occurred."),
    (200, "We are experiencing high traffic."),
    (200, "Connection reset by peer"),
    (200, "Request throttled"),
    (200, "qps limit reached"),
    (500, "Der Dienst ist derzeit nicht verf\u00fcgbar."),
    (500, "Ung\u00fcltiger API-Schl\u00fcssel."),
    (500, "Le serveur est surcharg\u00e9."),
    (200, "aborted"),
)


def dress(words: str, status: int, rng: Random) -> Any:
    """Return a body that reports an error in these words, in the format of some server."""
    dresses = (
        {"error": {"message": words, "type": "error", "param": None, "code": None}},
        {"error": words},
        {"errors": [{"detail": words}]},
        {"object": "error", "message": words, "code": status * 100 + 1},
        {"type": "error", "error": {"type": "api_error", "message": words}},
        {"error_code": 17, "error_msg": words},
        {"base_resp": {"status_code": 1039, "status_msg": words}},
        {"choices": None, "error": {"message": words, "status": "FAILED"}},
        {"choices": [{"error": {"message": words}, "finish_reason": "error"}]},
        {"success": False, "message": words},
        {"response": {"status": "failed", "error": {"message": words}}},
        [{"error": {"message": words}}],
    )
    return rng.choice(dresses)


CHANCES: dict[Chance, tuple[tuple[int, str], ...]] = {
    "final": FINAL,
    "passing": PASSING,
    "unknown": UNSETTLED,
}


@pytest.mark.parametrize(
    ("chance", "status", "words"),
    [(chance, *row) for chance, rows in CHANCES.items() for row in rows],
)
def test_a_refusal_is_sorted_by_its_words_and_its_status_in_any_dress(
    chance: str, status: int, words: str
) -> None:
    rng = Random(words)
    for _ in range(10):
        body = dress(words, status, rng)
        refusal = read_refusal(status, json.dumps(body), body)
        assert refusal is not None, body
        assert (refusal.chance, refusal.message) == (chance, words), body


BLAMED = {"type": "invalid_request_error", "message": "See page"}


@pytest.mark.parametrize(
    ("body", "chance"),
    [
        ({"error": {"type": "BadRequestError", "message": "Keys: a, b"}}, "final"),
        ({"error": {"code": "payment_required", "message": "See page"}}, "final"),
        ({"message": "See page", "code": "40101"}, "final"),
        ({"message": "See page", "code": 42901}, "passing"),
        ({"error": {"status": "TOO_MANY_REQUESTS", "message": "See page"}}, "passing"),
        ({"error": {"code": 429, "message": "Exhausted (check quota)."}}, "passing"),
        ({"error": {"code": 424, "message": "It is not ready. Try again."}}, "passing"),
        ({"error": {"code": 400, "message": "Mend it, and try again."}}, "final"),
        ({"code": "InvalidApiKey", "message": "See page"}, "final"),
        ({"error": {**BLAMED, "code": 503}}, "final"),
        ({"error": {**BLAMED, "code": 429}}, "passing"),
    ],
)
def test_a_status_that_a_body_names_counts_as_one(body: Any, chance: str) -> None:
    refusal = read_refusal(200, json.dumps(body), body)
    assert refusal is not None
    assert refusal.chance == chance
