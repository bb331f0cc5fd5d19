"""The verdict on one answer to an interchange question, with additional metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from pytest_ltm.api.model import UNDECIDED, Score, Unscored, plain_words
from pytest_ltm.api.scenarios import PROMPTS, Definition, Judge, ask_judge
from pytest_ltm.api.storage import ConfigurationError, DottedPath
from pytest_ltm.datasets.locomo.strict import token_f1
from pytest_ltm.datasets.longmemeval.evaluation import (
    RULE,
    ask_for_verdict,
    rule_on_hypothesis,
    session_of,
    verdict_of,
)
from pytest_ltm.datasets.official import answer_line, beam_order_score, official_score
from pytest_ltm.evaluators import (
    chosen_letters,
    match_exactly,
    match_number,
    match_phrases,
    match_substring,
    mean_claims,
    named_items,
    official_claims,
    order_score,
    recall_at,
)
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.recital import tells_nothing
from pytest_ltm.language.rulings.gold import Ruling, proven_ruling
from pytest_ltm.language.rulings.rules import abstention_ruling
from pytest_ltm.language.speech import speech

NO_GOLD = "unmeasurable: the file gives no gold answer"
MATCH_RULE = "interchange/1"
OFFICIAL_RULE = "official/1"
CLAIM_GRADES = {"yes": 1.0, "partly": 0.5, "no": 0.0}
_SHOWN = 300
# Openings of claims about what an answer should do, in front of the claim itself.
_REPORTS = re.compile(
    r"^(?:(?:the |an? |llm )*(?:response|answer|reply)s? (?:should )?)?(?:(?:say|state|mention|explain|note|name|"
    r"contain|include)(?:s|ing)?)(?: (?:that|the fact that))?[ :]+",
    re.IGNORECASE,
)


class LogsAnswer:
    """Scores the answer to a definition's question: 0 to 1, or undecided.

    Choices, sets, orders and the matches of other benchmarks are decided by rules alone. For the rest the rules are
    those of LongMemEval: they decide what they can prove, and a judge, if there is one, the rest; or the judge decides
    everything, if the definition says so. Without a gold answer or claims there is no decision. A data set may name its
    own scorer, a function of the definition and the answer.
    """

    def __init__(self, definition: Definition, judge: Judge | None = None) -> None:
        self._definition = definition
        self._facts = definition.parameters
        self._gold = [str(gold) for gold in definition.expected]
        self._claims: list[str] = self._facts.get("claims", [])
        self._match: str = self._facts.get("match", "answer")
        self._judge = judge or None
        self._grades: list[float | None] = []
        """Grades of the claims, set when the answer has been scored."""
        self._proven: list[float | None] = []
        self._official_lines: list[str] = []
        """For an order: the lines of the answer, replaced by the item that they name, if any."""

    @property
    def full_marks(self) -> str:
        """An answer that earns full marks; without a gold answer, a non-committal one."""
        if self._facts["never_told"]:
            return "That was never mentioned."
        if self._match in ("set", "sequence", "order") or self._match.startswith(
            "recall"
        ):
            return "\n".join(self._gold)
        if self._facts.get("options"):
            return ", ".join(f"({letter})" for letter in self._gold)
        return [*self._gold, " ".join(self._claims), "I do not know."][0]

    def __call__(self, answers: Sequence[str]) -> Score | Unscored:
        """Return the verdict on the last answer."""
        answer = answers[-1]
        options = self._facts.get("options")
        verdict: Score | Unscored
        if scorer := self._facts.get("scorer"):
            score: Any = DottedPath(
                scorer, what="scorer", error=ConfigurationError
            ).resolve()
            value = score(self._definition, answer)
            if isinstance(value, Score | Unscored):
                verdict = value
            else:
                verdict = Score(float(value), scorer, rule=scorer)
        elif self._match == "order":
            verdict = self._ordered(answer)
        elif self._claims:
            verdict = self._claimed(answer)
        elif not (self._gold or self._facts["never_told"]):
            verdict = Unscored(NO_GOLD)
        elif options or self._match != "answer" or self._facts.get("tolerance"):
            # exact matches compare the unchanged words; a choice may come with polite
            # phrases
            verdict = self._matched(
                normalize(speech(answer)) if options else speech(answer)
            )
        else:
            verdict = Unscored("", RULE)
            if self._judge is None or self._facts["judge"] != "all":
                rulings = [self._ruling(gold, answer) for gold in self._gold or [""]]
                verdict = verdict_of(
                    min(
                        rulings,
                        key=lambda ruling: ("yes", "unscored", "no").index(
                            ruling.verdict
                        ),
                    )
                )
            if isinstance(verdict, Unscored) and self._judge:
                prompt = PROMPTS[
                    "longmemeval-abstention"
                    if self._facts["never_told"]
                    else "longmemeval-answer"
                ]
                asked = {
                    "question": self._facts["question"],
                    "reference": " (or) ".join(self._gold),
                }
                verdict = ask_for_verdict(self._judge, prompt, **asked, answer=answer)
        if self._facts.get("protocol") == "official":
            verdict = self._as_published(answer, verdict)
        return replace(verdict, evidence=answer[:_SHOWN])

    def _as_published(self, answer: str, verdict: Score | Unscored) -> Score | Unscored:
        """Return the published scorer's figure as the score, or our verdict if there is none."""
        official = self._official(answer)
        if official is None:
            return verdict
        return Score(official, "as the published scorer counts", rule=OFFICIAL_RULE)

    def metrics(
        self, answer: str, retrieved: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Return metrics in addition to the score, by name; those of claims after the answer was scored.

        `f1`: of the tokens shared with the nearest gold answer; `contains`: whether the answer contains a gold one
        verbatim; `official`: the score by the data set's published code; for claims, `corrected`: their mean, if a
        judge has graded all, and `proven`: the share that rules prove; `recall`: the share of the evidence in the
        `retrieved` ids. Missing ones are omitted.
        """
        values = {}
        if self._gold and not (self._facts["never_told"] or self._facts.get("options")):
            values["f1"] = max(token_f1(answer, gold) for gold in self._gold)
            text = f" {' '.join(plain_words(answer))} "
            phrases = [" ".join(plain_words(gold)) for gold in self._gold]
            contains = any(f" {phrase} " in text for phrase in phrases if phrase)
            values["contains"] = float(contains)
        if (official := self._official(answer)) is not None:
            values["official"] = official
        if self._proven:
            values["proven"] = mean_claims([grade or 0.0 for grade in self._proven])
        grades = [grade for grade in self._grades if grade is not None]
        if self._judge is not None and grades and len(grades) == len(self._grades):
            values |= {
                "official": official_claims(grades),
                "corrected": mean_claims(grades),
            }
        if retrieved is not None and (evidence := self._facts["evidence"]):
            there = {*retrieved, *map(session_of, retrieved)}
            values["recall"] = sum(reference in there for reference in evidence) / len(
                evidence
            )
        return values

    def _official(self, answer: str) -> float | None:
        """Return the published scorer's figure; None if there is none, or if it uses a model."""
        if self._match == "order":
            lines = self._official_lines or answer.split("\n")
            return beam_order_score(self._gold, lines)
        if rule := self._facts.get("official"):
            golds = self._facts.get("official_gold") or self._gold
            return official_score(rule, answer, golds)
        return None

    def _matched(self, answer: str) -> Score:
        """Return the verdict of a rule that leaves nothing open."""
        value: float
        if options := self._facts.get("options"):
            chosen = chosen_letters(answer, options, several=self._match == "set")
            chooses = f"chooses {', '.join(sorted(chosen)) or 'none of the options'}"
            if self._match == "set":
                right = chosen == set(self._gold)
            else:
                right = bool(chosen & set(self._gold))
            return Score(float(right), chooses, rule=MATCH_RULE)
        if tolerance := self._facts.get("tolerance"):
            golds = map(float, self._gold)
            value = any(match_number(answer, gold, tolerance) for gold in golds)
        elif self._match.startswith("recall@"):
            parts = re.split(r"[\n;,]", answer)
            ranked = [part.strip(" -*0123456789.)") for part in parts]
            value = recall_at(ranked, self._gold, int(self._match.partition("@")[2]))
        elif self._match in ("set", "sequence"):
            value = match_phrases(answer, self._gold, ordered=self._match == "sequence")
        elif self._match == "exact":
            # a label may follow "Answer:", or precede its reasons
            lines = (answer, answer_line(answer))
            value = any(match_exactly(line, self._gold) for line in lines)
        else:
            value = match_substring(answer, self._gold)
        kind = "number" if self._facts.get("tolerance") else self._match
        return Score(float(value), f"{kind}: {float(value):g} of 1", rule=MATCH_RULE)

    def _ruling(self, gold: str, answer: str) -> Ruling:
        question = self._facts["question"]
        if self._facts["never_told"]:
            return proven_ruling(abstention_ruling(answer, question, gold), answer)
        return rule_on_hypothesis(
            question_id="",
            question_type="multi-session",
            question=question,
            answer=gold,
            hypothesis=answer,
        )

    # --- Claims, each worth the same.

    def _claimed(self, answer: str) -> Score | Unscored:
        self._proven = [self._claim_by_rule(claim, answer) for claim in self._claims]
        self._grades = list(self._proven)
        rule = RULE
        if self._judge is not None:
            rule = f"judge {PROMPTS['claim'].id}"
            for number, claim in enumerate(self._claims):
                if self._facts["judge"] == "all" or self._grades[number] is None:
                    decision = ask_judge(
                        self._judge,
                        PROMPTS["claim"],
                        question=self._facts["question"],
                        claim=claim,
                        answer=answer,
                    )
                    if isinstance(decision, Unscored):
                        return decision
                    self._grades[number] = CLAIM_GRADES[decision.grade]
        open_ = self._grades.count(None)
        if open_ == len(self._grades):
            return Unscored("no rule can tell of any claim", RULE, cause=UNDECIDED)
        shown = []
        for grade in self._grades:
            shown.append("open" if grade is None else f"{grade:g}")
        reason = f"claims: {', '.join(shown)}"
        value = mean_claims([grade or 0.0 for grade in self._grades])
        return Score(value, reason, rule=rule, left_open=open_ / len(self._grades))

    def _claim_by_rule(self, claim: str, answer: str) -> float | None:
        """Return what rules prove of a claim: 1, or 0 for an answer without information, else None."""
        if self._facts["never_told"]:
            verdict = self._ruling("", answer).verdict
            if verdict == "unscored":
                return None
            return float(verdict == "yes")
        if tells_nothing(normalize(speech(answer))):
            return 0.0
        alone = self._gold if len(self._claims) == 1 else []
        for gold in (_REPORTS.sub("", claim), *alone):
            if self._ruling(gold, answer).verdict == "yes":
                return 1.0
        return None

    # --- An order of items.

    def _ordered(self, answer: str) -> Score | Unscored:
        """Return the score of an order, matching answer lines to items by their words or by a judge."""
        spoken = speech(answer)
        parts = re.split(r"[\n;]|(?<!\S)\d+[.)]\s", spoken)
        lines = [part for part in parts if plain_words(part)]
        places = named_items(spoken, self._gold)
        if None in places and self._judge is not None:
            prompt = PROMPTS["order-line"]
            numbers = (
                *map(str, range(1, len(self._gold) + 1)),
                prompt.fail,
            )
            numbered = enumerate(self._gold, start=1)
            items = "\n".join(f"{number}. {item}" for number, item in numbered)
            unplaced = [number for number, place in enumerate(places) if place is None]
            for number in unplaced:
                asked = structs.replace(prompt, grades=numbers)
                decision = ask_judge(
                    self._judge, asked, items=items, answer=lines[number]
                )
                if isinstance(decision, Unscored):
                    return decision
                if decision.grade == prompt.fail:
                    places[number] = None
                else:
                    places[number] = int(decision.grade) - 1
        elif None in places and not tells_nothing(normalize(spoken)):
            return Unscored(
                "no rule can tell which item each line names",
                MATCH_RULE,
                cause=UNDECIDED,
            )
        self._official_lines = []
        shown = []
        for line, place in zip(lines, places, strict=True):
            self._official_lines.append(line if place is None else self._gold[place])
            shown.append("none" if place is None else str(place + 1))
        return Score(
            order_score(places, len(self._gold)),
            f"names the items {', '.join(shown) or 'in no order'}",
            rule=MATCH_RULE,
        )
