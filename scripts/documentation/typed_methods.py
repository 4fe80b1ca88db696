"""What type checkers see of names that are imported or made when they are first named: stubs."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import inspector
from inspector import analyses, api, spark
from inspector.analyses.shared.declare import Analysis, DataTable, TableOptions
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Options
from inspector.api.opened import signature_of

PACKAGE = Path(__file__).resolve().parents[2] / "inspector"
_WRITTEN = "for type checkers; python scripts/refresh_docs.py writes it."

_HEAD = '''\
"""The methods of OpenCheckpoint for type checkers; python scripts/refresh_docs.py writes them."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

{imports}
class OpenOptions(TypedDict, total=False):
    """The keywords of open_checkpoint: the fields of Options."""

'''
_CLASS = '''
class TypedMethods:
    """One method for every analysis."""

'''


def stubs() -> dict[Path, str]:
    """The text of every stub."""
    return {
        PACKAGE / "__init__.pyi": package_stub(),
        PACKAGE / "api" / "__init__.pyi": api_stub(),
        PACKAGE / "api" / "typed_methods.pyi": typed_methods(),
        PACKAGE / "spark" / "__init__.pyi": spark_stub(),
    }


def package_stub() -> str:
    """The names of the package itself."""
    errors = [name for name in inspector.__all__ if name.endswith("Error")]
    return (
        f'"""The package {_WRITTEN}"""\n\n'
        "from inspector.api.opened import open_checkpoint as open_checkpoint\n"
        + "".join(f"from inspector.exceptions import {name} as {name}\n" for name in errors)
        + "\n__version__: str\n__all__: list[str]\n"
    )


def api_stub() -> str:
    """Every public name where it stands."""
    homes = {f"analyses.{name}": (name,) for name in analyses.names()} | vars(api)["HOMES"]
    lines = (
        f"from inspector.{home} import {name} as {name}\n"
        for home, names in sorted(homes.items())
        for name in names
    )
    return f'"""The public API {_WRITTEN}"""\n\n' + "".join(lines) + "\n__all__: list[str]\n"


def spark_stub() -> str:
    """The functions of the declared tables, and what else the package has."""
    types = "".join(
        f"from inspector.api import {name} as {name}\n" for name in vars(spark)["TYPES"]
    )
    return (
        f'"""The inspector in a Spark session, {_WRITTEN}"""\n\n'
        "from pyspark.sql import DataFrame, SparkSession\n\n"
        + types
        + "from inspector.spark.data_frames import audit as audit\n"
        "from inspector.spark.data_frames import rehearse as rehearse\n"
        "from inspector.spark.source import InspectorDataSource as InspectorDataSource\n\n"
        "__all__: list[str]\n\n" + "".join(map(_table, analyses.data_tables().values()))
    )


def _table(table: DataTable) -> str:
    hints = get_type_hints(TableOptions)
    own = [
        f"{name}: {'str' if name == 'mode' else _text(hints[name])} = ..."
        for name in TableOptions.parameters()
        if name in table.options
    ]
    parameters = ["spark: SparkSession", "path: str", "options: Options | None = ..."]
    lines = "".join(f"    {item},\n" for item in (*parameters, *(["*", *own] if own else ())))
    return f"def {table.name}(\n{lines}) -> DataFrame: ...\n"


def typed_methods() -> str:
    """The methods of OpenCheckpoint."""
    options = "".join(f"    {name}: {_shared(name)}\n" for name in get_type_hints(Options))
    methods = "".join(_method(analyses.load(name)) for name in analyses.names())
    return _HEAD.replace("{imports}", "".join(_imports())) + options + _CLASS + methods


def _imports() -> Iterator[str]:
    """An import for every type of this package that a signature names."""
    loaded = (analyses.load(name).function for name in analyses.names())
    hints = [hint for item in (Options, *loaded) for hint in get_type_hints(item).values()]
    by_module: dict[str, list[str]] = {}
    for kind in sorted(
        set(_classes(hints)), key=lambda element: (element.__module__, element.__name__)
    ):
        if kind not in (Options, Opened):
            by_module.setdefault(kind.__module__, []).append(kind.__name__)
    for module, names in by_module.items():
        yield f"from {module} import {', '.join(names)}\n"


def _classes(hints: Iterable[Any]) -> Iterator[type]:
    for hint in hints:
        if isinstance(hint, type) and hint.__module__.startswith("inspector."):
            yield hint
        if get_origin(hint) is not Literal:
            yield from _classes(get_args(hint))


def _method(analysis: Analysis) -> str:
    hints = get_type_hints(analysis.function)
    parameters = list(_parameters(analysis, signature_of(analysis), hints))
    lines = "".join(f"        {item},\n" for item in ("self", *parameters))
    return f"    def {analysis.name}(\n{lines}    ) -> {_text(hints['return'])}: ...\n"


def _parameters(
    analysis: Analysis, signature: Signature, hints: Mapping[str, Any]
) -> Iterator[str]:
    star = False
    for name, item in signature.parameters.items():
        if item.kind is Parameter.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        kind = _text(hints[name]) if name in hints else _shared(name)
        is_path = any(a.name == name for a in analysis.arguments) and not analysis.relation
        if is_path and kind.startswith("str"):
            kind = kind.replace("str", "str | PathLike[str]", 1)
        yield f"{name}: {kind}" + ("" if item.default is Parameter.empty else " = ...")


def _shared(name: str) -> str:
    """The type of a shared option, as the methods accept it."""
    if name == "engine":
        return "EngineOptions | str"
    hint = get_type_hints(Options)[name]
    if any(get_origin(item) is tuple for item in (hint, *get_args(hint))):
        return "str | Sequence[str]"
    words = any(isinstance(arg, type) and issubclass(arg, Enum) for arg in get_args(hint))
    return _text(hint).replace(" | None", " | str | None") if words else _text(hint)


def _text(hint: Any) -> str:
    origin = get_origin(hint)
    if hint is type(None):
        return "None"
    if origin in (Union, types.UnionType):
        return " | ".join(map(_text, get_args(hint)))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, get_args(hint)))}]".replace("'", '"')
    name: str = (origin or hint).__name__
    return f"{name}[{', '.join(map(_text, get_args(hint)))}]" if origin else name
