"""Secrets are found in every form and redacted; other text stays untouched."""

from __future__ import annotations

import base64
import html
import importlib
import json
import random
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.model import suite as _suite
from pytest_ltm._core.model.scenario import to_json
from pytest_ltm._core.storage import secrets as _secrets
from pytest_ltm._core.storage.errors import LtmError, describe_error
from pytest_ltm._core.storage.secrets import (
    _may_be_encoded,
    dump_json_redacted,
    is_secret_name,
    redact_secrets,
    redacted_data,
    remember_secret,
)

VALUE = 'pa"ss\\wörd-hunter2'


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PLANTED_API_KEY", VALUE)
    return VALUE


# --- values of variables


@pytest.mark.parametrize(
    "written",
    [
        str,
        json.dumps,
        lambda v: json.dumps(v, ensure_ascii=False),
        repr,
        ascii,
        lambda v: repr(v.encode()),
        lambda v: repr({"key": [v.encode()]}),
        lambda v: urllib.parse.quote(v, ""),
        lambda v: urllib.parse.quote(v, "").lower(),
        urllib.parse.quote_plus,
        html.escape,
        lambda v: v.encode().hex(),
        lambda v: v.encode().hex().upper(),
        lambda v: "".join(f"%{byte:02x}" for byte in v.encode()),
    ],
)
def test_a_variable_named_like_a_secret_is_found_however_it_is_written(
    written: Any,
) -> None:
    shown = redact_secrets(f"key={written(VALUE)!s}, or so")
    assert "hunter2" not in shown
    assert written(VALUE).strip("\"'") not in shown
    assert shown.startswith("key=")
    assert "[redacted $PLANTED_API_KEY]" in shown


@pytest.mark.slow
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "a", "me", "me:", "user:"])
@pytest.mark.parametrize("after", ["", "!", "\n", "@host"])
def test_a_value_is_found_in_base64_wherever_it_stands_there(
    encode: Any, before: str, after: str
) -> None:
    shown = redact_secrets(
        f"Basic {encode(f'{before}{VALUE}{after}'.encode()).decode()}"
    )
    assert "[redacted $PLANTED_API_KEY]" in shown
    left = "".join(shown.removeprefix("Basic ").split("[redacted $PLANTED_API_KEY]"))
    assert len(left) <= 2 * len(before + after) + 8


def test_ordinary_texts_and_lines_are_not_looked_through_for_encodings() -> None:
    assert _may_be_encoded("dXNlcg")
    assert _may_be_encoded("6f70")
    for text in (
        "Which 3 of the 27 colours did I like best?",
        '{"event":"wait","now":"2024-01-01T00:00:00Z"}',
    ):
        assert not _may_be_encoded(text)


def test_a_value_of_several_lines_leaves_as_many_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIGNING_KEY", "first planted line\nsecond one\nthird")
    assert (
        redact_secrets("<first planted line\nsecond one\nthird>")
        == "<[redacted $SIGNING_KEY]\n\n>"
    )


def test_a_value_that_is_not_in_the_environment_can_be_told() -> None:
    assert redact_secrets("told-by-somebody-7") == "told-by-somebody-7"
    remember_secret("HEADER", "told-by-somebody-7")
    assert redact_secrets("told-by-somebody-7") == "[redacted $HEADER]"


# --- labelled texts: the first half was known while the forms were written, the second
# used only afterwards

LABELLED = Path(__file__).parents[2] / "labelled"


def labelled(half: str) -> list[tuple[str, list[str]]]:
    rows = [
        json.loads(line)
        for line in (LABELLED / f"secrets.{half}.jsonl").read_text("utf-8").splitlines()
    ]
    return [(row["text"], row["hidden"]) for row in rows]


@pytest.mark.parametrize(
    ("half", "leaks", "touched"), [("first", 0, 0), ("second", 0, 1)]
)
def test_labelled_texts_lose_their_secrets_and_nothing_else(
    half: str, leaks: int, touched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ignores variables set by other tests
    monkeypatch.setattr(_secrets, "_KNOWN", _secrets._Known({}))
    rows = labelled(half)
    shown = [(text, hidden, redact_secrets(text)) for text, hidden in rows]
    assert (
        sum(any(part in left for part in hidden) for _, hidden, left in shown) <= leaks
    )
    assert sum(left != text for text, hidden, left in shown if not hidden) <= touched
    assert (
        len([text for text, hidden in rows if hidden])
        >= 30
        <= len([text for text, hidden in rows if not hidden])
    )


def test_a_value_is_found_in_json_within_json() -> None:
    assert "hunter2" not in json.dumps(
        {"body": redact_secrets(json.dumps({"key": VALUE}))}
    )


def test_a_value_that_was_cut_short_is_found_from_both_ends() -> None:
    assert (
        redact_secrets('tried pa"ss\\wörd-h...')
        == "tried [redacted $PLANTED_API_KEY]..."
    )
    assert redact_secrets("…rd-hunter2 was it") == "…[redacted $PLANTED_API_KEY] was it"


def test_two_values_that_overlap_are_both_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "abcdefgh1234")
    monkeypatch.setenv("B_TOKEN", "1234ijklmnop")
    assert redact_secrets("<abcdefgh1234ijklmnop>") == "<[redacted $A_TOKEN]>"


def test_a_short_value_and_a_harmless_name_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHORT_TOKEN", "basic12")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ann Example")
    assert redact_secrets("basic12 by Ann Example") == "basic12 by Ann Example"


def test_a_value_that_is_only_a_path_is_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("CREDENTIALS", str(tmp_path))
    assert redact_secrets(f"in {tmp_path}") == f"in {tmp_path}"


def test_a_key_of_several_lines_is_found_line_by_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        "SIGNING_KEY",
        "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----\n",
    )
    assert "MIIEv" not in redact_secrets(
        "first line MIIEvQIBADANBgkqhkiG9w0B and no more"
    )


def test_a_short_line_of_a_key_is_found_unless_it_is_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINED_TOKEN", "beginning\nends-in-88\n12345678")
    assert "in-88" not in redact_secrets("It ends-in-88.")
    ordinary = "The beginning of 12345678 things"
    assert redact_secrets(ordinary) == ordinary


def test_what_stands_beside_a_known_value_in_a_key_is_gone_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIGNING_KEY", "MIIEvQIBADANBgkqhkiG9w0B")
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSj\n-----END PRIVATE KEY-----"
    assert redact_secrets(f"<{key}>") == "<[redacted]\n\n\n>"
    assert (
        redact_secrets('"password": "MIIEvQIBADANBgkqhkiG9w0B-planted"')
        == '"password": "[redacted]"'
    )
    assert (
        redact_secrets('"password": "MIIEvQIBADANBgkqhkiG9w0B"')
        == '"password": "[redacted $SIGNING_KEY]"'
    )


def test_a_variable_that_the_agent_removes_is_still_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GONE_SECRET", "gone-with-the-wind")
    assert "gone-with" not in redact_secrets("gone-with-the-wind")
    monkeypatch.delenv("GONE_SECRET")
    assert "gone-with" not in redact_secrets("gone-with-the-wind")


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "PGPASSWORD",
        "MYSQL_PWD",
        "client_secret",
        "authToken",
        "AWS_SECRET_ACCESS_KEY",
        "SESSION_COOKIE",
        "GOOGLE_CREDENTIALS",
        "HTTP_AUTH",
        "DB_PASSWD",
        "x-api-key",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PWD",
        "OLDPWD",
        "GIT_AUTHOR_NAME",
        "KEYBOARD",
        "MONKEY",
        "HOME",
        "TOKENIZERS_PARALLELISM",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


# --- what looks like a credential


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer planted.value",
        "authorization: planted-value-1",
        "{'Authorization': 'Basic planted=='}",
        '{"authorization": "Bearer planted-1"}',
        '{\\"Authorization\\": \\"Bearer planted-1\\"}',
        "[(b'Authorization', b'Bearer planted')]",
        "x-api-key: planted",
        "('X-API-Key', 'planted')",
        "Cookie: session=planted",
        "https://me:planted@host/path",
        "http:https://me:pl@planted@host",
        "https://host/?q=1&api_key=planted",
        "tried bearer planted-0123",
        "sk-planted-0123456789",
        "AKIAPLANTED000000000",
        "AIzaPlanted-0000000000000000000000000",
        "eyJplanted00000.eyJplanted00000.planted",
    ],
)
def test_what_looks_like_a_credential_is_hidden(text: str) -> None:
    shown = redact_secrets(text)
    assert "planted" not in shown.lower()
    assert "[redacted]" in shown


@pytest.mark.parametrize(
    "key",
    [
        "sk-",
        "pk_",
        "rk_",
        "xai-",
        "gsk_",
        "hf_",
        "ghp_",
        "gho_",
        "ghs_",
        "ghu_",
        "github_pat_",
        "glpat-",
        "xoxa-",
        "xoxb-",
        "xoxp-",
        "xoxr-",
        "xoxs-",
        "npm_",
        "pypi-",
        "sk-proj-",
    ],
)
def test_a_key_is_known_by_how_it_begins(key: str) -> None:
    assert redact_secrets(f"tried {key}planted0123456789.") == "tried [redacted]."


@pytest.mark.parametrize(
    "text",
    [
        "my favourite cookie: chocolate",
        "the ring bearer certificates",
        "Authorization: required",
        "see https://example.org/a?page=2#x",
        "git@host:path and ssh://git@host/path",
        "I ask-ed him 12345678901234 times",
        "the key is 4f9b1c2e-8d07-4a3b-9f11-2b6f3c9f0d11",
        "api_key=None",
    ],
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert redact_secrets(text) == text


def test_to_redact_twice_changes_nothing() -> None:
    text = f"Authorization: Bearer abc {VALUE} https://a:b@c"
    assert redact_secrets(redact_secrets(text)) == redact_secrets(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", _suite.scenario_names())
def test_no_text_of_a_built_in_scenario_is_touched(name: str) -> None:
    module = importlib.import_module(f"pytest_ltm.scenarios.{name}")
    [body] = [value for key, value in vars(module).items() if key.startswith("test_")]
    generate = body.pytestmark[0].kwargs["generate"]
    for seed in range(5):
        data = to_json(generate(random.Random(seed), {}))
        assert redacted_data(data) == data


# --- data and errors


@pytest.mark.parametrize("before", ["", " ", "\n", "\t", '"', "\x1f"])
def test_what_is_written_down_has_no_key_whatever_stands_before_it(before: str) -> None:
    shown = dump_json_redacted({"text": [f"{before}sk-planted0123456789"]}, json.dumps)
    assert json.loads(shown) == {"text": [f"{before}[redacted]"]}
    assert (
        dump_json_redacted({"text": "no key\n"}, json.dumps) == '{"text": "no key\\n"}'
    )


def test_data_keep_their_shape() -> None:
    data = {
        "key": "kept",
        "n": [1, None, True, VALUE],
        "headers": {"Authorization": "Bearer x", "Cookie": "a"},
    }
    assert redacted_data(data) == {
        "key": "kept",
        "n": [1, None, True, "[redacted $PLANTED_API_KEY]"],
        "headers": {"Authorization": "[redacted]", "Cookie": "[redacted]"},
    }


def test_a_configuration_shows_nothing_under_a_name_of_a_secret() -> None:
    given = {
        "model": "m",
        "api_key": "short",
        "max_tokens": 100,
        "nested": {"db_password": "x"},
    }
    assert redacted_data(given, is_secret_name) == {
        "model": "m",
        "api_key": "[redacted]",
        "max_tokens": 100,
        "nested": {"db_password": "[redacted]"},
    }


def test_every_error_of_ours_is_redacted() -> None:
    assert "hunter2" not in str(LtmError(f"agent {VALUE!r}"))


def test_a_foreign_error_is_redacted_before_it_is_cut() -> None:
    error = ValueError("x" * 290 + VALUE)
    assert "pa" not in describe_error(error)


@pytest.mark.slow
def test_pathological_texts_take_time_in_proportion_to_their_size() -> None:
    # Each of these would run for hours if a form scanned any text twice.
    for part in (
        "a",
        "a-",
        "://",
        "://a:",
        "authorization: ",
        "api-key",
        "bearer ",
        "sk-",
        "eyJ",
        "?key=",
        "...",
        "eyJa.",
        'password: "',
        '"password":"a',
        "api_key=a",
        "secret: ",
        "token='",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n",
        "-----BEGIN PRIVATE KEY-----\\n\\n\\n E E E ",
    ):
        assert len(redact_secrets(part * (100_000 // len(part)))) > 10


@pytest.mark.parametrize("closed", ["", '"', "'", '\\"', "&quot;", "&#34;"])
@pytest.mark.parametrize("sign", [":", "=", " => ", "\t==\t"])
def test_the_quick_look_for_named_values_passes_over_none(
    closed: str, sign: str
) -> None:
    names = "Password passwords passwd PASSPHRASE secret secret_access_key private-key apiKey auth_token Token"
    for name in names.split():
        text = f"x {name}{closed}{sign}'hunter22' y"
        assert "hunter22" not in redact_secrets(text), text
