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

_OF_STATE = (*o.FORMAT, *o.SCHEMAS, *o.RULES)  # options by which any command reads the checkpoint
# added to a step whose command lacks the storage options, which may be secret
_OPTIONS_LEFT = " (with the storage options of this command)"


@dataclass(frozen=True)
class Commands:
    """Command lines about one copy, quoted for a shell."""

    source: str  # the checkpoint, as the user spelled it
    dest: str  # the copy, as the user spelled it
    options: Options  # options of the copy
    eviction: Eviction | None  # requested eviction; None without one
    flags: tuple[str, ...]  # of the copy, such as ``--stopped``

    @property
    def copy(self) -> str:
        """Command that makes the copy."""
        words = ["copy", self.source, self.dest, *self._eviction_words(), *self.flags]
        return self._line(words, (*o.KEYS, *o.AT_VERSION, *_OF_STATE))

    @property
    def audit(self) -> str:
        """Command that saves an audit of the checkpoint."""
        return self._line(
            ["audit", self.source, "--fail-on", "never", "-o", "json", "-O", self._report],
            _OF_STATE,
        )

    @property
    def comparison(self) -> str:
        """Command that compares an audit of the copy with the saved one."""
        return self._line(["audit", self.dest, "--baseline", self._report], _OF_STATE)

    @property
    def search(self) -> str:
        """Command that shows the evicted rows that the copy still has."""
        return self._line(["rows", self.dest], (*o.KEYS, *o.FORMAT, *o.SCHEMAS))

    @property
    def _report(self) -> str:
        """Name of the file in which the audit of the checkpoint is saved."""
        name = spell_root(self.source).rstrip("/").rpartition("/")[2]
        return f"audit-of-{re.sub(r'[^A-Za-z0-9._-]+', '-', name) or 'checkpoint'}.json"

    def _eviction_words(self) -> Iterator[str]:
        """Yield the options that request the eviction; nothing without one."""
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
        """Return a shell command of these words and of the ``shared`` options that are set."""
        given = [word for item in shared for word in _words(item, self.options)]
        return shlex.join(["inspector", *words, *given])


def _words(item: Parameter, options: Options) -> Iterator[str]:
    """Yield the words of an option that all commands share; none if it has its default."""
    value: Any = getattr(options, item.name)
    if item.name == "key":
        value = options.keys
    if value == item.default or value is None:
        return
    for element in value if isinstance(value, tuple) else (value,):
        yield from (item.flag, str(element.value if isinstance(element, enum.Enum) else element))


def steps_of(commands: Commands, *, is_plan: bool) -> Iterator[Step]:
    """Yield the steps after a plan, or after the copy was made."""
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
