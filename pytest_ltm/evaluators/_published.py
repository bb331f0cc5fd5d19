"""Published results: which evaluator, with which answers, scores a row of the LTM Benchmark's result files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm._score import Score, Unscored

if TYPE_CHECKING:
    from pytest_ltm._score import Scoring

Row: TypeAlias = Mapping[str, Any]
Group: TypeAlias = tuple[str, ...]

_LEG = re.compile(r"From ([^,\n]+), go (\d+(?:\.\d+)?) ?km (\w+) to ([^.\n]+)\.", re.IGNORECASE)
_SAID = re.compile(r"(Test|Agent) \([^)]*\): ")


def score_row(row: Row, scoring: Scoring, spy_groups: Iterable[Group] = ()) -> Score | Unscored:
    """Return the verdict of our rules on a published result; Unscored where it cannot be read.

    `spy_groups` are the keyword groups of all messages of Spy Meeting. Never raises for a row that is JSON.
    """
    dataset = row.get("dataset")
    scorer = _SCORERS.get(str(dataset))
    if scorer is None:
        return Unscored(f"there are no rules for {dataset!r}")
    try:
        if dataset == "Spy Meeting":
            return _spy(row, scoring, spy_groups)
        return scorer(row, scoring)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return Unscored(f"the row is not in a form we know ({type(error).__name__}: {error})")


def spy_groups(row: Row) -> list[Group]:
    """Return the keyword groups that a row of Spy Meeting expects, [] for any other row."""
    if row.get("dataset") != "Spy Meeting":
        return []
    found = [*(row.get("expected_responses") or []), *(row.get("definition_expected") or [])]
    return [tuple(map(str, group)) for group in found if isinstance(group, list)]


def _answers(row: Row) -> list[str]:
    return ["" if answer is None else str(answer) for answer in row["responses"] or []]


def _expected(row: Row) -> Any:
    by_definition = (row.get("orig_eval") or {}).get("expected_source") == "definition"
    return (row.get("definition_expected") if by_definition else None) or row["expected_responses"]


def _colours(row: Row, scoring: Scoring) -> Score:
    from pytest_ltm.evaluators._colours import NamesColour  # noqa: PLC0415 - one family at a time

    return NamesColour(str(_expected(row)[0]), scoring)(_answers(row))


def _names(row: Row, scoring: Scoring) -> Score:
    from pytest_ltm.evaluators._names import ListsNames  # noqa: PLC0415

    return ListsNames(tuple(map(str, _expected(row))), scoring)(_answers(row))


def _jokes(row: Row, scoring: Scoring) -> Score | Unscored:
    from pytest_ltm.evaluators._jokes import RecallsJoke  # noqa: PLC0415

    joke = str(_expected(row)[0])
    others = tuple(told for told in row["script"] if told != joke)
    return RecallsJoke(joke, others, scoring=scoring)(_answers(row))


def _locations(row: Row, scoring: Scoring) -> Score | Unscored:
    from pytest_ltm.evaluators._locations import LeadsTo  # noqa: PLC0415

    legs = _LEG.findall(str(_expected(row)[0]))
    if not legs:
        return Unscored("the true directions cannot be read")
    route = tuple((float(km), way.lower(), place) for _, km, way, place in legs)
    return LeadsTo(legs[0][0], route, scoring)(_answers(row))


def _prospective(row: Row, scoring: Scoring) -> Score | Unscored:
    from pytest_ltm.evaluators._prospective import QuoteAtReply  # noqa: PLC0415

    expected = _expected(row)[0]
    if not isinstance(expected, list):
        return Unscored("quote and number are told in prose in this version")
    quote, _, nth = expected
    verdict = QuoteAtReply(str(quote), int(nth), scoring).verdict(_later_replies(row))
    return verdict or Unscored(f"the log ends before reply {nth}")


def _later_replies(row: Row) -> list[str]:
    """Return the replies from that to the last message of the script on."""
    replies: list[str] = []
    instructed = False
    for line in row["task_log"]:
        said = _SAID.match(line)
        text = line[said.end() :] if said else line
        if said and said[1] == "Test":
            instructed = instructed or text == row["script"][-1]
        elif said and instructed:
            replies.append(text)
    return replies


def _trigger(row: Row, scoring: Scoring) -> Score | Unscored:
    from pytest_ltm.evaluators._trigger import SaysAtEachTrigger  # noqa: PLC0415

    expected = list(map(str, _expected(row)))
    sentence = re.sub(r"^say: ?['\"](.*)['\"]$", r"\1", expected[0])
    return SaysAtEachTrigger(sentence, max(len(expected), len(row["questions"])), scoring)(_answers(row))


def _sally_anne(row: Row, scoring: Scoring) -> Score:
    from pytest_ltm.evaluators._sally_anne import AnswersWord  # noqa: PLC0415

    return AnswersWord(str(_expected(row)[0]), scoring=scoring)(_answers(row))


def _shopping(row: Row, scoring: Scoring) -> Score:
    from pytest_ltm.evaluators._shopping import ListsItems  # noqa: PLC0415

    return ListsItems(tuple((str(item), int(n)) for item, n in _expected(row)), scoring)(_answers(row))


def _spy(row: Row, scoring: Scoring, groups: Iterable[Group] = ()) -> Score:
    from pytest_ltm.evaluators._spy import DecodesMessages  # noqa: PLC0415

    expected = tuple(tuple(map(str, group)) for group in _expected(row))
    ours = {keyword for group in expected for keyword in group}
    others = tuple(sorted({group for group in groups if not ours & set(group)}))
    return DecodesMessages(expected, others, scoring)(_answers(row))


def _chapterbreak(row: Row, scoring: Scoring) -> Score:
    from pytest_ltm.evaluators._chapterbreak import PicksOption  # noqa: PLC0415

    return PicksOption(int(_expected(row)[0]), scoring)(_answers(row))


def _restaurant(row: Row, scoring: Scoring) -> Score | Unscored:
    from pytest_ltm.evaluators._menu import Menu  # noqa: PLC0415
    from pytest_ltm.evaluators._restaurant import PlaysGuest  # noqa: PLC0415

    waiter: Sequence[str] = [str(text or "") for text in row["questions"]]
    menu = Menu.read(waiter[0])
    if not menu.dishes:
        return Unscored("the waiter's first message holds no menu")
    return PlaysGuest(menu, tuple(waiter), scoring=scoring)(_answers(row))


_SCORERS: Mapping[str, Callable[[Row, Scoring], Score | Unscored]] = {
    "ChapterBreak": _chapterbreak,
    "Colours": _colours,
    "Jokes": _jokes,
    "Locations Directions": _locations,
    "NameList": _names,
    "Prospective Memory": _prospective,
    "Restaurant": _restaurant,
    "SallyAnne": _sally_anne,
    "Shopping": _shopping,
    "Spy Meeting": _spy,
    "Trigger Response": _trigger,
}
