"""Shared by evaluators: the rule sets to follow, the rule's name in a verdict, and judges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar, cast

from msgspec import Struct, json, structs

from pytest_ltm.api.model import (
    SCORINGS,
    Check,
    Replies,
    Score,
    Scoring,
    Unscored,
    evidence_snippet,
)
from pytest_ltm.api.scenarios import PROMPTS, Judge, ask_judge
from pytest_ltm.api.storage import ConfigurationError, did_you_mean
from pytest_ltm.language.lexicon import Lexicon
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.proof import Proof
from pytest_ltm.language.recital import ToldReply
from pytest_ltm.language.speech import speech
from pytest_ltm.language.talk import Topic

LEXICON = Lexicon(__package__)
V = TypeVar("V", bound="Score | Unscored")


class Ruled:
    """An evaluator that follows one of the rule sets: a base class for structs with a field `scoring`."""

    __slots__ = ()
    family: ClassVar[str]
    """The name of its rules in verdicts: `colours/2`, or `colours/v3.5`."""
    version: ClassVar[int] = 1
    """The version of its `current` rules."""
    reads_speech: ClassVar[bool] = False
    """Whether form, sources or courtesies count, so that answers are not normalized."""
    finds_objects: ClassVar[bool] = False
    """Whether it finds JSON in prose itself, so that normalizing must keep objects."""
    talk_counts: ClassVar[bool] = False
    """Whether no talk is removed: the agent plays a part, or is asked who said what."""
    scoring: Scoring

    def __post_init__(self) -> None:
        if self.scoring not in SCORINGS:
            hint = did_you_mean(self.scoring, SCORINGS)
            raise ConfigurationError(
                f"scoring {self.scoring!r} is unknown; choose from {', '.join(SCORINGS)}.{hint}"
            )

    @property
    def follows_own_rules(self) -> bool:
        """Whether it follows our own rules rather than published ones."""
        return self.scoring == "current"

    def score(
        self,
        value: float,
        reason: str,
        answer: str,
        checks: Sequence[Check] = (),
        left_open: float | None = None,
    ) -> Score:
        """Return a score by the evaluator's rule set; published rules leave nothing open."""
        rule = (
            f"{self.family}/{self.version if self.follows_own_rules else self.scoring}"
        )
        if not self.follows_own_rules:
            checks = [Check(check.label, check.ok) for check in checks]
            left_open = None
        return Score(
            float(value),
            reason,
            tuple(checks),
            rule,
            evidence_snippet(answer),
            left_open,
        )

    def share(self, parts: Sequence[RuleCheck], reason: str) -> Score:
        """Return the share of the parts that are true; `reason` names `{ok}` of `{of}`."""
        ok = sum(part.ok is True for part in parts)
        left_open = sum(part.ok is None for part in parts)
        sentence = reason.replace("{ok}", str(ok)).replace("{of}", str(len(parts)))
        sentence += (
            f", {left_open} neither proven nor refuted"
            if left_open and self.follows_own_rules
            else ""
        )
        checks = [part.as_check for part in parts]
        missed = next((part.answer for part in parts if not part.ok), "")
        score = self.score(ok / max(len(parts), 1), sentence, missed, checks)
        # our own rule decides the parts even under a published rule set; `standing_in`
        # says so
        return replace(score, rule=f"{self.family}/{self.version}")

    def judged_share(
        self, parts: Sequence[RuleCheck], judge: Judge | None, reason: str
    ) -> Score | Unscored:
        """Return the share of the parts that are true by rule or judge; Unscored if the judge fails on one.

        The verdict says if it stands in for a published rule.
        """
        decided = self.decide_parts(parts, judge)
        if isinstance(decided, Unscored):
            return self.standing_in(decided, judge)
        checks, rule = decided
        return self.standing_in(replace(self.share(checks, reason), rule=rule), judge)

    def decide_parts(
        self, parts: Sequence[RuleCheck], judge: Judge | None
    ) -> tuple[list[RuleCheck], str] | Unscored:
        """Return the parts, those with a prompt as judged, and the rule; Unscored if the judge fails on one."""
        rule = f"{self.family}/{self.version}"
        decided: list[RuleCheck] = []
        for part in parts:
            decided.append(part)
            if judge and part.prompt:
                prompt = PROMPTS[part.prompt]
                # each prompt once: a verdict's rule names everything that decided a
                # part of it
                rule = "+judge/".join(
                    dict.fromkeys((*rule.split("+judge/"), prompt.id))
                )
                decision = ask_judge(
                    judge, prompt, answer=part.answer, **dict(part.parts)
                )
                if isinstance(decision, Unscored):
                    evidence = evidence_snippet(part.answer)
                    return replace(decision, rule=rule, evidence=evidence)
                decided[-1] = structs.replace(part, ok=decision.grade != prompt.fail)
        return decided, rule

    def score_product(
        self, names: Sequence[str], rows: Iterable[tuple[str, RuleCheck]]
    ) -> Score:
        """Return the product of the shares of the named parts that have checks among the rows."""
        named_rows = list(rows)
        all_checks: list[Check] = []
        value = 1.0
        upper = 1.0
        shares = []
        for name in names:
            checks = [row.as_check for of, row in named_rows if of == name]
            all_checks += checks
            if checks:
                passed = sum(check.ok for check in checks)
                value *= passed / len(checks)
                upper *= sum(check.ok or check.open for check in checks) / len(checks)
                shares.append(f"{passed} of {len(checks)} {name}")
        missed = next(
            (row.answer for _, row in named_rows if row.answer and not row.ok), ""
        )
        return self.score(value, ", ".join(shares), missed, all_checks, upper - value)

    def read(self, answers: Sequence[str]) -> Sequence[str]:
        """Return normalized answers; published rules read them unchanged."""
        if not self.follows_own_rules:
            return answers
        texts = [self._read_speech(speech(answer)) for answer in answers]
        # keep the messages told with each reply: reciting shows only in comparison with
        # them
        if isinstance(answers, Replies):
            return [ToldReply(text, answers.told) for text in texts]
        return texts

    def _read_speech(self, text: str) -> str:
        if len(text) > _LONGEST:
            # an answer is at the beginning or the end of a long reply, not in the
            # middle
            text = f"{text[:_BEGINNING]}\n{text[_BEGINNING - _LONGEST :]}"
        if self.reads_speech:
            return text
        topic = None if self.talk_counts else self._topic()
        return normalize(text, objects_within=not self.finds_objects, topic=topic)

    def _topic(self) -> Topic:
        values = structs.astuple(cast("Struct", self))
        return Topic("", json.encode(values, enc_hook=_leave_out).decode())

    def read_last(self, answers: Sequence[str]) -> str:
        """Return the last answer as `read` does; "" if there is none."""
        texts = self.read(answers)
        return texts[-1] if texts else ""

    def score_proven(self, proof: Proof, expected: str, answer: str) -> Score:
        """Return the score of a proven answer, or one that leaves an unclear answer open."""
        ok = proof.answers(expected)
        reason = {
            True: proof.reason,
            False: f"{proof.reason}, not {expected!r}",
            None: f"open: {proof.reason}",
        }[ok]
        return self.score(
            ok is True, reason, answer, left_open=1.0 if ok is None else None
        )

    def standing_in(self, verdict: V, judge: Judge | None = None) -> V:
        """Mark a verdict of the current rules if it stands in for a published rule that asks a model."""
        if self.follows_own_rules:
            return verdict
        if isinstance(verdict, Score):
            closed = tuple(Check(check.label, check.ok) for check in verdict.checks)
            verdict = replace(verdict, checks=closed, left_open=None)
        if judge:
            note = ""
        else:
            note = f" (the rule of {self.scoring} asks a model; the current rule stands in)"
        rule = f"{self.family}/{self.scoring}+{verdict.rule}"
        return replace(verdict, reason=verdict.reason + note, rule=rule)


def _leave_out(_judge: object) -> None:
    """Encode a judge as null: it has no expected words."""


# Characters of the longest reply read whole, and of the beginning kept of a longer one.
_LONGEST = 16_000
_BEGINNING = 4_000


def answer_at(texts: Sequence[str], place: int) -> str:
    """Return the text at an index, "" if there is none."""
    return texts[place] if 0 <= place < len(texts) else ""


def values_at(rows: Sequence[tuple[str, ...]], place: int) -> tuple[str, ...]:
    """Return the values at an index, () if there are none."""
    return rows[place] if place < len(rows) else ()


# --- Judges decide where the rules are not sure.


def judge_verdict(
    judge: Judge, prompt: str, answer: str, *, rule: str, asked: str = "", **parts: str
) -> Score | Unscored:
    """Return the judge's verdict on an answer; `asked` prefixes its reason."""
    decision = ask_judge(judge, PROMPTS[prompt], answer=answer, **parts)
    rule = f"{rule}+judge/{PROMPTS[prompt].id}"
    if isinstance(decision, Unscored):
        return replace(decision, rule=rule, evidence=evidence_snippet(answer))
    return Score(
        float(decision.grade == "yes"),
        f"{asked}{decision}",
        rule=rule,
        evidence=evidence_snippet(answer),
    )


class RuleCheck(Struct, frozen=True):
    """One check: the rule's verdict, and the judge's prompt if the rule is not sure."""

    label: str
    answer: str
    ok: bool | None
    """None: open, neither proven right nor wrong."""
    prompt: str = ""
    """The name of the judge's prompt; "": the rule is sure."""
    parts: tuple[tuple[str, str], ...] = ()
    """The prompt's values in addition to the answer."""

    @property
    def as_check(self) -> Check:
        """The check in the form that scores store."""
        return Check(self.label, self.ok is True, self.ok is None)
