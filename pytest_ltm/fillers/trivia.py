"""TriviaFiller: a quiz in messages with exact numbers of tokens, from built-in facts or a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from pytest_ltm.api.model import FillerExchange, TokenCounter
from pytest_ltm.api.storage import FillerError, read_regular
from pytest_ltm.fillers.deck import (
    Deck,
    Pool,
    Room,
    built_in,
    built_in_identity,
    shuffled_range,
)
from pytest_ltm.fillers.quiz import (
    CLOSING,
    INSTRUCTION,
    FactTokens,
    QuizFact,
    answer_item,
    message_of,
    reply_of,
)


class TriviaFiller:
    """Asks for the answers of facts in random order, without repetition until all were asked.

    The built-in pool continues with endless arithmetic; a given pool starts again.
    """

    def __init__(
        self,
        rng: Random,
        counter: TokenCounter,
        pool: Pool | None = None,
        closing: str = CLOSING,
    ) -> None:
        self._counter = counter
        self._closing = closing
        self._pool = pool
        self._deck = Deck(_iter_pool_facts(rng, counter, pool))
        self._reply = counter.count(reply_of(["x"])) - counter.count(answer_item("x"))

    def make(
        self, tokens: int, max_message_tokens: int, instruction: str = INSTRUCTION
    ) -> FillerExchange:
        """Return a quiz and its list of answers that just reach `tokens` tokens, usually exactly.

        The message begins with the `instruction` and stays within `max_message_tokens`,
        even if the target is then not reached; FillerError if a single question is too
        long.
        """
        frame = self._counter.count(f"{instruction}\n{self._closing}")
        room = Room(tokens, max_message_tokens).reduce_by(
            FactTokens(frame, frame + self._reply)
        )
        facts, room = self._deck.take_facts(room)
        if not facts:
            raise FillerError(
                f"trivia filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        # Begin and end the list of answers with a letter or digit if possible: other
        # characters may merge with a bracket into one token, so that counts do not add
        # up.
        for end in (0, -1):
            for i in range(len(facts)):
                place = i if end == 0 else -1 - i
                if facts[place].answer[end].isalnum():
                    facts[end], facts[place] = facts[place], facts[end]
                    break
        if not self._counter.additive:
            while len(facts) > 1:
                exchange = self._exchange(facts, instruction)
                message = max(1, self._counter.count(exchange.message))
                both = message + self._counter.count(exchange.expected_reply)
                beyond = (message - max_message_tokens) * len(facts) / message
                surplus = (both - tokens) * len(facts) / both
                too_many = max(-int(-beyond // 1), int(surplus))
                if too_many <= 0:
                    break
                del facts[max(1, len(facts) - too_many) :]
        if self._pool is None and self._counter.additive:
            return self._exchange(facts, instruction, max_message_tokens - room.allowed)
        return self._exchange(facts, instruction)

    def configuration(self) -> object:
        """Return what determines its texts besides the seed: the facts."""
        return {
            "filler": "trivia",
            "facts": self._pool.identity if self._pool else built_in_identity(),
        }

    def _exchange(
        self,
        facts: Sequence[QuizFact],
        instruction: str,
        message_tokens: int | None = None,
    ) -> FillerExchange:
        message = message_of(facts, instruction, self._closing)
        return FillerExchange(
            message, reply_of([fact.answer for fact in facts]), message_tokens
        )


def _iter_pool_facts(
    rng: Random, counter: TokenCounter, chosen_pool: Pool | None
) -> Iterator[tuple[QuizFact, FactTokens]]:
    from pytest_ltm.fillers.knowledge import arithmetic_facts

    pool = chosen_pool or built_in()
    while True:
        for i in shuffled_range(len(pool.facts), rng):
            yield pool.facts[i], pool.cost(i, counter)
        if chosen_pool is None:
            yield from arithmetic_facts(rng, counter)


# --- Facts from a file in the format of TriviaQA.


def pool_of_file(path: str) -> Pool:
    """Return the facts of a file `{"Data": [{"Question": ..., "AnswerValue": ...}, ...]}`.

    `"Answer": {"Value": ...}`, as in TriviaQA's own files, is accepted, too. The file
    is read again only after a change. Raises FillerError, which names the file and the
    field.
    """
    file = Path(path).expanduser()
    try:
        status = file.stat()
    except OSError as exc:
        raise FillerError(
            f"filler file {path!r} cannot be read ({exc.strerror})"
        ) from exc
    return _read_pool(file.resolve(), status.st_mtime_ns, status.st_size)


@cache
def _read_pool(file: Path, _changed: int, _size: int) -> Pool:
    try:
        content = read_regular(file)
        data = json.loads(content)
    except (OSError, ValueError) as exc:
        raise FillerError(
            f"filler file '{file}' cannot be read as JSON ({exc})"
        ) from exc
    records = data.get("Data") if isinstance(data, dict) else None
    if not isinstance(records, list) or not records:
        raise FillerError(
            f"filler file '{file}': field 'Data' must be a list of questions that is not empty"
        )
    facts: list[QuizFact] = []
    for i, record in enumerate(records):
        where = f"filler file '{file}', Data[{i}]"
        if not isinstance(record, dict):
            raise FillerError(
                f"{where} must be a mapping with 'Question' and 'AnswerValue', not {record!r:.60}"
            )
        nested = record.get("Answer")
        # TriviaQA's own files nest the answer in another mapping
        if isinstance(nested, dict) and "Value" in nested:
            value = {"AnswerValue": nested["Value"]}
        else:
            value = {}
        question = _field_text(where, record, "Question")
        facts.append(
            QuizFact(question, _field_text(where, value | record, "AnswerValue"))
        )
    # A reader finds the answer only if it follows the last " A: ".
    facts = [fact for fact in facts if " A: " not in f" {fact.answer}"]
    if not facts:
        raise FillerError(
            f"filler file '{file}': no question left, for every answer contains 'A: '"
        )
    return Pool(dict.fromkeys(facts), f"sha256 {hashlib.sha256(content).hexdigest()}")


def _field_text(where: str, record: dict[str, Any], field: str) -> str:
    """Return a field as one line of text that UTF-8 can encode."""
    if field not in record:
        also = " (nor 'Answer' with 'Value')" if field == "AnswerValue" else ""
        raise FillerError(
            f"{where}: no field {field!r}{also}; its fields: {', '.join(map(repr, record))}"
        )
    value = record[field]
    if not isinstance(value, str) or not value.strip():
        raise FillerError(
            f"{where}: field {field!r} must be a non-empty text, not {value!r:.60}"
        )
    return " ".join(value.split()).encode(errors="replace").decode()
