"""The page of restarts: what was changed, what preflight said, and what Spark did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).resolve().parents[1] / "restarts" / "records"
"""A file for each release: what ``scripts/judge_restarts.py judge`` wrote."""


def shown_changes() -> set[str]:
    """The changes that were really made, by their names."""
    records = (json.loads(file.read_text("utf-8")) for file in RECORDS.glob("*.json"))
    return {name for record in records for name in record["changes"]}


def restart_tables() -> Iterator[str]:
    """A table for each group of changes; the columns are releases, the newest first."""
    records = [json.loads(file.read_text("utf-8")) for file in sorted(RECORDS.glob("*.json"))[::-1]]
    releases = [record["spark"] for record in records]
    changes: dict[str, dict[str, Any]] = {}
    for record in records:
        for name, change in record["changes"].items():
            changes.setdefault(name, change)
    groups = dict.fromkeys(change["group"] for change in changes.values())
    yield from _counts(records)
    for group in groups:
        yield from ("", f"## {group}", "")
        heads = [f"Spark {release}" for release in releases]
        yield f"| change | said | rules | {' | '.join(heads)} |"
        yield "|---|---|---|" + "---|" * len(heads)
        for name, change in changes.items():
            if change["group"] == group:
                done = [_done(record["changes"].get(name)) for record in records]
                cells = [change["says"], _said(change), _rules(change), *done]
                yield f"| {' | '.join(cells)} |"


def _counts(records: list[Mapping[str, Any]]) -> Iterator[str]:
    heads = "restarts | said what Spark did | said `unknown` | false alarms | left no trace"
    yield f"| Spark | {heads} |"
    yield "|---|---|---|---|---|---|"
    for record in records:
        score = record["score"]
        total = sum(score.values())
        counts = [score.get(name, 0) for name in ("right", "open", "alarm", "traceless")]
        yield f"| {record['spark']} | {total} | {' | '.join(map(str, counts))} |"


def _each(change: Mapping[str, Any], what: str) -> str:
    """What is so on both providers; or of each, where they differ."""
    values = {name: str(run.get(what) or "") for name, run in change["on"].items()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value or '-'} ({name})" for name, value in values.items())


def _said(change: Mapping[str, Any]) -> str:
    return f"`{_each(change, 'said')}`"


def _rules(change: Mapping[str, Any]) -> str:
    rules = dict.fromkeys(rule for run in change["on"].values() for rule in run["rules"])
    return ", ".join(rules) or "-"


def _done(change: Mapping[str, Any] | None) -> str:
    if change is None:
        return "-"
    words = {"equal": "runs, equal", "other": "runs, other results", "refused": "refuses"}
    texts = {}
    for name, run in change["on"].items():
        error = (run.get("error") or "").replace("|", "\\|")
        texts[name] = words[run["did"]] + (f": {error[:110]}" if error else "")
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{name}: {text}" for name, text in texts.items())
