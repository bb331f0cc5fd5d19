"""JudgeSpec: the value of `--ltm-judge`, a judge with settings of the run: `openai:MODEL?votes=5&cache=off`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pytest_ltm._core.storage.choices import one_of
from pytest_ltm._core.storage.errors import ConfigurationError

NO_JUDGE = "none"
# The default number of votes that confirm a judge's "no".
VOTES = 3
# The run's own parameters; all others belong to the judge.
_PARAMETERS = ("votes", "cache", "canaries")


class JudgeSpec(Struct, frozen=True):
    """A judge, and the run's settings for it."""

    judge: str = NO_JUDGE
    """The judge by name or dotted path, with parameters of its own."""
    votes: int = VOTES
    """The number of votes that confirm a "no"."""
    is_cached: bool = True
    """Whether replies of earlier runs are used."""
    has_canaries: bool = True
    """Whether it is asked about answers with known grades."""

    @classmethod
    def parse(cls, text: str, *, votes: int = VOTES) -> JudgeSpec:
        """Parse a spec, with `votes` as the default; ConfigurationError for an invalid one.

        Parameters follow the last `?`: a judge that is a command may contain others.
        """
        head, mark, query = text.rpartition("?")
        if not mark:
            return cls(judge=text, votes=votes)
        values: dict[str, str] = {}
        other_parts = []
        for part in query.split("&"):
            name, equals, value = part.partition("=")
            if name not in _PARAMETERS or not equals:
                other_parts.append(part)
                continue
            if name in values:
                raise ConfigurationError(f"{name!r} is given twice")
            values[name] = value
        judge = "?".join(filter(None, [head, "&".join(other_parts)]))
        if values and judge == NO_JUDGE:
            raise ConfigurationError(f"{text!r}: {NO_JUDGE} judges nothing")
        return cls(
            judge=judge if values else text,
            votes=_read_votes(values["votes"]) if "votes" in values else votes,
            is_cached=_is_on(values, "cache"),
            has_canaries=_is_on(values, "canaries"),
        )

    @property
    def is_none(self) -> bool:
        """Whether there is no judge."""
        return self.judge == NO_JUDGE


def _read_votes(text: str) -> int:
    votes = int(text) if text.isdecimal() else 0
    if votes < 1:
        raise ConfigurationError(f"votes: {text!r} is not a number of votes")
    if votes % 2 == 0:
        raise ConfigurationError(f"votes: {votes} may be tied; use an odd number")
    return votes


def _is_on(values: Mapping[str, str], name: str) -> bool:
    try:
        return one_of("on", "off")(values.get(name, "on")) == "on"
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from None


def fold_judge_options(options: Mapping[str, Any], judge: object) -> dict[str, Any]:
    """Return recorded options with the judge's own folded into `ltm_judge`; `judge`: the judge of the run.

    Earlier versions recorded them as separate options, such as `ltm_judge_votes`.
    """
    own_names = {f"ltm_judge_{name}": name for name in _PARAMETERS}
    kept_options = {
        name: value for name, value in options.items() if name not in own_names
    }
    spec = str(kept_options.get("ltm_judge") or judge or NO_JUDGE)
    parameters = [
        f"{own_names[name]}={options[name]}" for name in own_names if name in options
    ]
    if parameters and spec != NO_JUDGE:
        kept_options["ltm_judge"] = (
            f"{spec}{'&' if '?' in spec else '?'}{'&'.join(parameters)}"
        )
    return kept_options
