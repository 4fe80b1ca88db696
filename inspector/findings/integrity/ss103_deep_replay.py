"""SS103: replay too deep.

What it means:
    A restart has to read the newest snapshot and then every delta after it, and there are many:
    Spark's maintenance has made no snapshot for long. If maintenance fails, the query goes on.

How it is proven:
    The deltas above the newest snapshot are counted.

Source:
    HDFSBackedStateStoreProvider.doMaintenance, doSnapshot (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from inspector.exceptions import MissingVersionError
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.findings.views.query_clock import span
from inspector.model import StoreId
from inspector.providers.chain import chain_for
from inspector.quantities import duration_text

MINUTE_MS = 60_000  # milliseconds of a minute


class DeepReplay(Rule[OperatorView]):
    """Chains of deltas that a restart has to replay, one file after the other."""

    scope = "operator"
    id = "SS103"
    title = "replay too deep"
    severity = Severity.WARNING
    spark = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
    next_step = (
        "look for maintenance errors in the executors' logs, and let the query run longer than "
        "spark.sql.streaming.stateStore.maintenanceInterval (60 s) at a time; a lower "
        "minDeltasForSnapshot makes snapshots more often"
    )
    command = "files"

    replay_deltas = Threshold(100, "deltas", "Deltas of a partition for a warning.")
    replay_noted = Threshold(50, "deltas", "Deltas of a partition for information.")
    replay_slow = Threshold(20, "deltas", "Deltas for information, if they took `replay_minutes`.")
    replay_minutes = Threshold(
        10.0, "minutes", "Minutes of the batch clock that `replay_slow` deltas took."
    )

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield at most one evidence: the store of an operator with the most deltas to replay.

        Only many deltas are reported: ``replay_noted`` or more, or ``replay_slow`` if they took
        ``replay_minutes`` by the batch clock.
        """
        depths, clock = depths_of(operator), operator.whole.clock
        oldest = operator.whole.version + 1 - max(depths.values(), default=1)
        passed_ms = span(clock.at(oldest), clock.batch) or 0
        is_slow = passed_ms >= self.replay_minutes * MINUTE_MS
        least = self.replay_slow if is_slow else self.replay_noted
        deep = {store: depth for store, depth in depths.items() if depth >= least}
        if not deep:
            return
        store, depth = max(deep.items(), key=lambda item: (item[1], item[0]))
        partitions = len({key.partition_id for key in deep})
        total = len({key.partition_id for key in depths})
        # If the others have newer snapshots, maintenance runs.
        case = self.one_partition if partitions == 1 < total else self.every_partition
        yield case(
            severity=Severity.WARNING if depth >= self.replay_deltas else Severity.INFO,
            depth=depth,
            delta=operator.whole.checkpoint.provider.names.delta_noun,
            name=store.store_name,
            partition=store.partition_id,
            partitions=partitions,
            total=total,
            least=least,
            time=duration_text(passed_ms) if is_slow else "long",
        )

    _EVIDENCE = (
        "{depth:{delta}} to replay of store {name} in partition {partition}; "
        "{partitions:partition} of {total} {partitions:/has} {least:number} or more"
    )
    one_partition = Case(
        cause="A restart has to replay up to {depth:{delta}} in partition {partition} (of "
        "{total}), because no snapshot of it was made for {time}.",
        evidence=_EVIDENCE,
    )
    every_partition = Case(
        cause="A restart has to replay up to {depth:{delta}} in a partition, because no snapshot "
        "was made for {time}.",
        evidence=_EVIDENCE,
    )


def depths_of(operator: OperatorView) -> Mapping[StoreId, int]:
    """Return, for each store of each partition, the number of deltas after its newest snapshot.

    A store that cannot make the judged version is left out.
    """
    depths: dict[StoreId, int] = {}
    for layout, files in operator.folders:
        with suppress(MissingVersionError):
            depths[layout.store] = len(chain_for(files, operator.whole.version).deltas)
    return depths
