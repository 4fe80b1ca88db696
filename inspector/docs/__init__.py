"""The documentation, shipped with the package: a machine on call may have no internet.

The pages are Markdown files beside this module, and a site is built from the same files
(``scripts/documentation/conf.py``). A *topic* is the name of a page, or of an entry: a heading
of the third level such as a finding, an error class, a command or a word of the glossary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_COMMANDS = "reference/commands"  # page on all commands, and folder of their pages


def _commands() -> list[str]:
    """Return the paths of the pages of the commands, sorted."""
    folder = files(__name__) / "reference" / "commands"
    # The package as it is sent to Spark's workers has two pages only.
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    return sorted(f"{_COMMANDS}/{name[:-3]}" for name in names if name.endswith(".md"))


# pages whose entries are what people see when something is wrong, in reading order
SYMPTOM_PAGES = (
    "how-to/state-grows",
    "how-to/out-of-memory",
    "how-to/slow-query",
    "how-to/will-not-restart",
    "how-to/write-errors",
    "how-to/wrong-results",
)
# pages whose entries are error classes of Spark
ERROR_PAGES = ("reference/state-errors", "reference/restart-errors", "reference/query-errors")

# every page by its path without ``.md``, in reading order
PAGES = (
    *("index", "tutorial", "how-to/install", *SYMPTOM_PAGES),
    *("how-to/new-checkpoint", "how-to/leaked-keys", "how-to/keys", "how-to/partitions"),
    *("how-to/deployment", "how-to/fleet", "how-to/ci-gate", "how-to/page"),
    "how-to/object-stores",
    *("how-to/cluster", "how-to/notebook"),
    *(_COMMANDS, *_commands(), "reference/columns"),
    *("reference/leftover-classes", "reference/findings", "reference/errors"),
    *("reference/restart-rules", "reference/restarts", "reference/spark-errors", *ERROR_PAGES),
    *("reference/symptoms", "reference/exit-codes", "reference/configuration"),
    *("reference/output", "reference/metrics"),
    *("format/layout", "format/state-files", "format/rocksdb", "format/rocksdb-tables"),
    "format/unsafe-rows",
    *("format/operators", "format/transform-with-state", "format/watermarks"),
    *("explanation/judgements", "explanation/proofs", "explanation/inferences"),
    *("explanation/accuracy", "explanation/heap"),
    "explanation/performance",
    *("explanation/limits", "glossary", "changelog"),
)

# files for programs, which are no pages
DATA = (
    *("reference/report.schema.json", "how-to/grafana.json", "how-to/Dockerfile"),
    *("how-to/inspector-serve.service", "how-to/inspector-serve.yaml"),
)

_FENCE = re.compile(r"^\s*```")  # begin or end of a block of code
_HEADING = re.compile(r"^(#{1,6}) (.+)$")  # heading of Markdown: marks and text
# link to another page: text, folder and page
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]*?)([\w-]+)\.md(?:#[\w-]*)?\)")
_NO_TEXT = re.compile(r"^(?:<!--.*-->|\|\w+\|\w+\|\n\|---\|---\|)\n", re.MULTILINE)
"""Comments of a page, which only programs read, and the head of a table with two columns."""
_CELL = r"\|((?:[^|\\\n]|\\.)+)"  # cell of a table, with the bar before it; ``\|`` is text
_ROW = re.compile(f"^{_CELL}{_CELL}\\|$", re.MULTILINE)  # row of a table with two columns
_PARAGRAPH = re.compile(r"(?:\*\*([^*]+)\.\*\* |(?:- )?([A-Z][a-zA-Z ]{1,20}): )?(.+)")
"""A line of text, and the words before it: in bold, or before a colon."""
_CODE = re.compile(r"`([^`]+)`")  # text between backquotes
_ALSO = "Spark: "  # begin of a line of an entry whose code words are names of the entry, too
_SLUGS = "Slugs: "  # begin of the line of a finding with slugs of its problems, names as well
_CLASSES = "Classes: "  # begin of the line whose code words are names like that of the heading
_MESSAGES = "messages.txt"
"""File with names of entries, and below each the phrases of its messages; ``...`` is anything."""
_WORDS = "words.txt"
"""File with a line for a page or a symptom: its name, and the words that people use for it."""
_MOST_WORDS = 30  # words of a description by a person at most; a longer text is a message or a log
_BETWEEN = 300  # characters that ``...`` stands for at most
_CAUSE = "caused by:"  # words before each cause of a stack trace
_MOST_ENTRIES = 3  # entries of an answer at most
# error class of Spark, or id of a finding
_CLASS = re.compile(r"\b(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\.[A-Z][A-Z0-9_]*)?|SS\d{3})\b")
_OWN_FRAME = re.compile(
    r"^\s*at (?!(?:javax?|jdk|com\.sun|sun|scala|py4j|org\.(?:apache|rocksdb|xerial)|net\.jpountz|"
    r"com\.(?:amazonaws|github\.luben|google|microsoft|azure|esotericsoftware)|software\.amazon|"
    r"io\.netty)\.)[\w.$/]+\(",
    re.MULTILINE,
)
"""A frame of a stack trace that is neither of the JVM, nor of Spark, nor of a library below it."""
_OF_PROGRAM = re.compile(
    r"\w(?:Exception|Error)\b:?|\[[A-Z][A-Z_.]{5,200}\]|\.(?:scala|java)\b|\b(?:INFO|WARN|ERROR) \w"
)
"""Sign of a text by a program: an exception, an error class, a file of code, a level of a log."""
# word of a message that is about a streaming query or its state
_OF_STATE = re.compile(
    r"streaming|state.?store|checkpoint|rocksdb|watermark|microbatch|/(?:state|offsets|commits)/\d",
    re.IGNORECASE,
)
_OUTER_CLASSES = ("cannot_load_state_store.uncategorized", "stream_failed")
"""Classes whose message names what matters below it; the second is of every failed query."""
# symptoms that say only that a query failed
_OUTER = ("query terminated", "task failed 4 times", "executor lost", "RocksDB error")
_MOST_NEAR = 8  # topics that are suggested for an unknown one
_MOST_NAMES = 3  # a heading with more names is shown with the requested one only
_SEVERITIES = ("Error; ", "Warning; ", "Info; ")  # begins of an entry's line with its severity
_ENTRY_LEVEL = 3  # level of the headings of entries


def read_page(name: str) -> str:
    """Return the Markdown of one of :data:`PAGES`, as it is in the file."""
    return _read(f"{name}.md")


def data(topic: str) -> str | None:
    """Return the text of one of :data:`DATA`, by name or path; None if there is none."""
    return next((_read(name) for name in DATA if topic in (name, _stem(name))), None)


def _read(path: str) -> str:
    """Return the text of a file of the documentation."""
    return files(__name__).joinpath(*path.split("/")).read_text("utf-8")


def lookup(topic: str) -> str | None:
    """Return the documentation of a topic as text; None if there is none.

    A topic is the name or path of a page, or any name of an entry, in any case and with or without
    brackets. It may also be a message of Spark, which is searched for error classes and known
    phrases.
    """
    requested = topic.strip().strip("[]").casefold()
    for name in PAGES:
        if requested in (name, _stem(name)):
            return _plain(read_page(name))
    for name, words in _words_by_name().items():
        if name in PAGES and requested in words:
            return _plain(read_page(name))
    entries = _entries_of_name(requested) or ([] if _is_foreign(topic) else _in_message(topic))
    if not entries and (beginning := requested.rstrip("_.*…")) != requested:
        entries = [*_family(beginning), *_entries_of_name(beginning)]
    entries = entries or _by_words(topic)
    return _plain("\n".join(dict.fromkeys(entries))) if entries else None


class Entry(NamedTuple):
    """An entry of a page: its title and its paragraphs."""

    title: str  # heading after the name
    # paragraphs by the words before each, such as ``Source``; the first without words at ""
    paragraphs: dict[str, str]


@cache
def entry(name: str) -> Entry:
    """Return the entry of a finding, restart rule, premise or other topic.

    Raises IndexError if there is none of this name.
    """
    heading, *lines = _plain(_entries_of_name(name.casefold())[0]).splitlines()
    paragraphs: dict[str, str] = {}
    for line in lines:
        if line.startswith(_SEVERITIES):
            continue
        if match := _PARAGRAPH.fullmatch(line):
            paragraphs.setdefault(match[1] or match[2] or "", match[3])
    return Entry(_names(heading)[-1], paragraphs)


def _entries_of_name(name: str) -> list[str]:
    """Return the entries with a name, which is in lower case; headings first.

    ``CLASS.SUBCLASS`` also finds the entry of ``SUBCLASS``, or else of ``CLASS``.
    """
    headed, also = _entries()
    # An error class of Spark may come with the class that it is below: CLASS.SUBCLASS.
    # A message has dots too, before what is no class.
    parent, _, child = name.rpartition(".") if " " not in name else ("", "", name)
    spelled = name if name in headed else child
    first = [_under(text, spelled) for text in headed.get(spelled, ())]
    entries = [*first, *(also.get(name) or also.get(child) or ())]
    return entries or [_under(text, parent) for text in headed.get(parent, ())]


def _under(text: str, name: str) -> str:
    """Return an entry with the requested name as its heading, if the heading has many names."""
    names = _own_names(text)
    if len(names) <= _MOST_NAMES:
        return text
    spelling = next(candidate for candidate in names if candidate.casefold() == name)
    lines = text.splitlines(keepends=True)[1:]
    while lines[0] == "\n" or lines[0].startswith(_CLASSES):
        del lines[0]
    return "".join([f"### `{spelling}`\n\n", *lines])


def _family(beginning: str) -> list[str]:
    """Return a heading and a line for each entry whose name begins so; empty if there is none."""
    listed = []
    for name, (text, *_) in _entries()[0].items():
        if name.startswith(beginning):
            spelling = next(n for n in _own_names(text) if n.casefold() == name)
            lines = text.splitlines()[1:]
            others = *_SEVERITIES, _CLASSES
            words = next(line for line in lines if line and not line.startswith(others))
            first = words.partition(". ")[0].rstrip(".")
            listed.append((spelling, f"- `{spelling}`: {first}."))
    lines = [line for _, line in sorted(listed)]
    return [f"# Topics that begin with {beginning.upper()}\n", *lines, ""] if lines else []


def _is_foreign(message: str) -> bool:
    """Return whether a stack trace ends in user code and has no frame of the state store."""
    cause = message[message.rfind("Caused by:") + 1 :]
    return bool(_OWN_FRAME.search(cause)) and not _OF_STATE.search(message)


def _in_message(message: str) -> list[str]:
    """Return the entries of the error classes and phrases in a message or log.

    Those of the last cause of a stack trace come first, and of these the longest phrases. At most
    :data:`_MOST_ENTRIES`, and a line that names the others.
    """
    line = " ".join(message.casefold().split())
    names = dict.fromkeys(name.casefold() for name in _CLASS.findall(message))
    inner = [name for name in names if name not in _OUTER_CLASSES]
    inner.sort(key=lambda name: line.count(_CAUSE, 0, line.rfind(name)), reverse=True)
    entries = [text for name in inner for text in _entries_of_name(name)]
    ranked: dict[str, tuple[int, int]] = {}
    for words, text in _phrases():
        if ends := [match.end() for match in words.finditer(line)]:
            rank = line.count(_CAUSE, 0, ends[-1]), len(words.pattern)
            ranked[text] = max(rank, ranked.get(text, rank))
    symptoms = sorted(ranked, key=lambda text: ranked[text], reverse=True)
    inside = [text for text in symptoms if _names(text)[0] not in _OUTER]
    outer = [name for name in _OUTER_CLASSES if name in names]
    if not entries and not inside and outer:
        entries = _entries_of_name(outer[0])
    symptoms = inside or ([] if entries else symptoms)
    entries = list(dict.fromkeys([*entries, *symptoms]))
    titles = [_names(text)[0] for text in entries[_MOST_ENTRIES:]]
    entries = entries[:_MOST_ENTRIES]
    if titles:
        entries.append(f"Also in this text: {', '.join(titles)}.\n")
    return entries


def _by_words(text: str) -> list[str]:
    """Return the entries of symptoms whose name or known words occur in a person's text.

    The result has the Markdown of at most ``_MOST_ENTRIES`` entries, best match first. More and
    longer matching words rank higher. It is empty if the text comes from a program, or has more
    than ``_MOST_WORDS`` words.
    """
    line = " ".join(text.casefold().split())
    if len(line.split()) > _MOST_WORDS or _OF_PROGRAM.search(text):
        return []
    scores: Counter[str] = Counter()
    for words, entry in _words_of_symptoms():
        if words.search(line):
            scores[entry] += len(words.pattern)
    return [entry for entry, _ in scores.most_common(_MOST_ENTRIES)]


def near(topic: str) -> list[str]:
    """Return topics like an unknown one: spelt alike, with the same begin, or with words of it.

    At most :data:`_MOST_NEAR`.
    """
    spelled = {name.casefold(): name for name in map(_stem, PAGES)}
    for page in PAGES:
        for names, _ in _entries_of(read_page(page)):
            spelled |= {name.casefold(): name for name in names}
    requested = topic.strip().strip("[]").casefold().rstrip(".*…")
    entries = dict.fromkeys(get_close_matches(requested, spelled, n=5, cutoff=0.6))
    if len(requested) > 2:  # two letters begin half of all
        entries |= dict.fromkeys(name for name in spelled if name.startswith(requested))
    names = [spelled[name] for name in entries]
    hints = _by_words(topic)
    if _is_foreign(topic):
        hints = [text for text in _in_message(topic) if text.startswith("### ")]
    titles = (_names(text)[0] for text in hints[:_MOST_ENTRIES])
    return list(dict.fromkeys([*names, *titles]))[:_MOST_NEAR]


def symptom_groups() -> dict[str, list[str]]:
    """Return the names of all symptoms by the heading of their group."""
    groups: dict[str, list[str]] = {}
    for page in SYMPTOM_PAGES:
        for level, heading, _ in _lines(read_page(page)):
            if level == _ENTRY_LEVEL - 1:
                groups[heading] = []
            elif level == _ENTRY_LEVEL:
                next(reversed(groups.values())).append(_names(heading)[0])
    return {heading: names for heading, names in groups.items() if names}


def contents() -> str:
    """Return the list of all topics: a line for each page, and the names of its entries."""
    lines = ["# Topics", "", "`inspector explain TOPIC` prints one of these:", ""]
    for name in PAGES:
        page = read_page(name)
        if name.rpartition("/")[0] in PAGES:  # one of a page that has more below it
            first = next(line for level, _, line in _lines(_plain(page)) if line and not level)
            lines.append(f"    - `{_stem(name)}`: {first}")
            continue
        title = next(heading for level, heading, _ in _lines(page) if level)
        lines.append(f"- `{_stem(name)}`: {title}")
        entries = [names[0] for names, _ in _entries_of(page)]
        if entries:
            lines.append(f"    - {', '.join(f'`{entry}`' for entry in entries)}")
    lines += [f"- `{_stem(name)}`: for programs, as it is" for name in DATA]
    return "\n".join(lines) + "\n"


@cache
def _entries() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return all entries by name in lower case: by the names in headings, and by other names."""
    headed: dict[str, list[str]] = {}
    also: dict[str, list[str]] = {}
    for page in PAGES:
        for names, text in _entries_of(read_page(page)):
            heading = {name.casefold() for name in _own_names(text)}
            for name in dict.fromkeys(name.casefold() for name in names):
                (headed if name in heading else also).setdefault(name, []).append(text)
    return headed, also


@cache
def _phrases() -> list[tuple[re.Pattern[str], str]]:
    """Return the phrases of messages as patterns in lower case, each with its entry."""
    entries = {
        names[0]: text
        for page in (*ERROR_PAGES, *SYMPTOM_PAGES)
        for names, text in _entries_of(read_page(page))
    }
    phrases, name = [], ""
    for line in _read(_MESSAGES).splitlines():
        if line.startswith(" "):
            phrases.append((_pattern(line.strip()), entries[name]))
        else:
            name = line
    return phrases


def _pattern(words: str) -> re.Pattern[str]:
    """Return the pattern of words in lower case; ``...`` stands for anything."""
    gap = f".{{0,{_BETWEEN}}}?"
    return re.compile(gap.join(map(re.escape, words.casefold().split(" ... "))))


@cache
def _words_by_name() -> dict[str, list[str]]:
    """Return the words that people use for a page or a symptom, by its name."""
    lines = (line.partition(": ") for line in _read(_WORDS).splitlines())
    return {name: words.split("; ") for name, _, words in lines}


@cache
def _words_of_symptoms() -> list[tuple[re.Pattern[str], str]]:
    """Return patterns of the names and known words of symptoms, each with the symptom's entry."""
    return [
        (_pattern(words), text)
        for page in SYMPTOM_PAGES
        for names, text in _entries_of(read_page(page))
        for words in (*names, *_words_by_name().get(names[0], ()))
    ]


def _entries_of(page: str) -> Iterator[tuple[list[str], str]]:
    """Yield the names and the text of each entry of a page."""
    names: list[str] = []
    lines: list[str] = []
    for level, heading, line in _lines(page):
        if level and level <= _ENTRY_LEVEL:
            if names:
                yield names, "\n".join(lines) + "\n"
            names, lines = (_names(heading) if level == _ENTRY_LEVEL else []), []
        if names and line.startswith((_ALSO, _CLASSES, _SLUGS)):
            names += _CODE.findall(line)
        lines.append(line)
    if names:
        yield names, "\n".join(lines) + "\n"


def _lines(page: str) -> Iterator[tuple[int, str, str]]:
    """Yield (level, heading, line) for each line of a page.

    A line that is no heading has level 0 and an empty heading.
    """
    is_code = False
    for line in page.splitlines():
        is_code ^= _FENCE.match(line) is not None
        match = None if is_code else _HEADING.match(line)
        yield (0, "", line) if match is None else (len(match[1]), match[2], line)


def _names(text: str) -> list[str]:
    """Return the names in an entry's heading, without marks.

    They are an id and its title (``SS203: timeout fired and key kept``), or names of one symptom or
    error (``out of memory, OOM``).
    """
    heading = text.partition("\n")[0].lstrip("# ").replace("`", "")
    rule_id, _, title = heading.partition(": ")
    return [rule_id, title] if title else heading.split(", ")


def _own_names(text: str) -> list[str]:
    """Return the names of an entry: those of its heading, then those of its list of classes."""
    lines = (line for line in text.splitlines() if line.startswith(_CLASSES))
    return [*_names(text), *(name for line in lines for name in _CODE.findall(line))]


def _stem(name: str) -> str:
    """Return the last part of a path."""
    return name.rpartition("/")[2]


def _plain(page: str) -> str:
    """Return a page for a terminal: links name their topic, and lines for programs are left out.

    A table with two columns is printed as a list.
    """

    def without(link: re.Match[str]) -> str:
        return link[1] if link[1].casefold() == link[3] else f"{link[1]} (topic `{link[3]}`)"

    def listed(row: re.Match[str]) -> str:
        return f"- {row[1]}: {row[2]}".replace(r"\|", "|")

    text = _ROW.sub(listed, _NO_TEXT.sub("", page))
    return _LINK.sub(without, text).replace("\\*", "*")
