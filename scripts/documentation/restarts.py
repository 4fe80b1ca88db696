"""Restarts: what was changed, what the commands said, and what Spark did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

from restarts.changes import GUIDE

RECORDS = Path(__file__).resolve().parents[1] / "lab" / "restarts" / "records"
"""A file for each release: what ``scripts/lab/judge_restarts.py judge`` wrote."""

DAMAGE_RECORD = RECORDS / "damage" / "counts.json"
"""Counts by release and by change: what ``scripts/lab/judge_damage.py judge`` wrote."""

RELEASES_RECORD = RECORDS / "releases" / "counts.json"
"""Restarts by the release before and after: what ``scripts/lab/judge_releases.py judge`` wrote."""


def release_table() -> Iterator[str]:
    """Yield the lines of a table: a row for each pair of releases, and one for changes of modes."""
    record = json.loads(RELEASES_RECORD.read_text("utf-8"))
    heads = "runs, equal | other results | refused | right | `unknown` | false alarms | wrong"
    yield f"| restart | {heads} |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, pair in record.items():
        names = ("equal", "other", "refused", "right", "open", "alarm", "wrong")
        cells = [name, *(pair["counts"].get(word, 0) for word in names)]
        yield f"| {' | '.join(map(str, cells))} |"


def damage_table() -> Iterator[str]:
    """Yield the lines of the tables of damaged checkpoints: restarts, copies, lines by hand."""
    record = json.loads(DAMAGE_RECORD.read_text("utf-8"))
    by_hand = record.pop("by hand", {})
    names = "restarts | right | `unknown` | wrong | false damage | file as in Spark's message"
    yield f"| Spark | queries | {names} |"
    yield "|---|" + "---:|" * 7
    for release in sorted(record, reverse=True):
        total: Counter[str] = Counter()
        for counts in record[release]["changes"].values():
            total.update(counts)
        cells = [release, record[release]["shapes"], *_damage_cells(total)[2:]]
        cells.insert(2, total["restarted"] + total["refused"])
        named = total["file right"], total["file right"] + total["file other"]
        cells.append(f"{named[0]} of {named[1]}" if named[1] else "-")
        yield f"| {' | '.join(map(str, cells))} |"
    yield from _copies_table(record)
    yield from ("", "| lines made by hand, not restarted | checkpoints | as expected |")
    yield "|---|---:|---:|"
    for name, counts in by_hand.items():
        yield f"| {name} | {sum(counts.values())} | {counts.get('right', 0)} |"


def damage_changes_table() -> Iterator[str]:
    """Yield the lines of a table: a row for each change of a checkpoint, over all releases."""
    record = json.loads(DAMAGE_RECORD.read_text("utf-8"))
    record.pop("by hand", {})
    changes: dict[str, Counter[str]] = {}
    for release in record.values():
        for name, counts in release["changes"].items():
            changes.setdefault(name, Counter()).update(counts)
    yield from (
        "| change | runs | refused | right | `unknown` | wrong |",
        "|---|---:|---:|---:|---:|---:|",
    )
    for name in sorted(changes):
        yield f"| {' | '.join(map(str, [name, *_damage_cells(changes[name])[:-1]]))} |"


def _copies_table(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table: what became of copies of damaged checkpoints, by release."""
    heads = "refused, as by Spark | refused, Spark restarts | runs, equal | wrong"
    yield from ("", f"| copies on Spark | {heads} |", "|---|---:|---:|---:|---:|")
    for release in sorted(record, reverse=True):
        counts = record[release].get("copies")
        if counts:
            cells = [counts.get(name, 0) for name in ("refused", "strict", "equal", "wrong")]
            yield f"| {' | '.join(map(str, [release, *cells]))} |"


def _damage_cells(counts: Mapping[str, int]) -> list[int]:
    """Return the counts of a row: what Spark did, and how ``audit`` compares."""
    names = ("restarted", "refused", "audit right", "audit open", "audit wrong", "false damage")
    return [counts.get(name, 0) for name in names]


def shown_changes() -> set[str]:
    """The changes that were really made, by their names."""
    records = (json.loads(file.read_text("utf-8")) for file in RECORDS.glob("*.json"))
    return {name for record in records for name in record["changes"]}


def _records() -> list[dict[str, Any]]:
    """Return the records of changed queries, the newest release first."""
    return [json.loads(file.read_text("utf-8")) for file in sorted(RECORDS.glob("*.json"))[::-1]]


def restart_tables() -> Iterator[str]:
    """What Spark's guide lists, and a table for each group of changes, the newest release first."""
    records = _records()
    releases = [record["spark"] for record in records]
    changes: dict[str, dict[str, Any]] = {}
    for record in records:
        for name, change in record["changes"].items():
            changes.setdefault(name, change)
    groups = dict.fromkeys(change["group"] for change in changes.values())
    yield from _guide(changes)
    for group in groups:
        yield from ("", f"## {group}", "")
        heads = [f"Spark {release}" for release in releases]
        yield f"| change | said | with `--before` | {' | '.join(heads)} |"
        yield "|---|---|---|" + "---|" * len(heads)
        for name, change in changes.items():
            if change["group"] == group:
                done = [_done(record["changes"].get(name)) for record in records]
                cells = [change["says"], _said(change), _said(change, "_before"), *done]
                yield f"| {' | '.join(cells)} |"


def _guide(changes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The lines of Spark's guide, each with the changes that show it on the newest release."""
    yield from ("", "## The lines of Spark's guide", "")
    yield (
        "What Spark's guide lists under "
        "[recovery semantics after changes in a streaming query](https://spark.apache.org/docs/"
        "latest/streaming/apis-on-dataframes-and-datasets.html); what needs a Kafka was not run."
    )
    yield from ("", "| line | changes, and what Spark did |", "|---|---|")
    for line, names in GUIDE.items():
        texts = [
            f"{changes[name]['says']}: {_done(changes[name])}" for name in names if name in changes
        ]
        yield f"| {line} | {'<br>'.join(texts) or 'not run'} |"


def restart_counts() -> Iterator[str]:
    """Yield the lines of a table: how often ``preflight`` said what Spark did, by release."""
    yield "| Spark | restarts | | said what Spark did | said `unknown` | false alarms | wrong |"
    yield "|---|---|---|---|---|---|---|"
    for record in _records():
        for questions, head in (("said", "OLD and NEW"), ("said_before", "with `--before`")):
            score = record["scores"][questions]
            counts = [score.get(name, 0) for name in ("right", "open", "alarm", "wrong")]
            cells = [record["spark"], sum(score.values()), head, *counts]
            yield f"| {' | '.join(map(str, cells))} |"


def _each(change: Mapping[str, Any], subject: str) -> str:
    """What is so on both providers; or of each, where they differ."""
    values = {name: str(run.get(subject) or "") for name, run in change["on"].items()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value or '-'} ({name})" for name, value in values.items())


def _said(change: Mapping[str, Any], suffix: str = "") -> str:
    """The verdict, and the rules that gave it."""
    runs = change["on"].values()
    rules = dict.fromkeys(rule for run in runs for rule in run.get(f"rules{suffix}", ()))
    return " ".join([f"`{_each(change, f'said{suffix}')}`", ", ".join(rules)]).strip()


def _done(change: Mapping[str, Any] | None) -> str:
    if change is None:
        return "-"
    words = {"equal": "runs, equal", "other": "runs, other results", "refused": "refuses"}
    texts = {}
    for name, run in change["on"].items():
        error = (run.get("error") or "").replace("|", "\\|")
        texts[name] = words[run["did"]] + (
            f": {shorten(error, 110, placeholder='')}" if error else ""
        )
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{name}: {text}" for name, text in texts.items())
