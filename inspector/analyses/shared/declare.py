"""Declaration of an analysis: its options, tables and facts, for the command line and the API.

An analysis is a module of :mod:`inspector.analyses` with a function of the module's name::

    @analysis(uses=(WORK, PART, VERSION), tables=(TopRow, SkewRow), facts=Request(top=1))
    def top(
        path: str | Opened,
        options: Options | None = None,
        *,
        limit: Annotated[int, Option("Number of keys in each ranking.", minimum=1)] = 5,
    ) -> Report:
        '''Biggest keys by bytes, hottest by puts, oldest by last put; skew of partitions.'''

The signature is the declaration. A parameter before ``options`` is an argument of the command; a
parameter after it whose annotation has an :class:`Option` is an option of the command, and its
default is that of the command too; ``uses`` names the groups of shared options
(:mod:`inspector.analyses.shared.options`) that the command accepts. The docstring up to its first
section is the command's help; for Python it gets a section on the arguments, made of their help.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_type_hints

from inspector.analyses.shared.options import Group, Option, Parameter, parameter
from inspector.discovery.tasks import Request
from inspector.light_dataclasses import dataclass, field, fields
from inspector.model import ProblemMode
from inspector.render.tabular import Row

if TYPE_CHECKING:
    import pyarrow as pa

    from inspector.analyses.shared.opening import Opened
    from inspector.analyses.shared.options import Options
    from inspector.engines.engine import BatchFunction, Work

F = TypeVar("F", bound=Callable[..., Any])  # function of an analysis

# headings of a docstring's sections, which follow the help of the command
SECTIONS = ("\nArgs:", "\nReturns:", "\nRaises:")


@dataclass(frozen=True)
class TableOptions:
    """Options of tables of data: first batch, raw bytes, and the handling of unreadable files.

    ``json_keys`` is True if keys of facts are JSON even if structs are possible.
    """

    from_batch: Annotated[
        int, Option("Skip changes before this batch.", minimum=0, source="changeStartBatchId")
    ] = 0
    raw: Annotated[bool, Option("Add the UnsafeRow bytes of key and value.")] = False
    mode: Annotated[
        ProblemMode,
        Option(
            "Error handling where something cannot be read: failfast raises an error, permissive "
            "adds a row, dropmalformed leaves it out."
        ),
    ] = ProblemMode.PERMISSIVE
    json_keys: bool = False  # True if keys of facts are JSON texts even if structs are possible

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the declarations of these options by name, without ``json_keys``."""
        hints = get_type_hints(cls, include_extras=True)
        candidates = (parameter(f.name, hints[f.name], f.default) for f in fields(cls))
        return {item.name: item for item in candidates if item is not None}


@dataclass(frozen=True)
class TablePlan:
    """A table that is not computed yet: ``function`` makes its batches from each task."""

    schema: pa.Schema  # columns of the batches
    function: BatchFunction  # function that makes the table's batches of the tasks in ``work``
    work: tuple[Work, ...]  # tasks of the table, for an engine
    run: Opened = field(compare=False)  # opened checkpoint


@dataclass(frozen=True)
class DataTable:
    """Declaration of a table that Spark's executors can compute."""

    name: str  # name of the table in the data source, and of the function in inspector.spark
    doc: str  # description of a row, and of the work and its time; its first line is a sentence
    # names of accepted options in addition to part and version: fields of TableOptions or Options
    options: tuple[str, ...]
    # returns the plan by which the table of a checkpoint is computed; may read the state
    plan: Callable[[str | Opened, Options, TableOptions], TablePlan] = field(repr=False)
    # returns the schema of the table of a checkpoint; reads no state files
    schema: Callable[[str | Opened, Options, TableOptions], pa.Schema] = field(repr=False)


@dataclass(frozen=True)
class Analysis:
    """Declaration of an analysis, from which its command and its functions are made."""

    function: Callable[..., Any]  # function that makes the report
    uses: tuple[Group, ...] = ()  # the groups of shared options that it accepts
    # classes of the rows of all tables that its reports may have; that of its main table first
    tables: tuple[type[Row], ...] = ()
    # facts that it requests of the state; None if it reads no state, or reads it otherwise
    facts: Request | None = None
    data_tables: tuple[DataTable, ...] = ()  # its tables that Spark's executors can compute
    fail_on: str | None = None  # the default of ``--fail-on``; None if it judges nothing
    formats: tuple[str, ...] = ()  # output formats in addition to those of all reports
    # table that Spark's executors write in place of the report if the output format is of data
    by_executors: DataTable | None = None
    many: bool = False  # True if the command takes several paths
    has_verdict: bool = False  # True if its reports have a verdict
    remembered: bool = False  # True if the command can append its reports to a history of audits
    page: bool = False  # True if it makes an HTML page of its own (its argument ``page``)
    files: bool = False  # True if the command writes files of data and no report
    relation: bool = False  # True if the function returns a relation of DuckDB and no report
    follows: bool = False  # True if the function yields a report for each batch of a running query
    command: bool = True  # True if it is a command of its own
    # returns the error message for values of options that contradict each other; None if none do
    check: Callable[[Mapping[str, Any]], str | None] = field(default=lambda _: None)

    @property
    def name(self) -> str:
        """Name of the command, of the function and of the module."""
        return self.function.__name__

    @property
    def text(self) -> str:
        """Help of the command: the docstring of the function before its first section."""
        doc = inspect.getdoc(self.function) or ""
        return doc[: min((doc.find(s) for s in SECTIONS if s in doc), default=None)].strip()

    @property
    def documentation(self) -> str:
        """Docstring for Python: the help, a section on the arguments, and the other sections.

        The section is made of the options' help, unless the docstring has one already.
        """
        doc = inspect.getdoc(self.function) or ""
        if SECTIONS[0] in doc:
            return doc
        helps = {"path": "The checkpoint, or a part of it."} | {
            item.name: item.option.help.partition("  [")[0]
            for item in (*self.arguments, *self.options)
            if item.option.help
        }
        helps["options"] = "What the command shares with others: :class:`inspector.api.Options`."
        section = "\n".join(("Args:", *(f"    {name}: {text}" for name, text in helps.items())))
        return "\n\n".join(filter(None, (self.text, section, doc[len(self.text) :].strip())))

    @cached_property
    def arguments(self) -> tuple[Parameter, ...]:
        """Parameters that the command takes by position, the path of the checkpoint among them."""
        return tuple(item for item, kind in self._parameters if kind is not _KEYWORD)

    @cached_property
    def options(self) -> tuple[Parameter, ...]:
        """Options that only this analysis has: the keyword-only parameters of its function."""
        return tuple(item for item, kind in self._parameters if kind is _KEYWORD)

    @property
    def shared(self) -> tuple[Parameter, ...]:
        """Options that the analysis shares with others: those of all groups in ``uses``."""
        return tuple(item for group in self.uses for item in group)

    def accept(self, options: Any, path: Any = "") -> None:
        """Raise TypeError for a shared option in ``options`` that the analysis would ignore.

        Options with their default value count as not given. If ``path`` is an opened run, TypeError
        is also raised for options that are not those of the run.
        """
        if not isinstance(path, str) and options != path.options:
            raise TypeError(f"{self.name}() has no option 'options' where a run is given")
        accepted = {item.name.partition(".")[0] for item in self.shared}
        plain = type(options)()
        for name in (attribute.name for attribute in fields(options)):
            value = getattr(options, name)
            chosen = getattr(value, "chooses_work", value != getattr(plain, name))
            if name not in accepted and chosen:
                raise TypeError(f"{self.name}() has no option {name!r}")

    @cached_property
    def _parameters(self) -> list[tuple[Parameter, Any]]:
        """Parameters of the function that are arguments or options, each with its kind.

        The kind is that of :class:`inspect.Parameter`. The parameter ``options`` is left out.
        """
        hints = get_type_hints(self.function, include_extras=True)
        parameters = []
        for name, item in inspect.signature(self.function).parameters.items():
            made = None if name == "options" else parameter(name, hints[name], item.default)
            if made is None and item.kind is not _KEYWORD and name != "options":
                made = Parameter(name, str, Option(""), required=item.default is item.empty)
            if made is not None:
                parameters.append((made, item.kind))
        return parameters


_KEYWORD = inspect.Parameter.KEYWORD_ONLY  # kind of the function's parameters that are options


def analysis(**declared: Any) -> Callable[[F], F]:
    """Return a decorator that declares a function as the analysis of its module.

    The arguments are fields of :class:`Analysis`. The function then raises TypeError for a shared
    option that it would ignore.
    """

    def declare(function: F) -> F:
        """Return the function with its declaration in the attribute ``analysis``."""

        @functools.wraps(function)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            """Call the function, after a check of its options."""
            bound = bind(*arguments, **keywords).arguments
            if bound.get("options") is not None:
                declaration.accept(bound["options"], bound.get("path"))
            return function(*arguments, **keywords)

        bind = inspect.signature(function).bind
        declaration = Analysis(checked, **declared)
        checked.__doc__ = declaration.documentation
        checked.analysis = declaration  # type: ignore[attr-defined]
        return cast("F", checked)

    return declare
