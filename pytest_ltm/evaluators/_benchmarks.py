"""The metrics of other benchmarks, each with its source: functions of an answer and the gold answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import comb, sqrt

from pytest_ltm.api.model import plain_words, strip_punctuation, word_stem
from pytest_ltm.evaluators._rules import LEXICON
from pytest_ltm.language.commitment import Mention, find_mentions
from pytest_ltm.language.proof import prove, telling_words

RE = LEXICON.expressions("benchmarks")


def squad_text(text: str) -> str:
    """Normalize a text as SQuAD does: no case, punctuation, articles or extra spaces (Rajpurkar et al., EMNLP 2016)."""
    return " ".join(RE.articles.sub(" ", strip_punctuation(text)).split())


def match_exactly(answer: str, golds: Sequence[str]) -> bool:
    """Return whether the answer equals a gold answer (SQuAD; MemoryAgentBench, Hu et al., ICLR 2026)."""
    return squad_text(answer) in map(squad_text, golds)


def match_substring(answer: str, golds: Sequence[str]) -> bool:
    """Return whether the answer contains a gold answer, even inside a word (MemoryAgentBench, Hu et al., ICLR 2026)."""
    text = squad_text(answer)
    return any(gold in text for gold in map(squad_text, golds) if gold)


def match_phrases(answer: str, golds: Sequence[str], *, ordered: bool = False) -> bool:
    r"""Return whether the answer is the set, or the sequence, of phrases (LongMemEval-V2, Wu et al., 2026).

    The content of the last `\boxed{}`, or without one the whole answer, is split at
    semicolons, line ends or commas; the parts must be exactly the phrases. An answer
    without a box also counts if its sentences contain every phrase, in order if
    `ordered`. Hyphens are treated as spaces.
    """
    answer = answer.replace("-", " ")
    boxed = RE.boxed.findall(answer)
    phrases = [squad_text(gold.replace("-", " ")) for gold in golds]
    listed = (boxed or [answer])[-1]
    for separators in (";\n", ";\n,"):
        texts = map(squad_text, re.split(f"[{separators}]", listed))
        parts = list(filter(None, texts))
        if parts == phrases or (not ordered and set(parts) == set(phrases)):
            return True
    if boxed:
        return False
    text = f" {squad_text(answer)} "
    place = 0
    for phrase in phrases:
        found = text.find(f" {phrase} ", place)
        if found < 0:
            return False
        place = found if ordered else 0
    return True


def match_number(answer: str, gold: float, tolerance: float) -> bool:
    """Return whether the last number of the answer is within `tolerance` of the gold one."""
    numbers = re.findall(r"[-+]?\d[\d,]*(?:\.\d+)?", answer)
    return (
        bool(numbers) and abs(float(numbers[-1].replace(",", "")) - gold) <= tolerance
    )


def recall_at(ranked: Sequence[str], golds: Collection[str], k: int) -> float:
    """Return the share of the gold items among the first `k` (Recall@5 of MemoryAgentBench, Hu et al., ICLR 2026)."""
    first = set(map(squad_text, ranked[:k]))
    return sum(squad_text(gold) in first for gold in golds) / max(len(golds), 1)


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-b of two rankings of the same items (Kendall, Biometrika 33, 1945); 0 if one is all ties."""
    agree = differ = first_untied = second_untied = 0
    for i, j in combinations(range(len(first)), 2):
        a = first[j] - first[i]
        b = second[j] - second[i]
        first_untied += a != 0
        second_untied += b != 0
        agree += (a > 0 and b > 0) or (a < 0 and b < 0)
        differ += a * b < 0
    if first_untied and second_untied:
        return (agree - differ) / sqrt(first_untied * second_untied)
    return 0.0


def order_score(lines: Sequence[int | None], items: int) -> float:
    """Return tau-b, scaled to 0 to 1, times the F1 of an order (BEAM, Tavakoli et al., ICLR 2026: event ordering).

    `lines`: the item that each line of the answer names, counted from 0 and below
    `items`; None if it names none. An order of one item is neither right nor wrong:
    only F1 counts.
    """
    named_places = list(dict.fromkeys(item for item in lines if item is not None))
    # the F1 of two sets by their sizes (van Rijsbergen, Information Retrieval, 1979)
    f1 = 2 * len(named_places) / (len(lines) + items) if named_places else 0.0
    if len(named_places) > 1:
        tau = kendall_tau_b(range(len(named_places)), named_places)
    else:
        tau = 1.0
    return (tau + 1) / 2 * f1


def named_items(answer: str, items: Sequence[str]) -> list[int | None]:
    """Return the item that each line names: the only one whose distinctive words it all has, else None."""
    words_of_items = [set(map(word_stem, telling_words(item))) for item in items]
    result: list[int | None] = []
    for line in re.split(r"[\n;]|(?<!\S)\d+[.)]\s", answer):
        line_words = set(map(word_stem, plain_words(line)))
        if not line_words:
            continue
        fitting: list[int] = []
        for number, words in enumerate(words_of_items):
            if words <= line_words:
                fitting.append(number)
        result.append(fitting[0] if len(fitting) == 1 else None)
    return result


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """Return the probability that `k` trials drawn from these all pass: pass^k (Yao et al., tau-bench, 2024)."""
    if not 1 <= k <= trials:
        raise ValueError(
            f"pass^{k} needs at least {k} trials and k of at least 1, not {trials}"
        )
    return comb(passed, k) / comb(trials, k)


def mean_claims(grades: Sequence[float]) -> float:
    """Return the mean of the claims' grades 0, ½ and 1, as the BEAM paper defines it (Tavakoli et al., 2026)."""
    return sum(grades) / max(len(grades), 1)


def official_claims(grades: Sequence[float]) -> float:
    """Return the mean as BEAM's published code computes it: grades are truncated, so each ½ counts as 0."""
    return sum(map(int, grades)) / max(len(grades), 1)


# --- Lettered choices: one or several, in any wording.

_LETTER = (
    r"\\boxed{{\s*\(?(?P<boxed>{letters})\)?\s*}}"
    r"|\((?P<round>{letters})\)"
    r"|(?:^|(?<=\n))\W*(?P<first>{letters})(?=[).:]|\W*(?:$|\n))"
    r"|(?i:\b(?:option|answer|choice|letter)s?(?: (?:is|are|would be|should be))?[ :*_\"'`]+\(?)(?P<named>{letters})\b"
)


def chosen_letters(
    answer: str, options: Mapping[str, str], *, several: bool = False
) -> set[str]:
    """Return the letters that an answer chooses, by letter or by a choice's text (PersonaMem, LongMemEval-V2).

    Empty if it chooses none or leaves the choice open. `several`: more than one may be
    chosen.
    """
    name_by_letter = {name.lower(): name for name in options}
    letters = "|".join(
        sorted(map(re.escape, {*options, *name_by_letter, *map(str.upper, options)}))
    )
    if boxed := RE.boxed.findall(answer):
        inside = re.findall(rf"\b(?:{letters})\b", boxed[-1])
        return {name_by_letter[letter.lower()] for letter in inside}

    def marked(match: re.Match[str]) -> str:
        return f" {_mark(name_by_letter[next(filter(None, match.groups())).lower()], options)} "

    text = re.sub(_LETTER.format(letters=letters), marked, answer.strip())
    # "A" and "I" are words, too: they count only next to other letters or at the end
    capital_letters: list[str] = []
    for letter in map(str.upper, options):
        if letter not in ("A", "I"):
            capital_letters.append(re.escape(letter))
    capitals = "|".join(capital_letters) or "(?!)"
    beside = rf"\s*(?:,|&|/|and|or)+\s*(?:{capitals})\b"
    after = r"(?:(?<=and )|(?<=or )|(?<=, ))[AI](?=\W*$)"
    text = re.sub(rf"\b({capitals}|[AI](?={beside})|{after})\b", marked, text)
    if several:
        levelled = re.sub(r"\b(?:not|nor)\s+optionnumber\w+", "", text.lower())
        return {mention.value for mention in _letter_mentions(levelled, options)}
    proof = prove(text, lambda levelled: _letter_mentions(levelled, options))
    if proof.state == "asserts" and proof.value:
        return {proof.value}
    return set()


def _mark(letter: str, options: Mapping[str, str]) -> str:
    return (
        f"optionnumber{'abcdefghijklmnopqrstuvwxyz'[list(options).index(letter)] * 2}"
    )


def _letter_mentions(text: str, options: Mapping[str, str]) -> list[Mention]:
    """Return the mentions of choices in a text, without those inside a longer choice."""
    letters = dict(zip(options.values(), options, strict=True))
    letters |= {_mark(letter, options): letter for letter in options}
    mentions = find_mentions(text, tuple(letters))
    named_letters: list[Mention] = []
    for mention in mentions:
        letter = letters[mention.value]
        named_letters.append(Mention(mention.start, mention.end, letter))
    return named_letters
