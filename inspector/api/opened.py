"""A checkpoint with a method for every analysis: the API of notebooks.

::

    import inspector

    checkpoint = inspector.open_checkpoint("s3a://bucket/checkpoints/orders", batch=1041)
    checkpoint.audit()                                   # shows itself in a notebook
    checkpoint.leftovers(redact="hash").to_pandas()
    checkpoint.history(key="user=a")

Methods and keywords come from the declarations of the analyses, and ``typed_methods.pyi`` too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from enum import Enum
from inspect import Parameter as Kind
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from inspector import analyses
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import SHARED, Options, Parameter
from inspector.credentials import redact
from inspector.engines.choose import EngineOptions
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import fields, replace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from inspector.api.typed_methods import OpenOptions
    from inspector.api.typed_methods import TypedMethods as Methods
else:
    Methods = object

Path = str | os.PathLike[str]  # path of a checkpoint

_FIELDS = tuple(field.name for field in fields(Options))  # names of the fields of ``Options``
_DECLARED = {each.name: each for each in SHARED}  # declaration of each option, by name
# pairs of options of which a new value of the first removes the second
_SAME = (("batch", "state_version"), ("state_version", "batch"))

_CUT_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")  # URL that has lost a slash
_SINGLE_SLASH = ("dbfs", "file")  # schemes that Spark spells with one slash


def open_checkpoint(path: Path, **options: Unpack[OpenOptions]) -> OpenCheckpoint:
    """Open a checkpoint: look whether there is one, and which version it has.

    The path is its root, or a part of it: a :class:`pathlib.Path`, or any URL that the command line
    takes. The options are fields of :class:`inspector.api.Options`, for all analyses.

    Raises:
        CheckpointError: no checkpoint, or no such part or version of it.
        TypeError: an option that there is not; says which may be meant.
        OSError: the storage does not answer.
    """
    return OpenCheckpoint(path, **options)


class OpenCheckpoint(Methods):
    """A checkpoint, with a method for every analysis.

    Each call reads it as it is then: a query that runs may have gone on. The options hold for every
    call of a command that has them, and a call may give others.
    """

    def __init__(self, path: Path, **options: Unpack[OpenOptions]) -> None:
        """Open the checkpoint; see :func:`open_checkpoint`."""
        self.path = _text(path)
        _check("open_checkpoint()", options, _FIELDS)
        self.options = _with(Options(), dict(options))
        run = Opened.start(self.path, self.options)
        names = ", ".join(operator.name for operator in run.checkpoint.operators) or "no operators"
        self._words = f"query {run.checkpoint.logs.query_id}, {names}, batch {run.version - 1}"

    def __repr__(self) -> str:
        return f"<OpenCheckpoint {redact(self.path)!r}: {self._words}>"

    if not TYPE_CHECKING:  # else a misspelt name would be Any

        def __getattr__(self, name: str) -> Any:
            if name not in analyses.names():
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return Method(self, analyses.load(name))

    def __dir__(self) -> list[str]:
        return sorted((*super().__dir__(), *analyses.names()))


class Method:
    """Method of an opened checkpoint that runs one analysis."""

    def __init__(self, checkpoint: OpenCheckpoint, analysis: Analysis) -> None:
        """Take name, documentation and signature from an analysis."""
        self._checkpoint, self._analysis = checkpoint, analysis
        self.__name__ = self.__qualname__ = analysis.name
        self.__doc__ = analysis.function.__doc__
        self.__signature__ = signature_of(analysis)

    def __repr__(self) -> str:
        return f"<{self.__name__} of {self._checkpoint!r}>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the analysis, and return what its function returns.

        Its own options and shared options are given by keyword. Raises TypeError or ValueError for
        a wrong option.
        """
        analysis, names = self._analysis, _names_of_shared(self._analysis)
        _check(f"{self.__name__}()", keywords, tuple(self.__signature__.parameters))
        shared = {name: value for name, value in keywords.items() if name in names}
        options = _accept(analysis, _with(self._checkpoint.options, shared))
        placed = self.__signature__.bind(*arguments, **keywords).arguments
        given = {item.name: placed.get(item.name, item.default) for item in analysis.arguments}
        given |= {name: keywords[name] for name in _own(analysis) if name in keywords}
        values = {name: _value(analysis, name, value) for name, value in given.items()}
        return analysis.function(**values | {"path": self._checkpoint.path, "options": options})


def signature_of(analysis: Analysis) -> Signature:
    """Return the signature of the method that runs an analysis."""
    kind = Kind.POSITIONAL_OR_KEYWORD
    parameters = [
        Kind(argument.name, kind, default=Kind.empty if argument.required else argument.default)
        for argument in analysis.arguments
        if argument.name != "path"
    ]
    function = signature(analysis.function).parameters
    parameters += [function[name].replace(annotation=Kind.empty) for name in _own(analysis)]
    defaults = Options()
    for name in _names_of_shared(analysis):
        default = getattr(defaults, name)
        default_value = default.name if isinstance(default, EngineOptions) else default
        parameters.append(Kind(name, Kind.KEYWORD_ONLY, default=default_value))
    return Signature(parameters)


def _own(analysis: Analysis) -> tuple[str, ...]:
    """Return the names of an analysis' own options."""
    parameters = signature(analysis.function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is Kind.KEYWORD_ONLY)


def _names_of_shared(analysis: Analysis) -> tuple[str, ...]:
    """Return the names of the fields of ``Options`` that an analysis accepts."""
    names = dict.fromkeys(item.name.partition(".")[0] for item in analysis.shared)
    return tuple(name for name in _FIELDS if name in names)


def _accept(analysis: Analysis, options: Options) -> Options:
    """Return the options of a checkpoint, with defaults for those an analysis does not accept.

    ``engine`` is always kept, also for an analysis that does not accept it.
    """
    defaults, names = Options(), _names_of_shared(analysis)
    unshared = {name: getattr(defaults, name) for name in _FIELDS if name not in names}
    return replace(options, **unshared | {"engine": options.engine})


def _check(call: str, names_passed: Iterable[str], names: tuple[str, ...]) -> None:
    """Raise TypeError if a passed name is none of ``names``; it says which may be meant.

    ``call`` names the function in the message.
    """
    for name in names_passed:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f", did you mean {near[0]!r}?" if near else f", expected {', '.join(names)}"
            raise TypeError(f"{call} has no option {name!r}{hint}")


def _with(options: Options, changes: dict[str, Any]) -> Options:
    """Return the options with some values changed.

    A batch removes a state version, and a state version a batch.
    """
    values = {name: _option(name, value) for name, value in changes.items()}
    for name, second in _SAME:
        if name in values and second not in values:
            values[second] = None
    return replace(options, **values)


def _option(name: str, value: Any) -> Any:
    """Return a value as ``Options`` has it: an enum for a word, a tuple for a single text."""
    if name == "engine" and isinstance(value, str):
        return EngineOptions(_choose(_DECLARED["engine.name"], value))
    declared = _DECLARED.get(name)
    if declared is None or value is None or declared.kind is dict:
        return value
    if declared.many:
        return (value,) if isinstance(value, str) else tuple(value)
    return _choose(declared, value)


def _value(analysis: Analysis, name: str, value: Any) -> Any:
    """Return a value as the analysis' function takes it: an enum for a word, text for a path."""
    declared = next((p for p in (*analysis.arguments, *analysis.options) if p.name == name), None)
    if isinstance(value, os.PathLike):
        return _text(value)
    return value if declared is None or value is None else _choose(declared, value)


def _choose(declared: Parameter, value: Any) -> Any:
    """Return the value, as an enum if the option is one; ValueError if it is not among the choices.

    Any value is allowed if the option has no choices.
    """
    word = value.value if isinstance(value, Enum) else value
    if declared.choices and word not in declared.choices:
        raise ValueError(f"{declared.name} is {value!r}, expected {', '.join(declared.choices)}")
    return declared.kind(word) if issubclass(declared.kind, Enum) else value


def _text(path: Path) -> str:
    """Return a path as text.

    Raises CheckpointError for a URL of which :class:`pathlib.Path` dropped a slash.
    """
    text = os.fspath(path)
    cut = None if isinstance(path, str) else _CUT_URL.match(text)
    if cut is not None and cut[1] not in _SINGLE_SLASH:
        raise CheckpointError(
            f"got the path {text!r}: pathlib.Path drops a slash of {cut[1]}://, so give it as text"
        )
    return text
