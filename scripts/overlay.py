# SPDX-License-Identifier: GPL-2.0
"""Lays this repository over a kernel tree, as described in overlay.toml.

Applying is idempotent and writes only what changes, so that make rebuilds only what depends
on it.  The tree keeps a record of what was put into it; files and insertions that the
repository no longer has are taken out again.
"""

import json
import tomllib
from pathlib import Path

RECORD = ".vmw_pvrdma_rust.json"


class OverlayError(Exception):
    """The tree does not fit the overlay."""


def _files_to_copy(repo: Path, directories: list[str]) -> dict[str, bytes]:
    files = {}
    for directory in directories:
        for path in sorted((repo / directory).rglob("*")):
            if path.is_file() and not path.name.startswith(".") and not path.name.endswith("~"):
                files[str(path.relative_to(repo))] = path.read_bytes()
    return files


def _insertions(repo: Path, entries: list[dict]) -> list[dict]:
    result = []
    for entry in entries:
        text = (repo / entry["from"]).read_text() if "from" in entry else entry["text"]
        where = "before" if "before" in entry else "after"
        result.append({"file": entry["file"], "where": where, "anchor": entry[where], "text": text})
    return result


def _insert(content: str, insertion: dict) -> str:
    lines = content.splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if line.rstrip("\n") == insertion["anchor"]]
    if len(found) != 1:
        raise OverlayError(
            f"{insertion['file']}: the overlay wants exactly one line "
            f"'{insertion['anchor']}' here, found {len(found)}"
        )
    at = found[0] + (insertion["where"] == "after")
    return "".join(lines[:at]) + insertion["text"] + "".join(lines[at:])


def _write_if_changed(path: Path, data: bytes) -> bool:
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True


def _remove(tree: Path, name: str) -> bool:
    path = tree / name
    if not path.exists():
        return False
    path.unlink()
    for parent in path.parents:
        if parent == tree or any(parent.iterdir()):
            break
        parent.rmdir()
    return True


def _transform(tree: Path, repo: Path, spec: dict) -> int:
    record_path = tree / RECORD
    record = json.loads(record_path.read_text()) if record_path.exists() else {}
    copied, inserted = record.get("copied", []), record.get("inserted", [])

    # Everything is worked out before anything is written.
    files = _files_to_copy(repo, spec.get("copy", []))
    for name, data in files.items():
        path = tree / name
        if name not in copied and path.exists() and path.read_bytes() != data:
            raise OverlayError(f"{name}: the tree has a file of this name already")
    insertions = _insertions(repo, spec.get("insert", []))
    touched = {}
    for name in {entry["file"] for entry in inserted + insertions}:
        if not (tree / name).exists():
            raise OverlayError(f"{name}: the overlay wants to add lines here, but there is no such file")
        touched[name] = (tree / name).read_text()
    for entry in inserted + insertions:
        touched[entry["file"]] = touched[entry["file"]].replace(entry["text"], "", 1)
    for entry in insertions:
        touched[entry["file"]] = _insert(touched[entry["file"]], entry)

    record = {"copied": sorted(files), "inserted": insertions}
    record_path.write_text(json.dumps(record, indent=1))
    changes = sum(_remove(tree, name) for name in copied if name not in files)
    changes += sum(_write_if_changed(tree / name, data) for name, data in files.items())
    changes += sum(_write_if_changed(tree / name, text.encode()) for name, text in touched.items())
    return changes


def apply(tree: Path, repo: Path) -> int:
    """Brings `tree` up to date with `repo`; returns the number of files changed."""
    spec = tomllib.loads((repo / "scripts/overlay.toml").read_text())
    return _transform(tree, repo, spec)


def remove(tree: Path, repo: Path) -> int:
    """Takes the overlay out of `tree`; returns the number of files changed."""
    changes = _transform(tree, repo, {})
    (tree / RECORD).unlink()
    return changes
