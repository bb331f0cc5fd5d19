"""What somebody says before they come to the point.

Without it messages would be shorter, and have fewer marks, than what filler relays in the same words: a window that
skips filler by its form would keep them alone. The people are those of filler, so that no name tells which is which.
"""

from __future__ import annotations

import random

from pytest_ltm.language.small_talk import read_templates
from pytest_ltm.locales import ENGLISH, Language, worded

OF_PEOPLE = (
    "{name} [says hello|sends regards|is out|is late again|has just left|came by|called|is asleep].",
    "{name} [and|or] {friend} [will fetch me|will be along|must be at the door|had tea here][!|.]",
    "{name}, of all people, [is here|wants the window shut|has the hiccups|has won at cards].",
    "{name} [hums|waves|nods|yawns|whistles][.|!| to {friend}.|, and so does {friend}.]",
)
OF_NOBODY = (
    "[what weather|what a noise out there|what a day], [really|honestly|dear me]!",
    "it is [7|8|9|10]:[05|20|40|55], and the kettle is on.",
    "the [tram|bus|lift|train] was [late|full|early] again; [never mind|so be it|nothing new there].",
    'the sign on the door says "[closed|back at 3|mind the step]", so [there is time|nobody hurries].',
    "[one moment|a second|bear with me], the [window|radio|door] ([again|of all things]) will not stay shut.",
    "there were [12|20|35] people in the queue, and [two|three|four] counters.",
    "please excuse the [typing|spelling|noise]: the [table|chair|floor] has been wobbling all week.",
    "[so much for that|well then|here we go]...",
    "all is [quiet|calm|fine] here, as far as that goes, and the [soup|bread|cake] has to wait.",
    "that was a long [day|week|way], with nothing in it, and no end to it; has it been raining there, too.",
)
# How many remarks a message may have before it.
_COUNTS = (0, 1, 1, 2, 2, 3)
# Mostly a name comes first, as in nearly all that is relayed.
_SHUFFLED = 0.3
# Characters that a message with remarks may have: who has much to say comes to the point.
_LONGEST = 150


def prefaced(rng: random.Random, text: str, language: Language = ENGLISH) -> str:
    """Return a message with up to three remarks before it; without any in a language whose filler relays nothing."""
    if language != ENGLISH:
        return text
    name, friend = rng.sample(read_templates()["names"], 2)
    remarks = [rng.choice(OF_PEOPLE), *rng.sample(OF_NOBODY, 2)]
    if rng.random() < _SHUFFLED:
        rng.shuffle(remarks)
    for remark in reversed(remarks[: rng.choice(_COUNTS)]):
        longer = f"{worded(rng, [remark], name=name, friend=friend)} {text}"
        text = longer if len(longer) <= _LONGEST else text
    return text
