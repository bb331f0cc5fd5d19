"""The seed of a run: a number, a random one, or a secret shown only as a digest."""

from __future__ import annotations

import pytest

from pytest_ltm._core.model.plan import parse_seed
from pytest_ltm._core.storage.errors import ConfigurationError

SECRET = "0123456789abcdef-one"


def test_a_number_is_its_own_seed() -> None:
    seed = parse_seed("-7")
    assert (seed.value, seed.recorded, seed.option, str(seed)) == (-7, -7, "-7", "-7")


def test_a_drawn_seed_is_given_again_by_its_option() -> None:
    seed = parse_seed("fresh")
    assert parse_seed(seed.option) == seed
    assert seed.recorded == str(seed.value)


def test_a_drawn_seed_is_too_large_to_be_found_by_trying() -> None:
    assert max(parse_seed("fresh").value for _ in range(20)) >= 2**120


def test_the_seeds_of_runs_that_were_recorded_before_stay_numbers() -> None:
    assert parse_seed("fresh:1863512347").recorded == 1863512347


def test_two_drawn_seeds_differ() -> None:
    assert len({parse_seed("fresh").value for _ in range(5)}) > 1


def test_a_secret_is_shown_as_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SEED", SECRET)
    seed = parse_seed("env:MEMORY_SEED")
    assert SECRET not in f"{seed} {seed.recorded} {seed.option}"
    assert str(seed.value) not in f"{seed} {seed.recorded} {seed.option}"
    assert seed.option == "env:MEMORY_SEED"


def test_equal_secrets_have_equal_digests_whatever_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONE", SECRET)
    monkeypatch.setenv("OTHER", f" {SECRET}\n")
    monkeypatch.setenv("ANOTHER", f"{SECRET}!")
    one, other, another = map(parse_seed, ("env:ONE", "env:OTHER", "env:ANOTHER"))
    assert (one.value, one.recorded) == (other.value, other.recorded)
    assert another.recorded != one.recorded


def test_a_secret_makes_a_seed_too_large_to_be_found_by_trying(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds = []
    for number in range(20):
        monkeypatch.setenv("MEMORY_SEED", f"{SECRET}-{number}")
        seeds.append(parse_seed("env:MEMORY_SEED").value)
    assert 2**120 <= max(seeds) < 2**128


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'NO_SUCH_SEED' is not set"):
        parse_seed("env:NO_SUCH_SEED")


def test_a_short_secret_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SEED", "hunter2")
    with pytest.raises(ConfigurationError, match="can be guessed from the digest"):
        parse_seed("env:MEMORY_SEED")


@pytest.mark.parametrize("text", ["lucky", "1.5", "fresh:", "freshly"])
def test_other_texts_mean_no_seed(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match="is not a whole number, 'fresh' or 'env:NAME'"
    ):
        parse_seed(text)
