"""ChapterBreak from files: the original data set (Sun et al., 2022), and the user's plain-text books.

The data set is JSON: by split (`pg19`, `ao3`), by work id, a list of records `ctx` (the preceding text), `pos` (the
true beginning of the next chapter) and `negs` (five others). A file with a single split is accepted, too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_ltm.api.storage import (
    DatasetError,
    did_you_mean,
    lazy_pattern,
    read_regular,
)
from pytest_ltm.language.numbers import BELOW_HUNDRED

# The values of `split`.
SPLITS = ("all", "ao3", "pg19")
# Characters of a chapter's beginning, cut at the end of a sentence: about the data
# set's 150 words.
BEGINNING = 900

_HEADING = lazy_pattern(
    rf"[#=*\s]*(?:(?i:(?:chapter|part|book|canto|letter|act)\s+(?:[0-9]{{1,4}}|[ivxlcdm]{{1,8}}|{BELOW_HUNDRED}))"
    r"(?:[.:]?|(?:[.:]|\s*[–—-])\s+\S.{0,80})"
    r"|(?:[0-9]{1,3}|[IVXLCDM]{1,8})(?:[.:]?|[.:]\s+\S.{0,80})|(?i:prologue|epilogue)[.:]?)[*=\s]*"
)
_LONGEST_HEADING = 100
_SENTENCE_END = lazy_pattern(r"[.!?][\"”’)]*(?=\s)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """The text up to the end of a chapter, and candidate beginnings of the next one."""

    work: str
    """The source: `<work id>_<number>`, or the file's name and the chapter's number."""
    context: str
    """The preceding text."""
    true: str
    """The beginning of the next chapter."""
    others: tuple[str, ...]
    """Beginnings of other chapters."""


def chapter_from_dataset(
    path: str | Path, rng: random.Random, *, split: str = "all", context_characters: int
) -> Chapter:
    """Return a random record of the original data set; DatasetError names what is wrong.

    At most the last `context_characters` of the context are kept, from the start of a sentence.
    """
    if split not in SPLITS:
        raise DatasetError(
            f"split {split!r} is unknown; choose from {', '.join(SPLITS)}.{did_you_mean(split, SPLITS)}"
        )
    file = Path(path)
    try:
        changed = file.stat().st_mtime_ns
    except OSError as error:
        raise DatasetError(
            f"{file}: cannot be read: {error.strerror or error}."
        ) from None
    works = dict(_iter_book_records(_parse_book_file(file, changed), split, str(file)))
    if not any(works.values()):
        raise DatasetError(
            f"{file}: no records{'' if split == 'all' else f' in the split {split!r}'}."
        )
    places = []
    for work in sorted(works):
        places += [(work, number) for number in range(len(works[work]))]
    work, number = rng.choice(places)
    where = f"{file}, work {work!r}, record {number}"
    record = works[work][number]
    if not isinstance(record, Mapping):
        raise DatasetError(
            f"{where}: expected a record with ctx, pos and negs, got {record!r:.60}."
        )
    negatives = record.get("negs")
    if not isinstance(negatives, list) or not negatives:
        raise DatasetError(
            f"{where}: expected 'negs', a list of texts (fields: {', '.join(sorted(record))})."
        )
    context, true = (_record_text(record, name, where) for name in ("ctx", "pos"))
    endings = tuple(_record_text({"negs": text}, "negs", where) for text in negatives)
    context = _last_sentences(context, context_characters)
    return Chapter(work=f"{work}_{number}", context=context, true=true, others=endings)


def chapter_from_book(
    path: str | Path, rng: random.Random, *, others: int, context_characters: int
) -> Chapter:
    """Return the end of a random chapter of a plain-text book (UTF-8, chapters under headings).

    The wrong beginnings are those of `others` later chapters, which the agent has not read yet. Headings are omitted
    from the beginnings because their numbers would give the answer away. DatasetError if the book has too few chapters.
    """
    file = Path(path)
    try:
        text = read_regular(file).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{file}: cannot be read as a text in UTF-8: {error}."
        ) from None
    chapters = book_chapters(text)
    if len(chapters) < others + 2:
        raise DatasetError(
            f"{file}: {len(chapters)} chapters found, at least {others + 2} needed. A chapter begins with a line of "
            "its own, such as 'Chapter 7', 'VII.' or '7. The storm'."
        )
    following = rng.randrange(len(chapters) - others - 1) + 1
    wrong = rng.sample(range(following + 1, len(chapters)), others)
    parts = [f"{heading}\n\n{body}" for heading, body in chapters[:following]]
    bodies = [chapters[number][1] for number in (following, *wrong)]
    true, *wrongs = map(_first_sentences, bodies)
    context = _last_sentences("\n\n".join(parts), context_characters)
    return Chapter(
        work=f"{file.name}_{following}",
        context=context,
        true=true,
        others=tuple(wrongs),
    )


def book_chapters(text: str) -> list[tuple[str, str]]:
    """Return heading and body of each chapter; headings without a body (tables of contents) are dropped."""
    chapters: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if len(line) <= _LONGEST_HEADING and line.strip() and _HEADING.fullmatch(line):
            chapters.append((line.strip(), []))
        elif chapters:
            chapters[-1][1].append(line)
    bodies = [(heading, "\n".join(lines).strip()) for heading, lines in chapters]
    return [(heading, body) for heading, body in bodies if len(body) > _LONGEST_HEADING]


@lru_cache(maxsize=1)
def _parse_book_file(file: Path, changed: int) -> Any:  # noqa: ARG001 - a file that has changed is read again
    try:
        return json.loads(read_regular(file))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(f"{file}: not JSON: {error}.") from None


def _iter_book_records(
    data: Any, split: str, where: str
) -> Iterator[tuple[str, Sequence[Any]]]:
    if not isinstance(data, Mapping):
        raise DatasetError(
            f"{where}: expected a mapping of work ids (or of splits), got {type(data).__name__}."
        )
    for name, value in data.items():
        if isinstance(value, list):
            yield str(name), value
        elif isinstance(value, Mapping):
            if split in ("all", name):
                yield from _iter_book_records(value, split, f"{where}, {name}")
        else:
            raise DatasetError(
                f"{where}, {name!r}: expected a list of records, got {type(value).__name__}."
            )


def _record_text(record: Mapping[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise DatasetError(
            f"{where}: expected {name!r}, a non-empty text (fields: {', '.join(sorted(record))})."
        )
    return value


def _last_sentences(text: str, characters: int) -> str:
    """Return at most the last `characters`, from the start of a sentence."""
    if len(text) <= characters:
        return text
    ending = text[-characters:]
    end = _SENTENCE_END.search(ending)
    return ending[end.end() :].lstrip() if end else ending


def _first_sentences(text: str) -> str:
    """Return the first sentences, about `BEGINNING` characters; a longer first sentence is cut."""
    if len(text) <= BEGINNING:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, BEGINNING + 1)]
    return text[: ends[-1]] if ends else text[:BEGINNING]
