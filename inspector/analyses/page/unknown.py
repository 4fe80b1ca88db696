"""What stays unknown of a checkpoint, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.analyses.shared.age_tables import proof_window
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.leftover_words import notes

NEVER_KNOWN = (
    "A checkpoint does not hold the query's output mode and plan, the kind of its timeouts, or the "
    "time range of its joins. What depends on them is inferred where the bytes allow it.",
    "It does not say how many executors share the state, how large their heaps are, "
    "or how the "
    "partitions are spread over them: they are options of inspector memory.",
    "It holds one watermark for the query, and not that of each source.",
)
"""What no checkpoint tells."""


def unknown_here(judged: Judged) -> Iterator[str]:
    """What this checkpoint does not tell."""
    checkpoint, facts = judged.checkpoint, judged.facts
    first = proof_window(judged).get("proof_from_batch")
    if first:
        yield (
            f"What happened before batch {first} is not known: files or log entries of older "
            "batches are gone. A key that was removed before then has left no trace."
        )
    clock = checkpoint.clock(judged.version)
    if clock is None or clock.timestamp_ms is None:
        yield "The clock of the judged batch is not in the offset log."
    if clock is None or not clock.watermark_ms:
        yield "The judged batch has no watermark, so expiry by event time cannot be judged."
    for operator in checkpoint.operators:
        for store in operator.layout.store_names:
            rule = operator.rules[store].by_key_time(facts.key_times.get(operator.operator_id))
            store_text = f"operator {operator.operator_id} ({operator.name}), store {store}"
            if rule.unknown is not None and not rule.needs_none:
                yield (f"The expiry rule of {store_text} is unknown: {rule.unknown}.")
            if store not in operator.schemas:
                yield (
                    f"The schema of {store_text} is unknown, so its keys are not decoded. Use "
                    f"--key-schema and --value-schema to provide it."
                )
    yield from (f"{note[:1].upper()}{note[1:]}." for note in notes(facts))
