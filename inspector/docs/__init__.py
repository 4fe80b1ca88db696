"""The documentation, shipped with the package: a machine on call may have no internet.

The pages are Markdown files beside this module, and a site is built from the same files
(``scripts/documentation/conf.py``). A *topic* is the name of a page, or of an entry: a heading
of the third level such as a finding, an error class, a command or a word of the glossary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

_COMMANDS = "reference/commands"


def _commands() -> list[str]:
    """The pages of the commands: one of each that there is, which nobody lists."""
    folder = files(__name__) / "reference" / "commands"
    # The package as it is sent to Spark's workers has modules only.
    found = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    return sorted(f"{_COMMANDS}/{name[:-3]}" for name in found if name.endswith(".md"))


PAGES = (
    "index",
    "tutorial",
    "how-to/cluster",
    "how-to/object-stores",
    "how-to/ci-gate",
    "how-to/notebook",
    _COMMANDS,
    *_commands(),
    "reference/leftover-classes",
    "reference/findings",
    "reference/errors",
    "reference/spark-errors",
    "reference/exit-codes",
    "reference/configuration",
    "reference/output",
    "format/layout",
    "format/state-files",
    "format/unsafe-rows",
    "format/operators",
    "format/watermarks",
    "explanation/judgements",
    "explanation/proofs",
    "explanation/accuracy",
    "explanation/heap",
    "explanation/engines",
    "explanation/performance",
    "explanation/architecture",
    "explanation/limits",
    "glossary",
    "contributing",
    "changelog",
)
"""Every page by its path without ``.md``, in the order in which they are read."""

_FENCE = re.compile(r"^\s*```")
_HEADING = re.compile(r"^(#{1,6}) (.+)$")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]*?)([\w-]+)\.md(?:#[\w-]*)?\)")
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_ALSO = "In Spark: "
"""How a line of an entry begins whose code words are names of the entry too."""
_ENTRY_LEVEL = 3


def read_page(name: str) -> str:
    """The Markdown of a page, as its file has it.

    Args:
        name: one of :data:`PAGES`.
    """
    *folders, stem = name.split("/")
    file = files(__name__)
    for folder in folders:
        file = file / folder
    return (file / f"{stem}.md").read_text("utf-8")


def lookup(topic: str) -> str | None:
    """What the documentation has on a topic, for a reader who has no site; None if nothing.

    Args:
        topic: a page by its name or its path, or an entry by any of its names, in any case; in
            brackets too, as Spark's messages have their class.
    """
    requested = topic.strip().strip("[]").casefold()
    for name in PAGES:
        if requested in (name, _stem(name)):
            return _plain(read_page(name))
    # An error class of Spark may come with the class that it is below: CLASS.SUBCLASS.
    spelled = dict.fromkeys((requested, requested.rpartition(".")[2]))
    found = dict.fromkeys(text for name in spelled for text in _entries().get(name, ()))
    return _plain("\n".join(found)) if found else None


def near(topic: str) -> list[str]:
    """Topics that are spelt almost like one that there is not, the nearest first."""
    known = {name.casefold(): name for name in (*map(_stem, PAGES), *_entry_names())}
    found = get_close_matches(topic.strip().casefold(), known, n=5, cutoff=0.6)
    return [known[name] for name in found]


def contents() -> str:
    """All topics: a line for each page, and the names of its entries."""
    lines = ["# Topics", "", "`inspector explain TOPIC` prints one of these:", ""]
    for name in PAGES:
        page = read_page(name)
        if name.rpartition("/")[0] in PAGES:  # one of a page that has more below it
            lines.append(f"    - `{_stem(name)}`: {_summary(page)}")
            continue
        lines.append(f"- `{_stem(name)}`: {_title(page)}")
        entries = [names[0] for names, _ in _entries_of(page)]
        if entries:
            lines.append(f"    - {', '.join(f'`{entry}`' for entry in entries)}")
    return "\n".join(lines) + "\n"


@cache
def _entries() -> dict[str, list[str]]:
    """Entries by each of their names in lower case; two may share one, such as a Spark conf."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for names, text in _entries_of(read_page(page)):
            for name in dict.fromkeys(name.casefold() for name in names):
                found.setdefault(name, []).append(text)
    return found


def _entry_names() -> Iterator[str]:
    for page in PAGES:
        for names, _ in _entries_of(read_page(page)):
            yield from names


def _entries_of(page: str) -> Iterator[tuple[list[str], str]]:
    """Names and text of each entry of a page."""
    names: list[str] = []
    lines: list[str] = []
    for level, heading, line in _lines(page):
        if level and level <= _ENTRY_LEVEL:
            if names:
                yield names, "\n".join(lines) + "\n"
            names, lines = (_names(heading) if level == _ENTRY_LEVEL else []), []
        if names and line.startswith(_ALSO):
            names += _CODE.findall(line)
        lines.append(line)
    if names:
        yield names, "\n".join(lines) + "\n"


def _lines(page: str) -> Iterator[tuple[int, str, str]]:
    """Each line with the level and text of the heading that it is; level 0 for any other."""
    in_code = False
    for line in page.splitlines():
        in_code ^= _FENCE.match(line) is not None
        match = None if in_code else _HEADING.match(line)
        yield (0, "", line) if match is None else (len(match[1]), match[2], line)


def _names(heading: str) -> list[str]:
    """``SS203 · timeout fired`` and "`TruncatedError` · `truncated`": the parts, without marks."""
    return [part.replace("`", "").strip() for part in heading.split(" · ")]


def _title(page: str) -> str:
    return next(heading for level, heading, _ in _lines(page) if level)


def _summary(page: str) -> str:
    """The first paragraph."""
    return next(line for level, _, line in _lines(_plain(page)) if line and not level)


def _stem(name: str) -> str:
    return name.rpartition("/")[2]


def _plain(page: str) -> str:
    """A page whose links say the topic, since there is nothing to click on."""
    return _LINK.sub(_without_link, _COMMENT.sub("", page))


def _without_link(link: re.Match[str]) -> str:
    text, stem = link[1], link[3]
    return text if text.casefold() == stem else f"{text} (topic `{stem}`)"
