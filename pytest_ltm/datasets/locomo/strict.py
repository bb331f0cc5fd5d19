"""Whether an answer to a LoCoMo question is right, without a model: the official F1, and our strict rules.

Strict rules say yes, no or unscored: a time is right if it lies within the expected one; a short answer must contain
all of its words next to each other. Partial lists, coarser times and possible paraphrases are left to a judge.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from pytest_ltm.api.model import content_stems, plain_words, word_stem
from pytest_ltm.datasets.locomo.samples import Category, abstains_officially
from pytest_ltm.language.clauses import normalize_text
from pytest_ltm.language.dates import DateRange, dated_readings, dated_stretches
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.meanings import (
    found_in,
    meaning_key,
    meaning_keys,
    telling_keys,
)
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.porter import porter_stem
from pytest_ltm.language.recital import refuses_answer, without_refusals
from pytest_ltm.language.rulings.assertion import settle_ruling
from pytest_ltm.language.rulings.gold import (
    CANNOT_TELL,
    OTHER_TIME,
    Gold,
    Rubric,
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
    HAS_ITS_WORDS,
    SOMETHING_ELSE,
    choice_options,
    choice_ruling,
    commits_to_neither,
    in_other_words,
    is_open_ended,
    order_ruling,
    yes_or_no,
)
from pytest_ltm.language.rulings.stance import (
    DOUBTFUL,
    FINAL,
    SEVERAL,
    SHORT,
    UNDECIDED,
    concluding_part,
    denies_asked,
    doubt_of,
    goes_on_to_guess,
    turns_to_other,
    why_rejected,
)
from pytest_ltm.language.speech import speech
from pytest_ltm.language.talk import Topic
from pytest_ltm.language.values import restate_value, state_same_values
from pytest_ltm.language.values.quantities import find_quantities, is_equal

# --- The official F1 (Maharana et al., 2024, section 4.1), to the digit of the
# published evaluation.
#
# Normalising drops commas, lowers case, deletes ASCII punctuation, drops the words a,
# an, the and `and`; tokens are Porter-stemmed as NLTK does it, its extensions included.
# Category 1 splits answer and prediction at commas first.

_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def official_f1(category: int, answer: object, prediction: object) -> float:
    """Return the official score of a prediction, 0 to 1, unrounded.

    `answer` may be a number, as in the published file. A prediction that is not text is converted to text, where the
    published code raises. ValueError for an unknown category.
    """
    kind = Category(category)
    said, gold = ("" if value is None else str(value) for value in (prediction, answer))
    if kind is Category.ADVERSARIAL:
        return float(abstains_officially(said))
    if kind is Category.MULTI_HOP:
        parts = set(map(str.strip, said.split(",")))
        wanted = [part.strip() for part in gold.split(",")]
        return sum(
            max(token_f1(part, want) for part in parts) for want in wanted
        ) / len(wanted)
    return token_f1(
        said, gold.split(";")[0].strip() if kind is Category.OPEN_DOMAIN else gold
    )


def token_f1(prediction: str, gold: str) -> float:
    """Return the F1 of the two multisets of stemmed tokens, or 0 without a common token."""
    said = Counter(stemmed_tokens(prediction))
    wanted = Counter(stemmed_tokens(gold))
    same = sum((said & wanted).values())
    if not same:
        return 0.0
    precision = same / sum(said.values())
    recall = same / sum(wanted.values())
    return 2 * precision * recall / (precision + recall)


def stemmed_tokens(text: str) -> list[str]:
    """Return the stemmed tokens of a normalized text."""
    lowered = text.replace(",", "").lower().translate(_PUNCTUATION)
    return [porter_stem(word) for word in _ARTICLES.sub(" ", lowered).split()]


# --- Whether an answer declines.

_NOTHING = LEXICON.expression("nothing alone")
_COUNTED_FROM_NOW = LEXICON.expression("gold counted from now")


def abstains_from_answer(answer: str, *, asked: str = "", other: str = "") -> bool:
    """Return whether an answer declines, saying that the requested fact was never mentioned.

    A refusal followed by a guess ("..., but I think it was ...") does not decline. `asked` and `other`: the speaker
    that the question is about, and the other one; saying that it was the other speaker declines as well.
    """
    text = answer.strip()
    end = concluding_part(text)
    if not text or goes_on_to_guess(end):
        return False
    denied = (
        rf"\b(?:not|wasn't|isn't|rather than|instead of|never) {re.escape(asked)}\b"
    )
    corrects = (
        asked
        and other
        and re.search(denied, end, re.IGNORECASE)
        and other.lower() in end.lower()
    )
    return (
        bool(_NOTHING.match(end.strip(" \"'*(").casefold()))
        or refuses_answer(end)
        or bool(corrects)
    )


# --- Which choice of an adversarial question an answer makes, in whatever form.

_LETTER = re.compile(r"\(([ab])\)|\b([ab])\)", re.IGNORECASE)
_BARE = re.compile(
    r"\W*(?:(?:the )?(?:final )?(?:answer|choice|option)(?: is)?|i (?:choose|pick|take))?\W*([ab])\W*",
    re.IGNORECASE,
)
# A few words around both choices only say that it is both, or either.
_SETTLED = re.compile(
    r"\b(?:answer|choice|option|choose|pick|go with|going with|take)\b(?: is| would be)?\W{0,4}([ab])\b"
    r"(?=[)*\"']{0,3}\s*(?:$|[.,;:!\n]|because\b|as\b|since\b))",
    re.IGNORECASE,
)


def chosen_choice(answer: str, choices: tuple[str, ...]) -> str:
    """Return the text of the chosen option; "" for both; the answer itself if it names neither.

    An option is chosen by its letter or by its whole text. Repeating both chooses neither.
    """
    if not choices:
        return answer
    letters = dict(zip("ab", choices, strict=False))
    if (match := _BARE.fullmatch(answer)) or (match := _SETTLED.search(answer)):
        return letters[match[1].lower()]
    named = {(letter or other).lower() for letter, other in _LETTER.findall(answer)}
    if named:
        return (
            letters[named.pop()] if len(named) == 1 else _first_choice(answer, letters)
        )
    said = f" {_plain_text(answer)} "
    texts = [
        text
        for text in choices
        if _plain_text(text) and f" {_plain_text(text)} " in said
    ]
    # an option contained in the other, which is present too, is not named by itself
    whole = [
        text
        for text in texts
        if not any(
            _plain_text(text) in _plain_text(other) for other in texts if other != text
        )
    ]
    if len(whole) == 1:
        return (
            answer
            if abstains_officially(answer) and not abstains_officially(whole[0])
            else whole[0]
        )
    for text in whole:
        said = said.replace(_plain_text(text), " ")
    return "" if whole and len(said.split()) <= _FEW else answer


def _first_choice(answer: str, letters: dict[str, str]) -> str:
    """Return the choice of an answer with both letters: `(b), because (a) ...` chooses, a list of both does not."""
    begins = _LETTER.match(answer.strip())
    if begins is None or all(
        _plain_text(text) in _plain_text(answer) for text in letters.values()
    ):
        return ""
    rest = answer.strip()[begins.end() :].lstrip(" .:")
    other = _LETTER.search(rest)
    between = rest[: other.start() if other else len(rest)].lower()
    if re.fullmatch(r"\W*(?:and|or|/|&)?\W*", between):
        return ""
    return letters[(begins[1] or begins[2]).lower()]


def _plain_text(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


# --- The verdict.

# The share of a reason's words that must be present.
_SOME = 0.34
# Words by which a refusal may exceed the expected answer.
_AROUND = 15
# In days.
_NEARLY = 2
_WEEK = 8
# The most words of an answer that must be adjacent.
_FEW = 3
_YES_OR_NO = re.compile(
    r"\W*(?:(?:most )?(?:likely |probably |presumably )(?=yes|no))?(yes|no)(?:\b|(?<= no)t\b)[\s,;.:-]*",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:unclear|at least|at most|not (?:\w+ )?sure|unsure|guess\w*|if i had to)\b",
    re.IGNORECASE,
)
_POLAR = frozenset(
    map(
        meaning_key,
        (
            "yes",
            "not",
            "likely",
            "unlikely",
            "probably",
            "think",
            "seems",
            "id",
            "doubt",
            "rather",
            "wouldnt",
        ),
    )
)
# Saying that an exact answer is missing; a less exact one may exist.
_EXACT = re.compile(r"\b(?:exact|specific|precise|explicit)(?:ly)?\b", re.IGNORECASE)
_LOOSE = re.compile(
    r"\b(?:at least|at most|minimum|likely|estimated?|possible|assum\w+|rough\w*|regular)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_PARTS = re.compile(r",\s+and\s+|;|,|\s+and\s+")


def strict_verdict(
    *, category: int, question: str, answer: object, prediction: str
) -> Ruling:
    """Return the strict rules' ruling on a prediction; `answer`: the gold answer, which may be a number."""
    gold = str(answer).strip()
    spoken = speech(prediction)
    prediction = normalize(spoken)
    if Category(category) is Category.ADVERSARIAL:
        ruling = _verdict_by_category(category, question, gold, prediction)
        return proven_ruling(ruling, prediction)
    prediction = normalize(spoken, topic=Topic(question, gold))
    if by_value := ruling_of_value(gold, prediction, question):
        return by_value
    ruling = _verdict_by_category(
        category, question, gold, restate_value(prediction, gold, question)
    )
    proven = proven_ruling(ruling, prediction, rubric=Rubric.MAY_TAKE_PART)
    return open_if_unread(proven, gold, prediction, question)


def _verdict_by_category(
    category: int, question: str, gold: str, prediction: str
) -> Ruling:
    if Category(category) is Category.ADVERSARIAL:
        return _adversarial_verdict(question, prediction)
    if not plain_words(prediction):
        return Ruling("no", "says nothing")
    if plain_words(gold) == plain_words(prediction) and state_same_values(
        gold, prediction
    ):
        return Ruling("yes", "repeats the expected answer")
    said = concluding_part(prediction)
    read = read_gold(gold, question)
    reason = ""
    if len(prediction) <= SHORT:
        reason = why_rejected([gold, *read.texts], question, said)
    if reason in FINAL | DOUBTFUL:
        is_both = reason == SEVERAL and not UNDECIDED.search(said)
        is_no = reason in FINAL and (not is_both or time_of(gold))
        is_no = is_no and not (reason == SEVERAL and restates_amount(read, said))
        return Ruling("no" if is_no else "unscored", reason)
    if refuses_answer(said):
        is_polar = yes_or_no(gold) and _YES_OR_NO.match(prediction)
        is_open = is_polar or _says_more_than_refusal(gold, question, said)
        return Ruling("unscored", "refuses, and more") if is_open else CANNOT_TELL
    ruling = _verdict_by_kind(read, gold, question, said)
    return settle_ruling(ruling, read, question, prediction)


def _verdict_by_kind(read: Gold, gold: str, question: str, reply: str) -> Ruling:
    if leading := _YES_OR_NO.match(gold):
        return _yes_or_no(leading, gold, question, reply)
    if expected := next(filter(None, map(time_of, read.texts)), ()):
        ruling = time_ruling(expected, gold, reply)
        if ruling == OTHER_TIME and _is_nearly_counted(expected, gold, reply):
            return Ruling("unscored", "counts a day or two otherwise, or from now")
        return ruling
    if read.kind == "order":
        return order_ruling(read, reply, refused=False)
    if choice_options(read, question):
        # vague answers have some of the words
        return choice_ruling(read, question, reply, refused=False, least=1.0)
    return _amount_or_phrase(read, gold, question, reply)


def _is_nearly_counted(expected: tuple[DateRange, ...], gold: str, reply: str) -> bool:
    """Return whether a reply is a day or two off a time counted from a date, or counts from the time of telling.

    That date itself, alone, is a different time.
    """
    _, place = next(dated_readings(gold))
    origin, *_ = dated_stretches(gold[place:])
    named = dated_stretches(reply)
    # a year or a month is never a day or two off its neighbour
    days = [time for time in named if time.days <= _WEEK]
    apart = min((time.days_apart(expected[0]) for time in days), default=_WEEK + 1)
    if _COUNTED_FROM_NOW.search(reply):
        return apart <= _WEEK
    is_origin = origin == expected[0] or origin in named
    return not is_origin and expected[0].days <= _WEEK and apart <= _NEARLY


def _says_more_than_refusal(gold: str, question: str, text: str) -> bool:
    """Return whether a refusal may still answer: it has the expected words, or lacks only the exact figure."""
    is_long = len(plain_words(text)) > len(plain_words(gold)) + _AROUND
    if is_long and found_in(telling_keys(gold), meaning_keys(text)):
        return True
    named = find_quantities(without_refusals(text))
    if _EXACT.search(text) and find_quantities(gold) and named:
        return True
    return _is_named_beside_refusal(gold, question, text)


def _is_named_beside_refusal(gold: str, question: str, text: str) -> bool:
    """Return whether the clauses that refuse nothing contain all distinctive words of the expected answer."""
    asked = meaning_keys(question)
    wanted = [key for key in telling_keys(gold) if key not in asked]
    named = found_in(wanted, meaning_keys(without_refusals(text)))
    return bool(wanted) and named.issuperset(wanted)


def _adversarial_verdict(question: str, prediction: str) -> Ruling:
    if abstains_from_answer(prediction):
        return Ruling("yes", "says that it was not said")
    if denies_asked(prediction, content_stems(question)):
        doubt = goes_on_to_guess(prediction) or turns_to_other(prediction)
        if doubt:
            return Ruling("unscored", "denies, and guesses")
        return Ruling("yes", "denies what the question assumes")
    if refuses_answer(prediction) and not goes_on_to_guess(prediction):
        return Ruling("unscored", "refuses on the way, and answers")
    return Ruling("no", "answers what nobody said")


def _yes_or_no(leading: re.Match[str], gold: str, question: str, reply: str) -> Ruling:
    """Return the ruling on a yes/no answer, whose reason must be related to the expected one."""
    word = yes_or_no(reply, question)
    if not word:
        if commits_to_neither(reply):
            return Ruling("no", SEVERAL)
        return Ruling("unscored", "says neither yes nor no")
    if word != leading[1].lower():
        return Ruling("no", f"says {word}")
    asked = {*meaning_keys(question), *_POLAR}
    reason, given = (
        [key for key in telling_keys(text) if key not in asked]
        for text in (gold[leading.end() :], reply)
    )
    bare = not gold[leading.end() :].strip() and _YES_OR_NO.match(reply)
    if (
        bare
        or not given
        or (reason and len(found_in(reason, given)) >= _SOME * len(reason))
    ):
        return Ruling("yes", f"says {word}")
    return Ruling("unscored", f"says {word}, in other words or for another reason")


def _amount_or_phrase(read: Gold, gold: str, question: str, text: str) -> Ruling:
    years = set(_YEAR.findall(text))
    if years and years.isdisjoint(_YEAR.findall(gold)) and _YEAR.search(gold):
        return Ruling("no", "names another year")
    if read.kind == "amount" and not dated_stretches(gold):
        ruling = amount_ruling(read, question, text, forgiving=False)
        loose = _LOOSE.search(text) and not _LOOSE.search(gold)
        return (
            Ruling("unscored", "names an amount loosely")
            if loose and ruling.verdict == "yes"
            else ruling
        )
    parts = [part for part in _PARTS.split(gold) if content_stems(part)]
    have = [_has_part(part, text) for part in parts]
    if all(have) and have:
        doubt = doubt_of([gold], question, text)
        if doubt in FINAL:
            return Ruling("no", doubt)
        if not doubt and _DOUBT.search(text) and not _DOUBT.search(gold):
            doubt = "doubts"
        return (
            Ruling("unscored", f"{HAS_ITS_WORDS}, and {doubt}")
            if doubt
            else Ruling("yes", HAS_ITS_WORDS)
        )
    shares_words = token_f1(text, gold) > 0 or bool(
        content_stems(gold) & content_stems(text)
    )
    reworded = in_other_words(gold, question, text, full=False)
    if reworded is not None and not (
        reworded.reason == SOMETHING_ELSE and is_open_ended(gold, question)
    ):
        return reworded
    return Ruling(
        "unscored", "has some of its words" if shares_words else "has none of its words"
    )


def _has_part(part: str, text: str) -> bool:
    """Return whether an answer contains all content words of a part; if few, near each other."""
    wanted = content_stems(part)
    spoken = [word_stem(word) for word in plain_words(text)]
    if not wanted <= set(spoken):
        return False
    quantities = find_quantities(normalize_text(text))
    for wanted_quantity in find_quantities(normalize_text(part)):
        if not any(is_equal(wanted_quantity, other) for other in quantities):
            return False
    room = len(plain_words(part)) + 2
    return len(wanted) > _FEW or any(
        wanted <= set(spoken[start : start + room]) for start in range(len(spoken))
    )
