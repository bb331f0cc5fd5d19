"""TokenCounter and the counters: exact tiktoken counts without a network, for the bundled encodings."""

from __future__ import annotations

import re
import struct
import threading
import zlib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_ltm._core.storage.dotted import DottedPath
from pytest_ltm._core.storage.errors import TokenizerError, did_you_mean, text_of

if TYPE_CHECKING:
    import tiktoken


# The name of the estimate that needs no encoding; used only if requested by this name.
APPROX = "approx"
# Seconds allowed for downloading an encoding that is not bundled.
DOWNLOAD_SECONDS = 10.0

_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


class _Carried(NamedTuple):
    """The parameters of an encoding in addition to its ranks, equal to tiktoken's own definition."""

    tokens: int
    sha256: str
    """The hash of the original rank file, as tiktoken expects it; `rank_file` rebuilds that file."""
    pattern: str
    special: Mapping[str, int]
    packed: Literal["z", "xz"]
    """The compression of its ranks: `z` is faster to read, and `xz` is smaller."""


_CARRIED: Mapping[str, _Carried] = {
    "cl100k_base": _Carried(
        tokens=100256,
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        pattern=r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        special={
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        packed="z",
    ),
    "o200k_base": _Carried(
        tokens=199998,
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        pattern=rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTION}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTION}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        special={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
        packed="xz",
    ),
}
# The encodings that work without a network.
BUNDLED_ENCODINGS: tuple[str, ...] = tuple(_CARRIED)

_STORE = "https://openaipublic.blob.core.windows.net/"
# The files from which tiktoken loads encodings that are not bundled, to name its cache
# files in errors.
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "gpt2": ("gpt-2/encodings/main/vocab.bpe", "gpt-2/encodings/main/encoder.json"),
    "r50k_base": ("encodings/r50k_base.tiktoken",),
    "p50k_base": ("encodings/p50k_base.tiktoken",),
    "p50k_edit": ("encodings/p50k_base.tiktoken",),
    "o200k_harmony": ("encodings/o200k_base.tiktoken",),
}

# About one token each: within 10 % of cl100k_base on English chat, 30 % too many on
# program code.
_APPROXIMATE = re.compile(r"[A-Za-z]{1,10}|\d{1,3}|[^\W\d_]|[^\w\s]|_|\n")


_WORDS = re.compile(r"\S+")
_BLANKS = 100_000
# The number of texts whose counts are cached: planned texts are sent soon, and agents
# and small talk often repeat themselves.
_RECENT = 512


class TokenCounter:
    """Counts the tokens of a text; the only measure of spans and gaps in a run."""

    def __init__(
        self, name: str, count: Callable[[str], int], *, additive: bool = False
    ) -> None:
        self.name = name
        """As given by the user; part of the plan's fingerprint."""
        self.additive = additive
        """Whether the counts of lines add up: the parts of a text cut after a line break have its tokens."""
        self.count: Callable[[str], int] = lru_cache(_RECENT)(count)
        """Returns the number of tokens of any text, including lone surrogates and the text of special tokens."""

    def __repr__(self) -> str:
        return f"TokenCounter({self.name!r})"


@cache
def token_counter(name: str) -> TokenCounter:
    """Return the counter of an encoding's name, `approx` or `package.module:function` (str -> int).

    Raises TokenizerError; another counter is never substituted.
    """
    if name == APPROX:
        return TokenCounter(name, _approximate_count, additive=True)
    if ":" in name:
        return TokenCounter(
            name,
            _check_token_count(
                name, DottedPath(name, what="tokenizer", error=TokenizerError).resolve()
            ),
        )
    # Never `encode`, which refuses the text of special tokens.
    encode = load_encoding(name).encode_ordinary

    def count(text: str) -> int:
        if len(text) <= _BLANKS:
            return len(encode(text))
        return sum(len(encode(part)) for part in _split_long_blanks(text))

    return TokenCounter(name, count, additive=name in _CARRIED or name in _SOURCES)


def _split_long_blanks(text: str) -> list[str]:
    """Split a text with a run of blanks so long that tiktoken's patterns would overflow the stack.

    A part's count may differ from the whole's by a token; without the split, counting
    would fail.
    """
    if max(map(len, _WORDS.split(text))) <= _BLANKS:
        return [text]
    return [text[start : start + _BLANKS] for start in range(0, len(text), _BLANKS)]


@cache
def load_encoding(name: str) -> tiktoken.Encoding:
    """Return the tiktoken encoding; bundled ones without a network.

    Others come from tiktoken's cache, else from the network within DOWNLOAD_SECONDS.
    Raises TokenizerError.
    """
    import tiktoken

    if name in _CARRIED:
        carried = _CARRIED[name]
        return tiktoken.Encoding(
            name=name,
            pat_str=carried.pattern,
            mergeable_ranks=_read_ranks(name),
            special_tokens=dict(carried.special),
        )
    return tiktoken.Encoding(
        **fetch_with_limit(name, _encoding_constructor(name), DOWNLOAD_SECONDS)
    )


def fetch_with_limit(
    name: str, construct: Callable[[], dict[str, Any]], seconds: float
) -> dict[str, Any]:
    """Return the result of `construct` if it takes at most `seconds`; else raise a TokenizerError with the cure.

    It runs in a daemon thread, because tiktoken's download has no time limit and cannot
    be interrupted.
    """
    box: list[dict[str, Any]] = []
    failure: list[Exception] = []

    def run() -> None:
        try:
            box.append(construct())
        except Exception as exc:  # noqa: BLE001 - the caller reports any error to the user
            failure.append(exc)

    thread = threading.Thread(target=run, name=f"encoding {name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if box:
        return box[0]
    if failure:
        raise TokenizerError(
            _tokenizer_unavailable(name, _download_failure(failure[0]))
        ) from failure[0]
    raise TokenizerError(
        _tokenizer_unavailable(name, f"no answer within {seconds:g} s")
    )


def rank_file(name: str) -> bytes:
    """Rebuild the original rank file of a bundled encoding, byte for byte (see its sha256)."""
    from base64 import b64encode

    return b"".join(
        b64encode(token) + b" %d\n" % rank for token, rank in _read_ranks(name).items()
    )


def _read_ranks(name: str) -> dict[bytes, int]:
    """Read the bundled form: a byte for each token's length, then all tokens joined, in order of rank."""
    from importlib.resources import files

    packed = (
        files("pytest_ltm._core.model.bpe_ranks")
        .joinpath(f"ranks_{name}.bin.{_CARRIED[name].packed}")
        .read_bytes()
    )
    if _CARRIED[name].packed == "xz":
        import lzma

        data = lzma.decompress(packed)
    else:
        data = zlib.decompress(packed)
    count = _CARRIED[name].tokens
    form = "".join(
        map([f"{length}s" for length in range(256)].__getitem__, data[:count])
    )
    # twice as fast as a loop
    return dict(zip(struct.unpack_from(form, data, count), range(count), strict=True))


def _encoding_constructor(name: str) -> Callable[[], dict[str, Any]]:
    """Return tiktoken's constructor of an encoding.

    Not `get_encoding`: a hanging download would hold tiktoken's lock and block the
    agent's own use.
    """
    from tiktoken import list_encoding_names, registry

    encodings = list_encoding_names()
    if name not in encodings:
        raise TokenizerError(_unknown_tokenizer(name, encodings))
    constructors = registry.ENCODING_CONSTRUCTORS
    assert constructors is not None, "list_encoding_names fills them in"
    return constructors[name]


def _unknown_tokenizer(name: str, encodings: list[str]) -> str:
    from tiktoken.model import encoding_name_for_model

    try:
        hint = f" It is a model; its encoding is {encoding_name_for_model(name)!r}."
    except KeyError:
        hint = did_you_mean(name, {*encodings, APPROX})
    names = ", ".join(sorted(encodings))
    return f"unknown tokenizer {name!r}.{hint} Known: {names}, {APPROX}, or 'package.module:function' (str -> int)"


def _tokenizer_unavailable(name: str, reason: str) -> str:
    from hashlib import sha1

    urls = [_STORE + path for path in _SOURCES.get(name, ())]
    caches = " and ".join(
        sha1(url.encode(), usedforsecurity=False).hexdigest() for url in urls
    )
    if caches:
        cure = f"put tiktoken's cache file {caches} into $TIKTOKEN_CACHE_DIR, "
    else:
        cure = ""
    return (
        f"tokenizer {name!r} is neither bundled nor cached, and could not be loaded ({reason}). "
        f"Use {' or '.join(BUNDLED_ENCODINGS)} (they need no network), {cure}"
        f"or use {APPROX!r} or a 'package.module:function' of your own"
    )


def _download_failure(exc: Exception) -> str:
    """Return an exception in one line of at most 200 characters; a download's cause is at its end."""
    text = " ".join(f"{type(exc).__name__}: {text_of(exc)}".split())
    if len(text) <= 200:
        return text
    return f"{text[:60]} … {text[-137:]}"


def _check_token_count(name: str, function: object) -> Callable[[str], int]:
    if not callable(function):
        raise TokenizerError(
            f"tokenizer {name!r} does not return a text's number of tokens: {function!r}"
        )

    def count(text: str) -> int:
        try:
            tokens = function(text)
        except Exception as exc:
            raise TokenizerError(
                f"tokenizer {name!r} failed on {text[:40]!r}: {_download_failure(exc)}"
            ) from exc
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
            raise TokenizerError(
                f"tokenizer {name!r} returned {tokens!r} for {text[:40]!r}, not a number of tokens"
            )
        return tokens

    # A counter that fails is reported before the run, not in the middle of it.
    count(" a")
    return count


def _approximate_count(text: str) -> int:
    return len(_APPROXIMATE.findall(text))
