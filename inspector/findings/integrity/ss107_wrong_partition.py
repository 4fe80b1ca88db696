"""SS107: key in the wrong partition.

What it means:
    Spark never looks for the key where it is: its state is lost, and a second one grows in the
    right place. Files were copied between partitions, or the number of partitions was changed. Not
    checked: queries that began before Spark 3.3, stores without a schema, columns of a collation,
    and fields above 4,096 bytes.

How it is proven:
    The hash of the grouping columns of each live key, modulo the number of partitions, is compared
    with the folder.

Source:
    HashPartitioning.partitionIdExpression (Murmur3, seed 42), StatefulOperatorPartitioning (3.3 to
    4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inspector.discovery.lost_files import EXCHANGED
from inspector.facts.misplaced import MisplacedKeys
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case
from inspector.findings.rule import Case, Evidence, Part
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import StoreName

PARTITIONS_NAMED = 5  # largest number of partitions that a finding names


class WrongPartition(ProblemRule):
    """Keys that Spark looks for in another partition."""

    id = "SS107"
    title = "key in the wrong partition"
    severity = Severity.ERROR
    spark = "spark.sql.shuffle.partitions"
    next_step = (
        "compare the partition's files with a backup. To change the number of partitions, use "
        "inspector copy PATH NEW --partitions N"
    )

    slugs = (EXCHANGED,)
    names_file = True

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield evidence of exchanged partitions, then of the misplaced keys of each store."""
        yield from super().find(view)
        stores: dict[StoreName, dict[int, MisplacedKeys]] = {}
        for observation in view.facts.of(MisplacedKeys):
            part = observation.store
            stores.setdefault(part.name, {})[part.partition_id] = observation.fact
        for name, partitions in stores.items():
            yield from self.misplaced_keys(name, partitions)

    def misplaced_keys(
        self, name: StoreName, partitions: Mapping[int, MisplacedKeys]
    ) -> Iterator[Evidence]:
        """Yield at most one evidence: keys of a store that Spark looks for in another partition.

        ``partitions`` are the results of the check by partition. Nothing is yielded if all keys are
        where they belong.
        """
        total = sum(partitions.values(), MisplacedKeys())
        if not total.misplaced:
            return
        wrong = sorted(number for number, facts in partitions.items() if facts.misplaced)
        yield self.misplaced(
            total.misplaced,
            total.misplaced_bytes,
            subject=Part(name.operator_id, name.store_name),
            count=len(wrong),
            partitions=", ".join(map(str, wrong[:PARTITIONS_NAMED])),
            others=max(0, len(wrong) - PARTITIONS_NAMED),
            theirs=sum(partitions[number].checked for number in wrong),
            checked=total.checked,
        )

    general = problem_case("Keys are in a partition where Spark does not look for them.")
    misplaced = Case(
        cause="{count:/Partition} {partitions}{others:others} {count:/has} {rows:number} of "
        "{theirs:key} that belong to another partition, where Spark looks for them: so it is after "
        "files of another one, or of a run with more or fewer, are copied.",
        evidence="{rows:number} of {checked:key} belong to another partition than the one that has "
        "them: {count:/partition} {partitions}{others:others}",
    )
