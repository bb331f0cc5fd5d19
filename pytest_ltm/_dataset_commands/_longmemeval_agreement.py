"""How often the rules decide, and how often they say what a judge said, by question type and by judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.longmemeval._schema import TYPES, is_abstention

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._dataset_commands._longmemeval_rows import Answered
    from pytest_ltm.datasets.rulings._ruling import Ruling


@dataclass(slots=True)
class Tally:
    """Rows of one kind."""

    rows: int = 0
    decided: int = 0
    agree: int = 0

    def add(self, ruling: Ruling, *, label: bool) -> None:
        """Count one row."""
        self.rows += 1
        if ruling.verdict != "unscored":
            self.decided += 1
            self.agree += (ruling.verdict == "yes") == label

    def as_json(self) -> dict[str, Any]:
        """Return JSON values; shares are None where there is nothing to share."""
        return {
            "rows": self.rows,
            "decided": self.decided,
            "decided_share": self.decided / self.rows if self.rows else None,
            "agree": self.agree,
            "agree_share": self.agree / self.decided if self.decided else None,
        }


def agreement(rows: Sequence[tuple[Answered, bool, Ruling]]) -> dict[str, Any]:
    """Return the tallies by kind (type; abstention apart), by judge, and of all; and the rows that disagree."""
    kinds = {kind: Tally() for kind in (*TYPES, "abstention")}
    judges: dict[str, Tally] = {}
    whole = Tally()
    for one, label, ruling in rows:
        kind = "abstention" if is_abstention(one.question_id) else one.question_type
        for tally in (kinds[kind], judges.setdefault(one.judge or "unknown", Tally()), whole):
            tally.add(ruling, label=label)
    return {
        "by_kind": _json((kind, tally) for kind, tally in kinds.items() if tally.rows),
        "by_judge": _json(judges.items()),
        "all": whole.as_json(),
        "disagree": [
            {
                "question_id": one.question_id, "question_type": one.question_type, "judge": one.judge, "label": label,
                "verdict": ruling.verdict, "reason": ruling.reason, "answer": one.answer, "hypothesis": one.hypothesis,
            }
            for one, label, ruling in rows
            if ruling.verdict != "unscored" and (ruling.verdict == "yes") != label
        ],
    }  # fmt: skip


def _json(tallies: Iterable[tuple[str, Tally]]) -> dict[str, Any]:
    return {name: tally.as_json() for name, tally in tallies}


def agreement_table(found: dict[str, Any]) -> str:
    """Return the tallies as text."""
    lines = [f"{'':<28}{'rows':>7}{'decided':>9}{'agree':>8}"]
    lines += [_line(name, tally) for name, tally in found["by_kind"].items()]
    lines += [_line(f"judge {name}", tally) for name, tally in found["by_judge"].items()]
    return "\n".join([*lines, _line("all", found["all"])]) + "\n"


def _line(name: str, tally: dict[str, Any]) -> str:
    shares = [_percent(tally[share]) for share in ("decided_share", "agree_share")]
    return f"{name[:28]:<28}{tally['rows']:>7,}{shares[0]:>9}{shares[1]:>8}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"
