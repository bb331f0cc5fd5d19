"""Published results: which evaluator, with which answers, scores a row of the LTM Benchmark's result files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm import evaluators
from pytest_ltm._model.score import Score, Unscored
from pytest_ltm._text.patterns import later

if TYPE_CHECKING:
    from pytest_ltm._model.score import Evaluator, Scoring


Row: TypeAlias = Mapping[str, Any]
Group: TypeAlias = tuple[str, ...]

_LEG = later(r"From ([^,\n]+), go (\d+(?:\.\d+)?) ?km (\w+) to ([^.\n]+)\.", re.IGNORECASE)
_SAID = later(r"(Test|Agent) \([^)]*\): ")


class _Unreadable(ValueError):
    """A row that has the known fields, but not what a rule needs."""


def score_row(row: Row, scoring: Scoring, spy_groups: Iterable[Group] = ()) -> Score | Unscored:
    """Return the verdict of our rules on a published result; Unscored where it cannot be read.

    `spy_groups` are the keyword groups of all messages of Spy Meeting. Never raises for a row that is JSON.
    """
    dataset = row.get("dataset")
    try:
        if dataset == "Prospective Memory":
            return _prospective(row, scoring)
        if dataset == "Spy Meeting":
            evaluator: Evaluator = _spy(_expected(row), scoring, spy_groups)
        elif made := _EVALUATORS.get(str(dataset)):
            evaluator = made(row, scoring)
        else:
            return Unscored(f"there are no rules for {dataset!r}")
        return evaluator(["" if answer is None else str(answer) for answer in row["responses"] or []])
    except _Unreadable as error:
        return Unscored(str(error))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return Unscored(f"the row is not in a form we know ({type(error).__name__}: {error})")


def spy_groups(row: Row) -> list[Group]:
    """Return the keyword groups that a row of Spy Meeting expects, [] for any other row."""
    if row.get("dataset") != "Spy Meeting":
        return []
    found = [*(row.get("expected_responses") or []), *(row.get("definition_expected") or [])]
    return [tuple(map(str, group)) for group in found if isinstance(group, list)]


def _expected(row: Row) -> Any:
    by_definition = (row.get("orig_eval") or {}).get("expected_source") == "definition"
    return (row.get("definition_expected") if by_definition else None) or row["expected_responses"]


def _jokes(row: Row, scoring: Scoring) -> Evaluator:
    joke = str(_expected(row)[0])
    return evaluators.RecallsJoke(joke, tuple(told for told in row["script"] if told != joke), scoring=scoring)


def _directions(row: Row, scoring: Scoring) -> Evaluator:
    legs = _LEG.findall(str(_expected(row)[0]))
    if not legs:
        raise _Unreadable("the true directions cannot be read")
    route = tuple((float(km), way.lower(), place) for _, km, way, place in legs)
    return evaluators.LeadsTo(legs[0][0], route, scoring)


def _restaurant(row: Row, scoring: Scoring) -> Evaluator:
    waiter = tuple(str(text or "") for text in row["questions"])
    menu = evaluators.Menu.read(waiter[0])
    if not menu.dishes:
        raise _Unreadable("the waiter's first message holds no menu")
    return evaluators.PlaysGuest(menu, waiter, scoring=scoring)


def _spy(expected: Any, scoring: Scoring, groups: Iterable[Group]) -> Evaluator:
    wanted = tuple(tuple(map(str, group)) for group in expected)
    ours = {keyword for group in wanted for keyword in group}
    others = tuple(sorted({group for group in groups if not ours & set(group)}))
    return evaluators.DecodesMessages(wanted, others, scoring)


def _trigger(row: Row, scoring: Scoring) -> Evaluator:
    expected = list(map(str, _expected(row)))
    sentence = re.sub(r"^say: ?['\"](.*)['\"]$", r"\1", expected[0])
    return evaluators.SaysAtEachTrigger(sentence, max(len(expected), len(row["questions"])), scoring)


_EVALUATORS: Mapping[str, Callable[[Row, Scoring], Evaluator]] = {
    "ChapterBreak": lambda row, scoring: evaluators.PicksOption(int(_expected(row)[0]), scoring),
    "Colours": lambda row, scoring: evaluators.NamesColour(str(_expected(row)[0]), scoring),
    "Jokes": _jokes,
    "Locations Directions": _directions,
    "NameList": lambda row, scoring: evaluators.ListsNames(tuple(map(str, _expected(row))), scoring),
    "Restaurant": _restaurant,
    "SallyAnne": lambda row, scoring: evaluators.AnswersWord(str(_expected(row)[0]), scoring=scoring),
    "Shopping": lambda row, scoring: evaluators.ListsItems(
        tuple((str(item), int(n)) for item, n in _expected(row)), scoring
    ),
    "Trigger Response": _trigger,
}


def _prospective(row: Row, scoring: Scoring) -> Score | Unscored:
    expected = _expected(row)[0]
    if not isinstance(expected, list):
        raise _Unreadable("quote and number are told in prose in this version")
    quote, _, nth = expected
    verdict = evaluators.QuoteAtReply(str(quote), int(nth), scoring).verdict(_later_replies(row))
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
