"""Proves that a gate can turn red: the same bot with its memory cut is compared with its own baseline."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.figures.columns import guessing_test, result_columns
from pytest_ltm.gate.baseline import FOLDER, load_baseline

BASELINE = "main"
_CUT = "pytest_ltm.commands.memory_cut"
_BREACHED = 1
_SAVED = {0, 1}
_EXPECTED = re.compile(
    r"total: [\d,]+ messages?, [\d.,]+[kM]? tokens in and [\d.,]+[kM]? out"
    r"(?:, [\d.]+[a-z]+(?: [\d.]+[a-z]+)*)?(?:[,;] (?:cost unknown|\$[\d,.]*\d))?"
)
_LATENCY = re.compile(r"time: ([\d.]+) s per reply")
_DOLLARS = re.compile(r"\$([\d,]+(?:\.\d+)?)")


class Setting(Struct, frozen=True):
    """The size of a gate's run."""

    span: str
    trials: int

    def words(self, agent: str) -> list[str]:
        """Return the pytest options."""
        trials = [f"--ltm-trials={self.trials}"] if self.trials > 1 else []
        return [f"--ltm-agent={agent}", f"--ltm-span={self.span}", *trials]

    def shell_words(self, agent: str) -> str:
        """Return the options as typed in a shell."""
        trials = f" --ltm-trials={self.trials}" if self.trials > 1 else ""
        return f"--ltm-agent={shlex.quote(agent)} --ltm-span={self.span}{trials}"

    def command(self, agent: str) -> str:
        """Return the shell command that saves a baseline."""
        return f"pytest {self.shell_words(agent)} --ltm-save={BASELINE}"


class Forecast(Struct, frozen=True):
    """The expected cost of a baseline."""

    text: str
    dollars: float | None
    """None if the price is unknown."""
    tokens: int
    """Tokens of all messages and replies, including repeated input."""

    @property
    def budget(self) -> str:
        """The option that limits the workflow to twice the cost; "" if it is free."""
        if self.dollars:
            return f"--ltm-max-cost={max(0.01, 2 * self.dollars):.2f}"
        if self.dollars is None:
            return f"--ltm-max-tokens={2 * self.tokens}"
        return ""


class GateProof:
    """Baselines of one agent in a project, each tested with the agent's memory cut."""

    def __init__(self, agent: str, folder: Path, rule: str) -> None:
        self._agent = agent
        self._folder = folder
        self._rule = rule

    @staticmethod
    def baseline_file(folder: Path) -> Path:
        """Return the baseline file of the project in a folder."""
        return folder / FOLDER / f"{BASELINE}.json"

    @property
    def baseline(self) -> Path:
        """The baseline file."""
        return self.baseline_file(self._folder)

    def forecast(self, setting: Setting) -> Forecast:
        """Return the expected cost from a dry run; ConfigurationError if the bot cannot be played."""
        process = self._pytest(
            [*setting.words(self._agent), "--ltm-dry-run"], is_shown=False
        )
        text = " ".join(process.stdout.split())
        expected = _EXPECTED.search(text)
        if process.returncode not in _SAVED or expected is None:
            lines = (process.stdout + process.stderr).splitlines()
            errors = [line for line in lines if "ERROR" in line] or lines[-3:]
            raise ConfigurationError(
                "\n".join(["the bot cannot be played:", *errors[:5]])
            )
        price = _DOLLARS.search(expected[0])
        dollars = float(price[1].replace(",", "")) if price else None
        if dollars is None and "cost unknown" not in expected[0]:
            dollars = 0.0
        tokens = _tokens_in(expected[0])
        told = expected[0].removeprefix("total: ")
        if latency := _LATENCY.search(text):
            told = f"{told} (time at {latency[1]} s a reply)"
        return Forecast(told, dollars, tokens)

    def save_baseline(self, setting: Setting) -> int:
        """Play, and save the baseline in place of an earlier one; return pytest's exit status."""
        words = [*setting.words(self._agent), f"--ltm-save={BASELINE}"]
        return self._pytest(words, is_shown=True).returncode

    def is_hopeless(self) -> bool:
        """Return whether the baseline is no better than guessing, so that no cut can lower it."""
        result = load_baseline(self.baseline).result
        tests = [guessing_test(column) for column in result_columns(result)]
        return all(test.lead <= 0 for test in tests)

    def turns_red(self, setting: Setting) -> tuple[bool, str]:
        """Compare the bot with its memory cut with the baseline; return whether the gate is red, and its text."""
        with TemporaryDirectory(prefix="ltm-proof-") as elsewhere:
            words = [
                "-p",
                _CUT,
                *setting.words(self._agent),
                f"--ltm-compare={BASELINE}",
                f"--ltm-compare-fail={self._rule}",
                f"--ltm-dir={elsewhere}",
            ]
            process = self._pytest(words, is_shown=False)
        lines = process.stdout.splitlines()
        first = next(
            (number for number, line in enumerate(lines) if line.startswith("gate:")),
            None,
        )
        verdict = lines[-1:] if first is None else lines[first : first + 2]
        text = " ".join(map(str.strip, verdict))
        return process.returncode == _BREACHED, text

    def _pytest(
        self, words: Sequence[str], *, is_shown: bool
    ) -> subprocess.CompletedProcess[str]:
        quiet = ["-q", "--tb=no", "-rN", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *words, *quiet]
        return subprocess.run(  # noqa: S603 - the interpreter that runs this
            command,
            check=False,
            cwd=self._folder,
            capture_output=not is_shown,
            text=True,
            errors="replace",
        )


_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}


def _tokens_in(forecast: str) -> int:
    """Return the total tokens in a forecast such as `7.05M tokens in and 30,610 out`."""
    found = re.search(r"([\d.,]+)([kM]?) tokens in and ([\d.,]+)([kM]?) out", forecast)
    if found is None:
        return 0
    amounts = ((found[1], found[2]), (found[3], found[4]))
    return round(
        sum(float(number.replace(",", "")) * _UNITS[unit] for number, unit in amounts)
    )
