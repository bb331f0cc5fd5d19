"""Whether an answer tells nothing: it was never told, does not know, has forgotten, or will not say."""

from __future__ import annotations

from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.words import plain_words

_TOLD = (
    "told|tell|mention|mentioned|mentioning|said|say|saying|shared|share|given|give|gave|spoken|talked|discussed|specified|"
    "stated|named|described|brought up|revealed|explained|heard|recorded|noted|stored|taught|teach|learn|learned|"
    "learnt|shown|showed|covered"
)
_KNOW = (
    "know|recall|remember|find|see|tell|say|share|access|disclose|reveal|repeat|discuss|help|answer|give|pass|talk|confirm|"
    "hand|provide|divulge|comment|go into|determine|infer|deduce|work out|derive|derived|be derived|form"
)
_UNABLE = (
    "dont|do not|cant|cannot|can not|couldnt|could not|wont|will not|wouldnt|would not|not able to|unable to|"
    "not going to|not allowed to|not free to|mustnt|must not|shouldnt|should not|may not|rather not|prefer not to|"
    "not to|not supposed to|decline to|refuse to"
)
_NOTHING = LEXICON.pattern("refusal nothing")
_GUESSES = LEXICON.pattern("refusal guesses")


def tells_nothing(answer: str) -> bool:
    """Tell whether an answer says that it has nothing to tell, and offers no guess for all that."""
    return _NOTHING.search(" ".join(plain_words(answer))) is not None and not offers_guess(answer)


def offers_guess(answer: str) -> bool:
    """Tell whether an answer offers a guess."""
    return _GUESSES.search(" ".join(plain_words(answer))) is not None
