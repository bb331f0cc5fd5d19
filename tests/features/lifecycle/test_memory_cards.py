"""The card of a memory: figures follow from its record, a planted fault moves only its own, forgeries are reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from life_stores import RIGHT, Empty, RightStore, words_of

from pytest_ltm.agents.memory.pace import Pace
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.commands import main
from pytest_ltm.lifecycle.cards.card import (
    Card,
    card_json,
    differences,
    find_forgeries,
    make_card,
    make_row,
    read_card,
)
from pytest_ltm.lifecycle.cards.card_figures import MEANINGS
from pytest_ltm.lifecycle.cards.card_report import card_table, render_page, text_lines
from pytest_ltm.lifecycle.cards.script import ANN, draw_script


class LosesEveryFourth(RightStore):
    """Drops texts whose values end in certain letters."""

    def keep(self, text: str, *more: Any) -> int:
        return -1 if text[-2] in "ae" else super().keep(text, *more)


class FindsTooLate(RightStore):
    """Serves the texts that fit a question least."""

    def ranked(self, query: str, user: str, at: Any) -> list[Any]:
        del at
        asked = words_of(query)
        fit = {
            record.key: len(words_of(record.text) & asked) for record in self.records
        }
        return sorted(self.seen(user), key=lambda record: fit[record.key])


class NeverReplaces(RightStore):
    """Keeps the old value in addition to the new one."""

    def replaces(self, *_: Any) -> bool:
        return True


class IgnoresDeletes(RightStore):
    def delete(self, key: Any, *, user: str) -> None:
        """Delete nothing."""


class KeepsCopies(RightStore):
    """Stores a text each time it is told."""

    def replaces(self, *_: Any) -> bool:
        return True

    def keep(self, text: str, role: str, at: Any, user: str, *more: Any) -> int:
        copy = f"{text} " if any(record.text == text for record in self.records) else ""
        about, value = more[:2]
        if any(r.subject == about and r.value != value for r in self.records):
            self.drop(lambda r: (r.user, r.subject) == (user, about))
        return super().keep(copy or text, role, at, user, *more)


class MixesUsers(RightStore):
    def seen(self, user: str) -> list[Any]:
        del user
        return list(self.records)


class MuddlesTexts(RightStore):
    """Serves texts that contain the value without its subject."""

    def served(self, record: Any) -> Any:
        return record.key, f"note 5: {record.value}, noted", None, record.at


def row_of(store: Callable[[], Any], seed: int = 0) -> Any:
    return make_row("store", store, seed, Pace())


# Figures for which zero is best.
ABSENCES = ("stale_served", "deleted_served", "duplicated", "crossed")


def best(name: str, rate: Any) -> bool:
    return rate is None or rate[0] == (0 if name in ABSENCES else rate[1])


def wrong(row: Any) -> set[str]:
    return {name for name, rate in row.figures.items() if not best(name, rate)}


@pytest.mark.parametrize("store", RIGHT, ids=lambda store: store.__name__)
@pytest.mark.parametrize("seed", range(2))
def test_a_right_store_earns_every_figure(store: Any, seed: int) -> None:
    row = row_of(store, seed)
    assert wrong(row) <= {"found@1"}
    assert row.lost == {}
    assert row.figures["deleted_served"] == (0, 4)
    assert row.figures["crossed"] is None or row.figures["crossed"][1] > 20


@pytest.mark.parametrize(
    ("store", "figure"),
    [
        (NeverReplaces, "stale_served"),
        (IgnoresDeletes, "deleted_served"),
        (KeepsCopies, "duplicated"),
        (MixesUsers, "crossed"),
        (LosesEveryFourth, "kept"),
        (FindsTooLate, "found@1"),
    ],
)
def test_a_planted_fault_moves_its_own_figure(store: Any, figure: str) -> None:
    found = {"found@1", "found@5", "found@10", "in_other_words"}
    row = row_of(store)
    assert figure in wrong(row)
    assert wrong(row) <= {figure, "updated", *found}
    assert wrong(row) & set(ABSENCES) == {figure} & set(ABSENCES)


@pytest.mark.parametrize(
    ("store", "stage"),
    [(LosesEveryFourth, "write"), (FindsTooLate, "find"), (MuddlesTexts, "use")],
)
def test_a_lost_mark_names_where_it_was_lost(store: Any, stage: str) -> None:
    row = row_of(store)
    assert set(row.lost.values()) == {stage}
    assert row.marks[stage] == len(row.lost) > 0


def test_a_store_that_finds_nothing_is_not_praised_for_absences() -> None:
    row = row_of(Empty)
    assert row.figures["found@10"][0] == 0
    judged = ("stale_served", "deleted_served", "crossed")
    assert all(row.figures[name] == (0, 0) for name in judged)
    assert set(row.lost.values()) == {"find"}


def test_what_a_store_lacks_is_said_and_not_counted() -> None:
    class Plain:
        def __init__(self) -> None:
            self.kept: list[str] = []

        def add(self, text: str) -> None:
            self.kept.append(text)

        def search(self, query: str, *, k: int) -> list[str]:
            last = query.rstrip("?.").rsplit(" ", 1)[-1]
            return [text for text in self.kept if f"{last} " in text][:k]

    row = row_of(Plain)
    assert row.figures["crossed"] is row.figures["deleted_served"] is None
    text = "\n".join(text_lines(make_card(0, [row])))
    assert "not supported: no delete()" in text
    assert "not supported: add() and search() take no user" in text
    assert set(row.record.kept) == {ANN}


def test_two_plays_have_the_same_card_and_times_stand_apart() -> None:
    first, second = (make_card(0, [row_of(RightStore)]) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first.compared() == second.compared()
    assert first.fingerprint != make_card(1, [row_of(RightStore, 1)]).fingerprint
    assert not any("in s" in name for name in first.rows[0].compared())
    assert "search in s, p50/p95/p99" in first.rows[0].measured


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("card") / "card.json"
    path.write_text(
        card_json(make_card(0, [row_of(NeverReplaces), row_of(RightStore)]))
    )
    return path


def test_a_card_survives_its_file_and_holds(card: Path) -> None:
    read_back = read_card(card)
    assert list(find_forgeries(read_back)) == []
    assert card_json(read_back) == card.read_text()


def forged(content: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> Card:
    change(content["rows"][0])
    return msgspec.convert(content, Card)


@given(name=st.sampled_from(sorted(MEANINGS)), value=st.integers(0, 40))
def test_any_forged_figure_is_named(card: Path, name: str, value: int) -> None:
    row = read_card(card).rows[0]
    whole = row.figures[name]
    assert whole is not None
    claim = msgspec.structs.replace(
        row, figures={**row.figures, name: (value, whole[1])}
    )
    sentences = list(differences(row, claim))
    if value == whole[0]:
        assert sentences == []
    else:
        [sentence] = sentences
        assert f" {name}: the card says {value} of" in sentence


def test_a_forged_mark_and_a_changed_record_are_named(card: Path) -> None:
    content = json.loads(card.read_text())
    row = content["rows"][0]
    row["marks"]["use"] = 9
    row["lost"]["ann's unicorn"] = "find"
    sentences = "\n".join(find_forgeries(forged(content, lambda _: None)))
    assert "marks use: the card says 9" in sentences
    assert "mark of ann's unicorn: the card says find, computed nothing" in sentences
    content = json.loads(card.read_text())
    content["rows"][0]["record"]["texts"][0]["text"] = "nothing of the kind"
    assert list(find_forgeries(forged(content, lambda _: None)))
    content = json.loads(card.read_text())
    content["rows"][0]["record"]["looks"].pop()
    with pytest.raises(ConfigurationError, match="the record has no look at"):
        list(find_forgeries(forged(content, lambda _: None)))


STORE = """
class Notes:
    package = "pluggy"

    def __init__(self):
        self.kept = []

    def add(self, text, *, role, at, session, user):
        self.kept.append((user, text))

    def search(self, query, *, k, user):
        last = query.rstrip("?.").rsplit(" ", 1)[-1]
        return [text for owner, text in self.kept if owner == user and last in text][-k:]


class Forgetful(Notes):
    def add(self, text, *, role, at, session, user):
        if "carpet" not in text and "oven" not in text and "kite" not in text:
            super().add(text, role=role, at=at, session=session, user=user)
"""


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "card_notes.py").write_text(STORE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_command_writes_a_card_that_verify_recomputes(
    stores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check-memory", "card_notes:Notes", "-o", "card.json", "--page", "c.html"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "stale_served" in shown
    assert "(pluggy " in shown
    assert "questions answered; lost: 0 at write" in shown
    assert "<h2>card_notes:Notes</h2>" in (stores / "c.html").read_text()
    assert main(["verify", "card.json"]) == 0
    assert "holds: 10 figures recomputed" in capsys.readouterr().out
    text = (stores / "card.json").read_text()
    content = json.loads(text)
    content["rows"][0]["figures"]["stale_served"] = [0, 6]
    (stores / "card.json").write_text(json.dumps(content))
    assert main(["verify", "card.json"]) == 1
    assert "stale_served: the card says 0 of 6" in capsys.readouterr().out
    assert main(["verify", "card.json", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "differs"
    (stores / "card.json").write_text(text)
    assert main([*words[:2], "--against", "card.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["marks"]["write"] == 0


def test_against_names_what_another_machine_had(
    stores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-memory", "card_notes:Notes", "-o", "card.json"]) == 0
    content = json.loads((stores / "card.json").read_text())
    content["rows"][0]["memory"] = "card_notes:Forgetful"
    (stores / "card.json").write_text(json.dumps(content))
    capsys.readouterr()
    words = ["check-memory", "card_notes:Forgetful", "--against", "card.json"]
    assert main(words) == 1
    assert "kept: the card says 26 of 26" in capsys.readouterr().err
    assert main([*words, "--seed", "3"]) == 2
    assert "Compare with --seed 0" in capsys.readouterr().err


def test_what_is_no_card_is_refused_with_a_reason(
    stores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (stores / "other.json").write_text('{"format": "pytest-ltm memory card 9"}')
    assert main(["verify", "other.json"]) == 2
    assert "its format is 'pytest-ltm memory card 9'" in capsys.readouterr().err
    (stores / "torn.json").write_text("{")
    assert main(["check-memory", "card_notes:Notes", "--against", "torn.json"]) == 2
    assert "not JSON" in capsys.readouterr().err
    assert main(["check-memory", "card_notes:Nobody"]) == 2
    assert "Nobody" in capsys.readouterr().err


def test_a_card_is_a_table_and_a_page_of_all_its_rows() -> None:
    made = make_card(0, [row_of(RightStore), row_of(MixesUsers)])
    lines = card_table(made).splitlines()
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    page = render_page(made).decode()
    assert page.count("<section ") == 2
    assert made.fingerprint in page


def test_a_name_with_a_bar_stays_in_one_cell_of_the_table() -> None:
    made = make_card(0, [make_row("one|two", RightStore, 0, Pace())])
    head, _, line = card_table(made).splitlines()
    assert r"| one\|two |" in line
    assert line.replace(r"\|", "").count("|") == head.count("|")


def test_the_script_is_that_of_its_seed_and_its_values_are_its_own() -> None:
    script = draw_script(5)
    assert script == draw_script(5) != draw_script(6)
    values = [life.told.value for life in script.lives]
    values += [life.newer.value for life in script.lives if life.newer]
    assert len(set(values)) == len(values)
    assert sum(life.is_withdrawn for life in script.lives) == 4
    told = [text for _, text in script.first_texts(("ann", "bo"))]
    assert len(told) == len(set(told)) == len(script.lives) + len(script.others)
