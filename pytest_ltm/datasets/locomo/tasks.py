"""LoCoMo's tasks other than questions (Maharana et al., 2024): prompts, verdicts, additional metrics."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias, cast

from pytest_ltm.api.model import PastExchange, Score, Unscored, content_stems
from pytest_ltm.api.scenarios import (
    PROMPTS,
    Ask,
    Definition,
    Judge,
    SuiteEntry,
    Wait,
    ask_judge,
    full_thoughts,
)
from pytest_ltm.api.storage import ConfigurationError, DottedPath
from pytest_ltm.datasets.dataset_registry import NOTE_KINDS
from pytest_ltm.datasets.locomo.samples import (
    LocomoSession,
    Sample,
    held_by,
    session_of,
    turn_text,
)
from pytest_ltm.language.overlap import bleu_scores, rouge_scores

VERSION = 1
"""The version of wordings, periods, sampling and gold lines."""
# Characters of an answer quoted as evidence.
_SHOWN = 300

# --- Event summarization: the events in a speaker's life, asked after every few
# sessions.

SESSIONS = 5
"""Sessions per period."""
THRESHOLD = 0.25
"""The passing ROUGE-L of a summary: our own threshold, as the paper has none."""
MAX_CHECKED_FACTS = 60
"""The most facts of an answer to check; the rest is ignored."""
KINDS = ("hallucination", "misunderstanding", "attribution", "salience")
"""The kinds of error in a fact without support by the gold events; an omitted gold event is `missing`."""
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
# Where another statement begins within a sentence: before a verb, or before a subject
# followed by a verb.
_VERB = (
    r"(?:was|were|is|are|has|had|will|went|got|took|made|bought|met|began|won|lost|found|gave|saw|told|left|came|"
    r"became|built|broke|caught|held|kept|led|ran|sold|sent|spent|taught|wrote|put|felt|drove|flew|grew|sang|swam|"
    r"\w{2,}s\s+(?:an?|the|her|his|its|their|to|that|how|\d+)|"
    r"\w{2,}ed\s+(?:an?|the|her|his|its|their|to|that|how|up|out|in|at|on|for|with|from|\d+|[A-Z]\w*))\b"
)
_CLAUSE = re.compile(
    r"\s*;\s+|,?\s+(?:and then|and|but|then|while|so)\s+"
    rf"(?=(?:(?:he|she|they|it|we|[A-Z]\w+)\s+)?(?:also\s+|then\s+)?{_VERB})"
)
# The fewest words of a statement: "Ada" in "Ada and Ben met" is none.
_LEAST_WORDS = 3
# The date at the beginning of a line, which applies to the whole line, and the subject
# of its first statement.
_DATE = re.compile(r"[^:]{0,40}\d[^:]{0,20}:\s+")
_SUBJECT = re.compile(r"[A-Z][\w'\u2019-]*(?:\s+(?:and\s+)?[A-Z][\w'\u2019-]*)*")
_STARTS_WITH_VERB = re.compile(rf"(?:also\s+|then\s+)?{_VERB}")
_LISTED = re.compile(r"^\s*-\s+(\S.*?)\s*$", re.MULTILINE)
# The share of words that a fact written by a model must have in common with its source
# lines.
_OWN_WORDS = 0.6
_WORDED = re.compile(r"[^\W\d_]{2}")


class EventSummaries:
    """A summary per speaker and period; examples are labelled `<speaker>_<first session>_<last session>`."""

    entry = SuiteEntry(
        scenario="_locomo_events",
        name="events",
        threshold=THRESHOLD,
        parameters={"version": VERSION},
    )

    def examples(self, sample: Sample) -> list[str]:
        """Return the periods for which the file has events of a speaker."""
        labels = []
        for period in _session_periods(sample):
            for i, speaker in enumerate(sample.speakers):
                if _gold_events(sample, speaker, period):
                    labels.append(f"{i}_{period[0].number}_{period[-1].number}")
        return labels

    def definition(
        self, sample: Sample, past: Sequence[PastExchange], example: str
    ) -> Definition:
        """Return the question about one period."""
        number, first, last = map(int, example.split("_"))
        speaker = sample.speakers[number]
        period = next(
            candidate
            for candidate in _session_periods(sample)
            if (candidate[0].number, candidate[-1].number) == (first, last)
        )
        ends = [session.turns[-1].id for session in period if session.turns]
        order = {session.number: place for place, session in enumerate(sample.sessions)}
        places = [order[session_of(exchange.id)] for exchange in past]
        total = sum(place <= order[last] for place in places)
        dialogue = []
        for session in period:
            dialogue += [f"[{session.when}]", *map(turn_text, session.turns)]
        days = []
        for session in (period[0], period[-1]):
            days.append(session.when.partition(" on ")[2] or session.when)
        if days[0] == days[1]:
            when = f"around {days[0]}"
        else:
            when = f"in the time from {days[0]} to {days[1]}"
        request = (
            f"By what you have read so far: what happened in the life of {speaker} {when}? List the events that "
            "matter, one a line, each as the date, a colon and a short sentence, such as `1 January, 2020: ...`, and "
            "nothing else."
        )
        return Definition(
            steps=(Wait(history=total), Ask(request, held_by(past, ends))),
            expected=_gold_events(sample, speaker, period),
            parameters={
                "speaker": speaker,
                "sample": sample.id,
                "dialogue": "\n".join(dialogue),
            },
        )


def _session_periods(sample: Sample) -> list[Sequence[LocomoSession]]:
    starts = range(0, len(sample.sessions), SESSIONS)
    return [sample.sessions[start : start + SESSIONS] for start in starts]


def _gold_events(
    sample: Sample, speaker: str, period: Sequence[LocomoSession]
) -> list[str]:
    """Return the events of a period, each on a line with its date in the file."""
    by_number = {events.session: events for events in sample.events}
    lines = []
    for session in period:
        if session.number not in by_number:
            continue
        events = by_number[session.number]
        for event in events.of.get(speaker, ()):
            lines.append(f"{events.date}: {event}" if events.date else event)
    return lines


def facts_in(text: str) -> list[str]:
    """Return the facts of a summary by rules: its lines, without list marks, split into clauses.

    Each has the date of its line, and the first clause's subject if it has none of its own.
    """
    facts = []
    for line in text.splitlines():
        statement = _MARK.sub("", line).strip()
        date = match[0] if (match := _DATE.match(statement)) else ""
        for sentence in _SENTENCE.split(statement.removeprefix(date)):
            subject = match[0] if (match := _SUBJECT.match(sentence)) else ""
            start = 0
            for end, following in [
                *(match.span() for match in _CLAUSE.finditer(sentence)),
                (len(sentence), 0),
            ]:
                clause = sentence[start:end].strip()
                if following and len(clause.split()) < _LEAST_WORDS:
                    continue
                if _WORDED.search(clause):
                    if start and subject and _STARTS_WITH_VERB.match(clause):
                        head = f"{subject} "
                    else:
                        head = ""
                    facts.append(f"{date}{head}{clause}")
                start = following
    return facts


def atomic_facts(judge: Judge, text: str) -> list[str]:
    """Return a summary's facts as split by the judge, or by rules if it returns none, or invents any.

    FActScore (Min et al., 2023) uses a model for this step.
    """
    if not _WORDED.search(text):
        return []
    decision = ask_judge(judge, PROMPTS["locomo-events-facts"], answer=text)
    if isinstance(decision, Unscored):
        facts = []
    else:
        facts = _LISTED.findall(full_thoughts(decision.reply))
    stems = content_stems(text)
    if facts and all(_has_words_of(fact, stems) for fact in facts):
        return facts
    return facts_in(text)


def _has_words_of(fact: str, stems: AbstractSet[str]) -> bool:
    fact_stems = content_stems(fact)
    return len(fact_stems & stems) >= _OWN_WORDS * len(fact_stems)


def score_event_summary(
    judge: Judge, *, speaker: str, gold: Sequence[str], answer: str, dialogue: str
) -> dict[str, float] | Unscored:
    """Return the metrics of a summary; Unscored if the judge was undecided about a fact.

    Both sides are split into atomic facts. `fact_precision`: the share of the answer's facts that the gold events
    support; `fact_recall`: the share of the gold facts in the answer; `fact_f1`, `facts` and `gold_facts` (the number
    on each side); the paper's five kinds of error as counts: `error_missing` and an `error_` for each of KINDS, which
    add up to the facts without support. The kinds are omitted if the judge could not name one.
    """
    events = "\n".join(gold)
    facts = atomic_facts(judge, answer)[:MAX_CHECKED_FACTS]
    golden = atomic_facts(judge, events) if facts else facts_in(events)
    inquiries = []
    for fact in facts:
        inquiries.append({"answer": fact, "speaker": speaker, "events": events})
    supported = _judge_grades(judge, "locomo-events-support", inquiries)
    if isinstance(supported, Unscored):
        return supported
    inquiries = []
    for event in golden:
        inquiries.append({"answer": answer, "event": event, "speaker": speaker})
    if facts:
        covered = _judge_grades(judge, "locomo-events-covered", inquiries)
    else:
        covered = ["no"] * len(golden)
    if isinstance(covered, Unscored):
        return covered
    precision = _share_of_yes(supported)
    recall = _share_of_yes(covered)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    metrics = {
        "fact_precision": precision,
        "fact_recall": recall,
        "fact_f1": f1,
        "facts": float(len(facts)),
        "gold_facts": float(len(golden)),
        "error_missing": float(covered.count("no")),
    }
    inquiries = []
    for fact, grade in zip(facts, supported, strict=True):
        if grade == "no":
            inquiries.append({"answer": fact, "speaker": speaker, "dialogue": dialogue})
    kinds = _judge_grades(judge, "locomo-events-error", inquiries)
    if not isinstance(kinds, Unscored):
        for kind in KINDS:
            metrics[f"error_{kind}"] = float(kinds.count(kind))
    return metrics


def _share_of_yes(grades: Sequence[str]) -> float:
    return grades.count("yes") / len(grades) if grades else 0.0


def _judge_grades(
    judge: Judge, prompt: str, inquiries: Iterable[Mapping[str, str]]
) -> list[str] | Unscored:
    """Return the judge's grades, or Unscored with the first undecided one."""
    grades = []
    for parts in inquiries:
        decision = ask_judge(judge, PROMPTS[prompt], **parts)
        if isinstance(decision, Unscored):
            return decision
        grades.append(decision.grade)
    return grades


class EventSummary:
    """One answer to a definition of event summarization: its score and additional metrics.

    The score is the ROUGE-L F-measure with or without a judge, so that runs are comparable; the judge's grades of facts
    are additional metrics.
    """

    def __init__(
        self, definition: Definition, answer: str, judge: Judge | None = None
    ) -> None:
        self._gold = list(definition.expected)
        self._answer = answer
        facts = definition.parameters
        self._rouge = rouge_scores("\n".join(self._gold), answer)
        self._facts: dict[str, float] | Unscored = Unscored(
            "needs a judge", cause="requires"
        )
        if judge:
            speaker = str(facts["speaker"])
            dialogue = str(facts["dialogue"])
            self._facts = score_event_summary(
                judge,
                speaker=speaker,
                gold=self._gold,
                answer=answer,
                dialogue=dialogue,
            )

    @property
    def score(self) -> Score:
        """The ROUGE-L; the reason includes the outcome of the facts."""
        value = self._rouge["rougeL"]
        number = len(self._gold)
        reason = f"ROUGE-L {value:.3f} of {number} event{'s' if number != 1 else ''}; {self._said()}"
        return Score(
            value, reason, rule="locomo-events-rouge/1", evidence=self._answer[:_SHOWN]
        )

    @property
    def metrics(self) -> dict[str, float]:
        """`rouge1`, `rouge2`, `rougeL` and, if a judge decided them, the metrics of facts."""
        return self._rouge | ({} if isinstance(self._facts, Unscored) else self._facts)

    def _said(self) -> str:
        if isinstance(self._facts, Unscored):
            return f"facts unscored: {self._facts.reason}"
        names = ("precision", "recall", "f1")
        lines = [f"{name} {self._facts[f'fact_{name}']:.3f}" for name in names]
        return f"facts: {', '.join(lines)}"


# --- Dialogue generation: the next utterance of a speaker, with photos as captions.

WORDS = 5
"""The fewest words of a turn: shorter ones say too little to be predicted."""
TURN_THRESHOLD = 0.15
"""The passing ROUGE-L of a turn: our own threshold, as the paper has none."""
SentenceEmbedding: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text, all of the same length."""
_PHOTO = re.compile(r"\[shares a photo:\s*([^\]]*)\]", re.IGNORECASE)
_OPTION = "--ltm-suite=locomo?embeddings"
_QUOTES = "\"'“”‘’ \n\t"


class NextTurns:
    """Some turns of each conversation; examples are labelled `D<session>_<turn>`."""

    entry = SuiteEntry(
        scenario="_locomo_dialogue",
        name="dialogue",
        threshold=TURN_THRESHOLD,
        parameters={"version": VERSION},
    )

    def __init__(self, turns: int, seed: int, telling: str, embeddings: str) -> None:
        self._turns = turns
        self._seed = seed
        self._noted = telling in NOTE_KINDS
        self._embeddings = embeddings

    def examples(self, sample: Sample) -> list[str]:
        """Return the sampled turns in order; all eligible ones if they are fewer."""
        able = []
        for session in sample.sessions:
            for turn in session.turns[1:]:
                if len(re.findall(r"\w+", turn.text)) >= WORDS:
                    able.append(turn.id)
        # seeded per sample: the turns do not depend on which conversations are chosen
        rng = random.Random(f"locomo dialogue {self._seed} {sample.id}")
        drawn = set(rng.sample(able, min(self._turns, len(able))))
        return [turn_id.replace(":", "_") for turn_id in able if turn_id in drawn]

    def definition(
        self, sample: Sample, past: Sequence[PastExchange], example: str
    ) -> Definition:
        """Return the question for one turn."""
        name = example.replace("_", ":")
        session = next(
            session
            for session in sample.sessions
            if any(turn.id == name for turn in session.turns)
        )
        ids = [turn.id for turn in session.turns]
        place = ids.index(name)
        exchanges = past[: self._before(sample, past, session, ids[:place])]
        told_ids: set[str] = set()
        for exchange in exchanges:
            told_ids.update(exchange.ids)
        turn = session.turns[place]
        earlier = session.turns[:place]
        recent = []
        for earlier_turn in earlier:
            if self._noted or earlier_turn.id not in told_ids:
                recent.append(earlier_turn)
        recent = recent or [earlier[-1]]
        last = earlier[-1].id
        evidence = (
            () if self._noted or last not in told_ids else held_by(exchanges, [last])
        )
        lines = "\n".join(map(turn_text, recent))
        request = (
            f"In the session of {session.when}, this was said last:\n{lines}\n\nWhat does {turn.speaker} say next? "
            f"Write only that, as {turn.speaker} would, by all that you have read. For a photo that is shared write "
            "what it shows, as in `[shares a photo: a red bicycle]`."
        )
        return Definition(
            steps=(Wait(history=len(exchanges)), Ask(request, evidence)),
            expected={"said": turn.text, "photo": turn.caption},
            parameters={
                "sample": sample.id,
                "speaker": turn.speaker,
                "turn": name,
                "embeddings": self._embeddings,
            },
        )

    def _before(
        self,
        sample: Sample,
        past: Sequence[PastExchange],
        session: LocomoSession,
        earlier: Sequence[str],
    ) -> int:
        """Return how many exchanges of the history contain nothing of the turn or of what follows it."""
        order = {item.number: place for place, item in enumerate(sample.sessions)}
        session_place = order[session.number]
        earlier_ids = set(earlier)
        count = 0
        for item in past:
            item_session = session_of(item.id)
            if order[item_session] < session_place:
                count += 1
            elif not self._noted and item_session == session.number:
                count += earlier_ids.issuperset(item.ids)
        return count


class NextTurn:
    """One answer to a definition of dialogue generation: its score and additional metrics."""

    def __init__(self, definition: Definition, answer: str) -> None:
        gold = definition.expected
        facts = definition.parameters
        self._gold = (str(gold["said"]), str(gold["photo"]))
        self._said = taken_apart(answer, str(facts["speaker"]))
        self._embeddings = str(facts["embeddings"])
        self._overlap = bleu_scores(self._gold[0], self._said[0]) | {
            "rougeL": rouge_scores(self._gold[0], self._said[0])["rougeL"]
        }

    @property
    def score(self) -> Score:
        """The ROUGE-L of the utterance."""
        value = self._overlap["rougeL"]
        reason = f"ROUGE-L {value:.3f} of {self._gold[0]!r}"
        return Score(
            value,
            reason,
            rule="locomo-dialogue-rouge/1",
            evidence=self._said[0][:_SHOWN],
        )

    @property
    def metrics(self) -> dict[str, float]:
        """`bleu1`, `bleu2`, `bleu4`, `rougeL` of the utterance; `photo_agrees`: whether both share a photo or neither.

        With embeddings also `mm_relevance`; ConfigurationError if the function is invalid or returns something else.
        """
        fields = self._overlap | {
            "photo_agrees": float(bool(self._gold[1]) == bool(self._said[1]))
        }
        if self._embeddings:
            gold = list(filter(None, self._gold))
            parts = list(filter(None, self._said))
            fields["mm_relevance"] = mm_relevance(
                gold, parts, load_embedding(self._embeddings)
            )
        return fields


def taken_apart(answer: str, speaker: str) -> tuple[str, str]:
    """Return the utterance, without speaker name and quotes, and the caption of a shared photo."""
    photo = _PHOTO.search(answer)
    text = _PHOTO.sub(" ", answer).strip()
    text = re.sub(rf"^\**{re.escape(speaker)}\**\s*:\**\s*", "", text)
    return text.strip(_QUOTES), photo[1].strip() if photo else ""


def mm_relevance(
    gold: Sequence[str], texts: Sequence[str], embeds: SentenceEmbedding
) -> float:
    """Return the MM-relevance (Feng et al., 2023) of two turns of text and photo, from text embeddings.

    Their parts are compared in order by cosine (negative values count 0); the sum is divided by the number of parts
    said (precision) and of those expected (recall), and the result is their harmonic mean, 0 to 1.
    """
    if not gold or not texts:
        return 0.0
    parts = [*gold, *texts]
    try:
        vectors = [list(map(float, vector)) for vector in embeds(parts)]
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"{_OPTION}: expected a vector of numbers for each text: {error}"
        ) from error
    lengths = [*map(len, vectors)]
    if len(vectors) != len(parts) or len(set(lengths)) != 1:
        raise ConfigurationError(
            f"{_OPTION}: expected {len(parts)} vectors of one length, got lengths {lengths}"
        )
    pairs = zip(vectors[: len(gold)], vectors[len(gold) :], strict=False)
    shared = 0.0
    for first, second in pairs:
        size = math.hypot(*first) * math.hypot(*second)
        shared += (
            max(0.0, sum(a * b for a, b in zip(first, second, strict=True)) / size)
            if size
            else 0.0
        )
    return min(1.0, 2 * shared / (len(gold) + len(texts)))


def load_embedding(path: str) -> SentenceEmbedding:
    """Return the function with a dotted path; ConfigurationError if there is none."""
    result = DottedPath(path, what=_OPTION, error=ConfigurationError).resolve()
    if not callable(result):
        raise ConfigurationError(
            f"{_OPTION}: {path!r} is not a function of a list of texts"
        )
    return cast("SentenceEmbedding", result)
