"""A fixture's checkpoint as its query wrote it, batch by batch: for tests of what follows one."""

from __future__ import annotations

import json
import re
import shutil
from itertools import islice
from pathlib import Path
from uuid import UUID

from inspector.decode.changelog import LineageItem, read_changelog
from inspector.decode.frames import inflate
from inspector.encode.records import changelog
from tests.checkpoint_files import files_below
from tests.encode import compress
from tests.fixture_folder import NEWEST

_STATE_FILE = re.compile(r"([0-9]+)(_[^.]*)?\.(delta|changelog|zip|snapshot)")


def _numbered_files(folder: str, names: list[str]) -> list[str]:
    """Return the names of the files of a folder that belong to a batch or a version."""
    return [name for name in names if Path(name).stem.isdecimal() and Path(folder, name).is_file()]


class Growing:
    """A copy of a fixture's checkpoint that begins without batches.

    Attributes:
        root: of the copy.
    """

    def __init__(self, case: str, folder: Path) -> None:
        self._source = NEWEST / case / "checkpoint"
        self.root = folder / "checkpoint"
        shutil.copytree(self._source, self.root, ignore=_numbered_files)

    def plan(self, batch: int) -> None:
        """Write the batch's entry in the offset log."""
        self._copy(f"offsets/{batch}")

    def write_state(self, batch: int) -> None:
        """Write the files of the version that the batch makes."""
        for path in self._source.glob(f"state/**/{batch + 1}.*"):
            self._copy(str(path.relative_to(self._source)))

    def commit(self, batch: int) -> None:
        """Write the batch's entry in the commit log."""
        self._copy(f"commits/{batch}")

    def run(self, *batches: int) -> None:
        """Write all files of the batches, in Spark's order."""
        for batch in batches:
            self.plan(batch)
            self.write_state(batch)
            self.commit(batch)

    def _copy(self, location: str) -> None:
        shutil.copyfile(self._source / location, self.root / location)


class Endless:
    """A copy of a fixture's checkpoint whose query never ends, and removes what is old.

    Each batch writes the files of one version anew, which puts what it put before: so a snapshot of
    any version from then on holds the same rows, and so does every report. In checkpoint format 2
    the files have unique ids, by which the commit log and later changelogs name them.

    Args:
        case: the fixture. version: the one that is repeated; it has a snapshot in each partition,
            and only puts.
        root: of the copy.
        deltas: whether a version has a delta, beside a snapshot every third time; else a snapshot.
        retained: batches that are kept beside the newest.
        watermark_ms: of all batches from this one on, if not that of the version.
    """

    def __init__(
        self,
        case: str,
        version: int,
        root: Path,
        *,
        deltas: bool = True,
        retained: int = 2,
        watermark_ms: int | None = None,
    ) -> None:
        self.root, self.batch, self._retained = root, version - 1, retained
        self._version, self._deltas = version, deltas
        shutil.copytree(NEWEST / case / "checkpoint", root)
        for path in (*files_below(root, "offsets/*"), *files_below(root, "commits/*")):
            if path.name.startswith(".") or int(path.name) > self.batch:
                path.unlink()
        planned = root / "offsets" / str(self.batch)
        first, second, *sources = planned.read_text().split("\n")
        entry = json.loads(second)
        if watermark_ms is not None:
            entry["batchWatermarkMs"] = watermark_ms
            planned.write_text("\n".join([first, json.dumps(entry), *sources]))
        head, line = (root / "commits" / str(self.batch)).read_text().split("\n")
        self._head = head
        self._commit = json.loads(line) | {"nextBatchWatermarkMs": entry["batchWatermarkMs"]}
        self._write_commit()
        of_version = self._files(root, range(version, version + 1))
        self._templates = {path: path.read_bytes() for path in of_version}
        self._ids = {path.parent: path.stem.partition("_")[2] for path in self._templates}
        assert {path.parent for path in self._templates if _is_snapshot(path)} == set(self._ids)
        for path in self._files(root, range(version + 1, 1000)):
            path.unlink()

    def go_on(self) -> None:
        """One more batch, and the cleanup after it."""
        self.batch += 1
        new_version = self.batch + 1
        for path, content in self._templates.items():
            if _is_snapshot(path) != self._deltas or (_is_snapshot(path) and new_version % 3 == 0):
                name, of_made = f"{new_version}{path.suffix}", content
                if self._ids[path.parent]:
                    name = f"{new_version}_{self._id(path.parent, new_version)}{path.suffix}"
                    of_made = self._with_lineage(path, content, new_version)
                path.with_name(name).write_bytes(of_made)
        head, line, *sources = (self.root / "offsets" / str(self.batch - 1)).read_text().split("\n")
        entry = json.loads(line)
        entry["batchTimestampMs"] += 1000
        offset = f'{{"at":{self.batch}}}'
        text = "\n".join([head, json.dumps(entry), *[offset] * len(sources)])
        (self.root / "offsets" / str(self.batch)).write_text(text)
        if any(self._ids.values()):
            stores = sorted(self._ids)  # one operator, partition by partition
            ids = {"0": [[self._id(store, new_version)] for store in stores]}
            self._commit |= {"stateUniqueIds": ids}
        self._write_commit()
        self._clean_up(new_version - self._retained)

    def _write_commit(self) -> None:
        text = f"{self._head}\n{json.dumps(self._commit)}"
        (self.root / "commits" / str(self.batch)).write_text(text)

    def _id(self, store: Path, version: int) -> str:
        """The unique id of a version of a store."""
        if version == self._version:
            return self._ids[store]
        return str(UUID(int=version * 100 + int(store.name)))

    def _with_lineage(self, path: Path, content: bytes, new_version: int) -> bytes:
        """A changelog with the lineage that a version's has: back to the newest snapshot."""
        if _is_snapshot(path):
            return content
        raw = b"".join(inflate([content], "lz4"))
        head, _ = read_changelog([raw])
        base = max(v for v in range(self._version, new_version) if v % 3 == 0 or v == self._version)
        lineage = [LineageItem(v, self._id(path.parent, v)) for v in range(base, new_version)]
        begin = b"".join(islice(changelog((), head.version, lineage), 2))
        return compress(begin + raw[head.size :], "lz4")

    def _clean_up(self, oldest: int) -> None:
        """Remove what no version from the oldest on needs; entries of logs, too."""
        for folder in self._ids:
            snapshots = filter(_is_snapshot, self._files(folder, range(1, oldest + 1)))
            base = max(map(_version_of, snapshots), default=0)
            for path in self._files(folder, range(1, base)):
                path.unlink()
        for path in (*self.root.glob("offsets/[0-9]*"), *self.root.glob("commits/[0-9]*")):
            if int(path.name) < oldest - 2:
                path.unlink()

    @staticmethod
    def _files(folder: Path, versions: range) -> list[Path]:
        """Return the state files of some versions below a folder."""
        return [path for path in folder.rglob("[0-9]*") if _version_of(path) in versions]


def _version_of(path: Path) -> int:
    """Return the version of a state file, and 0 for other files."""
    match = _STATE_FILE.fullmatch(path.name)
    return int(match[1]) if match else 0


def _is_snapshot(path: Path) -> bool:
    return path.suffix in (".zip", ".snapshot")
