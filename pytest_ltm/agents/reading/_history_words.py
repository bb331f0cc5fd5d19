"""Words of a told history: stems that forgive endings, and which words carry no meaning."""

from __future__ import annotations

import re
from functools import lru_cache

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001 - words hold curly apostrophes
_IRREGULAR = {
    "went": "go", "gone": "go", "bought": "buy", "brought": "bring", "made": "make", "took": "take", "taken": "take",
    "gave": "give", "given": "give", "got": "get", "gotten": "get", "saw": "see", "seen": "see", "met": "meet",
    "won": "win", "lost": "lose", "left": "leave", "found": "find", "began": "begin", "begun": "begin",
    "wrote": "write", "written": "write", "read": "read", "ran": "run", "ate": "eat", "eaten": "eat", "drove": "drive",
    "flew": "fly", "grew": "grow", "knew": "know", "told": "tell", "said": "say", "felt": "feel", "kept": "keep",
    "spent": "spend", "taught": "teach", "thought": "think", "caught": "catch", "sold": "sell", "built": "build",
    "chose": "choose", "chosen": "choose", "broke": "break", "broken": "break", "spoke": "speak", "became": "become",
    "sang": "sing", "swam": "swim", "drew": "draw", "wore": "wear", "held": "hold", "led": "lead", "paid": "pay",
    "children": "child", "kids": "kid", "mice": "mouse", "feet": "foot", "people": "person", "wives": "wife",
    "lives": "live", "better": "good", "best": "good", "trip": "travel", "mother": "mom", "father": "dad",
}  # fmt: skip
COMMON = frozenset(
    """a about actually after again all also always am an and another any anything are as at away back be because been
    before being both but by can could day did do does doing done dont down during each else even ever every for from
    had has have having he her here hers herself hey hi him himself his how i i'd i'll i'm i've if im in into is isn't
    it it's its itself ive just kind last let let's like lot made many may me might mine more most much must my myself
    name new next no not now of off oh ok okay on once one only or other our ours out over own please quite really
    recently same say she should since so some something soon still such sure than thank thanks that that's thats the
    their theirs them then there these they they're thing things this those though through time to today together too
    type under until up upon us used very was way we we're well were what what's when where which while who whom whose
    why will with within without won't would wow yeah yes yet you you're your yours yourself""".split()  # noqa: SIM905 - as text
)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a rough key of a lower-case word, the same for most of its forms."""
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")  # noqa: RUF001 - as it is written
    word = _IRREGULAR.get(word, word)
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "er", "es", "ly", "s", "y", "e"):
        if len(word) - len(ending) > 2 and word.endswith(ending):  # noqa: PLR2004 - a stem has three letters
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word  # noqa: PLR2004 - planned is plan


def stems(text: str) -> list[str]:
    """Return the stems of the words that carry meaning, in order."""
    return [stem(word) for word in WORD.findall(text.lower()) if word not in COMMON]
