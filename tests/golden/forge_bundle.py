"""Change memory.ltm.zip and correct the digests in its manifest, as a forger would: `python forge_bundle.py KIND`."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile


def better_score(files: dict[str, bytes]) -> None:
    name = next(
        name
        for name in files
        if name.startswith("window") and name.endswith("results.json")
    )
    results = json.loads(files[name])
    row = next(row for row in results["scenarios"] if row["score"] != 1)
    row.update(score=1.0, outcome="passed")
    files[name] = json.dumps(results).encode()


def better_reply(files: dict[str, bytes]) -> None:
    name = next(
        name
        for name in files
        if name.startswith("window") and name.endswith("journal.jsonl")
    )
    lines = files[name].splitlines(keepends=True)
    last = max(
        number for number, line in enumerate(lines) if b'"event":"reply"' in line
    )
    lines[last] = lines[last].replace(b'"text":"', b'"text":"As you told me: ', 1)
    files[name] = b"".join(lines)


def other_seed(files: dict[str, bytes]) -> None:
    run = json.loads(files["run.json"])
    run["settings"]["seed"] = 7
    files["run.json"] = json.dumps(run).encode()


def without_the_worse(files: dict[str, bytes]) -> None:
    for name in [name for name in files if name.startswith("window")]:
        del files[name]


def forge(kind: str) -> None:
    """Write KIND.ltm.zip from memory.ltm.zip, both in the working directory."""
    changes = (better_score, better_reply, other_seed, without_the_worse)
    change = {function.__name__: function for function in changes}[kind]
    with zipfile.ZipFile("memory.ltm.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    change(files)
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, data in files.items()
    }
    forged = {"manifest.json": json.dumps(manifest).encode(), **files}
    with zipfile.ZipFile(f"{kind}.ltm.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in forged.items():
            archive.writestr(name, data)


if __name__ == "__main__":
    forge(sys.argv[1])
