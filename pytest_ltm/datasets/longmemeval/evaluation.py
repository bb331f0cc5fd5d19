"""The verdict on one answer to a LongMemEval question, additional metrics, and aggregates over all questions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from pytest_ltm.api.model import UNDECIDED, Score, Unscored, plain_words
from pytest_ltm.api.scenarios import (
    PROMPTS,
    Definition,
    Judge,
    JudgeDecision,
    JudgePrompt,
    ask_judge,
)
from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.longmemeval.record import is_abstention
from pytest_ltm.datasets.prompt_file import limited_answer, verbatim_prompt
from pytest_ltm.language.clauses import (
    normalize_text,
    phrase_positions,
    split_sentences,
)
from pytest_ltm.language.dates import dated_stretches
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.recital import refuses_answer
from pytest_ltm.language.rulings.assertion import settle_ruling
from pytest_ltm.language.rulings.gold import (
    HEDGED,
    OTHER_VALUE,
    Gold,
    Ruling,
    amount_ruling,
    open_if_unread,
    proven_ruling,
    read_gold,
    restates_amount,
    ruling_of_value,
    time_of,
    time_ruling,
)
from pytest_ltm.language.rulings.rules import (
    abstention_ruling,
    choice_options,
    is_left_behind,
    options_of,
    order_ruling,
    phrase_ruling,
    yes_or_no_ruling,
)
from pytest_ltm.language.rulings.stance import (
    DOUBTFUL,
    FINAL,
    OVER,
    SEVERAL,
    SHORT,
    concluding_part,
    doubt_of,
    why_rejected,
)
from pytest_ltm.language.speech import speech
from pytest_ltm.language.talk import Topic
from pytest_ltm.language.values import restate_value, state_same_values
from pytest_ltm.language.values.quantities import find_quantities

_BY_TYPE = {
    "temporal-reasoning": "longmemeval-temporal",
    "knowledge-update": "longmemeval-update",
    "single-session-preference": "longmemeval-preference",
}


def prompt_for(question_id: str, question_type: str) -> JudgePrompt:
    """Return the judging rule of a question: the id's suffix takes precedence over the type."""
    if is_abstention(question_id):
        return PROMPTS["longmemeval-abstention"]
    return PROMPTS[_BY_TYPE.get(question_type, "longmemeval-answer")]


# --- Whether an answer is right, by rules and without a model: yes, no, or undecided.

_DAYS_ASKED = re.compile(r"\bhow many days\b", re.IGNORECASE)
_UNITS_ASKED = re.compile(
    r"\bhow (?:many (?:hours|weeks|months|years)|long)\b", re.IGNORECASE
)
PREFERENCE = Ruling(
    "unscored", "a preference is judged by a rubric, which needs a judge"
)
ONE_OFF = Ruling("unscored", "is one off, and not of days")
# The most words around a repetition of the expected answer.
_AROUND = 12


def rule_on_hypothesis(
    *,
    question_id: str,
    question_type: str,
    question: str,
    answer: object,
    hypothesis: str,
) -> Ruling:
    """Return the rules' ruling on a hypothesis; the id's suffix takes precedence in deciding on abstention.

    An expected answer that is missing (None), or begins with a refusal, means abstention as well.
    """
    gold = "" if answer is None else str(answer)
    spoken = speech(hypothesis)
    said = normalize(spoken)
    opening = "".join(split_sentences(gold)[:1])
    is_unknown = answer is None or refuses_answer(opening)
    if is_abstention(question_id) or is_unknown:
        return proven_ruling(abstention_ruling(said, question, gold), gold, said)
    if question_type == "single-session-preference":
        return PREFERENCE
    said = normalize(spoken, topic=Topic(question, gold))
    by_value = ruling_of_value(gold, said, question)
    # for times, one unit off is accepted
    forgiving = question_type == "temporal-reasoning" and by_value == OTHER_VALUE
    if by_value is not None and not forgiving:
        return by_value
    ruling = _rule_by_type(
        question_type, question, gold, restate_value(said, gold, question)
    )
    return open_if_unread(proven_ruling(ruling, gold, said), gold, said, question)


def _rule_by_type(
    question_type: str, question: str, answer: str, hypothesis: str
) -> Ruling:
    if not hypothesis:
        return Ruling("no", "says nothing")
    gold = read_gold(answer, question)
    if len(hypothesis) <= SHORT:
        reason = why_rejected((gold.whole, *gold.texts), question, hypothesis)
    else:
        reason = ""
    if reason == SEVERAL and restates_amount(gold, hypothesis):
        return Ruling("unscored", reason)
    if reason in FINAL or (reason in DOUBTFUL and gold.kind != "amount"):
        replaced = reason == OVER and is_left_behind(
            gold.texts[0], question, hypothesis
        )
        return Ruling("no" if replaced or reason in FINAL else "unscored", reason)
    if plain_words(hypothesis) == plain_words(gold.whole) and state_same_values(
        hypothesis, gold.whole
    ):
        return Ruling("yes", "repeats the expected answer")
    if _repeats_gold(gold, question, hypothesis):
        ruling = Ruling("yes", "repeats the expected answer")
    else:
        ruling = _by_kind(gold, question_type, question, hypothesis)
    return settle_ruling(ruling, gold, question, hypothesis)


def _by_kind(gold: Gold, question_type: str, question: str, hypothesis: str) -> Ruling:
    end = concluding_part(hypothesis)
    refused = refuses_answer(end)
    if (expected := time_of(gold.texts[0])) and dated_stretches(end) and not refused:
        return time_ruling(expected, gold.whole, end)
    match gold.kind:
        case "yes or no":
            return yes_or_no_ruling(gold, question, end, refused=refused)
        case "amount":
            # for times, one day off is accepted, as in the published prompt; judges
            # disagree on a week or month
            timed = question_type == "temporal-reasoning"
            days = timed and _DAYS_ASKED.search(question) is not None
            ruling = amount_ruling(gold, question, end, forgiving=days)
            if timed and ruling.verdict == "no" and _UNITS_ASKED.search(question):
                mild = amount_ruling(gold, question, end, forgiving=True)
                return ONE_OFF if mild.verdict == "yes" else ruling
            return ruling
        case "order":
            return order_ruling(gold, end, refused=refused)
        case "phrase":
            return phrase_ruling(gold, question, hypothesis, end, refused=refused)


def _repeats_gold(gold: Gold, question: str, reply: str) -> bool:
    """Return whether the answer repeats the expected one verbatim, alone or in a short sentence."""
    expected = plain_words(gold.whole)
    text = normalize_text(reply)
    if plain_words(reply) == expected:
        return bool(expected) and state_same_values(reply, gold.whole)
    spots = phrase_positions(text, gold.whole)
    around = reply.replace(gold.whole, "")
    plain_amount = gold.kind == "amount" and gold.whole == gold.texts[0]
    if (
        plain_amount
        or options_of(question)
        or choice_options(gold, question)
        or len(plain_words(reply)) - len(expected) > _AROUND
        or len(spots) != 1
    ):
        return False
    if HEDGED.search(around) or find_quantities(around) or refuses_answer(around):
        return False
    return len(expected) > _AROUND or not doubt_of([gold.whole], question, reply)


RULE = "longmemeval-rules/1"
_SHOWN = 300


def verdict_of(ruling: Ruling) -> Score | Unscored:
    """Return a ruling as the verdict of an example; an unproven one is undecided."""
    if ruling.verdict == "unscored":
        return Unscored(f"no rule can tell: {ruling.reason}", RULE, cause=UNDECIDED)
    return Score(float(ruling.verdict == "yes"), ruling.reason, rule=RULE)


def ask_for_verdict(
    judge: Judge, prompt: JudgePrompt, **parts: str
) -> Score | Unscored:
    """Return a judge's decision as the verdict of an example; the score's rule names the prompt."""
    decision = ask_judge(judge, prompt, **parts)
    if isinstance(decision, JudgeDecision):
        return Score(
            float(decision.grade == "yes"), str(decision), rule=f"judge {prompt.id}"
        )
    return decision


class LongMemEvalAnswer:
    """Scores the answer to a definition's question: 1, 0, or undecided.

    Rules decide what they can prove, and a judge, if there is one, the rest; or the judge decides everything, if the
    definition says so. The verdict's rule names which of them decided. A preference needs a judge.
    """

    def __init__(self, definition: Definition, judge: Judge | None = None) -> None:
        self._gold = str(definition.expected)
        self._facts = definition.parameters
        self._judge = judge or None
        self.notes: tuple[str, ...] = tuple(self._facts.get("notes", ()))
        """Warnings about the question, a sentence each."""

    def __call__(self, answers: Sequence[str]) -> Score | Unscored:
        """Return the verdict on the last answer."""
        question = self._facts["question"]
        answer = limited_answer(self._facts, answers[-1])
        result: Score | Unscored = Unscored("", RULE)
        if self._judge is None or self._facts.get("judge") != "all":
            asked = {
                "question_id": self._facts["id"],
                "question_type": self._facts["type"],
            }
            ruling = rule_on_hypothesis(
                **asked, question=question, answer=self._gold, hypothesis=answer
            )
            # a preference is out of reach, not undecided: it gets no bounds, as only a
            # judge can decide it
            if ruling == PREFERENCE:
                result = Unscored(ruling.reason, RULE)
            else:
                result = verdict_of(ruling)
        if isinstance(result, Unscored) and self._judge is not None:
            ours = prompt_for(self._facts["id"], self._facts["type"])
            prompt = verbatim_prompt(self._facts) or ours
            result = ask_for_verdict(
                self._judge,
                prompt,
                question=question,
                reference=self._gold,
                answer=answer,
            )
        return replace(result, evidence=answer[:_SHOWN])

    def metrics(
        self, verdict: Score | Unscored, retrieved: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Return metrics in addition to the score, by name.

        `right`: the verdict again, so that its mean over all questions is shown with those of the types; missing if
        undecided, which no published figure counts as wrong. `abstention`: the same for questions that cannot be
        answered. For `retrieved` ids, if there is evidence to find: recall_all and ndcg_any at 5 and 10 of sessions and
        of turns, as published.
        """
        values = {}
        if isinstance(verdict, Score):
            values["right"] = verdict.value
            if is_abstention(self._facts["id"]):
                values["abstention"] = verdict.value
        if retrieved is not None and self._facts.get("wanted_turns"):
            every = retrieval_figures(
                retrieved,
                self._facts["wanted_turns"],
                self._facts.get("user_turns", {}),
            )
            values |= {name: every[name] for name in TABLED_METRICS}
        return values


# --- Aggregates of LongMemEval verdicts, as in the published script
# (`print_qa_metrics`).


@dataclass(frozen=True, slots=True)
class QuestionVerdict:
    """The verdict on one question."""

    question_id: str
    type: str
    right: bool | None
    """None if it could not be judged."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of right answers among the judged ones."""

    right: int
    judged: int
    unscored: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None if nothing was judged."""
        return self.right / self.judged if self.judged else None

    def as_json(self) -> dict[str, Any]:
        """Return the accuracy as JSON values."""
        return {
            "accuracy": self.value,
            "right": self.right,
            "judged": self.judged,
            "unscored": self.unscored,
        }


@dataclass(frozen=True, slots=True)
class Aggregates:
    """All aggregates of one set of verdicts."""

    by_type: dict[str, Accuracy]
    overall: Accuracy
    abstention: Accuracy

    @property
    def task_averaged(self) -> float | None:
        """The mean of the types' accuracies; None if nothing was judged."""
        values = [
            result.value for result in self.by_type.values() if result.value is not None
        ]
        return sum(values) / len(values) if values else None


def aggregate_verdicts(rows: Sequence[QuestionVerdict]) -> Aggregates:
    """Return the aggregates, with types in the paper's order."""
    types = [name for name in TYPES if any(row.type == name for row in rows)]
    return Aggregates(
        by_type={
            name: _accuracy_of(row for row in rows if row.type == name)
            for name in types
        },
        overall=_accuracy_of(rows),
        abstention=_accuracy_of(row for row in rows if is_abstention(row.question_id)),
    )


def _accuracy_of(rows: Iterable[QuestionVerdict]) -> Accuracy:
    verdicts = [row.right for row in rows]
    unscored = verdicts.count(None)
    return Accuracy(verdicts.count(True), len(verdicts) - unscored, unscored)


# --- LongMemEval's retrieval metrics, exactly as the published evaluation defines them,
# and the standard nDCG beside them (Wu et al., ICLR 2025, section 5.1). Its discount is
# unusual: the first two ranks count in full, and from the second on rank i is divided
# by log2(i); nothing to find makes recall_all 1 and the other two 0.

DEPTHS = (1, 3, 5, 10, 30, 50)
"""The published values of k."""


@dataclass(frozen=True, slots=True)
class RetrievalMetrics:
    """Metrics of the k best entries of a ranking, each 0 to 1."""

    recall_any: float
    """1 if at least one is found."""
    recall_all: float
    """1 if all are found, or if there is nothing to find."""
    ndcg_any: float
    """With the published discount."""
    ndcg: float
    """With the standard discount, log2(rank + 1)."""


def retrieval_scores(
    ranked: Sequence[str], corpus: Sequence[str], gold: Collection[str], k: int
) -> RetrievalMetrics:
    """Return the metrics of the `k` best.

    `ranked`: ids, best first; `corpus`: the ids of all entries (an id may repeat); `gold`: the ids that should be
    found.
    """
    best = set(ranked[:k])
    hits = [doc in gold for doc in ranked[:k]]
    ideal = sorted((doc in gold for doc in corpus), reverse=True)[:k]
    return RetrievalMetrics(
        recall_any=float(any(doc in best for doc in gold)),
        recall_all=float(all(doc in best for doc in gold)),
        ndcg_any=_gain_share(
            hits, ideal, lambda rank: 1.0 if rank == 1 else math.log2(rank)
        ),
        ndcg=_gain_share(hits, ideal, lambda rank: math.log2(rank + 1)),
    )


def turns_as_sessions(
    ranked: Sequence[str], corpus: Sequence[str], gold: Collection[str], k: int
) -> RetrievalMetrics:
    """Return the metrics over sessions for a ranking of turns: k grows until it covers k sessions.

    A turn's id is its session's followed by `_<turn>`.
    """
    sessions = [session_of(turn) for turn in ranked]
    depth = k
    while depth <= len(sessions) and len(set(sessions[:depth])) < k:
        depth += 1
    return retrieval_scores(
        sessions,
        [session_of(turn) for turn in corpus],
        set(map(session_of, gold)),
        depth,
    )


def session_of(turn: str) -> str:
    """Return the session id of a turn."""
    return turn.rpartition("_")[0] or turn


def _gain_share(
    hits: Sequence[bool], ideal: Sequence[bool], discount: Callable[[int], float]
) -> float:
    result, best = (
        sum(hit / discount(rank) for rank, hit in enumerate(each, start=1))
        for each in (hits, ideal)
    )
    return result / best if best else 0.0


# --- From an agent's reported retrieval to the published retrieval metrics.

TABLED_METRICS = tuple(
    f"{level}_{name}_{k}"
    for level, k, name in product(
        ("session", "turn"), (5, 10), ("recall_all", "ndcg_any")
    )
)
"""The metrics in the paper's tables (Wu et al., 2025, section 5), reported next to each score."""
UNMARKED = "unmarked:"
"""Prefix of ids of turns without the answer in sessions that contain it."""


def retrieval_figures(
    retrieved: Iterable[str],
    wanted: Sequence[str],
    user_turns: Mapping[str, Sequence[int]],
) -> dict[str, float]:
    """Return the metrics at all published depths by name, such as `turn_recall_any_5`; each 0 to 1.

    `retrieved`: the agent's report, best first: ids `<session>_<turn>` of the history; anything else counts as wrong.
    `wanted`: the user's turns with the answer; other turns of their sessions count as those of a session without it, as
    published. Only the user's turns are ranked, as published; `user_turns` has their numbers for sessions where these
    are not the odd ones.
    """
    gold = frozenset(wanted)
    sessions = frozenset(map(session_of, wanted))
    users = []
    for name in dict.fromkeys(retrieved):
        session, _, number = name.rpartition("_")
        # an unknown id may be a user's turn: drop only those known to be the
        # assistant's
        is_turn = session and number.isdecimal()
        if not is_turn or (
            int(number) in user_turns[session]
            if session in user_turns
            else int(number) % 2 == 1
        ):
            users.append(name)
    ranked = [
        name
        if name in gold or session_of(name) not in sessions
        else f"{UNMARKED}{name}"
        for name in users
    ]
    return {
        f"{level}_{name}_{k}": value
        for k in DEPTHS
        for level, metric in (
            ("session", turns_as_sessions),
            ("turn", retrieval_scores),
        )
        for name, value in asdict(metric(ranked, wanted, gold, k)).items()
    }
