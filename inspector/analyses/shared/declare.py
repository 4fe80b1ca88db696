"""How an analysis declares itself: its options, tables and facts, once, for all who offer it.

An analysis is a module of :mod:`inspector.analyses` with a function of the module's name::

    @analysis(uses=(WORK, PART, VERSION), tables=(TopRow, SkewRow), facts=Request(top=1))
    def top(
        path: str | Run,
        options: Options | None = None,
        *,
        limit: Annotated[int, Option("Keys by each ranking.", minimum=1)] = 5,
    ) -> Report:
        '''Biggest keys by bytes, hottest by puts, oldest by last put; skew of partitions.'''

The signature is the declaration. A parameter before ``options`` is an argument of the command; a
parameter after it whose annotation has an :class:`Option` is an option of the command, and its
default is that of the command too; ``uses`` names the groups of shared options
(:mod:`inspector.analyses.shared.run`) that the command accepts. The docstring up to its first
section is the command's help.
"""

from __future__ import annotations

import enum
import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from inspector.discovery.tasks import Request
from inspector.render.tabular import Row

if TYPE_CHECKING:
    from inspector.analyses.shared.data_tables import DataTable

F = TypeVar("F", bound=Callable[..., Any])

SECTIONS = ("\nArgs:", "\nReturns:", "\nRaises:")
"""Where the part of a docstring ends that is a command's help."""


@dataclass(frozen=True)
class Option:
    """What the declaration of an option adds to the parameter that it annotates.

    Attributes:
        help: what it does, for ``--help`` and the reference.
        minimum: of a number.
        choices: of a text; those of an enum or ``Literal`` follow from the type.
        metavar: what stands for its value in the help.
        flag: its spelling on the command line, if not that of the parameter: ``--partition``.
        source: its name in Spark's data source, if not the parameter's in camel case.
        size: a number of bytes, which may be spelled ``8GiB``.
        file: a text that may be spelled ``@FILE``.
        for_people: the default of formats that a person reads, where the command is more sparing
            than the function.
    """

    help: str
    minimum: int | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    flag: str | None = None
    source: str | None = None
    size: bool = False
    file: bool = False
    for_people: int | None = None


class View(Option):
    """An option that says how what is read is shown and judged, and nothing else.

    A file of options that was merely found may set these. What is run, written, opened or connected
    to is no view, and a new option is none unless it is declared as one.
    """


@dataclass(frozen=True)
class Parameter:
    """An option, or an argument, with its name and type.

    Attributes:
        name: of the function's parameter, or of the field of ``Options``; ``engine.master`` is the
            field ``master`` of the field ``engine``.
        kind: the type of one value: int, str, bool or an enum; ``dict`` for ``KEY=VALUE`` pairs.
        option: what is declared beside it.
        default: of the function and of the command.
        many: it can be repeated.
        required: it has no default.
    """

    name: str
    kind: type
    option: Option
    default: Any = None
    many: bool = False
    required: bool = False

    @property
    def flag(self) -> str:
        """The spelling on the command line."""
        return self.option.flag or "--" + self.name.replace("_", "-")

    @property
    def source(self) -> str:
        """The name in Spark's data source."""
        if self.option.source is not None:
            return self.option.source
        first, *others = self.name.split("_")
        return first + "".join(map(str.capitalize, others))

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be; empty for any."""
        if issubclass(self.kind, enum.Enum):
            return tuple(each.value for each in self.kind)
        return self.option.choices


Group = tuple[Parameter, ...]
"""Options that belong together and that several analyses share."""


@dataclass(frozen=True)
class Analysis:
    """A declared analysis.

    Attributes:
        function: what computes it.
        uses: the groups of shared options that it accepts.
        tables: the rows of all that its reports may have; the first is its own.
        facts: what it reads of the state; None if it reads listings and small files only,
            streams rows or follows a query.
        data_tables: its tables that Spark's executors can compute.
        fail_on: the severity of finding from which the command exits with 1 by default; None if it
            judges nothing.
        formats: formats of files that the command writes besides those of all reports.
        by_executors: the table that Spark's executors write in place of the report, where the
            command runs on Spark and writes a format of data.
        many: the command takes several paths.
        has_verdict: its reports have a verdict.
        remembered: its reports are rows of a history of audits, which the command adds to.
        page: the function makes a page of its own where ``page`` is true, and the command writes
            it beside its report.
        files: the command writes files of data and no report.
        follows: the function yields a report for each batch of a running query.
        command: it is a command of its own.
        check: what is wrong with the values of options together, in words; None if nothing is.
    """

    function: Callable[..., Any]
    uses: tuple[Group, ...] = ()
    tables: tuple[type[Row], ...] = ()
    facts: Request | None = None
    data_tables: tuple[DataTable, ...] = ()
    fail_on: str | None = None
    formats: tuple[str, ...] = ()
    by_executors: DataTable | None = None
    many: bool = False
    has_verdict: bool = False
    remembered: bool = False
    page: bool = False
    files: bool = False
    follows: bool = False
    command: bool = True
    check: Callable[[Mapping[str, Any]], str | None] = field(default=lambda _: None)

    @property
    def name(self) -> str:
        """The name of the command, of the function and of the module."""
        return self.function.__name__

    @property
    def text(self) -> str:
        """What it does, in paragraphs."""
        doc = inspect.getdoc(self.function) or ""
        return doc[: min((doc.find(s) for s in SECTIONS if s in doc), default=None)].strip()

    @cached_property
    def arguments(self) -> tuple[Parameter, ...]:
        """What the command takes by position; the path of the checkpoint is among it."""
        return tuple(each for each, kind in self._parameters if kind is not _KEYWORD)

    @cached_property
    def options(self) -> tuple[Parameter, ...]:
        """The options of this analysis alone."""
        return tuple(each for each, kind in self._parameters if kind is _KEYWORD)

    @property
    def shared(self) -> tuple[Parameter, ...]:
        """The options that it shares with others."""
        return tuple(each for group in self.uses for each in group)

    def accept(self, options: Any, path: Any = "") -> None:
        """Refuse shared options that it would not look at.

        Args:
            options: fields of ``Options`` with the values of a call.
            path: of the call: a run that is open has options of its own.

        Raises:
            TypeError: there is one.
        """
        if not isinstance(path, str) and options != path.options:
            raise TypeError(f"{self.name}() has no option 'options' where a run is given")
        accepted = {each.name.partition(".")[0] for each in self.shared}
        for each in fields(options):
            value = getattr(options, each.name)
            default = each.default if each.default_factory is MISSING else each.default_factory()
            if each.name not in accepted and getattr(value, "chooses_work", value != default):
                raise TypeError(f"{self.name}() has no option {each.name!r}")

    @cached_property
    def _parameters(self) -> list[tuple[Parameter, Any]]:
        hints = get_type_hints(self.function, include_extras=True)
        found = []
        for name, each in inspect.signature(self.function).parameters.items():
            if name == "options":
                continue
            made = parameter(name, hints[name], each.default)
            if made is None and each.kind is not _KEYWORD:
                made = Parameter(name, str, Option(""), required=each.default is each.empty)
            if made is not None:
                found.append((made, each.kind))
        return found


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def analysis(**declared: Any) -> Callable[[F], F]:
    """Declare the function as the analysis of its module.

    What it becomes refuses a shared option that it does not accept (TypeError): an option that is
    given and not looked at would be believed.

    Args:
        declared: fields of :class:`Analysis`.
    """

    def declare(function: F) -> F:
        @functools.wraps(function)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            given = bind(*arguments, **keywords).arguments
            if given.get("options") is not None:
                made.accept(given["options"], given.get("path"))
            return function(*arguments, **keywords)

        bind = inspect.signature(function).bind
        made = Analysis(checked, **declared)
        checked.analysis = made  # type: ignore[attr-defined]
        return cast("F", checked)

    return declare


def parameter(name: str, hint: Any, default: Any) -> Parameter | None:
    """What an annotation declares; None if it has no :class:`Option`."""
    if get_origin(hint) is not Annotated:
        return None
    kind, *extras = get_args(hint)
    option = next((each for each in extras if isinstance(each, Option)), None)
    if option is None:
        return None
    required = default is inspect.Parameter.empty
    one, many = _one(kind)
    if get_origin(one) is Literal:
        option = _with_choices(option, get_args(one))
        one = str
    return Parameter(name, one, option, None if required else default, many, required)


def _one(kind: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there can be many."""
    if get_origin(kind) in (Union, types.UnionType):
        kinds = [each for each in get_args(kind) if each is not types.NoneType]
        # ``str | tuple[str, ...]``: one of many may stand alone.
        kind = next((each for each in kinds if get_origin(each) is tuple), kinds[0])
    if get_origin(kind) is tuple:
        return get_args(kind)[0], True
    if isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Mapping):
        return dict, True
    return kind, False


def _with_choices(option: Option, choices: Sequence[str]) -> Option:
    values = {each.name: getattr(option, each.name) for each in fields(option)}
    return type(option)(**values | {"choices": tuple(choices)})
