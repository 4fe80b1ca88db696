"""The last result of each audited checkpoint, small enough to keep thousands, and as JSON.

A result has what the page of the fleet and the metrics show. It is kept in the folder of the
cache, so that a service that starts again shows it before its first audits have ended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inspector.checkpoint.cache_files import CacheFiles, cache_files
from inspector.exceptions import InspectorError
from inspector.findings.verdict import Level
from inspector.light_dataclasses import dataclass, replace
from inspector.render.as_prometheus import Observed, metrics_of, unreadable
from inspector.render.page import LineChart, Series
from inspector.render.page.served import FleetEntry, fleet_entry
from inspector.render.report import Report
from inspector.render.tabular import Unit

FORMAT = 1  # number of the form of kept results; raised when the form changes
MOST_POINTS = 120  # points of a growth line that are kept, the newest

# fields of a row of the fleet's page that are numbers or None
_NUMBERS = ("rows", "row_bytes", "bytes_per_hour", "leftovers", "commit_time_ms")


@dataclass(frozen=True)
class LastResult:
    """Result of the last audit of a checkpoint: its row of the fleet's page, and its metrics."""

    entry: FleetEntry  # row of the fleet's page
    observed: Observed  # labels and samples of the metrics
    audited_ms: int  # when the audit ended, epoch ms


def result_of(report: Report, url: str, committed_ms: int | None, now_ms: int) -> LastResult:
    """Return the result of an audit that made a report.

    ``url`` is the page of the checkpoint, ``committed_ms`` when its newest commit was written.
    """
    entry = fleet_entry(report, url, committed_ms)
    entry = replace(entry, charts=tuple(map(_shorten, entry.charts[-1:])))
    return LastResult(entry, metrics_of(report), now_ms)


def result_of_failure(path: str, url: str, message: str, now_ms: int) -> LastResult:
    """Return the result of an audit that ended with an error; ``message`` is a sentence."""
    entry = FleetEntry(path, url, Level.UNREADABLE, message)
    return LastResult(entry, unreadable(path), now_ms)


def _shorten(chart: LineChart) -> LineChart:
    """Return a chart with the newest points of its first line."""
    line = chart.series[0]
    newest = slice(-MOST_POINTS, None)
    return replace(
        chart,
        batches=list(chart.batches[newest]),
        times_ms=list(chart.times_ms[newest]),
        series=[replace(line, values=list(line.values[newest]))],
    )


# --- JSON ----------------------------------------------------------------------------------------


def result_json(result: LastResult) -> str:
    """Return a result as JSON."""
    entry = result.entry
    fields = {
        "format": FORMAT,
        "audited_ms": result.audited_ms,
        "path": entry.path,
        "level": None if entry.level is None else entry.level.value,
        "cause": entry.cause,
        "numbers": {name: getattr(entry, name) for name in _NUMBERS},
        "charts": [_chart_json(chart) for chart in entry.charts],
        "observed": result.observed,
    }
    return json.dumps(fields, separators=(",", ":"))


def _chart_json(chart: LineChart) -> dict[str, Any]:
    """Return a growth line as JSON fields."""
    return {
        "title": chart.title,
        "scale": chart.scale.value,
        "batches": list(chart.batches),
        "times_ms": list(chart.times_ms),
        "name": chart.series[0].name,
        "values": list(chart.series[0].values),
        "exact": chart.series[0].exact,
    }


def result_from_json(text: str | bytes, url: str) -> LastResult | None:
    """Return the result that :func:`result_json` wrote; None for any other text.

    ``url`` is the page of the checkpoint in this process.
    """
    try:
        return _decode(json.loads(text), url)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return None


def _decode(fields: Mapping[str, Any], url: str) -> LastResult | None:
    """Return the result of JSON fields; None for those of another form."""
    if fields["format"] != FORMAT:
        return None
    charts = []
    for item in fields["charts"]:
        line = Series(str(item["name"]), _integers(item["values"]), bool(item["exact"]))
        batches = [number or 0 for number in _integers(item["batches"])]
        lengths = {len(batches), len(line.values), len(item["times_ms"])}
        if len(lengths) > 1:
            return None
        times = _integers(item["times_ms"])
        charts.append(LineChart(str(item["title"]), Unit(item["scale"]), batches, times, [line]))
    labels, samples = fields["observed"]
    observed = [
        (str(family), tuple(map(str, further)), float(value)) for family, further, value in samples
    ]
    numbers = dict(zip(_NUMBERS, _numbers(fields["numbers"][n] for n in _NUMBERS), strict=True))
    level = None if fields["level"] is None else Level(fields["level"])
    entry = FleetEntry(
        str(fields["path"]), url, level, str(fields["cause"]), charts=tuple(charts), **numbers
    )
    checkpoint, query_id = map(str, labels)
    return LastResult(entry, ((checkpoint, query_id), observed), int(fields["audited_ms"]))


def _integers(values: Any) -> list[int | None]:
    """Return a list of whole numbers and None; ValueError for anything else."""
    if any(value is not None and type(value) is not int for value in values):
        raise ValueError("expected whole numbers")
    return list(values)


def _numbers(values: Any) -> list[Any]:
    """Return a list of numbers and None; ValueError for anything else."""
    checked = list(values)
    if any(value is not None and type(value) not in (int, float) for value in checked):
        raise ValueError("expected numbers")
    return checked


# --- kept results --------------------------------------------------------------------------------


class KeptResults:
    """Results in the folder of a cache, by the path of the checkpoint."""

    def __init__(self, folder: str, options: Mapping[str, str]) -> None:
        """Keep results in a folder; ``options`` are those of its storage."""
        self._folder, self._options = folder, tuple(sorted(options.items()))

    def read(self, path: str, url: str) -> LastResult | None:
        """Return the kept result of a checkpoint; None if there is none, or it cannot be read."""
        try:
            content = self._files().read(_name_of(path))
        except (OSError, InspectorError):
            return None
        return None if content is None else result_from_json(content, url)

    def write(self, path: str, result: LastResult) -> str:
        """Keep the result of a checkpoint; return an error as a text, "" if it was kept."""
        try:
            self._files().write(_name_of(path), result_json(result).encode())
        except (OSError, InspectorError) as error:
            return str(error)
        return ""

    def _files(self) -> CacheFiles:
        """Return the files of the cache."""
        return cache_files(self._folder, self._options)


def _name_of(path: str) -> str:
    """Return the name under which the result of a checkpoint is kept."""
    return repr(("last result", FORMAT, path))
