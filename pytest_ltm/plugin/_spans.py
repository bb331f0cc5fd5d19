"""Memory spans as they are written: 2k, 32000, 1.5m, isolated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import did_you_mean
from pytest_ltm.plugin import _options

if TYPE_CHECKING:
    from pytest_ltm.datasets._published import DefinitionsFolder

ISOLATED = "isolated"


def spans(config: pytest.Config, definitions: DefinitionsFolder | None) -> dict[str, int | None]:
    given = _options.given(config, "ltm_span")
    if config.getoption("ltm_isolated"):
        given = f"{given},{ISOLATED}" if given else ISOLATED
    if given is None and definitions is not None and definitions.span:
        given = str(definitions.span)
    found: dict[str, int | None] = {}
    for part in (given or _options.BY_DEST["ltm_span"].default).split(","):
        label, tokens = span_of(part.strip(), "--ltm-span")
        if label in found:
            raise pytest.UsageError(f"--ltm-span: {label} is given twice")
        found[label] = tokens
    return found


def span_of(text: str, where: str) -> tuple[str, int | None]:
    """Return label and tokens of a span: `32k`, `2000` or `isolated`."""
    if text == ISOLATED:
        return ISOLATED, None
    number, factor = (text[:-1], 1_000) if text[-1:] in "kK" else (text, 1)
    if text[-1:] in {"m", "M"}:
        number, factor = text[:-1], 1_000_000
    try:
        tokens = round(float(number) * factor)
    except (ValueError, OverflowError):
        hint = did_you_mean(text, [ISOLATED])
        raise pytest.UsageError(
            f"{where}: {text!r} is no memory span.{hint} Write tokens as 2000, 32k or 1.5m, or 'isolated'"
        ) from None
    if tokens < 1:
        raise pytest.UsageError(f"{where}: a memory span has at least one token, not {text!r}")
    return (f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)), tokens
