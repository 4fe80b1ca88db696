"""Measure how plainly the package and its documentation are written.

    python scripts/check_english.py [FOLDER]

Every measure has a limit. Of tests and scripts only the names are measured. The exit code is 1 if a
measure is above its limit. The worst examples are printed. Other packages (websockets, coverage.py,
memray, pyelftools) stay below all limits. A measure is met by a better name or sentence, not by
another word of the same kind.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "inspector"
ELSEWHERE = ("tests", "scripts")
"""Folders of which only the names that are pronouns are counted."""
LONGEST_SENTENCE = 30
"""Words of a sentence at the most."""
SHOWN = 12
"""Examples that are printed for each measure."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


RELATIVE_OPENINGS = word_set(
    """
    As Behind Beside Between How Of That Those What When Where Whether Which Who Why
    """
)
"""First words of a docstring that does not name the thing or the action."""
PREPOSITIONS = word_set(
    """
    above after around as at before behind below beside between by for from in into of off on out
    over since through to under until up with within without
    """
)
PRONOUNS = word_set(
    """
    all any asked beside both each either else few found given half held it kept known least less
    made many more most none one other others place rest said several shown so some taken that
    these they this those told wanted what which who whole
    """
)
"""Names that need another word to say of what, participles and `place` among them."""
NO_PARTICIPLES = word_set(
    """
    bed embed exceed feed need proceed red seed shed speed succeed
    """
)
"""Words in -ed that are verbs or nouns."""
WORD_LIST = {
    "held against": "compared with",
    "goes on from": "resumes from",
    "goes on with": "continues with",
    "anew": "again",
    "so many": "that number of",
    "as many as there are": "N",
    "but for": "except",
    "of whose": "a new sentence",
    "whoever": "the user",
    "as far as": "if known",
    "told apart": "distinguished",
    "more than is there": "too many",
    "the gravest": "the most severe",
}
"""Phrase -> a plainer one."""


# The package still has to lower the last two limits to 0.
MOST_PREPOSITIONS = 9
MOST_PRONOUNS = 8
MOST_PARTICIPLES = 2
MOST_LONG_SENTENCES = 170
MOST_PHRASES = 42
MOST_WORDS = 55_000  # of all pages, the generated ones included
MOST_PRONOUNS_ELSEWHERE = 4  # of tests and scripts


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure with its limit, and the examples that count."""

    name: str
    value: float
    limit: float
    examples: Counter[str]

    @property
    def is_met(self) -> bool:
        """True if the value is within the limit."""
        return self.value <= self.limit

    def text(self) -> str:
        """Return the line that is printed."""
        worst = ", ".join(f"{text} ({n})" for text, n in self.examples.most_common(SHOWN))
        mark = "ok  " if self.is_met else "FAIL"
        return f"{mark} {self.name}: {self.value:.1f}, at most {self.limit:g}\n     {worst}"


@dataclass(frozen=True, slots=True)
class Writing:
    """Names, docstrings and sentences of a package."""

    names: Counter[str]
    functions: Counter[str]
    docstrings: tuple[str, ...]
    pages: tuple[str, ...]  # prose, without code and tables
    words: int  # words of the pages, code and tables included


def main(arguments: list[str]) -> int:
    """Print the measures of a package; return 1 if one is above its limit."""
    measures = measure(read_package(Path(arguments[0]) if arguments else PACKAGE))
    for folder in () if arguments else ELSEWHERE:
        names = read_package(ROOT / folder).names
        measures.append(measure_pronouns(names, MOST_PRONOUNS_ELSEWHERE, f" in {folder}"))
    for item in measures:
        print(item.text())
    return int(not all(item.is_met for item in measures))


def measure(writing: Writing) -> list[Measure]:
    """Return all measures, in the order in which they are printed."""
    openings = Counter(filter(is_relative, (text.split()[0] for text in writing.docstrings)))
    prepositions = _select(writing.names, starts_with_preposition)
    participles = _select(writing.functions, is_participle)
    prose = [*writing.docstrings, *writing.pages]
    long = [
        text for block in prose for text in sentences(block) if len(text.split()) > LONGEST_SENTENCE
    ]
    phrases = Counter(
        {phrase: sum(block.lower().count(phrase) for block in prose) for phrase in WORD_LIST}
    )
    return [
        Measure(
            "docstrings that open with a relative clause, %",
            100 * openings.total() / max(len(writing.docstrings), 1),
            2,
            openings,
        ),
        Measure(
            "names that begin with a preposition, per mille",
            1000 * prepositions.total() / max(writing.names.total(), 1),
            MOST_PREPOSITIONS,
            prepositions,
        ),
        measure_pronouns(writing.names, MOST_PRONOUNS),
        Measure(
            "functions named by a participle or pronoun, %",
            100 * participles.total() / max(writing.functions.total(), 1),
            MOST_PARTICIPLES,
            participles,
        ),
        Measure(
            f"sentences with more than {LONGEST_SENTENCE} words",
            len(long),
            MOST_LONG_SENTENCES,
            Counter(f"{' '.join(text.split()[:6])} ..." for text in long),
        ),
        Measure("phrases of the word list", phrases.total(), MOST_PHRASES, +phrases),
        Measure("words of documentation", writing.words, MOST_WORDS, Counter()),
    ]


def measure_pronouns(names: Counter[str], limit: float, folder: str = "") -> Measure:
    """Return the measure of names that are pronouns; ``folder`` ends the name of the measure."""
    pronouns = _select(names, lambda name: name.strip("_") in PRONOUNS)
    value = 1000 * pronouns.total() / max(names.total(), 1)
    return Measure(f"names that are pronouns{folder}, per mille", value, limit, pronouns)


def read_package(package: Path) -> Writing:
    """Read every module and every page of the documentation below a folder."""
    names: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    docstrings: list[str] = []
    for module in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    names[name] += 1
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    functions[name] += 1
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                docstrings += filter(None, [(ast.get_docstring(node) or "").strip()])
    pages = [page.read_text("utf-8") for page in sorted(package.rglob("docs/**/*.md"))]
    words = sum(len(page.split()) for page in pages)
    prose = tuple(map(prose_of_page, pages))
    return Writing(names, functions, tuple(docstrings), prose, words)


def is_relative(word: str) -> bool:
    """Return whether a docstring's first word opens a relative clause."""
    return word.strip("`:,.") in RELATIVE_OPENINGS


def starts_with_preposition(name: str) -> bool:
    """Return whether the first word of a name is a preposition."""
    return name.strip("_").split("_")[0] in PREPOSITIONS


def is_participle(name: str) -> bool:
    """Return whether the first word of a function's name is a participle or a pronoun."""
    word = name.strip("_").split("_")[0]
    return word in PRONOUNS or (word.endswith("ed") and word not in NO_PARTICIPLES)


def prose_of_page(page: str) -> str:
    """Return a page without code, tables, comments and the words that only programs search."""
    page = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    lines = page.split("\n")
    skipped = ("|", "<!--", "#", "Classes:", "In messages:", "Spark:")
    return "\n".join("" if line.lstrip().startswith(skipped) else line for line in lines)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; a blank line or the mark of a list item ends one too."""
    for block in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", text):
        yield from re.split(r"(?<=[.!?])\s+", " ".join(block.split()))


def _select(names: Counter[str], matches: Callable[[str], bool]) -> Counter[str]:
    return Counter({name: count for name, count in names.items() if matches(name)})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
