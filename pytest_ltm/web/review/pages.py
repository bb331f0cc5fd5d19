"""Pages of the review: the queue of a run, one answer at a time, what reviewers found, labelled rows to download."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode

from msgspec import Struct, structs
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pytest_ltm._core.journal import amendments
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.storage.errors import ConfigurationError, LtmError
from pytest_ltm.figures.text import (
    format_percent,
    pluralize,
    score_text,
    shorten_text,
    verdict_text,
)
from pytest_ltm.gate.run_loading import find_side, read_run
from pytest_ltm.reports.summary import refresh_summary
from pytest_ltm.web import page_parts
from pytest_ltm.web.review import decisions
from pytest_ltm.web.review.decisions import (
    Opinions,
    new_decision,
    record_decision,
    reviewer_name,
)
from pytest_ltm.web.review.findings import (
    credit_grade,
    estimate_error_rates,
    judge_rows,
    reviewer_agreements,
    verdict_rows,
)
from pytest_ltm.web.review.queue import KINDS, MEANING, Case, Cases, read_cases

if TYPE_CHECKING:
    from starlette.requests import Request


Which = Literal["queue", "sample", "disputes"]
SAMPLE = 100
# Characters of a text that are shown: of a longer one the beginning, and what decided.
_LONGEST = 200_000


class ReviewAddress(Struct, frozen=True, kw_only=True):
    """Where a reviewer is: who, in which list of which run. It is the query of every address."""

    run: str
    reviewer: str = ""
    which: Which = "queue"
    kind: str = ""
    """Of the queue, one kind only; "": all."""
    sample: int = SAMPLE
    compare: str = ""

    @classmethod
    def parse_request(cls, request: Request, given: Mapping[str, Any]) -> ReviewAddress:
        """Return where a request is; ConfigurationError for what cannot be."""
        which, sample, kind = (
            given.get("which", "queue"),
            str(given.get("sample", SAMPLE)),
            str(given.get("kind", "")),
        )
        if which not in ("queue", "sample", "disputes") or (kind and kind not in KINDS):
            raise ConfigurationError(f"there is no list {which!r} of {kind!r}")
        # Of a longer number the first digits are enough: Python refuses to read
        # thousands of them.
        if not (sample.isdecimal() and 0 < int(sample[:7]) <= 100_000):
            raise ConfigurationError(f"{sample!r} is not the size of a sample")
        reviewer, compare = (
            str(given.get(name, "")).strip() for name in ("reviewer", "compare")
        )
        if compare.startswith(".") or set(compare) & set("/\\"):
            raise ConfigurationError(
                f"{compare!r} is neither a baseline's name nor a run here"
            )
        run, reviewer = request.path_params["run"], reviewer and reviewer_name(reviewer)
        return cls(
            run=run,
            reviewer=reviewer,
            which=which,
            kind=kind,
            sample=int(sample),
            compare=compare,
        )

    def query(self, **changes: object) -> str:
        """Return the address's query, with changes."""
        entries = {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name != "run"
        } | changes
        return urlencode(
            {name: value for name, value in entries.items() if value not in ("", None)}
        )


# --- What is read for a page. Reading 10,000 verdicts takes most of a second, so the
# last runs are kept.

_KEPT: dict[tuple[object, ...], Cases] = {}
_READING = threading.Lock()


def _run_under_review(request: Request, place: ReviewAddress) -> tuple[Path, Cases]:
    """Return a run's folder and examples; read again if a result has changed. LtmError if they cannot be read."""
    path, state = page_parts.run_folder(request, place.run), request.app.state
    files = [
        each
        for name in ("results.json", "plan.json")
        for each in sorted(path.glob(f"*/{name}"))
    ]
    stats = [
        (str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in files
    ]
    key = (str(path), place.compare, *stats)
    # One at a time: of two tabs that open at once the second finds what the first has
    # read.
    with _READING:
        if key not in _KEPT:
            side = (
                find_side(place.compare, state.baselines, state.ltm_dir)[0]
                if place.compare
                else None
            )
            cases = read_cases(path, side)
            while len(_KEPT) >= 4:
                _KEPT.pop(next(iter(_KEPT)))
            _KEPT[key] = cases
        return path, _KEPT[key]


def listed_cases(
    cases: Cases, opinions: Opinions, place: ReviewAddress
) -> Sequence[Case]:
    """Return the list that a place means, whatever has been decided of it."""
    if place.which == "sample":
        return [
            case for case in cases.drawn_cases[: place.sample] if case.row.scored
        ]  # no verdict, no error
    if place.which == "disputes":
        return [
            cases.by_nodeid[nodeid]
            for nodeid in opinions.disputed_answers()
            if nodeid in cases.by_nodeid
        ]
    return [
        case
        for case in cases.queue
        if not place.kind or any(why.kind == place.kind for why in case.why)
    ]


def undecided_cases(
    cases: Iterable[Case], opinions: Opinions, place: ReviewAddress
) -> list[Case]:
    """Return those of a list that wait for this reviewer: in a dispute, all."""
    if place.which == "disputes":
        return list(cases)
    return [
        case
        for case in cases
        if place.reviewer not in opinions.opinions_on(case.row.nodeid)
    ]


# --- Pages.


def overview_page(request: Request) -> Response:
    """Show what can be reviewed in a run, and what has been found."""
    place = ReviewAddress.parse_request(request, request.query_params)
    path, cases = _run_under_review(request, place)
    opinions = Opinions(decisions.read_decisions(path))

    def left(held: Iterable[Case]) -> int:
        return len(undecided_cases(held, opinions, place))

    drawn = estimate_error_rates(cases.drawn_cases[: place.sample], opinions)
    sample = listed_cases(cases, opinions, structs.replace(place, which="sample"))
    reviewers = []
    for name in opinions.reviewers:
        said = opinions.opinions_by(name).values()
        skipped = sum(one.credit is None for one in said)
        reviewers.append(
            (
                name,
                pluralize(len(said) - skipped, "answer")
                + f", {skipped} skipped" * bool(skipped),
            )
        )
    return page_parts.render_template(
        request,
        "review.html.j2",
        title=f"Review of {cases.run_id}",
        place=place,
        cases=cases,
        kinds=[
            {
                "kind": kind,
                "meaning": MEANING[kind],
                "count": len(held),
                "left": left(held),
            }
            for kind in KINDS
            if (
                held := listed_cases(
                    cases, opinions, ReviewAddress(run=place.run, kind=kind)
                )
            )
        ],
        left=left(cases.queue),
        left_in_sample=left(sample),
        disputes=len(
            listed_cases(
                cases, opinions, ReviewAddress(run=place.run, which="disputes")
            )
        ),
        reviewers=reviewers,
        pairs=[_pair_row(pair) for pair in reviewer_agreements(opinions)],
        drawn=drawn,
        rate=format_percent(drawn.rate),
        interval=f"{format_percent(drawn.interval.low)} to {format_percent(drawn.interval.high)}",
    )


def _pair_row(pair: Any) -> dict[str, str]:
    kappa = pair.kappa
    if kappa.value is None or kappa.interval is None:
        text = f"none: {kappa.reason}"
    else:
        text = (
            f"{kappa.value:.2f} ({kappa.interval.low:.2f} to {kappa.interval.high:.2f})"
        )
    return {
        "who": " and ".join(pair.reviewers),
        "kappa": text,
        "answers": f"{kappa.cases:,}",
    }


def look_page(request: Request) -> Response:
    """Show the next answer that waits for the reviewer, or the one that is named."""
    place = ReviewAddress.parse_request(request, request.query_params)
    if not place.reviewer:
        return RedirectResponse(f"/review/{place.run}?{place.query()}", 303)
    path, cases = _run_under_review(request, place)
    review_decisions = decisions.read_decisions(path)
    opinions = Opinions(review_decisions)
    result = listed_cases(cases, opinions, place)
    left = undecided_cases(result, opinions, place)
    item = request.query_params.get("item", "")
    if item and item not in cases.by_nodeid:
        raise ConfigurationError(f"run {place.run} has no verdict {item!r}")
    case = cases.by_nodeid[item] if item else left[0] if left else None
    mine = review_decisions.get(place.reviewer, [])
    return page_parts.render_template(
        request,
        "review_look.html.j2",
        title="Review",
        place=place,
        case=None if case is None else _case_shown(case, place, opinions, mine),
        left=len(left),
        of=len(result),
        before=mine[-1].nodeid if mine else "",
        notice=request.query_params.get("notice", "") == "twice",
    )


def _case_shown(
    case: Case,
    place: ReviewAddress,
    opinions: Opinions,
    mine: list[decisions.ReviewDecision],
) -> dict[str, Any]:
    """Return what a reviewer sees of an example; what others decided, only in a dispute."""
    row, nodeid = case.row, case.row.nodeid
    others = (
        opinions.opinions_on(nodeid)
        if place.which == "disputes" and opinions.is_disputed(nodeid)
        else {}
    )
    said: list[tuple[str, str]] = []
    # Where it asks no question, its own exchanges are all there is to judge by.
    with suppress(LtmError):
        if not row.questions:
            record = ConversationRecord.read_record(case.folder / "journal.jsonl")
            said = [
                (each.message, each.reply)
                for each in record.transcript
                if each.by == row.id
            ]
    return {
        "nodeid": nodeid,
        "title": row.id,
        "where": f"{row.agent}, {row.span_label}, trial {row.trial}",
        "why": [] if place.which == "sample" else case.why,
        "questions": [
            {
                "text": question.text,
                "answer": mark_evidence(question.answer, row.evidence),
                "needles": question.needles,
            }
            for question in row.questions
        ],
        "said": said,
        "expected": shorten_text(case.expected, _LONGEST),
        "evidence": row.evidence,
        "score": verdict_text(row, "none"),
        "reason": row.reason,
        "rule": row.rule,
        "checks": row.checks,
        "mine": _decision_word(opinions.opinions_on(nodeid).get(place.reviewer)),
        "others": [
            (name, _decision_word(one), one.reason) for name, one in others.items()
        ],
        "seen": _times_decided(mine, nodeid),
    }


def _decision_word(review_decision: decisions.ReviewDecision | None) -> str:
    """Return a decision in a word; "" where there is none."""
    if review_decision is None:
        return ""
    credit = review_decision.credit
    return (
        "skipped"
        if credit is None
        else f"{credit_grade(credit)} ({score_text(credit)})"
    )


def _times_decided(
    review_decisions: Iterable[decisions.ReviewDecision], nodeid: str
) -> int:
    """Return how often an answer was decided: a page that knows of fewer is out of date."""
    return sum(one.nodeid == nodeid for one in review_decisions)


def mark_evidence(text: str, evidence: str) -> list[tuple[bool, str]]:
    """Return a text in parts, true for the one that decided; of a very long text its beginning and that."""
    at = text.find(evidence) if evidence and evidence != text else -1
    if at < 0:
        return [(False, text[:_LONGEST] + " …" * (len(text) > _LONGEST))]
    end = at + len(evidence)
    before, after = text[:at][: _LONGEST // 2], text[end:][: _LONGEST // 2]
    parts = [
        (False, before + " … " * (len(before) < at)),
        (True, evidence[:_LONGEST]),
        (False, after),
    ]
    return [part for part in parts if part[1]]


async def decide_page(request: Request) -> Response:
    """Write a decision down and go on to the next answer."""
    return await run_in_threadpool(
        _save_decision, request, await page_parts.posted_form(request)
    )


def _save_decision(request: Request, given: Mapping[str, str]) -> Response:
    place = ReviewAddress.parse_request(request, given)
    path, cases = _run_under_review(request, place)
    case = cases.by_nodeid.get(given.get("nodeid", ""))
    if case is None or not place.reviewer:
        raise ConfigurationError(
            "this answer is not part of the run, or nobody says who reviews it"
        )
    before = decisions.read_decisions(path)
    nodeid = case.row.nodeid
    notice = ""
    if given.get("seen") != str(_times_decided(before.get(place.reviewer, ()), nodeid)):
        notice = "twice"
    else:
        settles = place.which == "disputes" and Opinions(before).is_disputed(nodeid)
        review_decision = new_decision(
            nodeid, credit_of(given), given.get("reason", ""), settles=settles
        )
        kept = amendments.read_amendments(path)
        record_decision(path, case.row, place.reviewer, review_decision)
        if amendments.read_amendments(path) != kept:
            task = BackgroundTask(_refresh_run, path)
            return RedirectResponse(
                f"/review/{place.run}/look?{place.query()}", 303, background=task
            )
    return RedirectResponse(
        f"/review/{place.run}/look?{place.query(notice=notice)}", 303
    )


def credit_of(given: Mapping[str, str]) -> float | None:
    """Return the credit that a form gives, None for a skip; ConfigurationError for anything else."""
    grades, grade = {"right": 1.0, "wrong": 0.0, "skip": None}, given.get("grade", "")
    if grade in grades:
        return grades[grade]
    if grade != "partly":
        raise ConfigurationError("right, wrong, partly or skip?")
    credit = -1.0
    with suppress(ValueError):
        credit = float(given.get("credit") or "0.5")
    # Not `credit < 0 or credit > 1`: "nan" is a number, too.
    if not 0 <= credit <= 1:
        raise ConfigurationError(
            f"a credit lies between 0 and 1, not {given.get('credit')!r}"
        )
    return credit


_REFRESHING = threading.Lock()


def _refresh_run(path: Path) -> None:
    """Update the run's summary and verdicts with what was amended."""
    with _REFRESHING:
        refresh_summary(read_run(path))


def send_rows(
    request: Request, *, name: str, made: Callable[[Cases, Opinions], str]
) -> Response:
    """Send reviewed answers for `verdict-check` or `judge-check`."""
    place = ReviewAddress.parse_request(request, request.query_params)
    # Labels are what people say of answers: nothing that the run is compared with
    # belongs in them.
    path, cases = _run_under_review(request, structs.replace(place, compare=""))
    text = made(cases, Opinions(decisions.read_decisions(path)))
    headers = {
        "Content-Disposition": f'attachment; filename="{quote(cases.run_id)}.{name}"'
    }
    return Response(text, media_type="text/plain", headers=headers)


_ROWS: Mapping[str, Callable[[Cases, Opinions], str]] = {
    "rows.jsonl": verdict_rows,
    "judge.yml": lambda cases, opinions: judge_rows(cases, opinions)[0],
}
ROUTES = [
    Route("/review/{run}", overview_page),
    Route("/review/{run}/look", look_page),
    Route("/review/{run}/decide", decide_page, methods=["POST"]),
    *(
        Route(f"/review/{{run}}/{name}", partial(send_rows, name=name, made=made))
        for name, made in _ROWS.items()
    ),
]
