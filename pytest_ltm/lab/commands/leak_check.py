"""`leak-check WHAT...`: how much evidence is found by words, lengths and places alone, without a question."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, structs

from pytest_ltm.api.scenarios import SUFFIX, built_in_names
from pytest_ltm.api.storage import (
    ConfigurationError,
    did_you_mean,
    one_line,
    open_regular,
    pluralize,
)
from pytest_ltm.commands.arguments import (
    add_flags,
    add_json,
    add_option,
    add_pytest_options,
    add_seeds,
)
from pytest_ltm.commands.pytest_runs import play_run
from pytest_ltm.datasets.locomo.samples import load_locomo
from pytest_ltm.datasets.longmemeval.conversations import holds_evidence
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile
from pytest_ltm.datasets.published import DefinitionsFolder
from pytest_ltm.figures.statistics.totals import mean_or_none
from pytest_ltm.figures.text import clip_text
from pytest_ltm.lab.cheat_agents import (
    FormSample,
    learn_tree,
    share_told_apart,
    write_tree,
)
from pytest_ltm.lab.commands.calibrate import pool_definitions
from pytest_ltm.lab.cues import (
    SHARES,
    CueRecall,
    Text,
    all_cues,
    best_cues,
    cue_recall,
    one_cue,
    rank_by_cues,
)
from pytest_ltm.lab.study import (
    aligned_lines,
    earned_marks,
    play_rows,
    study_folder,
    tell_progress,
)

# The exit status if more is found than LIMIT times as much as in the reference.
LEAKS = 1
LIMIT = 1.25
ALL_SUITES = "all"
AMONG, FILLER, HISTORIES = "among scenario messages", "against filler", "in histories"
"""The tables; only the one against filler has no limit, as nothing needs to hide in filler."""
# The window of an agent that skips filler.
WINDOW = "8k"
_SEED = "seed "
_FEWEST = 2
# The agent that plays a suite: it completes every scenario.
READER = "full"
# The most words of a message that count: 1 % of a book would equal all messages of a
# scenario.
_PAGE = 50
_HEAD = 65_536
_SHOWN = 3
_CUES = 100


def add_arguments(parser: ArgumentParser) -> None:
    """Add the texts, the reference and how suites are played."""
    sources = "a suite, test files, folders of definitions, or *.json files of LongMemEval or LoCoMo histories"
    parser.add_argument("sources", nargs="+", metavar="WHAT", help=sources)
    reference = "texts of the same kind to compare with, cut to as many conversations"
    parser.add_argument(
        "--reference", nargs="+", default=[], metavar="WHAT", help=reference
    )
    add_seeds(parser)
    span = "the memory span at which suites are played (default: 32k)"
    add_option(parser, "--span", "SPAN", span, "32k")
    add_flags(parser, sessions="look for whole sessions of histories, not for turns")
    add_pytest_options(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Measure how much evidence is found by its words, lengths and places alone, without a question.

    A detector learns from some conversations what distinguishes evidence, and searches others for it: how much does it
    find before 1 % and 5 % of the other words are let through? Exit status 1 if it finds more than 1.25 times as much
    as in the reference.
    """
    source = LeakCheckInput(
        arguments.seeds, arguments.span, arguments.pytest, sessions=arguments.sessions
    )
    theirs = source.texts(arguments.reference) if arguments.reference else {}
    if theirs:  # play no more than can be compared
        if (fewest := max(map(_count_conversations, theirs.values()))) < _FEWEST:
            raise _nothing_compared(arguments.reference)
        source = structs.replace(source, seeds=min(arguments.seeds, fewest))
    ours = source.texts(arguments.sources)
    for name in ours.keys() & theirs.keys():
        fewest = min(_count_conversations(side[name]) for side in (ours, theirs))
        ours[name] = _first_conversations(ours[name], fewest)
        theirs[name] = _first_conversations(theirs[name], fewest)
    tables = [
        CueTable.compare_cues(name, texts, theirs.get(name, ()))
        for name, texts in ours.items()
    ]
    breaches = list(chain.from_iterable(table.breaches for table in tables))
    if theirs and not any(table.has_limit for table in tables):
        raise _nothing_compared(arguments.reference)
    if not any(table.ours for table in tables):
        raise ConfigurationError(
            f"{' '.join(arguments.sources)}: nothing to look for, or one conversation alone, "
            "which teaches nothing of others. Name texts with evidence, and play more --seeds"
        )
    skipping = source.skip_filler(arguments.sources, ours)
    if arguments.json:
        fields: dict[str, Any] = {
            "tables": [table.as_json() for table in tables],
            "breaches": breaches,
        }
        if skipping:
            fields["skipping"] = structs.asdict(skipping)
        print(json.dumps(fields, indent=1))
    else:
        lines: list[str] = []
        for table in tables:
            lines += [*aligned_lines(table.rows()), "", *table.cues(), ""]
        if skipping:
            lines += [str(skipping), ""]
        lines += [f"- {sentence}" for sentence in breaches]
        print("\n".join(lines).rstrip())
    return LEAKS if breaches else 0


def _nothing_compared(reference: Sequence[str]) -> ConfigurationError:
    return ConfigurationError(
        f"{' '.join(reference)}: nothing can be compared: no scenario is on both sides, or one side is a single "
        "conversation, which teaches nothing of others. Name several folders after --reference, or play more --seeds"
    )


def _count_conversations(texts: Sequence[Text]) -> int:
    return len({text.group for text in texts})


def _first_conversations(texts: Sequence[Text], count: int) -> list[Text]:
    """Return the texts of the first conversations, so that both sides learn from the same number."""
    groups = set(list(dict.fromkeys(text.group for text in texts))[:count])
    return [text for text in texts if text.group in groups]


# --- The searched texts


class LeakCheckInput(Struct, frozen=True):
    """Settings for playing suites and reading files."""

    seeds: int
    span: str
    options: Sequence[str]
    sessions: bool
    """Whether to search for whole sessions of histories instead of turns."""

    def texts(self, sources: Sequence[str]) -> dict[str, list[Text]]:
        """Return the texts of suites, test files, folders of definitions or files of histories, by table."""
        paths = [Path(text) for text in sources]
        if all(path.suffix == ".json" for path in paths):
            texts = chain.from_iterable(map(self._history_texts, paths))
            return {HISTORIES: list(dict.fromkeys(texts))}
        marked_texts: list[tuple[Text, bool]] = []
        if all(map(_is_folder, sources)):
            with study_folder("leak-check") as folder:
                for place in pool_definitions(map(DefinitionsFolder, paths), folder):
                    marked_texts += self._play_texts(
                        [f"--ltm-definitions={place}"],
                        f"conversation {place.name}",
                        place,
                    )
        else:
            suites, tests = _suites_and_tests(sources)
            strange = [
                text for text in tests if not Path(text.partition("::")[0]).exists()
            ]
            if len(suites) > 1 or strange:
                first = (strange or suites)[0]
                names = built_in_names()
                raise ConfigurationError(
                    f"{first!r}: name one suite ({', '.join(names)}, or a file *{SUFFIX}), test files, folders of "
                    f"definitions, or *.json files of LongMemEval or LoCoMo.{did_you_mean(first, names)}"
                )
            for seed in range(self.seeds):
                marked_texts += self._play_texts(
                    _seed_words(sources, seed), f"{_SEED}{seed}"
                )
        messages: list[Text] = []
        filler: list[Text] = []
        for text, is_filler in marked_texts:
            (filler if is_filler else messages).append(text)
        evidence = [text for text in messages if text.kinds]
        return {AMONG: messages, FILLER: evidence + filler}

    def skip_filler(
        self, sources: Sequence[str], result: Mapping[str, Sequence[Text]]
    ) -> SkippedFiller | None:
        """Return the score of a window that skips filler by its form; None unless a suite was played with two seeds.

        The form is learned from every other seed, and the remaining ones are played.
        """
        filler = [text for text in result.get(FILLER, ()) if not text.kinds]
        groups = list(dict.fromkeys(text.group for text in filler))
        if len(groups) < _FEWEST or not groups[0].startswith(_SEED):
            return None
        tree = learn_tree(_form_samples(result[AMONG], filler, groups[1::2]))
        held_out = groups[::2]
        samples = _form_samples(result[AMONG], filler, held_out)
        points: dict[str, float] = {}
        with study_folder("leak-check") as folder:
            path = folder / "tree.json"
            path.write_text(json.dumps(tree), encoding="utf-8")
            specs = (f"skips:{WINDOW}:{path}", f"window:{WINDOW}")
            for group in held_out:
                tell_progress(f"{group}, skipping filler")
                words = [
                    f"--ltm-span={self.span}",
                    *self.options,
                    *_seed_words(sources, int(group.removeprefix(_SEED))),
                ]
                scores = earned_marks(
                    play_rows(specs, words, folder / group.replace(" ", ""))
                )
                for (spec, _), marks in scores.items():
                    points[spec] = points.get(spec, 0.0) + (mean_or_none(marks) or 0.0)
        skips, alone = (points[spec] / len(held_out) for spec in specs)
        share = share_told_apart(tree, samples)
        scenarios = {scenario for _, scenario in scores}
        return SkippedFiller(share, write_tree(tree), skips, alone, len(scenarios))

    def _play_texts(
        self, words: Sequence[str], group: str, cwd: Path | None = None
    ) -> Iterator[tuple[Text, bool]]:
        """Yield the messages of a run, and whether each is filler."""
        tell_progress(group)
        with study_folder("leak-check") as folder:
            run = play_run(
                [READER],
                [f"--ltm-span={self.span}", *self.options, *words],
                folder,
                cwd=cwd,
            )
            for conversation in run.conversations:
                record = conversation.record()
                if record is None:
                    continue
                length = max(record.transcript.position, 1)
                for exchange in record.transcript:
                    if exchange.kind not in ("say", "ask", "filler"):
                        continue
                    place = f"tenth {10 * exchange.start // length + 1}"
                    kinds: tuple[str, ...] = ()
                    if exchange.kind == "say":
                        # an example's messages are the evidence of its scenario
                        kinds = (exchange.by.partition("/")[0],)
                    text = Text(exchange.message, group, place, kinds, _PAGE)
                    yield text, exchange.kind == "filler"

    def _history_texts(self, path: Path) -> Iterator[Text]:
        """Yield the sessions of a LongMemEval or LoCoMo file, or their turns, labelled as evidence."""
        if not path.is_file():
            raise ConfigurationError(f"there is no file {str(path)!r}")
        with open_regular(path) as file:
            is_longmemeval = b'"question_id"' in file.read(_HEAD)
        read_sessions = longmemeval_sessions if is_longmemeval else locomo_sessions
        for group, kinds, turns in read_sessions(path):
            if self.sessions:
                yield Text(
                    "\n".join(text for text, *_ in turns), group, "session", kinds
                )
                continue
            for number, (text, place, turn_kinds) in enumerate(turns):
                if number == len(turns) - 1:
                    position = "last"
                else:
                    position = {0: "first", 1: "second"}.get(number, "later")
                yield Text(text, group, place.format(position), turn_kinds)


# A session of a history: its conversation, the kinds it is evidence for, and its turns
# as text, place and kinds.
_Session: TypeAlias = (
    "tuple[str, tuple[str, ...], list[tuple[str, str, tuple[str, ...]]]]"
)


def longmemeval_sessions(path: Path) -> Iterator[_Session]:
    """Yield the sessions of all histories; evidence is what the history's question cites."""
    for record in LongMemEvalFile(path).records():
        kinds = ("abstention" if record.abstention else record.type,)
        for session in record.sessions:
            cited = kinds if holds_evidence(session, record) else ()
            turns = []
            for turn in session.turns:
                turn_kinds: tuple[str, ...] = kinds if turn.has_answer else ()
                turns.append((turn.content, f"{turn.role}, {{}}", turn_kinds))
            yield record.id, cited, turns


def locomo_sessions(path: Path) -> Iterator[_Session]:
    """Yield the sessions of all conversations; a turn may be evidence for several categories."""
    for sample in load_locomo(path).samples:
        cited: dict[str, dict[str, None]] = {}
        for question in sample.questions:
            for turn_id in question.evidence:
                cited.setdefault(turn_id, {})[str(question.category)] = None
        for session in sample.sessions:
            session_kinds: dict[str, None] = {}
            turns = []
            for turn in session.turns:
                kinds = cited.get(turn.id, {})
                session_kinds |= kinds
                # a photo is a cue of its own, whatever its caption
                place = "{}, photo" if turn.caption else "{}"
                turns.append((turn.text, place, tuple(kinds)))
            yield sample.id, tuple(session_kinds), turns


def _is_folder(source: str) -> bool:
    return Path(source).is_dir() and source not in built_in_names()


def _suites_and_tests(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the named suites, and the test files."""
    suites = []
    tests = []
    for name in names:
        if name in built_in_names() or name.endswith(SUFFIX):
            suites.append(name)
        else:
            tests.append(name)
    return suites, tests


def _seed_words(names: Sequence[str], seed: int) -> list[str]:
    """Return the command line that plays suites and test files with a seed."""
    suites, tests = _suites_and_tests(names)
    return [
        f"--ltm-suite={suites[0] if suites else 'none'}",
        f"--ltm-seed={seed}",
        *tests,
    ]


def _form_samples(
    messages: Iterable[Text], filler: Iterable[Text], groups: Collection[str]
) -> list[FormSample]:
    """Return the labelled messages and fillers of some conversations."""
    samples = [
        FormSample(text.text, False) for text in messages if text.group in groups
    ]
    samples += [FormSample(text.text, True) for text in filler if text.group in groups]
    return samples


class SkippedFiller(Struct, frozen=True):
    """The effect of not storing messages that look like filler."""

    told_apart: float
    """The share of messages of other seeds that the tree classifies correctly."""
    tree: str
    skips: float
    """Points of a window that skips messages classified as filler."""
    window: float
    """Points of the same window without skipping."""
    of: int

    def __str__(self) -> str:
        return (
            f"three questions about form tell filler from scenarios in {self.told_apart:.0%} of messages: {self.tree}\n"
            f"a window of {WINDOW} that skips what they call filler earns {self.skips:.2f} of {self.of}, "
            f"without skipping {self.window:.2f}"
        )


# --- The results


def look_for_cues(table: str, texts: Sequence[Text]) -> dict[str, CueRecall]:
    """Return the recall by kind of evidence.

    Among scenario messages, each scenario is searched for by itself and by one cue: all cues together would always
    reveal its subject, in anyone's words. Otherwise evidence of any kind is searched for together, by all cues, and ALL
    is the overall recall.
    """
    kinds = sorted(set(chain.from_iterable(text.kinds for text in texts)))
    if table == AMONG:
        recalls = []
        for kind in kinds:
            cues = best_cues(texts, _has_kind(kind), _SHOWN)
            recalls.append(
                cue_recall(
                    kind, rank_by_cues(texts, _has_kind(kind), one_cue), cues=cues
                )
            )
    else:
        parts = rank_by_cues(texts, lambda text: bool(text.kinds), all_cues)
        recalls = [cue_recall(kind, parts, _has_kind(kind)) for kind in kinds]
        cues = best_cues(texts, lambda text: bool(text.kinds), 2 * _SHOWN)
        recalls.append(cue_recall(ALL_SUITES, parts, cues=cues))
    return {recall.kind: recall for recall in recalls if recall}


def _has_kind(kind: str) -> Callable[[Text], bool]:
    return lambda text: kind in text.kinds


class CueTable(Struct, frozen=True):
    """The recall in one kind of place, and in that of the reference."""

    name: str
    conversations: int
    """The number on each side."""
    ours: Mapping[str, CueRecall]
    theirs: Mapping[str, CueRecall]

    @classmethod
    def compare_cues(
        cls, name: str, ours: Sequence[Text], theirs: Sequence[Text]
    ) -> CueTable:
        """Compare the recall of both sides; ALL covers what both have."""
        our_cues = look_for_cues(name, ours)
        their_cues = look_for_cues(name, theirs)
        if name == AMONG:
            both = [kind for kind in our_cues if kind in their_cues or not their_cues]
            for side in (our_cues, their_cues):
                if both and side:
                    side[ALL_SUITES] = _mean_recall([side[kind] for kind in both])
        return cls(name, _count_conversations(ours), our_cues, their_cues)

    @property
    def has_limit(self) -> bool:
        """Whether both sides have something that the limit applies to."""
        return (
            self.name != FILLER
            and ALL_SUITES in self.ours
            and ALL_SUITES in self.theirs
        )

    @property
    def breaches(self) -> list[str]:
        """A sentence for each share at which much more is found than in the reference."""
        if not self.has_limit:
            return []
        pairs = zip(
            SHARES,
            self.ours[ALL_SUITES].recalls,
            self.theirs[ALL_SUITES].recalls,
            strict=True,
        )
        sentences = []
        for share, ours, theirs in pairs:
            if ours > LIMIT * theirs:
                found = f"{share:.0%} of the words find {ours:.1%} of the evidence"
                sentences.append(
                    f"{self.name}, {found}, in the reference {theirs:.1%}: more than {LIMIT} times as much"
                )
        return sentences

    def rows(self) -> list[list[str]]:
        """Return the table, starting with its head."""
        head = ["evidence", *(f"{share:.0%}" for share in SHARES), "lift", "order"]
        title = f"{self.name}, {pluralize(self.conversations, 'conversation')}"
        if not self.ours:
            return [[f"{title}: nothing to look for, or nothing to learn from"]]
        table = [[title, *head]]
        if self.theirs:
            table[0] += [f"ref. {name}" for name in head]
        for kind, recall in self.ours.items():
            row = [kind, *_recall_cells(recall)]
            if kind in self.theirs:
                row += _recall_cells(self.theirs[kind])
            elif self.theirs:
                row += [""] * len(head)
            table.append(row)
        return table

    def cues(self) -> Iterator[str]:
        """Yield the cues that identify evidence best."""
        for recall in self.ours.values():
            if recall.cues:
                yield clip_text(
                    one_line(f"{recall.kind}: {'; '.join(recall.cues)}"), _CUES
                )

    def as_json(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        shares = [f"{share:.0%}" for share in SHARES]

        def fields(recalls: Mapping[str, CueRecall]) -> dict[str, Any]:
            rows = {}
            for kind, recall in recalls.items():
                rows[kind] = {
                    "evidence": recall.evidence,
                    "recall": dict(zip(shares, recall.recalls, strict=True)),
                    "lift": dict(zip(shares, recall.lift_over_chance, strict=True)),
                    "order": recall.order,
                    "cues": recall.cues,
                }
            return rows

        return {
            "name": self.name,
            "conversations": self.conversations,
            "ours": fields(self.ours),
            "reference": fields(self.theirs),
        }


def _mean_recall(recalls: Sequence[CueRecall]) -> CueRecall:
    """Return the mean recall over several kinds of evidence, with all their texts."""
    evidence = sum(recall.evidence for recall in recalls)
    columns = zip(*(recall.recalls for recall in recalls), strict=True)
    means = tuple(sum(shares) / len(recalls) for shares in columns)
    order = sum(recall.order for recall in recalls) / len(recalls)
    return CueRecall(ALL_SUITES, evidence, means, order)


def _recall_cells(recall: CueRecall) -> list[str]:
    shares = [f"{share:.1%}" for share in recall.recalls]
    lifts = " and ".join(f"{lift:.1f}" for lift in recall.lift_over_chance)
    return [f"{recall.evidence:,}", *shares, lifts, f"{recall.order:.2f}"]
