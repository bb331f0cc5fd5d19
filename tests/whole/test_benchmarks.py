"""The benchmarks work; their measurements are never asserted."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from alone import alone

from benchmarks import concurrency, killed, mutants, runs, startup
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.history.benchmarks import costs
from pytest_ltm.api.storage import ConfigurationError

SHOWN = {
    "conversation": r"median: -?\d+\.\d\d tiktoken passes; \d+\.\d\d with the start of the process",
    "resume": r"asked of the disk each time: \d+ microseconds\n.*bytes of journal, [\d.]+ a token\nreported",
    "scale": r"slopes of the last tenfold \(1 is linear\): -?\d+\.\d\d, -?\d+\.\d\d",
    "steps": r"in memory: 3 scenarios x 50 steps in .* µs a step\nthrough pytest: .* µs a step",
}
SIZES = {"conversation": "2000", "resume": "3000", "scale": "100000", "steps": "3"}


@pytest.fixture(autouse=True)
def only_our_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable other installed plugins: measurements are not asserted here."""
    others = tuple(name for name in runs._APART if name != "PYTEST_PLUGINS")
    monkeypatch.setattr(runs, "_APART", others)
    for name, value in alone().items():
        monkeypatch.setenv(name, value)


@pytest.mark.nightly("measures, and asserts little")
@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="drills look for workers in /proc"
)
def test_a_run_whose_workers_are_killed_ends_like_the_undisturbed_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("xdist")

    assert main(["drills", "--size", "2"]) == 0

    assert re.search(
        r"^2 drills, \d+ workers killed: 2 ended like the undisturbed run, byte for byte$",
        capsys.readouterr().out,
        flags=re.MULTILINE,
    )


@pytest.mark.nightly("measures, and asserts little")
@pytest.mark.slow
def test_a_run_killed_with_conversations_in_flight_ends_like_the_undisturbed_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [
        "--ltm-trials=2" if word.startswith("--ltm-trials=") else word
        for word in killed.IN_FLIGHT
    ]
    monkeypatch.setattr(killed, "IN_FLIGHT", words)

    assert main(["in-flight", "--size", "1"]) == 0

    assert capsys.readouterr().out.startswith("1 runs killed ")


@pytest.mark.nightly("measures, and asserts little")
@pytest.mark.slow
def test_what_is_used_of_a_provider_is_counted_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "SECONDS", 0.01)
    monkeypatch.setattr(
        concurrency,
        "TALK",
        "def test_talk(ltm):\n    ltm.say('Yes.')\n    ltm.ask('Well?')\n",
    )
    monkeypatch.delenv("LTM_INSPECT", raising=False)

    [line] = concurrency._at_a_provider(2)

    assert re.match(
        r"a provider that takes 32 requests at a time: (\d+) of \1 requests answered in \d+ s, 0 refused",
        line,
    )


@pytest.mark.nightly(
    "measures, and asserts little: one of them before each merge", every=12
)
@pytest.mark.parametrize("name", SHOWN)  # runs that are killed have their own tests
def test_a_benchmark_measures_and_says_what(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in BENCHMARKS
    assert main([name, "--size", SIZES[name]]) == 0
    assert re.search(SHOWN[name], capsys.readouterr().out)


@pytest.mark.nightly("measures, and asserts little")
def test_what_starting_costs_is_compared_case_by_case() -> None:
    here = Path(sys.executable)  # fresh environments take minutes to build
    lines = [*startup.compared(startup.Environments(here, here, here), 1)]
    assert len(lines) == 4
    assert all(
        re.search(r": \d\.\d{3} s, \d\.\d{3} s; \d+\.\d\d times \(median of 1\)$", line)
        for line in lines
    )


def test_an_unknown_benchmark_is_one_sentence_with_the_cure() -> None:
    with pytest.raises(
        ConfigurationError, match=r"no benchmark 'step'\. Did you mean 'steps'\?"
    ):
        main(["step"])


@pytest.mark.parametrize("words", [["--size", "0"], ["--repeat", "0"]])
def test_a_size_of_nothing_is_refused(words: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        main(["steps", *words])


def test_each_target_of_the_mutants_is_there() -> None:
    package = mutants.ROOT / "pytest_ltm"
    missing = [target for target in mutants.TARGETS if not any(package.glob(target))]
    assert missing == []


COUNTS = mutants.ROOT / "pytest_ltm" / "figures" / "statistics" / "counts.py"
HOLM = [
    "tests/features/figures/test_statistics_counts.py::test_holm_steps_down_and_keeps_the_order"
]


def test_a_changed_rule_is_noticed_and_an_unchanged_one_is_not() -> None:
    [steps_down] = [
        mutant
        for mutant in mutants.mutants(COUNTS)
        if mutant.before == "(len(p_values) - rank) * p_values[place]"
    ]
    same = steps_down._replace(after=steps_down.before)
    verdicts = [
        mutants.judged(one, tests).said
        for one, tests in ((steps_down, HOLM), (same, HOLM), (steps_down, []))
    ]

    assert steps_down.after == "((len(p_values) - rank) / p_values[place])"
    assert verdicts == ["noticed", "survived", "not run"]


def test_tests_that_are_not_there_notice_nothing() -> None:
    mutant = next(mutants.mutants(COUNTS))
    same = mutant._replace(after=mutant.before)

    with pytest.raises(ConfigurationError, match="not found"):
        mutants.judged(
            same, ["tests/features/figures/test_statistics_counts.py::test_gone"]
        )


def test_what_asv_measures_runs() -> None:
    costs.Steps().time_in_memory(2)
    costs.Runs().time_echo("2k")
    compile(costs.timeraw_import(), "<a fresh interpreter>", "exec")


def test_a_run_that_asv_cannot_measure_fails() -> None:
    with pytest.raises(RuntimeError, match="no-such-agent"):
        costs.play("no-such-agent", "2k")
