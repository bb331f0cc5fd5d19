"""The list of runs: each agent's newest result, and every run with its scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from msgspec import Struct
from starlette.responses import Response
from starlette.routing import Route

from pytest_ltm.api.journal import newest_first, read_run_file, span_place
from pytest_ltm.api.storage import LtmError, one_line
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_dollars, format_percent
from pytest_ltm.reports.agent_sentences import run_sentences
from pytest_ltm.reports.history import HistoricalScore, Past, read_past
from pytest_ltm.web import page_parts

if TYPE_CHECKING:
    from starlette.requests import Request


MOST_RUNS = 200
MOST_STANDINGS = 6
MOST_MARKS = 40
LINE_WIDTH = 300
LINE_HEIGHT = 60
LINE_MARGIN = 10


class AgentScores(Struct, frozen=True, kw_only=True):
    """One agent of a run, with its score at each memory span."""

    agent: str
    scores: tuple[str, ...]
    """Shortest span first, such as `43% at 2k`."""

    @property
    def text(self) -> str:
        """The agent followed by its scores."""
        return f"{self.agent} {', '.join(self.scores)}".rstrip()


class RunRow(Struct, frozen=True, kw_only=True):
    """One run in the list."""

    name: str
    began: str
    agents: tuple[AgentScores, ...]
    suite: str
    best: float
    """The highest share of full marks of any agent; -1 without a score."""
    gate: str
    cost_usd: float | None
    state: str
    has_results: bool
    has_journals: bool

    @property
    def cost(self) -> str:
        """The formatted cost; "" if no agent reports it."""
        if self.cost_usd is None:
            return ""
        return f"${format_dollars(self.cost_usd)}"

    @property
    def text(self) -> str:
        """All text of the row in lower case, for the search."""
        agents = " ".join(agent.text for agent in self.agents)
        cells = [self.name, self.began, agents, self.suite]
        cells += [self.gate, self.cost, self.state]
        return " ".join(cells).lower()


SORTS: Mapping[str, Callable[[RunRow], Any]] = {
    "Run": lambda row: row.name,
    "Started": lambda row: row.began,
    "Scores": lambda row: row.best,
    "Suite": lambda row: row.suite,
    "Gate": lambda row: row.gate,
    "Cost": lambda row: row.cost_usd or 0.0,
    "State": lambda row: row.state,
}
"""The sort keys of the sortable columns."""
CHOICES: Mapping[str, Callable[[RunRow], Sequence[str]]] = {
    "agent": lambda row: [agent.agent for agent in row.agents],
    "suite": lambda row: [row.suite],
    "state": lambda row: [row.state],
}
"""The filters of the list, each with the values that a row has for it."""


def runs_page(request: Request) -> Response:
    """List the runs, as the address filters and sorts them."""
    query = request.query_params
    words = query.get("find", "").lower().split()
    newest = newest_first(request.app.state.ltm_dir)
    pasts = [read_past(path) for path in newest[:MOST_RUNS]]
    rows = [_run_row(past) for past in pasts]
    chosen = {name: query[name] for name in CHOICES if query.get(name)}
    shown_rows = [row for row in rows if _is_wanted(row, words, chosen)]
    sort = query.get("sort", "")
    column = sort.removeprefix("-")
    if column in SORTS:
        shown_rows.sort(key=SORTS[column], reverse=sort.startswith("-"))
    kept_query = {"find": " ".join(words), **chosen} if words else chosen
    return page_parts.render_template(
        "runs.html.j2",
        title="Runs",
        runs=shown_rows,
        find=" ".join(words),
        choices={name: _values_of(rows, name) for name in CHOICES},
        chosen=chosen,
        sort=sort,
        sort_links={name: _sort_link(name, sort, kept_query) for name in SORTS},
        more=max(0, len(newest) - MOST_RUNS),
        standings=[] if words or chosen else _standings(pasts),
    )


def _run_row(past: Past) -> RunRow:
    """Return a run as a row of the list."""
    settings: Mapping[str, Any] = {}
    with suppress(LtmError):  # merged and imported runs have none
        settings = read_run_file(past.path).settings
    suite = settings.get("suite")
    costs = [score.cost_usd for score in past.standings if score.cost_usd is not None]
    shares = [score.share for score in past.standings if score.share is not None]
    return RunRow(
        name=past.name,
        began=past.at.strftime("%Y-%m-%d %H:%M") if past.at else "",
        agents=_agent_scores(past, settings),
        suite=suite if isinstance(suite, str) else "",
        best=max(shares, default=-1.0),
        gate=past.gate,
        cost_usd=sum(costs) if costs else None,
        state="running" if past.state == "in progress" else past.state,
        has_results=any(past.path.glob("*/results.json")),
        has_journals=any(past.path.glob("*/journal.jsonl")),
    )


def _agent_scores(past: Past, settings: Mapping[str, Any]) -> tuple[AgentScores, ...]:
    """Return each agent with its scores, or only the requested agents if there are no results."""
    if not past.standings:
        agents = settings.get("agents")
        labels = list(agents) if isinstance(agents, dict) else []
        return tuple(AgentScores(agent=label, scores=()) for label in labels)
    rows = []
    for agent, scores in group_by(past.standings, lambda score: score.agent).items():
        scored = [score for score in scores if score.share is not None]
        scored.sort(key=lambda score: score.span or 0)
        texts: list[str] = []
        for score in scored:
            place = span_place(score.span_label)
            texts.append(f"{_score_text(score)} {place}".rstrip())
        rows.append(AgentScores(agent=agent, scores=tuple(texts)))
    return tuple(rows)


def _is_wanted(row: RunRow, words: Sequence[str], chosen: Mapping[str, str]) -> bool:
    """Return whether a run matches all words and filters."""
    if not all(word in row.text for word in words):
        return False
    return all(value in CHOICES[name](row) for name, value in chosen.items())


def _values_of(rows: Sequence[RunRow], name: str) -> list[str]:
    """Return the values of a filter, sorted."""
    values = set(chain.from_iterable(map(CHOICES[name], rows)))
    return sorted(values - {""})


def _sort_link(column: str, sort: str, kept_query: Mapping[str, str]) -> str:
    """Return the address that sorts by a column, or reverses the order if it is sorted already."""
    direction = column if sort == f"-{column}" else f"-{column}"
    return "/?" + urlencode({**kept_query, "sort": direction})


def _score_text(score: HistoricalScore) -> str:
    """Return the share of full marks with its interval."""
    share = format_percent(score.share or 0.0)
    interval = score.interval
    if interval is None:
        return share
    low = format_percent(interval.low)
    high = format_percent(interval.high)
    return f"{share} [{low} to {high}]"


# --- The top of the page: each agent's newest score, its verdict, a line over runs, one
# sentence.


def _standings(pasts: Sequence[Past]) -> list[dict[str, Any]]:
    """Return the newest standing of each agent under test, or of all agents, newest first."""
    measured: list[tuple[Past, HistoricalScore]] = []
    for past in pasts:
        for score in past.standings if past.state == "finished" else ():
            if not score.unmeasured:
                measured.append((past, score))
    tested = [(past, score) for past, score in measured if score.own] or measured
    by_agent = group_by(tested, lambda pair: pair[1].agent)
    agents = list(by_agent.items())[:MOST_STANDINGS]
    return [_standing(agent, history) for agent, history in agents]


def _standing(
    agent: str, history: Sequence[tuple[Past, HistoricalScore]]
) -> dict[str, Any]:
    """Return an agent's standing; `history` holds its scores, newest run first."""
    newest = history[0][0]
    scores = [score for past, score in history if past is newest]
    score = max(scores, key=lambda score: score.span or 0)
    line = [pair for pair in history if pair[1].span_label == score.span_label]
    oldest_first = line[:MOST_MARKS][::-1]
    return {
        "agent": agent,
        "place": span_place(score.span_label),
        "score": _score_text(score),
        "run": newest.name,
        "gate": newest.gate,
        "sentence": _agent_sentence(agent, newest),
        "marks": _line_marks(oldest_first),
        "width": LINE_WIDTH,
        "height": LINE_HEIGHT,
    }


def _agent_sentence(agent: str, past: Past) -> str:
    """Return the sentence about an agent in its run; "" if the results are gone."""
    try:
        run = read_run(past.path)
    except LtmError:  # the summary may outlive the results
        return ""
    head = f"{one_line(agent)}: "
    columns = result_columns(run.result)
    for sentence in run_sentences(columns, run.summary.get("comparison")):
        if sentence.startswith(head):
            return sentence.removeprefix(head)
    return ""


def _line_marks(points: Sequence[tuple[Past, HistoricalScore]]) -> list[dict[str, Any]]:
    """Return the positions of a line's marks; a mark with another plan starts a new line."""
    step = (LINE_WIDTH - 2 * LINE_MARGIN) / max(len(points) - 1, 1)
    height = LINE_HEIGHT - 2 * LINE_MARGIN
    marks = []
    plan_before = None
    for number, (past, score) in enumerate(points):
        commit = f", commit {past.source.commit[:7]}" if past.source else ""
        mark = {
            "x": round(LINE_MARGIN + step * number, 1),
            "y": round(LINE_MARGIN + height * (1 - (score.share or 0.0)), 1),
            "joined": score.plan == plan_before,
            "title": f"{past.name}{commit}: {_score_text(score)}",
        }
        marks.append(mark)
        plan_before = score.plan
    return marks


ROUTES = [Route("/", runs_page)]
