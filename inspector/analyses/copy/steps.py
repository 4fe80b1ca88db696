"""Commands that lead from a checkpoint to a query that runs on a copy of it."""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Iterator
from typing import Any

from inspector.analyses.copy.evicting import ROWS, Eviction
from inspector.analyses.shared import options as o
from inspector.analyses.shared.options import Options, Parameter
from inspector.checkpoint.urls import absolute, spell_root
from inspector.light_dataclasses import dataclass
from inspector.model import Certainty
from inspector.render.report_data import Step

# options on reading the state that a command line of a step gets from the options of the copy
_OF_STATE = (*o.FORMAT, *o.SCHEMAS, *o.RULES)
# addition to a step whose command line lacks the storage options, which may be secret
_OPTIONS_LEFT = " (with the storage options of this command)"


@dataclass(frozen=True)
class Commands:
    """Command lines about one copy, quoted for a shell and without storage options."""

    source: str  # path of the original checkpoint
    dest: str  # path of the copy, as the user spelled it
    options: Options  # shared options of the command ``copy``, as the user gave them
    eviction: Eviction | None  # requested eviction; None without one
    flags: tuple[str, ...]  # further options of the command ``copy``, such as ``--stopped``

    @property
    def copy(self) -> str:
        """Command line that makes the copy."""
        words = ["copy", self.source, self.dest, *self._eviction_words(), *self.flags]
        return self._line(words, (*o.KEYS, *o.AT_VERSION, *_OF_STATE))

    @property
    def audit(self) -> str:
        """Command line that saves an audit of the original checkpoint as a JSON file."""
        return self._line(
            ["audit", self.source, "--fail-on", "never", "-o", "json", "-O", self._report],
            _OF_STATE,
        )

    @property
    def comparison(self) -> str:
        """Command line that compares an audit of the copy with the saved audit."""
        return self._line(["audit", self.dest, "--baseline", self._report], _OF_STATE)

    @property
    def search(self) -> str:
        """Command line that lists the rows of the copy that match the named keys."""
        return self._line(["rows", self.dest], (*o.KEYS, *o.FORMAT, *o.SCHEMAS))

    @property
    def _report(self) -> str:
        """Name of the JSON file with the saved audit, with the name of the checkpoint's folder."""
        name = spell_root(self.source).rstrip("/").rpartition("/")[2]
        return f"audit-of-{re.sub(r'[^A-Za-z0-9._-]+', '-', name) or 'checkpoint'}.json"

    def _eviction_words(self) -> Iterator[str]:
        """Yield the words of the options that request the eviction; nothing without an eviction.

        The options ``--key`` and ``--where`` are not among them.
        """
        eviction = self.eviction
        if eviction is None:
            return
        if eviction.target != ROWS:
            yield from ("--evict", eviction.target)
        if eviction.way is not None:
            yield from ("--by", eviction.way)
        if Certainty.INFERRED in eviction.certainties:
            yield from ("--certainty", Certainty.INFERRED.value)
        if eviction.operator_id is not None:
            yield from ("--operator", str(eviction.operator_id))

    def _line(self, words: list[str], shared: o.Group) -> str:
        """Return a command line for a shell: ``inspector``, ``words``, and ``shared`` options.

        Shared options with their default value are left out.
        """
        given = [word for item in shared for word in _words(item, self.options)]
        return shlex.join(["inspector", *words, *given])


def _words(item: Parameter, options: Options) -> Iterator[str]:
    """Yield the words of the option ``item`` with its value in ``options``; none for its default.

    An option with several values is repeated.
    """
    value: Any = getattr(options, item.name)
    if item.name == "key":
        value = options.keys
    if value == item.default or value is None:
        return
    for element in value if isinstance(value, tuple) else (value,):
        yield from (item.flag, str(element.value if isinstance(element, enum.Enum) else element))


def steps_of(commands: Commands, *, is_plan: bool) -> Iterator[Step]:
    """Yield the steps that the user takes after a plan, or after the copy was written.

    Each step is a text, most with a command line of ``commands``. ``is_plan``: nothing was written,
    so the steps include stopping the query and making the copy.
    """
    eviction = commands.eviction
    has_leaks = eviction is not None and eviction.expired
    hidden = _OPTIONS_LEFT if commands.options.storage_options else ""
    if has_leaks:
        unless = "" if is_plan else ", unless you have one"
        yield Step(
            f"Save an audit of the checkpoint to compare with{unless}{hidden}:", commands.audit
        )
    if is_plan:
        yield Step("Stop the query.")
        yield Step(f"Make the copy{hidden}:", commands.copy)
    if eviction is not None and not has_leaks:
        yield Step(f"See that the copy has none of these rows{hidden}:", commands.search)
    query = "the fixed query" if has_leaks else "the query"
    new_root = spell_root(absolute(commands.dest))
    yield Step(f"Set checkpointLocation of {query} to {new_root}, and start it.")
    if has_leaks:
        yield Step(f"After some batches, see whether keys leak again{hidden}:", commands.comparison)
