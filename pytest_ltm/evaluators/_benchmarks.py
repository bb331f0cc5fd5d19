"""The metrics of other benchmarks: functions of what was said and what was expected, each with its source."""

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
    """Return a text without case, punctuation, articles and further spaces (Rajpurkar et al., EMNLP 2016: SQuAD)."""
    return " ".join(RE.articles.sub(" ", strip_punctuation(text)).split())


def match_exactly(answer: str, golds: Sequence[str]) -> bool:
    """Return whether the answer is one of the gold ones (SQuAD; MemoryAgentBench, Hu et al., ICLR 2026)."""
    return squad_text(answer) in map(squad_text, golds)


def match_substring(answer: str, golds: Sequence[str]) -> bool:
    """Return whether a gold answer stands in the answer, even in a word (MemoryAgentBench, Hu et al., ICLR 2026)."""
    text = squad_text(answer)
    return any(gold in text for gold in map(squad_text, golds) if gold)


def match_phrases(answer: str, golds: Sequence[str], *, ordered: bool = False) -> bool:
    r"""Return whether the answer is the set, or the sequence, of phrases (LongMemEval-V2, Wu et al., 2026).

    The answer is what stands in the last `\boxed{}`, if anything does, split at
    semicolons, line ends or commas: then nothing else may be there. An answer in
    sentences holds if each phrase stands in it, in their order where it counts.
    Hyphens are blanks.
    """
    answer = answer.replace("-", " ")
    boxed = RE.boxed.findall(answer)
    phrases = [squad_text(gold.replace("-", " ")) for gold in golds]
    listed = (boxed or [answer])[-1]
    for separators in (";\n", ";\n,"):
        parts = [
            part
            for part in map(squad_text, re.split(f"[{separators}]", listed))
            if part
        ]
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
    """Return whether the last number of the answer is near enough to the gold one."""
    numbers = re.findall(r"[-+]?\d[\d,]*(?:\.\d+)?", answer)
    return (
        bool(numbers) and abs(float(numbers[-1].replace(",", "")) - gold) <= tolerance
    )


def recall_at(ranked: Sequence[str], golds: Collection[str], k: int) -> float:
    """Return the share of the gold items among the `k` first (Recall@5 of MemoryAgentBench, Hu et al., ICLR 2026)."""
    first = set(map(squad_text, ranked[:k]))
    return sum(squad_text(gold) in first for gold in golds) / max(len(golds), 1)


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-b of two rankings of the same items (Kendall, Biometrika 33, 1945); 0 where all are tied."""
    pairs = [
        (first[j] - first[i], second[j] - second[i])
        for i, j in combinations(range(len(first)), 2)
    ]
    agree = sum((a > 0) - (a < 0) == (b > 0) - (b < 0) and a != 0 for a, b in pairs)
    differ = sum(a * b < 0 for a, b in pairs)
    untied = sum(a != 0 for a, _ in pairs), sum(b != 0 for _, b in pairs)
    if all(untied):
        return (agree - differ) / sqrt(untied[0] * untied[1])
    return 0.0


def order_score(lines: Sequence[int | None], items: int) -> float:
    """Return tau-b, from 0 to 1, times F1 of an order (BEAM, Tavakoli et al., ICLR 2026: event ordering).

    `lines`: which of so many items each line of the answer names, None for none of
    them. An order of a single item is neither right nor wrong: only F1 counts.
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
    """Return which item each line of an answer names: the one of which it has all telling words, if only one."""
    words_of_items = [
        {word_stem(word) for word in telling_words(item)} for item in items
    ]
    lines = [
        line
        for line in re.split(r"[\n;]|(?<!\S)\d+[.)]\s", answer)
        if plain_words(line)
    ]
    result: list[int | None] = []
    for line in lines:
        line_words = set(map(word_stem, plain_words(line)))
        fitting = [
            number for number, words in enumerate(words_of_items) if words <= line_words
        ]
        result.append(fitting[0] if len(fitting) == 1 else None)
    return result


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """Return the chance that `k` trials drawn of these all pass: pass^k (Yao et al., tau-bench, 2024)."""
    if not 1 <= k <= trials:
        raise ValueError(
            f"pass^{k} needs at least {k} trials and k of at least 1, not {trials}"
        )
    return comb(passed, k) / comb(trials, k)


def mean_claims(grades: Sequence[float]) -> float:
    """Return the mean of the grades 0, ½ and 1 of all claims: what the paper of BEAM says (Tavakoli et al., 2026)."""
    return sum(grades) / max(len(grades), 1)


def official_claims(grades: Sequence[float]) -> float:
    """Return what BEAM's published code makes of them: the whole part of each, so that every ½ counts as 0."""
    return sum(map(int, grades)) / max(len(grades), 1)


# --- One or several of lettered choices, in any wording.

_LETTER = (
    r"\\boxed{{\s*\(?(?P<boxed>{letters})\)?\s*}}"
    r"|\((?P<round>{letters})\)"
    r"|(?:^|(?<=\n))\W*(?P<first>{letters})(?=[).:]|\W*(?:$|\n))"
    r"|(?i:\b(?:option|answer|choice|letter)s?(?: (?:is|are|would be|should be))?[ :*_\"'`]+\(?)(?P<named>{letters})\b"
)


def chosen_letters(
    answer: str, options: Mapping[str, str], *, several: bool = False
) -> set[str]:
    """Return the letters that an answer settles on, by letter or by the text of a choice (PersonaMem, LongMemEval-V2).

    Empty where it chooses none, or leaves open which; `several`: it may choose more
    than one.
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
    # "A" and "I" are words as well: they count beside other letters, or at the end
    capitals = (
        "|".join(
            re.escape(letter)
            for letter in map(str.upper, options)
            if letter not in ("A", "I")
        )
        or "(?!)"
    )
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
    """Return where a text names choices; a choice inside a longer one is none."""
    letters = dict(zip(options.values(), options, strict=True))
    letters |= {_mark(letter, options): letter for letter in options}
    mentions = find_mentions(text, tuple(letters))
    return [
        Mention(mention.start, mention.end, letters[mention.value])
        for mention in mentions
    ]
