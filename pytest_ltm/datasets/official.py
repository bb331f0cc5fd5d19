r"""The figures of the authors' own scorers, reimplemented: their score of an answer is reported next to ours.

Each is tested against the published code on random pairs. Where the two differ, ours is the score and theirs the figure
`official`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.evaluators import kendall_tau_b

# --- LongMemEval-V2 (Wu et al., 2026): a rule with options in one text,
# `RULE|NAME=VALUE|...`, for the last box of the answer.

_BOX = "\\boxed{"


def boxed_part(answer: str) -> str:
    r"""Return the content of the last non-empty `\boxed{}` in an answer, or the answer without one."""
    start = answer.rfind(_BOX)
    if start < 0:
        return answer.strip()
    depth = 1
    end = start + len(_BOX)
    while end < len(answer) and depth:
        depth += {"{": 1, "}": -1}.get(answer[end], 0)
        end += 1
    inside = answer[start + len(_BOX) : end - (depth == 0)].strip()
    return inside or answer.strip()


def plain_phrase(text: str, options: Mapping[str, Any]) -> str:
    """Return a phrase normalized for case, hyphens, punctuation and blanks, as the options say."""
    if options.get("lower", True):
        text = text.lower()
    if options.get("normalize_hyphen", True):
        text = re.sub("[-_]", " ", text)
    text = re.sub("[,;]", " ", text)
    if options.get("strip_punct", True):
        text = re.sub(r"[^\w\s]", "", text)
    return " ".join(re.split(r"\s+", text)).strip()


def _gold_phrases(gold: str, options: Mapping[str, Any]) -> list[str]:
    separators = options.get("separators", [",", ";"])
    if separators:
        parts = re.split("|".join(map(re.escape, separators)), gold)
    else:
        parts = [gold]
    phrases = (plain_phrase(part, options) for part in parts)
    return [phrase for phrase in phrases if phrase]


def holds_phrases(
    answer: str, gold: str, options: Mapping[str, Any], *, ordered: bool = False
) -> bool:
    """Return whether an answer contains all phrases of the gold one as words, optionally in order."""
    text = plain_phrase(answer, options)
    phrases = _gold_phrases(gold, options)
    if options.get("require_non_empty", True) and not (text and phrases):
        return False
    start = 0
    for phrase in phrases:
        found = re.search(rf"\b{re.escape(phrase)}\b", text[start:])
        if found is None:
            return False
        if ordered:
            start += found.end()
    return True


def is_choice(answer: str, gold: str, options: Mapping[str, Any]) -> bool:
    """Return whether an answer is a letter, in a box or alone, with or without the word "option"."""
    box = re.search(r"\\boxed\{([^}]*)\}", answer.lower())
    text = re.sub(
        r"\b(?:choice|option)\b", "", box[1] if box else answer, flags=re.IGNORECASE
    )
    signs = dict.fromkeys(map(ord, str(options.get("strip_chars", "."))))
    chosen = text.translate(signs).strip().upper()
    expected = gold.strip().upper()
    if options.get("require_non_empty", True) and not (chosen and expected):
        return False
    return chosen == expected


_NOT_LETTERS = frozenset(
    [
        "AND",
        "ANSWER",
        "ANSWERS",
        "CHOICE",
        "CHOICES",
        "FINAL",
        "LETTER",
        "LETTERS",
        "OPTION",
        "OPTIONS",
    ]
)


def _letters_in(text: str) -> set[str]:
    runs = re.findall("[A-Z]+", text.upper())
    letters: set[str] = set()
    for run in runs:
        if run not in _NOT_LETTERS:
            letters.update(run)
    return letters


def are_choices(answer: str, gold: str, options: Mapping[str, Any]) -> bool:
    """Return whether an answer names exactly the letters of the gold one."""
    chosen = _letters_in(answer)
    expected = _letters_in(gold)
    if options.get("require_non_empty", True) and not (chosen and expected):
        return False
    return chosen == expected


_PHRASE_RULES: Mapping[str, Callable[[str, str, Mapping[str, Any]], bool]] = {
    "norm_phrase_set_match": holds_phrases,
    "norm_phrase_set_match_ordered": lambda answer, gold, options: holds_phrases(
        answer, gold, options, ordered=True
    ),
    "mc_choice_match": is_choice,
    "mc_choice_set_match": are_choices,
}


def parse_phrase_rule(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name and options of a rule; DatasetError for an option without a value."""
    name, *parts = [part.strip() for part in text.split("|")]
    options: dict[str, Any] = {}
    for part in filter(None, parts):
        key, sign, value = part.partition("=")
        if not sign or not key.strip():
            raise DatasetError(f"expected NAME=VALUE in {text!r}, got {part!r}")
        options[key.strip()] = _option_value(key.strip(), value.strip())
    return name, options


def _option_value(name: str, value: str) -> Any:
    if name.startswith("separator"):
        return [sign for sign in value.strip("[]") if sign not in " \t\"'"]
    return {"true": True, "false": False}.get(value.lower(), value)


def longmemeval_v2_score(rule: str, answer: str, gold: str) -> float | None:
    """Return the score by a question's published rule; None if it uses a model."""
    name, options = parse_phrase_rule(rule)
    function = _PHRASE_RULES.get(name)
    if function:
        return float(function(boxed_part(answer), gold, options))
    return None


# --- MemoryAgentBench (Hu et al., ICLR 2026): by the source's name, for the whole
# answer and the line after "Answer:".

_ANSWER = re.compile("answer:([^\n]*)", re.IGNORECASE)
_SIGNS = dict.fromkeys(map(ord, string.punctuation))


def answer_line(output: str) -> str:
    """Return the text after the first "Answer:" of an output, or its first line."""
    match = _ANSWER.search(output)
    line = (match[1] if match else output.split("\n", 1)[0]).strip()
    return re.sub("^answer:", "", line, flags=re.IGNORECASE).strip()


def _squad(text: str) -> str:
    text = text.lower().translate(_SIGNS)
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", text).split())


def _squad_f1(spoken: str, gold: str) -> float:
    special = {"yes", "no", "noanswer"}
    if spoken != gold and (spoken in special or gold in special):
        return 0.0
    first = spoken.split()
    second = gold.split()
    common = sum((Counter(first) & Counter(second)).values())
    if not common:
        return 0.0
    precision = common / len(first)
    recall = common / len(second)
    return 2 * precision * recall / (precision + recall)


def squad_figures(output: str, golds: Sequence[str]) -> dict[str, float]:
    """Return exact match, F1 and substring match with the nearest gold answer."""
    spoken = _squad(output)
    squad_golds = [_squad(gold) for gold in golds]
    return {
        "exact_match": float(spoken in squad_golds),
        "f1": max(_squad_f1(spoken, gold) for gold in squad_golds),
        "substring_exact_match": float(any(gold in spoken for gold in squad_golds)),
    }


def memoryagentbench_figures(
    source: str, output: str, golds: Sequence[str]
) -> dict[str, float]:
    """Return the published figures of an output by name; none for a source whose golds are ids or rubrics."""
    if "recsys" in source:
        return {}
    found = [gold.lower() in output.lower() for gold in golds]
    if "ruler_niah" in source:
        return {"ruler_recall": sum(found) / len(found)}
    line = squad_figures(answer_line(output), golds)
    if "icl" in source:
        return line
    if "eventqa" in source:
        return line | {"eventqa_recall": float(all(found))}
    all_figures = squad_figures(output, golds)
    figures = {name: max(value, line[name]) for name, value in all_figures.items()}
    if "choice_eng" in source and len(golds) > 1:
        figures["substring_exact_match"] = float(found[1])
        figures["exact_match"] = max(figures["exact_match"], float(found[1]))
    return figures


# The figure that the paper reports for a source, by part of its name.
_REPORTED = {
    "eventqa": "eventqa_recall",
    "ruler_niah": "ruler_recall",
    "ruler": "substring_exact_match",
    "factconsolidation": "substring_exact_match",
    "icl": "exact_match",
    "detective": "exact_match",
}


def memoryagentbench_score(
    source: str, output: str, golds: Sequence[str]
) -> float | None:
    """Return the figure that the paper reports for a source; None if it uses a model, or compares ids."""
    name = next((name for part, name in _REPORTED.items() if part in source), None)
    figures = memoryagentbench_figures(source, output, golds)
    return figures.get(name) if name else None


# --- BEAM (Tavakoli et al., ICLR 2026): the order of events.


def beam_order_score(reference: Sequence[str], lines: Sequence[str]) -> float | None:
    """Return tau-b (0 to 1) times F1 as in the published code: items missing on one side are tied for last there.

    `lines`: the answer's lines, replaced by the item that they name, if any. None if all are tied, as tau-b is
    undefined then.
    """
    expected = set(reference)
    listed = set(lines)
    right = len(expected & listed)
    extra = sum(line not in expected for line in lines)
    missing = sum(item not in listed for item in reference)
    precision = right / (right + extra) if right + extra else 0.0
    recall = right / (right + missing) if right + missing else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    union = list(dict.fromkeys([*reference, *lines]))
    first = _ranks_in(reference, union)
    second = _ranks_in(lines, union)
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return (kendall_tau_b(first, second) + 1) / 2 * f1


def _ranks_in(sequence: Sequence[str], union: Sequence[str]) -> list[int]:
    places = {item: number for number, item in enumerate(sequence, start=1)}
    return [places.get(item, len(union) + 1) for item in union]


# --- By the name that an interchange question gives.


def official_score(rule: str, answer: str, golds: Sequence[str]) -> float | None:
    """Return the score by a data set's published scorer; None if it uses a model.

    `rule`: `longmemeval-v2:RULE|NAME=VALUE` or `memoryagentbench:SOURCE`. DatasetError for any other.
    """
    benchmark, _, name = rule.partition(":")
    if benchmark == "longmemeval-v2":
        return longmemeval_v2_score(name, answer, golds[0])
    if benchmark == "memoryagentbench":
        return memoryagentbench_score(name, answer, golds)
    raise DatasetError(
        f"official: unknown rule {rule!r}. Known are longmemeval-v2:RULE and memoryagentbench:SOURCE"
    )
