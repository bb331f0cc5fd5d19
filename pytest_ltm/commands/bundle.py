"""`bundle RUN -o FILE.ltm.zip`: a run as one verifiable file, without the texts of its data set.

A bundle is treated as hostile: only known names are accepted, nothing is unpacked beyond its declared size, and every
file must have the digest in the manifest.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import shlex
import stat
import zipfile
import zlib
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field, structs

from pytest_ltm.api.journal import FILE as RUN_FILE
from pytest_ltm.api.journal import (
    PARTS,
    find_run,
    own_version,
    read_run_file,
    source_digest,
)
from pytest_ltm.api.scenarios import SuiteSpec
from pytest_ltm.api.storage import (
    ConfigurationError,
    LtmError,
    json_text,
    pluralize,
    read_regular,
    redact_secrets,
    write_output,
    write_whole,
)
from pytest_ltm.commands.arguments import add_flags, add_option, add_output, add_run
from pytest_ltm.datasets.rows import values_within
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.gate.gate_rules import Rule, parse_limit_rule
from pytest_ltm.gate.verdict import decide_gate
from pytest_ltm.reports.discrepancies import Discrepancy
from pytest_ltm.reports.summary import user_properties
from pytest_ltm.reports.verification import find_discrepancies

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/eval-result/v0.1"


def eval_statements(
    run: LoadedRun, name: str, digest: str, claim: Rule | None
) -> Mapping[str, dict[str, Any]]:
    """Return a statement per agent and span, by `agent-span`, about the file with this name and sha256.

    `claim`: the limit that a metric is claimed to meet; None for the mean that was reached. Amended verdicts are
    replaced by the rules' verdicts: a statement only claims what can be recomputed.
    """
    statements = {}
    result = run.automatic
    for column in result_columns(result):
        conversations = tuple(column.conversations)
        rule = claim or parse_limit_rule(
            f"mean:{int((column.accuracy or 0) * 1000) / 1000:g}"
        )
        part = structs.replace(result, conversations=conversations)
        passed = decide_gate(part, [rule]).state == "passed"
        samples: list[dict[str, Any]] = []
        for row in part.scenarios:
            properties = dict(user_properties(row))
            samples.append({"id": row.nodeid, "outcome": row.outcome, **properties})
        agent = conversations[0].agent_fingerprint.removeprefix("sha256:")
        plans = sorted(conversation.plan_fingerprint for conversation in conversations)
        suite = result.suite.partition(" ")[0] or "definitions"
        statements[f"{column.agent}-{column.span_label}"] = {
            "_type": STATEMENT,
            "subject": [{"name": name, "digest": {"sha256": digest}}],
            "predicateType": PREDICATE,
            "predicate": {
                "harness": {
                    "name": "pytest-ltm",
                    "version": version("pytest-ltm"),
                    "digest": {"sha256": source_digest()},
                },
                "metric": f"{suite}@{column.span_label}/{rule.metric.name}",
                "comparator": ">=" if rule.metric.higher_is_better else "<=",
                "threshold": rule.limit,
                "passed": passed,
                "sampleSize": len(part.scenarios),
                "samplesRoot": merkle_root(
                    [json.dumps(sample, sort_keys=True).encode() for sample in samples]
                ),
                "model": {"name": column.agent, "digest": {"sha256": agent}},
                "data": {
                    "digest": {"sha256": sha256("\n".join(plans).encode()).hexdigest()}
                },
                "assuranceLevel": "self_attested",
            },
        }
    return statements


def merkle_root(leaves: Sequence[bytes]) -> str:
    """Return the root of a Merkle tree with these leaves (RFC 6962, section 2.1), in hexadecimal."""

    def hash_tree(leaves: Sequence[bytes]) -> bytes:
        if len(leaves) < 2:
            return sha256(b"".join(b"\0" + leaf for leaf in leaves)).digest()
        middle = 1 << (len(leaves) - 1).bit_length() - 1
        return sha256(
            b"\1" + hash_tree(leaves[:middle]) + hash_tree(leaves[middle:])
        ).digest()

    return hash_tree(leaves).hex()


FORMAT = "pytest-ltm bundle 1"
MANIFEST = "manifest.json"
# The files of a run folder that a bundle may contain: none that identify a reviewer,
# hold a lock or a memory.
_NAME = r"[A-Za-z0-9_.][A-Za-z0-9_.~-]{0,150}"
_KEPT = re.compile(
    rf"(?:run|parts|summary|amendments|canaries)\.json|verdicts\.csv|(?:canaries|judge-checks)\.jsonl"
    rf"|(?!\.){_NAME}~{_NAME}/(?:(?:plan|results)\.json|(?:journal|timings)\.jsonl"
    rf"|definitions/(?:config\.yml|(?!\.){_NAME}/(?!\.){_NAME}\.def\.json))"
)
_RUN_ID = re.compile(rf"(?!\.){_NAME}")
# The options in run.json that may contain paths of this machine, which are not
# published.
_PRIVATE = re.compile(
    r"ltm_(?:report|summary|save|compare|agent_process|data|definitions)\w*"
)
_LARGEST = 2_000_000_000
_MOST_FILES = 50_000
# deflate reaches 1,000 on a repeated byte; journals reach 30
_RATIO = 300
_SMALL = 1_000_000
# Shorter sequences shared with a data set are kept as text.
_GRAM = 16
_LARGEST_DATA = 80_000_000


class BundledFile(Struct, frozen=True):
    """One file of a bundle."""

    sha256: str
    """The digest of the original file in the run."""
    size: int
    texts: bool = False
    """Whether sequences of its characters are stored as positions in the data set."""


class BundledData(Struct, frozen=True):
    """The data set whose texts a bundle omits."""

    name: str
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """The contents of a bundle."""

    format: str
    run: str
    pytest_ltm: str
    files: dict[str, BundledFile]
    data: BundledData | None = None
    left_out: list[str] = field(default_factory=list)
    """Sentences on parts of the run that are not included."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, the file, and related files."""
    add_output(parser, "FILE.ltm.zip", "the file to write", required=True)
    add_option(
        parser,
        "--data",
        "FILE",
        "the data set's file (default: the one that the run names)",
        None,
        type=Path,
    )
    sign = "also write an in-toto statement for each agent and span, to be signed by cosign or GitHub's attestations"
    add_flags(
        parser,
        with_texts="keep the data set's texts, whose licence must allow it",
        sign=sign,
    )
    claim = (
        "what the statement claims, as mean:0.6 (default: the mean that was reached)"
    )
    add_option(parser, "--claim", "METRIC:LIMIT", claim, None, type=parse_limit_rule)
    add_run(parser, required=True)


def bundle_run(arguments: Namespace) -> int:
    """Write a run as one file for ltm verify; equal runs give equal bytes.

    A run is refused if its scores do not follow from its record, or if it contains a secret. Texts of a data set are
    replaced by their positions in its file, which ltm verify needs as --data=FILE.
    """
    run = find_run(arguments.run, arguments.ltm_dir)
    loaded = read_run(run)
    if differs := find_discrepancies(loaded):
        more = f"See ltm verify {shlex.quote(str(run))}"
        raise LtmError(
            f"{run}: scores do not follow from the record: {differs[0]}. {more}"
        )
    if arguments.output.exists():
        raise ConfigurationError(
            f"-o: {str(arguments.output)!r} already exists: choose another name"
        )
    files = _published_files(run)
    has_history = any(folder.plan().get("history") for folder in loaded.conversations)
    source = None
    if has_history and not arguments.with_texts:
        data_file = arguments.data
        if data_file is None and RUN_FILE in files:
            data_file = _recorded_data(run)
        if data_file is None or not Path(data_file).is_file():
            raise ConfigurationError(
                "--data: name the data set's file, whose texts stay out of the bundle; or, if its licence allows it, "
                "keep them: --with-texts"
            )
        source = DataTexts.read(Path(data_file))
    data, size = _zip_files(loaded.result.run_id, files, source)
    write_output(arguments.output, data)
    without = f", without the texts of {source.name}" if source else ""
    print(
        f"{arguments.output}: {pluralize(len(files), 'file')}, {size:,} bytes, {len(data):,} zipped{without}"
    )
    if arguments.sign:
        statements = eval_statements(
            loaded, arguments.output.name, sha256(data).hexdigest(), arguments.claim
        )
        for label, statement in statements.items():
            part = f".{label}" if len(statements) > 1 else ""
            path = arguments.output.with_name(
                f"{arguments.output.name}{part}.intoto.json"
            )
            write_output(path, json_text(statement).encode())
            claim = statement["predicate"]
            words = f"{claim['metric']} {claim['comparator']} {claim['threshold']:g}"
            outcome = "passed" if claim["passed"] else "not reached"
            print(f"{path}: claims {words}, {outcome}")
    return 0


def _recorded_data(run: Path) -> str | None:
    """Return the data set file named on a run's command line, or None."""
    suite = read_run_file(run).options.get("ltm_suite") or ""
    return SuiteSpec.parse(str(suite)).parameters.get("data")


def _published_files(run: Path) -> dict[str, bytes]:
    """Return the bytes of the files that a bundle keeps, by their names in the run."""
    names: list[str] = []
    for path in run.rglob("*"):
        name = path.relative_to(run).as_posix()
        if _KEPT.fullmatch(name) and path.is_file() and not path.is_symlink():
            names.append(name)
    return {name: _published_bytes(run, name) for name in sorted(names)}


def _published_bytes(run: Path, name: str) -> bytes:
    """Return a file's bytes, without local paths in run.json and the like; LtmError if it has a secret."""
    data = read_regular(run / name)
    if name in (RUN_FILE, PARTS):
        record = json.loads(data)
        run_records = [record]
        if name == PARTS:
            run_records = [part["run"] for part in record["parts"]]
        for run_record in run_records:
            options = run_record.get("options", {})
            settings = run_record.get("settings", {})
            public = [key for key in options if not _PRIVATE.fullmatch(key)]
            run_record["options"] = {key: options[key] for key in public}
            if settings.get("definitions"):
                settings["definitions"] = "definitions"
        data = json_text(record).encode()
    text = data.decode("utf-8", "replace")
    if redact_secrets(text) != text:
        lines = enumerate(text.splitlines(), start=1)
        number = next(
            (number for number, line in lines if redact_secrets(line) != line), 1
        )
        hint = "Journals are never edited: play the run again without it"
        raise LtmError(
            f"{name}, line {number}: there is a secret here, so the run is not bundled. {hint}"
        )
    return data


def _zip_files(
    run: str, files: dict[str, bytes], source: DataTexts | None
) -> tuple[bytes, int]:
    """Return the bundle, and the total size of its files in bytes."""
    listed = {}
    stored = {}
    for name, data in files.items():
        parts = source.cut(data.decode()) if source is not None else []
        has_texts = len(parts) > 1
        listed[name] = BundledFile(sha256(data).hexdigest(), len(data), texts=has_texts)
        stored[name] = data
        if has_texts:
            text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
            stored[name] = text.encode()
    manifest = Manifest(
        format=FORMAT,
        run=run,
        pytest_ltm=own_version(),
        files=listed,
        data=None if source is None else BundledData(source.name, source.digest),
        left_out=[] if source is None else ["the texts of the data set"],
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        head = json_text(msgspec.to_builtins(manifest)).encode()
        for name, data in {MANIFEST: head, **stored}.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue(), sum(map(len, files.values()))


# --- The texts of a data set, by position


class DataTexts:
    """The texts of a data set's file as journals write them, so that common parts of a file can be omitted."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.digest = sha256(data).hexdigest()
        text = data.decode("utf-8-sig")
        try:
            values = json.loads(text)
        except ValueError:
            values = list(map(json.loads, filter(str.strip, text.splitlines())))
        lines: list[str] = []
        for value in values_within(values):
            if isinstance(value, str):
                lines.append(json.dumps(value, ensure_ascii=False)[1:-1])
        self._text = "\n".join(lines)

    @cached_property
    def _places(self) -> dict[str, int]:
        ends = range(len(self._text) - _GRAM, -1, -_GRAM)
        return {self._text[end : end + _GRAM]: end for end in ends}

    @classmethod
    def read(cls, path: Path) -> DataTexts:
        """Read the texts of a file; LtmError if it is unreadable."""
        try:
            if path.stat().st_size > _LARGEST_DATA:
                raise LtmError(
                    f"{path}: too large to be left out; if its licence allows it: --with-texts"
                )
            return cls(path.name, read_regular(path))
        except (OSError, ValueError, RecursionError) as error:
            raise LtmError(f"{path}: cannot be read: {error}") from error

    def cut(self, text: str) -> list[Any]:
        """Return a text as parts: its own text, and [position, length] for text in the data set."""
        source = self._text
        parts: list[Any] = []
        start = position = 0
        while position + _GRAM <= len(text):
            place = self._places.get(text[position : position + _GRAM])
            if place is None:
                position += 1
                continue
            end = _GRAM
            back = 0
            while (
                position + end < len(text)
                and place + end < len(source)
                and text[position + end] == source[place + end]
            ):
                end += 1
            while (
                position - back > start
                and place > back
                and text[position - back - 1] == source[place - back - 1]
            ):
                back += 1
            parts += [text[start : position - back], [place - back, back + end]]
            position = start = position + end
        return [*parts, text[start:]]

    def join(self, parts: list[Any], size: int) -> str:
        """Return the original text of some parts; ValueError if it exceeds `size`, or if the parts are malformed."""
        texts: list[str] = []
        for part in parts:
            if isinstance(part, str):
                text = part
            else:
                place, length = part
                text = self._text[place : place + length]
            texts.append(text)
            size -= len(text)
            if size < 0:
                # check early: each of a million parts may stand for the whole data set
                raise ValueError("it is larger than it says")
        return "".join(texts)


# --- Reading a bundle


def open_bundle(
    path: Path, into: Path, data: Path | None
) -> tuple[Path, list[Discrepancy]]:
    """Unpack a bundle into a folder; return the run and its discrepancies with the manifest.

    LtmError if it is not a bundle of this version, or uses anything that no bundle needs.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _checked_entries(path, archive)
            manifest = _read_manifest(path, archive, entries)
            run = into / manifest.run
            source = None
            if (needed := manifest.data) is not None:
                if data is None:
                    data_set = f"{needed.name} (sha256 {needed.sha256})"
                    raise LtmError(
                        f"{path}: the texts of {data_set} are not in the bundle. Name the file: --data=FILE"
                    )
                source = DataTexts.read(data)
                if source.digest != needed.sha256:
                    reason = f"is not the file that the run was played with: its sha256 is {source.digest}"
                    raise LtmError(f"--data: {data} {reason}")
            differs = list(_unpack_files(archive, entries, manifest, source, run))
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise LtmError(f"{path}: cannot be read as a bundle: {error}") from error
    return run, differs


def _checked_entries(
    path: Path, archive: zipfile.ZipFile
) -> dict[str, zipfile.ZipInfo]:
    """Return the files of a zip by name; LtmError for any that is not allowed in a bundle."""
    infos = archive.infolist()
    folded = Counter(info.filename.casefold() for info in infos)
    if len(infos) > _MOST_FILES or sum(info.file_size for info in infos) > _LARGEST:
        raise LtmError(f"{path}: too large for a bundle: {len(infos):,} files")
    for info in infos:
        kind = stat.S_IFMT(info.external_attr >> 16)
        name = info.orig_filename  # zipfile cuts the other one at a null byte
        if name != MANIFEST and not _KEPT.fullmatch(name):
            reason = "a bundle has no file of this name"
        elif folded[name.casefold()] > 1:
            reason = "it occurs twice, perhaps in different case"
        elif kind not in (0, stat.S_IFREG):
            reason = "it is not a plain file"
        elif info.flag_bits & 1:
            reason = "it is encrypted"
        elif info.file_size > max(_SMALL, _RATIO * info.compress_size):
            reason = "it grows too much when it is unpacked"
        else:
            continue
        raise LtmError(f"{path}: {name!r}: {reason}. Nothing was unpacked")
    return {info.filename: info for info in infos}


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as file:
            data = file.read(info.file_size + 1)
    except (zlib.error, lzma.LZMAError, EOFError, RuntimeError) as error:
        raise zipfile.BadZipFile(f"{info.filename}: {error}") from error
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename} is not as large as it says")
    return data


def _read_manifest(
    path: Path, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]
) -> Manifest:
    if MANIFEST not in entries:
        raise LtmError(f"{path}: not a bundle: it has no {MANIFEST}")
    data = _read_entry(archive, entries[MANIFEST])
    try:
        record = msgspec.json.decode(data)
        form = record.get("format") if isinstance(record, dict) else None
        if form != FORMAT:
            raise LtmError(
                f"{path}: a bundle of format {form!r}; this version of pytest-ltm reads {FORMAT!r}"
            )
        manifest = msgspec.convert(record, Manifest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LtmError(f"{path}: {MANIFEST}: {error}") from error
    if not _RUN_ID.fullmatch(manifest.run):
        raise LtmError(
            f"{path}: {MANIFEST}: {manifest.run!r} cannot be the name of a run"
        )
    if sum(file.size for file in manifest.files.values()) > _LARGEST:
        raise LtmError(f"{path}: {MANIFEST}: too large for a bundle")
    return manifest


def _unpack_files(
    archive: zipfile.ZipFile,
    entries: dict[str, zipfile.ZipInfo],
    manifest: Manifest,
    source: DataTexts | None,
    run: Path,
) -> Iterator[Discrepancy]:
    for name in sorted(entries.keys() - manifest.files.keys() - {MANIFEST}):
        yield Discrepancy(name, "the manifest does not list it")
    for name, listed in manifest.files.items():
        if name not in entries:
            yield Discrepancy(name, "it is listed in the manifest, but missing")
            continue
        data = _read_entry(archive, entries[name])
        if listed.texts and source is not None:
            try:
                data = source.join(
                    msgspec.json.decode(data, type=list[str | tuple[int, int]]),
                    listed.size,
                ).encode()
            except (ValueError, RecursionError) as error:
                yield Discrepancy(
                    name, f"it is not made of the data set's texts: {error}"
                )
                continue
        if sha256(data).hexdigest() != listed.sha256:
            yield Discrepancy(
                name, "it is not the file that the manifest lists: its digest differs"
            )
        target = run / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, data)
