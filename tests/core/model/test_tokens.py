"""Tokens are counted exactly, offline, and only by the requested tokenizer."""

from __future__ import annotations

import hashlib
import http.client
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken_ext.openai_public as original  # type: ignore[import-untyped]

from pytest_ltm._core.model import tokens as _tokens
from pytest_ltm._core.model.tokens import (
    BUNDLED_ENCODINGS,
    fetch_with_limit,
    load_encoding,
    rank_file,
    token_counter,
)
from pytest_ltm._core.storage.errors import TokenizerError

SHA256 = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}


@pytest.fixture
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Refuse every connection, and hide tiktoken's cache."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError("the test allows no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    load_encoding.cache_clear()
    token_counter.cache_clear()
    yield
    load_encoding.cache_clear()
    token_counter.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED_ENCODINGS)
def test_the_carried_ranks_are_the_original_ones(name: str) -> None:
    assert hashlib.sha256(rank_file(name)).hexdigest() == SHA256[name]


def test_both_common_encodings_are_carried() -> None:
    assert set(BUNDLED_ENCODINGS) == set(SHA256)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_network")
@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("cl100k_base", "hello world", [15339, 1917]),
        ("cl100k_base", "tiktoken is great!", [83, 1609, 5963, 374, 2294, 0]),
        ("o200k_base", "hello world", [24912, 2375]),
    ],
)
def test_published_token_ids_come_out_with_no_network(
    name: str, text: str, tokens: list[int]
) -> None:
    assert load_encoding(name).encode_ordinary(text) == tokens
    assert token_counter(name).count(text) == len(tokens)


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED_ENCODINGS)
def test_a_carried_encoding_is_defined_as_tiktoken_defines_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(original, "load_tiktoken_bpe", lambda *_args, **_kwargs: {})
    definition = getattr(original, name)()
    assert load_encoding(name)._pat_str == definition["pat_str"]
    assert load_encoding(name)._special_tokens == definition["special_tokens"]


def test_the_text_of_a_special_token_is_ordinary_text() -> None:
    assert token_counter("cl100k_base").count("<|endoftext|>") == 7


@pytest.mark.parametrize("name", [*BUNDLED_ENCODINGS, "approx"])
def test_a_lone_surrogate_is_counted(name: str) -> None:
    assert token_counter(name).count("broken \ud83d emoji") > 2


def test_an_empty_text_has_no_tokens() -> None:
    assert [
        token_counter(name).count("") for name in (*BUNDLED_ENCODINGS, "approx")
    ] == [0, 0, 0]


def test_an_encoding_is_built_once() -> None:
    assert load_encoding("cl100k_base") is load_encoding("cl100k_base")


def test_importing_the_module_imports_no_tiktoken() -> None:
    code = (
        "import sys, pytest_ltm._core.model.tokens; sys.exit('tiktoken' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.usefixtures("_no_network")
def test_an_encoding_that_cannot_be_had_names_the_reason_and_the_ways_out() -> None:
    with pytest.raises(TokenizerError) as caught:
        token_counter("r50k_base")
    message = str(caught.value)
    assert "'r50k_base' is neither bundled nor cached" in message
    assert "the test allows no network" in message
    url = "https://openaipublic.blob.core.windows.net/encodings/r50k_base.tiktoken"
    assert (
        f"{hashlib.sha1(url.encode()).hexdigest()} into $TIKTOKEN_CACHE_DIR" in message
    )
    assert "cl100k_base or o200k_base" in message
    assert "approx" in message


@pytest.mark.slow
@pytest.mark.usefixtures("_no_network")
def test_the_cache_is_used_before_the_network(tmp_path: Path) -> None:
    url = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(
        rank_file("o200k_base")
    )
    assert token_counter("o200k_harmony").count("hello world") == 2


@pytest.mark.parametrize("name", _tokens._SOURCES)
def test_a_cache_file_in_an_error_is_the_one_tiktoken_looks_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def load(*urls: str, **named: str) -> dict[bytes, int]:
        asked.extend(
            [*urls, *(url for key, url in named.items() if key.endswith("_file"))]
        )
        return {}

    monkeypatch.setattr(original, "load_tiktoken_bpe", load)
    monkeypatch.setattr(original, "data_gym_to_mergeable_bpe_ranks", load)
    getattr(original, name)()
    assert asked == [_tokens._STORE + path for path in _tokens._SOURCES[name]]


@pytest.mark.slow
def test_a_server_that_never_answers_costs_the_limit_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def download() -> dict[str, Any]:
            connection = http.client.HTTPConnection(*server.getsockname())
            connection.request("GET", "/encodings/x.tiktoken")
            try:
                connection.getresponse()  # would block forever without the limit
            except OSError:
                pass
            finally:
                connection.close()
                done.set()
            return {}

        with pytest.raises(TokenizerError, match=r"no answer within 0\.2 s"):
            fetch_with_limit("slow_base", download, 0.2)
        assert not done.is_set()
        accepted, _ = server.accept()
        accepted.close()
        assert done.wait(10)


def test_what_arrives_in_time_is_used() -> None:
    assert fetch_with_limit("x", lambda: {"name": "x"}, 10) == {"name": "x"}


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(
        TokenizerError,
        match=r"unknown tokenizer 'cl100k_bas'\. Did you mean 'cl100k_base'\?",
    ):
        token_counter("cl100k_bas")


def test_the_name_of_a_model_is_answered_with_its_encoding() -> None:
    with pytest.raises(
        TokenizerError, match=r"'gpt-4o'\. It is a model; its encoding is 'o200k_base'"
    ):
        token_counter("gpt-4o")


def test_the_estimate_is_near_the_truth_for_english() -> None:
    text = (
        Path(__file__).read_text().split('"""')[1]
        + " People say what they mean, more or less, on 27 May 1994."
    )
    assert token_counter("approx").count(text) == pytest.approx(
        token_counter("cl100k_base").count(text), rel=0.15
    )


def test_a_function_of_the_user_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words_of_mine.py").write_text(
        "def count(text): return len(text.split())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine = token_counter("words_of_mine:count")
    assert (mine.name, mine.count("one two three")) == ("words_of_mine:count", 3)


@pytest.mark.parametrize(
    ("code", "spec", "message"),
    [
        ("", "no_such_module_here:count", r"there is no module 'no_such_module_here'"),
        (
            "1/0",
            "bad_count:count",
            r"importing 'bad_count' failed with ZeroDivisionError",
        ),
        ("", "bad_count:count", r"module 'bad_count'.* has no 'count'"),
        (
            "count = 3",
            "bad_count:count",
            r"does not return a text's number of tokens: 3",
        ),
        (
            "def count(text): return len(text) / 4",
            "bad_count:count",
            r"returned 0\.5 for ' a'",
        ),
        ("def count(text): return -1", "bad_count:count", r"returned -1"),
        ("def count(text): return True", "bad_count:count", r"returned True"),
        (
            "def count(text): raise KeyError(text)",
            "bad_count:count",
            r"failed on ' a': KeyError",
        ),
        ("", "bad count:", r"is not a dotted path; write it as 'package\.module:name'"),
    ],
)
def test_a_function_that_cannot_count_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, spec: str, message: str
) -> None:
    (tmp_path / "bad_count.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bad_count", raising=False)
    with pytest.raises(TokenizerError, match=message):
        token_counter(spec)
    sys.modules.pop("bad_count", None)


def test_a_function_that_errs_later_is_named_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_count.py").write_text(
        "def count(text): return 1 if text.isspace() or text == ' a' else None"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        TokenizerError, match=r"'late_count:count' returned None for 'hello'"
    ):
        token_counter("late_count:count").count("hello")


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED_ENCODINGS)
@pytest.mark.parametrize("part", [" ", "\t", "a", "\u0301"])
def test_a_text_that_says_one_thing_for_ever_is_counted(name: str, part: str) -> None:
    size = 1_000_000 // len(part)
    count = token_counter(name).count
    assert count(part * size) >= count(part * (size // 2)) > 1_000
