"""Reports as JSON that become the same reports again: with the types of all values.

What JSON has as it is stays so; every other value is an object whose only name says what it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from inspector.discovery.restart import Load, Obstacle, Restart
from inspector.findings.catalogue import CATALOGUE
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.verdict import Cause, Level, StateGrowth, StateSize, Verdict
from inspector.model import Certainty, Problem, StoreId
from inspector.providers.chain import FileNames
from inspector.render.page.page_model import LineChart, Scale, Series
from inspector.render.report import Report
from inspector.render.report_data import Part
from inspector.render.tabular import Column, Estimate, Rank, Table, Title, Unit

_CLASSES: Mapping[str, Callable[..., Any]] = {
    cls.__name__: cls
    for cls in (
        *(Report, Table, Column, Part, Problem, StoreId, Estimate, Rank, Title),
        *(LineChart, Series),
        *(Finding, Verdict, StateSize, StateGrowth, Cause, Restart, Load, Obstacle, FileNames),
    )
}
_ENUMS: Mapping[str, type[Enum]] = {
    cls.__name__: cls for cls in (Unit, Scale, Certainty, Severity, Level)
}
_KINDS = {kind.id: kind for kind in CATALOGUE}
_PLAIN = (str, int, float, bool, type(None))


def report_json(report: Report) -> str:
    """The JSON of a report; TypeError for a type that reports of audits do not have."""
    return json.dumps(_encode(report), separators=(",", ":"))


def report_from_json(text: str) -> Report:
    """The inverse of :func:`report_json`, of the same release."""
    report: Report = json.loads(text, object_hook=_decode)
    return report


def _encode(value: Any) -> Any:
    cls = type(value)
    if cls in _PLAIN:
        return value
    if cls is list:
        return [_encode(item) for item in value]
    if cls is tuple:
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if cls is Kind:
        return {"kind": value.id}
    if cls.__name__ in _ENUMS:
        return {cls.__name__: value.name}
    if cls.__name__ not in _CLASSES:
        raise TypeError(f"a report that is kept cannot hold a {cls.__name__}")
    if is_dataclass(cls):
        return {cls.__name__: [_encode(getattr(value, f.name)) for f in fields(cls)]}
    return {cls.__name__: [str(value) if isinstance(value, str) else int(value)]}


def _decode(found: dict[str, Any]) -> Any:
    ((name, value),) = found.items()
    if name == "tuple":
        return tuple(value)
    if name == "mapping":
        return dict(value)
    if name == "kind":
        return _KINDS[value]
    return _ENUMS[name][value] if name in _ENUMS else _CLASSES[name](*value)
