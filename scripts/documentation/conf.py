"""The site made of the pages in inspector/docs, which the package ships.

    sphinx-build -W --keep-going -c scripts/documentation inspector/docs FOLDER

Sphinx with MyST, because it reads the pages as the plain Markdown that ``inspector explain``
prints, warns of a link or an anchor that leads nowhere, and is maintained (Material for MkDocs,
tried too, ends in 2027). A reader of the site fetches nothing from elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from inspector import __version__
from inspector.docs import PAGES

project = "spark-state-inspector"
release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["__pycache__"]
html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_copyright = False
smartquotes = False  # it would turn the two hyphens of an option into a dash
html_show_sphinx = False
myst_heading_anchors = 4

_BELOW = {"reference/commands": [name for name in PAGES if name.startswith("reference/commands/")]}
"""Page -> the pages that the site shows below it."""
_PROJECT = ("glossary", "changelog")
_SECTIONS = {
    "": [name for name in PAGES if "/" not in name and name not in ("index", *_PROJECT)],
    **{
        title: [name for name in PAGES if name.rpartition("/")[0] == folder]
        for folder, title in (
            ("how-to", "How to"),
            ("reference", "Reference"),
            ("format", "On-disk format"),
            ("explanation", "Explanation"),
        )
    },
    "Project": list(_PROJECT),
}
"""Caption -> pages."""


def _contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Give pages the tree of those below them, which only a site has a use for."""
    if page == "index":
        source[0] += "".join(_tree(*section) for section in _SECTIONS.items())
    if page in _BELOW:
        source[0] += _tree("", [f"/{name}" for name in _BELOW[page]])


def _tree(caption: str, pages: list[str]) -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "", "```{toctree}", *options, "", *pages, "```", ""])


def setup(app: Sphinx) -> None:
    """As Sphinx calls it."""
    app.connect("source-read", _contents)
