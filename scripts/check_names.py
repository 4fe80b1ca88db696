"""Count the names that say nothing: pronouns for values, participles for functions.

    python scripts/check_names.py [FOLDER]

A variable is a noun of the field, a function a verb for what it does or a noun for what it returns.
Other well-kept packages (websockets, rich, structlog, coverage.py, httpx) have 0.1 to 0.4 % of
pronouns. The worst are printed; above the limits the exit code is 1.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "inspector"
MOST_PRONOUNS = 0.005
"""Of all assigned names and parameters, the largest part that may be a pronoun."""
MOST_PARTICIPLES = 35
"""How many functions may be named by a participle."""
SHOWN = 30


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


PRONOUNS = word_set(
    """
    all another any anything both each either every everything found here it its known mine
    neither none nothing one ones other others ours own place places rest same some something
    such that them there these they thing things this those what whatever which whichever who
    whom whose
    """
)
"""Names that need another word to say of what, `found` and `place` among them."""
IRREGULAR = word_set(
    """
    begun bought broken brought built chosen done drawn driven fallen felt forgotten found
    frozen given gone grown heard held hidden kept known laid left lent lost made meant met paid
    said seen sent shown sold spent spoken stolen stood taken taught thought told torn
    understood unknown unseen withheld worn written
    """
)
PARTICLES = word_set(
    """
    about after against ahead among apart around as at away back before behind below between by
    down for from in into of off on onto out over since through to together under until up upon
    with within without
    """
)
PREDICATES = word_set(
    """
    are can could did does had has have is may must should was were
    """
)
NO_PARTICIPLES = word_set(
    """
    bed embed exceed feed need proceed red seed shed speed succeed
    """
)
"""Words in -ed that are none."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a package calls its values and functions, with how often."""

    assigned: Counter[str]
    functions: Counter[str]

    @property
    def pronouns(self) -> Counter[str]:
        """The values called by a pronoun."""
        return _select(self.assigned, lambda name: name.strip("_") in PRONOUNS)

    @property
    def pronoun_share(self) -> float:
        """Their part of all assigned names and parameters, 0 to 1."""
        return self.pronouns.total() / max(self.assigned.total(), 1)

    @property
    def participles(self) -> Counter[str]:
        """The functions called by a participle."""
        return _select(self.functions, is_participle)


def main(arguments: list[str]) -> int:
    """Print the counts and the worst names of a package; 1 if one is above its limit."""
    names = read_names(Path(arguments[0]) if arguments else PACKAGE)
    pronouns, participles = names.pronouns, names.participles
    print(
        f"{pronouns.total()} of {names.assigned.total()} assigned names and parameters are"
        f" pronouns: {names.pronoun_share:.2%}, at most {MOST_PRONOUNS:.2%}"
    )
    print(f"  {_worst(pronouns)}")
    print(
        f"{participles.total()} of {names.functions.total()} functions are named by a participle,"
        f" at most {MOST_PARTICIPLES}"
    )
    print(f"  {_worst(participles)}")
    return int(names.pronoun_share > MOST_PRONOUNS or participles.total() > MOST_PARTICIPLES)


def read_names(package: Path) -> Names:
    """Count the names in every module below a folder."""
    assigned: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for module in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            match node:
                case ast.Name(id="__all__"):
                    pass
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    assigned[name] += 1
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    functions[name] += 1
    return Names(assigned, functions)


def is_participle(name: str) -> bool:
    """Whether a function's name ends in a participle, or is one with a preposition behind it.

    `is_shared` and the like are predicates, and `retained_versions` is a noun.
    """
    words = name.strip("_").lower().split("_")
    if words[0] in PREDICATES:
        return False
    last = len(words) - 1
    return any(
        _ends_as_participle(word) and (at == last or words[at + 1] in PARTICLES)
        for at, word in enumerate(words)
    )


def _ends_as_participle(word: str) -> bool:
    return word in IRREGULAR or (word.endswith("ed") and word not in NO_PARTICIPLES)


def _select(names: Counter[str], matches: Callable[[str], bool]) -> Counter[str]:
    return Counter({name: count for name, count in names.items() if matches(name)})


def _worst(names: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in names.most_common(SHOWN))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
