"""A fixture's checkpoint as its query wrote it, batch by batch: for tests of what follows one."""

from __future__ import annotations

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
