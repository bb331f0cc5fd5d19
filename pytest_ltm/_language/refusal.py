"""Whether an answer tells nothing: it was never told, does not know, has forgotten, or will not say."""

from __future__ import annotations

from pytest_ltm._language.words import phrase_pattern, plain_words

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
_NOTHING = phrase_pattern(
    rf"(?:never|havent|have not|hasnt|has not|hadnt|dont|do not|didnt|did not|wasnt|was not|werent|were not|been|not|"
    rf"nor|nothing|nobody|isnt|arent) (?:\w+ ){{0,3}}(?:{_TOLD})",
    rf"(?:{_UNABLE}) (?:\w+ ){{0,2}}(?:{_KNOW})",
    r"(?:dont|do not|didnt|doesnt|does not|cant|cannot) (?:\w+ ){0,3}(?:have|hold|keep|own|possess|seem to have)",
    r"(?:no|without any|not any|lack any|any) (?:\w+ ){0,2}(?:record|records|memory|mention|information|info|notes?|"
    r"idea|knowledge|details?|data|trace|clue|recollection|entry)",
    r"(?:you|he|she|they|there|i) (?:have|has|had|is|are|was) (?:no|nothing)", "theres (?:no|nothing)",
    "nothing about", "(?:isnt|is not|arent|are not|wasnt) (?:any|a|one|anything|mine|for me)", "not mine to",
    r"(?:not|never|isnt|im not) (?:\w+ )?(?:aware|sure|certain|known|clear)", "unsure", "unaware", "unknown to me",
    r"(?:hasnt|has not|never|didnt|havent|not) (?:\w+ )?(?:come|came) up", "not that i (?:know|recall|remember)",
    "^(?:unknown|n a|none|nothing|no|no nothing|not known|not available|not told)$",
    "(?:is|are) (?:missing|not known|unknown)", "not something i", "need you to tell", "have to tell me",
    "not how (?:to|it|they|that)", "(?:not|wasnt|isnt) part of", "need (?:an|another|more) examples?", "^no examples?",
    "(?:first|news) (?:ive|i have|i hear|to me|time i)",
    r"only (?:\w+ )?(?:told|mentioned|know|said|have|spoke|talked|remember|recall)",
    "(?:asked|told|requested|wanted|instructed) (?:me )?to (?:forget|delete|erase)",
    r"(?:asked|told|wanted|instructed|requested) (?:\w+ )?(?:me )?(?:not to|to not|never to|to stop)", "found nothing",
    "(?:not|no) (?:found|matches|match|results?|answer|entry|entries)", "not enough",
    r"but (?:not|nothing|never|no one) (?:\w+ )?(?:about|of|for|one)",
    "forgot", "forgotten", "deleted", "erased", "wiped", "removed", "discarded", "cleared",
    r"no longer (?:\w+ )?(?:have|know|keep|hold|remember|recall|stored?|available)",
    r"(?:is|are|was|were|thats|its|stays?|remains?) (?:\w+ ){0,2}(?:private|confidential|secret|off limits|personal)",
    r"(?:told|shared|said|given) (?:\w+ ){0,3}in (?:private|confidence)", "own business",
    r"between (?:\w+ ){1,2}and (?:me|us|him|her|them)",
    r"ask (?:\w+ )?(?:himself|herself|themselves|directly|yourself)",
    r"(?:have to|should|better|please|best|could|can) (?:\w+ )?ask (?!me\b|again\b)", "decline",
)  # fmt: skip
_GUESSES = phrase_pattern(
    r"(?:but|though|however|still|yet|my|best|educated|if i had to|id|ill|i) (?:\w+ )?guess",
    r"(?:but|though|however) (?:i (?:think|believe|suppose|assume|would say)|id say|its|"
    r"it (?:is|was|must|might|may|could)|the (?:name|answer|one|word) (?:is|was))",
    r"(?:perhaps|maybe|probably|possibly|presumably|likely|surely|must be|might be|could be)"
    r"(?! (?:you|your|youre|ask|i|we|tell|not|he|she|they|someone|somebody|later|another))",
)  # fmt: skip


def tells_nothing(answer: str) -> bool:
    """Tell whether an answer says that it has nothing to tell, and offers no guess for all that."""
    return _NOTHING.search(" ".join(plain_words(answer))) is not None and not offers_guess(answer)


def offers_guess(answer: str) -> bool:
    """Tell whether an answer offers a guess."""
    return _GUESSES.search(" ".join(plain_words(answer))) is not None
