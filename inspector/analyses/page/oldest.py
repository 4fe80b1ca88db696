"""History of the oldest leftover of a checkpoint, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.analyses.history import history_report
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.leftover_words import LeftoverRow, LeftoverWords
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import change_batches, selected_tasks
from inspector.analyses.shared.story import explain_keys
from inspector.analyses.shared.words import ChangeRows
from inspector.discovery.tasks import Task
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.model import Redact
from inspector.render.tabular import Table


def oldest_story(run: Run, judged: Judged, redact: Redact) -> Table | None:
    """What each batch did to the leftover that expired first; None if there is no leftover.

    The changes of its partition are read once more, and of no other.
    """
    if not judged.facts.leftovers:
        return None
    oldest = judged.facts.leftovers[0]
    report = explain_keys(judged, _events(run, oldest))
    (row,) = LeftoverWords.of(run.checkpoint, redact).rows([oldest], LeftoverRow)
    story = report.primary
    return replace(
        story,
        title="History of the oldest leftover",
        rows=[line | {"key": row.key} for line in map(dict, story.rows)],
    )


def _events(run: Run, oldest: Observed[Leftover]) -> Sequence[Mapping[str, Any]]:
    narrowed = replace(
        run, options=replace(run.options, key=f"hex:{oldest.fact.key.hex()}", where=())
    )
    tasks = [_only(task, oldest) for task in selected_tasks(narrowed) if _has(task, oldest)]
    subject = run.subject()  # the pass over the same files has reported its problems
    events = ChangeRows(run.checkpoint, Redact.NONE, raw=True).rows(
        change_batches(narrowed, tasks, bases=True), subject.problems
    )
    return list(history_report(subject, list(events), raw=True).primary.rows)


def _has(task: Task, oldest: Observed[Leftover]) -> bool:
    store = oldest.store
    return (task.operator_id, task.partition_id) == (store.operator_id, store.partition_id)


def _only(task: Task, oldest: Observed[Leftover]) -> Task:
    name = oldest.store.store_name
    return replace(task, stores=tuple(s for s in task.stores if s.store_name == name))
