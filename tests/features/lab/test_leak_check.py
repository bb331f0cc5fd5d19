"""The command `leak-check`: leaks that it finds by words, lengths and positions, and leaks that it misses."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.commands import main
from pytest_ltm.lab.commands.leak_check import (
    ALL_SUITES,
    AMONG,
    FILLER,
    HISTORIES,
    CueTable,
    look_for_cues,
)
from pytest_ltm.lab.cues import Text, all_cues, best_cues, cue_recall, rank_by_cues

WORDS = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("ala", "ene", "iri", "oso", "umu")]


def history(
    cue: str = "", place: str = "later", extra: int = 0, kind: str = "q"
) -> list[Text]:
    """Return six conversations of 60 turns of the same random words; every twelfth is evidence, marked as asked for."""
    rng = random.Random("turns")
    texts = []
    for number in range(360):
        words = rng.choices(WORDS, k=20)
        if number % 12:
            texts.append(Text(" ".join(words), f"c{number // 60}", "later"))
        else:
            told = " ".join([*cue.split(), *words, *rng.choices(WORDS, k=extra)])
            texts.append(Text(told, f"c{number // 60}", place, (kind,)))
    return texts


def recalls(texts: Sequence[Text]) -> tuple[float, ...]:
    return look_for_cues(HISTORIES, texts)[ALL_SUITES].recalls


@pytest.mark.slow
@pytest.mark.parametrize(
    "marked", [{"cue": "By the way"}, {"place": "first"}, {"extra": 15}]
)
def test_phrases_places_and_lengths_that_mark_evidence_are_found(
    marked: dict[str, Any],
) -> None:
    assert recalls(history(**marked)) == (1.0, 1.0)


@pytest.mark.slow
def test_nothing_is_found_where_evidence_is_like_everything_else() -> None:
    one, five = recalls(history())
    assert one <= 0.1
    assert five <= 0.2
    assert 0.3 < look_for_cues(HISTORIES, history())[ALL_SUITES].order < 0.7


def test_what_is_learned_in_a_conversation_is_not_looked_for_there() -> None:
    texts = [
        Text(f"{text.text} {text.group}", text.group, text.place, text.kinds)
        for text in history()
    ]
    marked = [
        Text(
            f"{text.text} own{text.group}" if text.kinds else text.text,
            text.group,
            "x",
            text.kinds,
        )
        for text in texts
    ]
    assert recalls(marked)[0] <= 0.1


def test_the_share_is_of_the_words_that_are_no_evidence() -> None:
    ranked = tuple(
        (score, Text("a " * 10, "c", "", ("q",) if sought else ()), sought)
        for score, sought in [
            (9.0, True),
            (8.0, False),
            (7.0, True),
            *[(1.0, False)] * 98,
            (0.0, True),
        ]
    )
    one = cue_recall("q", [ranked])
    assert one is not None
    # 1 % of 990 words ends before the first turn that is not evidence
    assert one.recalls == pytest.approx((1 / 3, 2 / 3))
    assert one.order == pytest.approx((99 + 98 + 0) / 297)


def test_equal_scores_are_chance() -> None:
    ranked = tuple(
        (0.0, Text("a", "c", "", ("q",) if at % 2 else ()), bool(at % 2))
        for at in range(200)
    )
    one = cue_recall("q", [ranked])
    assert one is not None
    assert one.recalls == pytest.approx((0.01, 0.05))
    assert one.lift_over_chance == pytest.approx((1, 1))
    assert one.order == 0.5


def test_one_conversation_teaches_nothing() -> None:
    alone = [
        Text(text.text, "c", text.place, text.kinds) for text in history("By the way")
    ]
    assert rank_by_cues(alone, lambda text: bool(text.kinds), all_cues) == ()
    assert CueTable.compare_cues(HISTORIES, alone, ()).rows() == [
        ["in histories, 1 conversation: nothing to look for, or nothing to learn from"]
    ]


def test_the_best_cue_is_named_with_its_counts() -> None:
    (cue,) = best_cues(history("By the way"), lambda text: bool(text.kinds), 1)
    assert cue == "'^ by' 30 of 30, 0 else"


@pytest.mark.slow
def test_each_scenario_is_looked_for_by_itself_and_the_mean_is_of_what_both_sides_have() -> (
    None
):
    ours = [*history("By the way", kind="cat"), *history("Take note", kind="dog")]
    theirs = history(kind="cat")
    table = CueTable.compare_cues(AMONG, ours, theirs)
    assert list(table.ours) == ["cat", "dog", ALL_SUITES]
    assert table.ours[ALL_SUITES].evidence == 30
    assert len(table.breaches) == 2
    assert table.breaches[0].startswith(
        "among scenario messages, 1% of the words find 100.0% of the evidence"
    )
    assert CueTable.compare_cues(FILLER, ours, theirs).breaches == []
    assert CueTable.compare_cues(AMONG, theirs, ours).breaches == []


@pytest.mark.slow
def test_among_messages_the_one_cue_that_marks_most_is_all_that_is_learned() -> None:
    both = [
        Text(
            text.text.replace("By the way", "Take note"),
            text.group,
            text.place,
            text.kinds,
        )
        if at % 24
        else text
        for at, text in enumerate(history("By the way"))
    ]
    assert look_for_cues(HISTORIES, both)[ALL_SUITES].recalls == (1.0, 1.0)
    one, five = look_for_cues(AMONG, both)["q"].recalls
    assert 0.4 <= one <= five <= 0.6
    assert look_for_cues(AMONG, history("By the way"))["q"].recalls == (1.0, 1.0)


def test_a_page_counts_as_many_words_as_it_may() -> None:
    page, evidence = Text("a " * 5000, "c", "", (), 50), Text("b", "c", "", ("q",))
    others = [Text("c " * 10, "c", "") for _ in range(99)]
    ranked = (
        (3.0, page, False),
        (2.0, evidence, True),
        *((1.0, other, False) for other in others),
    )
    one = cue_recall("q", [ranked])
    assert one is not None
    assert one.recalls == (0.0, 1.0)  # 5 % of 1,040 words, of which the page takes 50


# --- The command on files of histories.


def longmemeval(path: Path, cue: str) -> str:
    rng = random.Random("files")
    records = []
    for number in range(6):
        sessions = []
        for _ in range(5):
            roles = ("user", "assistant") * 4
            sessions.append(
                [
                    {"role": role, "content": " ".join(rng.choices(WORDS, k=15))}
                    for role in roles
                ]
            )
        turn: dict[str, Any] = sessions[number % 5][2]
        turn.update(content=f"{cue} {turn['content']}", has_answer=True)
        records.append(
            {
                "question_id": f"q{number}",
                "question_type": "multi-session",
                "question": "Which?",
                "answer": "Both.",
                "question_date": "2023/05/30 (Tue) 23:40",
                "haystack_sessions": sessions,
                "haystack_dates": [
                    f"2023/05/0{day} (Mon) 10:00" for day in range(1, 6)
                ],
                "haystack_session_ids": [f"s{number}_{place}" for place in range(5)],
                "answer_session_ids": [f"s{number}_{number % 5}"],
            }
        )
    path.write_text(json.dumps(records), encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_histories_are_compared_with_a_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = longmemeval(tmp_path / "marked.json", "By the way ,")
    plain = longmemeval(tmp_path / "plain.json", "")
    assert main(["lab", "leak-check", marked]) == 0
    assert "multi-session                  6         100.0%" in capsys.readouterr().out
    assert main(["lab", "leak-check", plain, "--reference", marked]) == 0
    capsys.readouterr()
    assert main(["lab", "leak-check", marked, "--reference", plain, "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["tables"][0]["ours"][ALL_SUITES]["lift"] == {"1%": 100.0, "5%": 20.0}
    assert printed["breaches"]


def test_whole_sessions_can_be_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = longmemeval(tmp_path / "marked.json", "By the way ,")
    assert main(["lab", "leak-check", marked, "--sessions", "--json"]) == 0
    assert (
        json.loads(capsys.readouterr().out)["tables"][0]["ours"][ALL_SUITES]["evidence"]
        == 6
    )


def test_what_cannot_be_looked_through_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lab", "leak-check", "standrad"]) == 2
    assert "Did you mean 'standard'?" in capsys.readouterr().err
    assert main(["lab", "leak-check", "gone.json"]) == 2
    assert "there is no file 'gone.json'" in capsys.readouterr().err


def test_nothing_to_compare_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = longmemeval(tmp_path / "marked.json", "By the way ,")
    alone = tmp_path / "alone.json"
    alone.write_text(
        json.dumps(json.loads((tmp_path / "marked.json").read_bytes())[:1]),
        encoding="utf-8",
    )
    assert main(["lab", "leak-check", marked, "--reference", str(alone)]) == 2
    assert "nothing can be compared" in capsys.readouterr().err
    assert main(["lab", "leak-check", str(alone)]) == 2
    assert "nothing to look for" in capsys.readouterr().err


def test_without_a_scenario_on_both_sides_nothing_has_a_limit() -> None:
    cats, dogs = history("By the way", kind="cat"), history(kind="dog")
    assert not CueTable.compare_cues(AMONG, cats, dogs).has_limit
    assert CueTable.compare_cues(AMONG, cats, cats).has_limit
    assert not CueTable.compare_cues(FILLER, cats, cats).has_limit
