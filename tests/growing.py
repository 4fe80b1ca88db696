"""A fixture's checkpoint as its query wrote it, batch by batch: for tests of what follows one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cases import FIXTURES


class Growing:
    """A copy of a fixture's checkpoint that begins without batches.

    Attributes:
        root: of the copy.
    """

    def __init__(self, case: str, folder: Path) -> None:
        self._source = FIXTURES / case / "checkpoint"
        self.root = folder / "checkpoint"
        self.root.mkdir(parents=True)
        for path in sorted(self._source.rglob("*")):
            place = path.relative_to(self._source)
            numbered = path.stem.isdecimal() and path.is_file()
            if path.is_dir():
                (self.root / place).mkdir(parents=True)
            elif not numbered:
                shutil.copy(path, self.root / place)

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

    def run(self, batch: int) -> None:
        """All of it, in Spark's order."""
        self.plan(batch)
        self.write_state(batch)
        self.commit(batch)

    def _copy(self, place: str) -> None:
        shutil.copyfile(self._source / place, self.root / place)


class Endless:
    """A copy of a fixture's checkpoint whose query never ends, and removes what is old.

    Each batch writes the files of one version anew, which puts what it put before: so a snapshot of
    any version from then on holds the same rows, and so does every report.

    Args:
        case: the fixture. version: the one that is repeated; it has a snapshot, and only puts.
        root: of the copy.
        deltas: whether a version has a delta, beside a snapshot every third time; else a snapshot.
        retained: batches that are kept beside the newest.
    """

    def __init__(
        self, case: str, version: int, root: Path, *, deltas: bool = True, retained: int = 2
    ) -> None:
        self.root, self.batch, self._retained = root, version - 1, retained
        self._version, self._deltas = version, deltas
        shutil.copytree(FIXTURES / case / "checkpoint", root)
        for log in ("offsets", "commits"):
            for path in (root / log).iterdir():
                if path.name.startswith(".") or int(path.name) > self.batch:
                    path.unlink()
        entry = json.loads((root / "offsets" / str(self.batch)).read_text().split("\n")[1])
        watermark = {"nextBatchWatermarkMs": entry["batchWatermarkMs"]}
        (root / "commits" / str(self.batch)).write_text(f"v1\n{json.dumps(watermark)}")
        self._templates = {
            path: path.read_bytes() for path in self._files() if self._number(path) == version
        }
        for path in self._files():
            if self._number(path) > version:
                path.unlink()

    def go_on(self) -> None:
        """One more batch, and the cleanup after it."""
        self.batch += 1
        made = self.batch + 1
        for path, content in self._templates.items():
            is_snapshot = path.suffix in (".zip", ".snapshot")
            if is_snapshot != self._deltas or (is_snapshot and made % 3 == 0):
                path.with_name(f"{made}{path.suffix}").write_bytes(content)
        head, line, *sources = (self.root / "offsets" / str(self.batch - 1)).read_text().split("\n")
        entry = json.loads(line)
        entry["batchTimestampMs"] += 1000
        text = "\n".join([head, json.dumps(entry), *(f'{{"at":{self.batch}}}' for _ in sources)])
        (self.root / "offsets" / str(self.batch)).write_text(text)
        commit = (self.root / "commits" / str(self.batch - 1)).read_bytes()
        (self.root / "commits" / str(self.batch)).write_bytes(commit)
        self._clean_up(made - self._retained)

    def _clean_up(self, oldest: int) -> None:
        """Remove what no version from the oldest on needs; entries of logs, too."""
        for folder in {path.parent for path in self._templates}:
            files = [path for path in self._files() if path.parent == folder]
            snapshots = [path for path in files if path.suffix in (".zip", ".snapshot")]
            base = max((n for n in map(self._number, snapshots) if n <= oldest), default=0)
            for path in files:
                if self._number(path) < base:
                    path.unlink()
        for log in ("offsets", "commits"):
            for path in (self.root / log).iterdir():
                if path.name.isdecimal() and int(path.name) < oldest - 2:
                    path.unlink()

    def _files(self) -> list[Path]:
        return [path for path in self.root.glob("state/**/*.*") if self._number(path) > 0]

    @staticmethod
    def _number(path: Path) -> int:
        return int(path.stem) if path.stem.isdecimal() and path.is_file() else 0
