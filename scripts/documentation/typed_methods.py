"""What type checkers see of ``OpenCheckpoint``: its methods, made from the declarations."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from inspector import analyses
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.api.opened import signature_of

FILE = Path(__file__).resolve().parents[2] / "inspector" / "api" / "typed_methods.pyi"

_HEAD = '''\
"""The methods of OpenCheckpoint for type checkers; python scripts/refresh_docs.py writes them."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

{imports}
class OpenOptions(TypedDict, total=False):
    """The keywords of open_checkpoint: the fields of Options."""

'''
_CLASS = '''
class TypedMethods:
    """One method for every analysis."""

'''


def typed_methods() -> str:
    """The whole file."""
    options = "".join(f"    {name}: {_shared(name)}\n" for name in get_type_hints(Options))
    methods = "".join(_method(analyses.load(name)) for name in analyses.names())
    return _HEAD.replace("{imports}", "".join(_imports())) + options + _CLASS + methods


def _imports() -> Iterator[str]:
    """An import for every type of this package that a signature names."""
    loaded = (analyses.load(name).function for name in analyses.names())
    hints = [hint for each in (Options, *loaded) for hint in get_type_hints(each).values()]
    by_module: dict[str, list[str]] = {}
    for kind in sorted(set(_classes(hints)), key=lambda each: (each.__module__, each.__name__)):
        if kind not in (Options, Run):
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
    lines = "".join(f"        {each},\n" for each in ("self", *parameters))
    return f"    def {analysis.name}(\n{lines}    ) -> {_text(hints['return'])}: ...\n"


def _parameters(
    analysis: Analysis, signature: Signature, hints: Mapping[str, Any]
) -> Iterator[str]:
    star = False
    for name, each in signature.parameters.items():
        if each.kind is Parameter.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        kind = _text(hints[name]) if name in hints else _shared(name)
        if any(argument.name == name for argument in analysis.arguments) and kind.startswith("str"):
            kind = kind.replace("str", "str | PathLike[str]", 1)
        yield f"{name}: {kind}" + ("" if each.default is Parameter.empty else " = ...")


def _shared(name: str) -> str:
    """The type of a shared option, as the methods accept it."""
    if name == "engine":
        return "EngineOptions | str"
    hint = get_type_hints(Options)[name]
    if any(get_origin(each) is tuple for each in (hint, *get_args(hint))):
        return "str | Sequence[str]"
    words = any(isinstance(each, type) and issubclass(each, Enum) for each in get_args(hint))
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
