"""What a source distribution holds: the package and nothing of its tests.

Setuptools adds ``tests/test*.py`` by itself and neither their helpers nor the fixtures, with which
they would run. Its own way to leave them out is a ``MANIFEST.in`` at the top.
"""

from __future__ import annotations

from collections.abc import Sequence

from setuptools.command.sdist import sdist


class Sdist(sdist):
    """A source distribution without tests."""

    def make_release_tree(self, base_dir: str, files: Sequence[str]) -> None:
        """Lay out the files, those of the tests left out."""
        super().make_release_tree(base_dir, [file for file in files if file[:6] != "tests/"])
