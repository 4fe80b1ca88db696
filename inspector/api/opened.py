"""A checkpoint with a method for every analysis: the API of notebooks.

::

    import inspector

    checkpoint = inspector.open_checkpoint("s3a://bucket/checkpoints/orders", batch=1041)
    checkpoint.audit()                                   # shows itself in a notebook
    checkpoint.leftovers(redact="hash").to_pandas()
    checkpoint.history(key="user=a")

The methods and their keywords come from the declarations of the analyses; what type checkers see of
them is ``typed_methods.pyi``, made of the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import fields, replace
from difflib import get_close_matches
from enum import Enum
from inspect import Parameter as Kind
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from inspector import analyses
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.options import SHARED, Options, Parameter
from inspector.analyses.shared.run import Run
from inspector.credentials import redact
from inspector.engines.choose import EngineOptions
from inspector.exceptions import CheckpointError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from inspector.api.typed_methods import OpenOptions
    from inspector.api.typed_methods import TypedMethods as Methods
else:
    Methods = object

Path = str | os.PathLike[str]

_FIELDS = tuple(field.name for field in fields(Options))
_DECLARED = {each.name: each for each in SHARED}
_SAME = (("batch", "state_version"), ("state_version", "batch"))
"""Two names for one thing: the one that is given replaces the other."""

_CUT_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")
_SINGLE_SLASH = ("dbfs", "file")
"""Schemes that Spark spells with one slash."""


def open_checkpoint(path: Path, **options: Unpack[OpenOptions]) -> OpenCheckpoint:
    """Open a checkpoint: look whether there is one, and which version it has.

    Args:
        path: its root, or a part of it: a :class:`pathlib.Path`, or any URL that the command line
            takes.
        options: fields of :class:`inspector.api.Options`: the version and the part that all
            analyses judge, how the storage is opened, and so on.

    Raises:
        CheckpointError: no checkpoint, or no such part or version of it.
        TypeError: an option that there is not; says which may be meant.
        OSError: the storage does not answer.
    """
    return OpenCheckpoint(path, **options)


class OpenCheckpoint(Methods):
    """A checkpoint, with a method for every analysis.

    Each call reads the checkpoint as it is then: a query that runs may have gone on. Options that
    were given when it was opened hold for every call of a command that has them, and a call may
    give others.

    Attributes:
        path: where it is, as its user spelled it. options: of all calls.
    """

    def __init__(self, path: Path, **options: Unpack[OpenOptions]) -> None:
        """As :func:`open_checkpoint` has it."""
        self.path = _text(path)
        _check("open_checkpoint()", options, _FIELDS)
        self.options = _with(Options(), dict(options))
        run = Run.start(self.path, self.options)
        names = ", ".join(operator.name for operator in run.checkpoint.operators) or "no operators"
        self._words = f"query {run.checkpoint.logs.query_id}, {names}, batch {run.version - 1}"

    def __repr__(self) -> str:
        """One line: where it is, its query, operators and judged batch when it was opened."""
        return f"<Checkpoint {redact(self.path)!r}: {self._words}>"

    if not TYPE_CHECKING:  # else a misspelt name would be Any

        def __getattr__(self, name: str) -> Any:
            if name not in analyses.names():
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return Method(self, analyses.load(name))

    def __dir__(self) -> list[str]:
        return sorted((*super().__dir__(), *analyses.names()))


class Method:
    """One analysis of one checkpoint."""

    def __init__(self, checkpoint: OpenCheckpoint, analysis: Analysis) -> None:
        self._checkpoint, self._analysis = checkpoint, analysis
        self.__name__ = self.__qualname__ = analysis.name
        self.__doc__ = analysis.function.__doc__
        self.__signature__ = signature_of(analysis)

    def __repr__(self) -> str:
        return f"<{self.__name__} of {self._checkpoint!r}>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The analysis, with options of its own and shared ones as keywords.

        Raises:
            TypeError: a keyword that it does not have. ValueError: no such value.
        """
        mine = _own(self._analysis)
        _check(f"{self.__name__}()", keywords, tuple(self.__signature__.parameters))
        shared = {k: v for k, v in keywords.items() if k in _shared(self._analysis)}
        options = _accepted(self._analysis, _with(self._checkpoint.options, shared))
        own = {
            name: _value(self._analysis, name, keywords[name]) for name in mine if name in keywords
        }
        placed = self.__signature__.bind(*arguments, **keywords).arguments
        others = {
            each.name: _value(self._analysis, each.name, placed.get(each.name, each.default))
            for each in self._analysis.arguments
        }
        return self._analysis.function(
            **others | {"path": self._checkpoint.path}, options=options, **own
        )


def signature_of(analysis: Analysis) -> Signature:
    """What the method of an analysis takes."""
    parameters = [
        Kind(
            each.name,
            Kind.POSITIONAL_OR_KEYWORD,
            default=Kind.empty if each.required else each.default,
        )
        for each in analysis.arguments
        if each.name != "path"
    ]
    function = signature(analysis.function).parameters
    parameters += [function[name].replace(annotation=Kind.empty) for name in _own(analysis)]
    defaults = Options()
    parameters += [
        Kind(name, Kind.KEYWORD_ONLY, default=_shown(getattr(defaults, name)))
        for name in _shared(analysis)
    ]
    return Signature(parameters)


def _shown(default: Any) -> Any:
    """A default as one would write it."""
    return default.name if isinstance(default, EngineOptions) else default


def _own(analysis: Analysis) -> tuple[str, ...]:
    """The keywords that its function has itself."""
    parameters = signature(analysis.function).parameters.values()
    return tuple(each.name for each in parameters if each.kind is Kind.KEYWORD_ONLY)


def _shared(analysis: Analysis) -> tuple[str, ...]:
    """The options that it shares with others, by their names in ``Options``."""
    names = dict.fromkeys(each.name.partition(".")[0] for each in analysis.shared)
    return tuple(name for name in _FIELDS if name in names)


def _accepted(analysis: Analysis, options: Options) -> Options:
    """The options of all calls, without those that a command does not have."""
    defaults, names = Options(), _shared(analysis)
    others = {name: getattr(defaults, name) for name in _FIELDS if name not in names}
    return replace(options, **others | {"engine": options.engine})


def _check(call: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuse an option that there is not.

    Raises:
        TypeError: says which there are, or which may be meant.
    """
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f", did you mean {near[0]!r}?" if near else f", expected {', '.join(known)}"
            raise TypeError(f"{call} has no option {name!r}{hint}")


def _with(options: Options, given: dict[str, Any]) -> Options:
    """The options with some of another value."""
    values = {name: _option(name, value) for name, value in given.items()}
    for name, other in _SAME:
        if name in values and other not in values:
            values[other] = None
    return replace(options, **values)


def _option(name: str, value: Any) -> Any:
    """A value as ``Options`` has it: words for enums, one text for a tuple of them."""
    if name == "engine" and isinstance(value, str):
        return EngineOptions(_chosen(_DECLARED["engine.name"], value))
    declared = _DECLARED.get(name)
    if declared is None or value is None or declared.kind is dict:
        return value
    if declared.many:
        return (value,) if isinstance(value, str) else tuple(value)
    return _chosen(declared, value)


def _value(analysis: Analysis, name: str, value: Any) -> Any:
    each = next((p for p in (*analysis.arguments, *analysis.options) if p.name == name), None)
    if isinstance(value, os.PathLike):
        return _text(value)
    return value if each is None or value is None else _chosen(each, value)


def _chosen(declared: Parameter, value: Any) -> Any:
    """A value that is one of those which are declared.

    Raises:
        ValueError: it is not.
    """
    word = value.value if isinstance(value, Enum) else value
    if declared.choices and word not in declared.choices:
        raise ValueError(f"{declared.name} is {value!r}, expected {', '.join(declared.choices)}")
    return declared.kind(word) if issubclass(declared.kind, Enum) else value


def _text(path: Path) -> str:
    """A path as text.

    Raises:
        CheckpointError: a URL that went through :class:`pathlib.Path`, which drops a slash of it.
    """
    text = os.fspath(path)
    cut = None if isinstance(path, str) else _CUT_URL.match(text)
    if cut is not None and cut[1] not in _SINGLE_SLASH:
        raise CheckpointError(
            f"got the path {text!r}: pathlib.Path drops a slash of {cut[1]}://, so give it as text"
        )
    return text
