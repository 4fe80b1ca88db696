"""SS228: partition far behind its topic.

What it means:
    One partition of a Kafka topic advances much less than the others and is behind them. Few
    records may have its keys, or it may be read slowly.

How it is proven:
    The offsets of each partition in the newest batches are compared with the median of its topic.
    The end of the partition is not in the checkpoint.

Source:
    KafkaSourceOffset (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.checkpoint_view import CheckpointView


class PartitionBehind(Rule[CheckpointView]):
    """Kafka partitions that advance much less than the others of their topic."""

    scope = "checkpoint"
    id = "SS228"
    title = "partition far behind its topic"
    severity = Severity.INFO
    spark = "maxOffsetsPerTrigger"
    command = "offsets"
    next_step = (
        "compare the newest offset of the partition in Kafka with the one of the last batch: if "
        "they are far apart, look for a slow broker or failing task; if not, the keys of the topic "
        "are skewed"
    )

    lag_records = Threshold(
        1_000, "records", "Records that half of the partitions of a topic must have brought."
    )
    lag_share = Threshold(
        0.1, "share", "Share of these records below which a partition is far behind."
    )
    lag_partitions = Threshold(4, "partitions", "Partitions that the topic must have.")

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield one evidence for each topic with partitions far behind: the slowest of these.

        Nothing is yielded if an older version is judged, or for topics with few partitions or
        records.
        """
        if view.version != view.checkpoint.newest_version:
            return
        for topic in view.checkpoint.logs.topics:
            most = self.lag_share * topic.median_advance
            # A partition that is slow now may have been the fastest one before.
            behind = topic.median_position - topic.median_advance + most
            slow = [p for p in topic.slowest if p.advance <= most and p.position <= behind]
            is_large = topic.partitions >= self.lag_partitions
            if slow and is_large and topic.median_advance >= self.lag_records:
                yield self.behind(
                    occurrences=len(slow),
                    partition=slow[0].name,
                    topic=topic.topic,
                    advance=slow[0].advance,
                    position=slow[0].position,
                    median_advance=topic.median_advance,
                    median_position=topic.median_position,
                    batches=range(topic.first_batch + 1, topic.last_batch + 1),
                    partitions=topic.partitions,
                    source=topic.source,
                    count=len(slow),
                )

    behind = Case(
        cause="Partition {partition} of topic {topic:quoted} is far behind: it brought "
        "{advance:record} in {batches:batches}, where half of the {partitions:partition} brought "
        "{median_advance:number} or more.",
        evidence="source {source}: partition {partition} is at offset {position:number}, and half "
        "of the partitions are at {median_position:number} or beyond; {count:partition} of the "
        "slowest {count:/is} as slow",
    )
