"""Agents by name: what `--ltm-agent` may say, taken apart, labelled and looked up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._dotted import DottedPath, is_dotted
from pytest_ltm._errors import AgentError, ConfigurationError, did_you_mean
from pytest_ltm._secrets import redacted
from pytest_ltm.agents._adapt import AgentSource, source
from pytest_ltm.agents._adapters import ADAPTERS, adapted, describe_adapters
from pytest_ltm.agents._embedded import EMBEDDED, describe_embedded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["EMBEDDED", "AgentSource", "describe_adapters", "describe_embedded", "find", "label_for", "split_specs"]

_NAMED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*=(.*)", re.DOTALL)
_WHOLE = re.compile(r"(?:cmd|https?|replay):")
_FILE = re.compile(r".*\.ya?ml", re.DOTALL | re.IGNORECASE)
_NOT_DOTTED = re.compile(rf"{_WHOLE.pattern}|.*\.py(?::|$)")
_HIDDEN_WHOLE = re.compile(r",\s*(?:[A-Za-z_][A-Za-z0-9_.-]*\s*=)?\s*((?:cmd|https?|replay):)")


def find(spec: str, *, base: Path | None = None, known: Iterable[str] = ()) -> AgentSource:
    """Return the source of the agents that an embedded name or a dotted path names.

    `base` is where modules are looked for that are not on `sys.path` (default: the working directory); `known`
    are names that the caller has tried already, for the message. Raises AgentError with a cure.
    """
    name, _, argument = spec.partition(":")
    if name in EMBEDDED:
        return EMBEDDED[name](argument)
    if name in ADAPTERS:
        return adapted(name, argument)
    if _FILE.fullmatch(spec):
        from pytest_ltm.agents._configured import configured  # noqa: PLC0415 - the others read no file

        return configured(spec, base=base, find=lambda inner: find(inner, base=base, known=known))
    names = sorted({*EMBEDDED, *ADAPTERS, *known})
    hint = did_you_mean(name, names)
    if is_dotted(spec) and not _NOT_DOTTED.match(spec):
        return source(DottedPath(spec, what="agent", error=AgentError, hint=hint).resolve(base), spec=spec)
    raise AgentError(f"unknown agent {spec!r}.{hint or _file_hint(spec)} {_there_are(names)}")


def split_specs(values: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return (label or None, spec) for each agent that the values of `--ltm-agent` name.

    A value is split at its commas unless it is a `cmd:`, `http:` or `replay:` spec. Raises ConfigurationError for an
    empty part, and for two agents with one label, given or made by `label_for`.
    """
    specs = [_part(part, value) for value in values for part in _parts(value)]
    seen: dict[str, str] = {}
    for label, spec in specs:
        effective = label or label_for(spec)
        if effective in seen:
            raise ConfigurationError(
                f"two agents have the label {effective!r}: {seen[effective]!r} and {spec!r}. "
                f"Give one a name of its own: NAME={spec}"
            )
        seen[effective] = spec
    return specs


def label_for(spec: str) -> str:
    """Return the spec without secrets, and with `_` for each character that a label cannot hold."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", redacted(spec))


def _parts(value: str) -> list[str]:
    named = _NAMED.fullmatch(value)
    if _WHOLE.match((named.group(2) if named else value).strip()):
        return [value]
    hidden = _HIDDEN_WHOLE.search(value)
    if hidden:
        raise ConfigurationError(
            f"{value!r}: a {hidden.group(1)!r} spec may hold commas, so it is never split off. "
            f"Give it an --ltm-agent of its own"
        )
    return value.split(",")


def _part(part: str, value: str) -> tuple[str | None, str]:
    named = _NAMED.fullmatch(part)
    label, spec = (label_for(named.group(1)), named.group(2).strip()) if named else (None, part.strip())
    if not spec:
        raise ConfigurationError(f"{value!r} names an empty agent. Write SPEC[,SPEC...], or NAME=SPEC")
    return label, spec


def _file_hint(spec: str) -> str:
    """Say how to name what somebody named as a file."""
    path, _, name = spec.replace("\\", "/").partition(":")
    if not path.endswith(".py") and "/" not in path:
        return ""
    module = path.removesuffix(".py").strip("./").replace("/", ".")
    return f" An agent in a file is named with dots, as in '{module}:{name or 'Bot'}'."


def _there_are(names: Sequence[str]) -> str:
    return f"There are {', '.join(names)}; any other is a dotted path such as mypkg.bot:Bot."
