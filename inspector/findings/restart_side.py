"""One of the two checkpoints that ``preflight`` compares."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.checkpoint.logs import OFFSETS
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.query_sources import QuerySource
from inspector.light_dataclasses import dataclass

STREAMING = "spark.sql.streaming."  # prefix of the names of Spark's confs of streaming
# conf that chooses the format of the offset log
OFFSET_FORMAT = f"{STREAMING}offsetLog.formatVersion"
# conf that chooses the format of state checkpoints
CHECKPOINT_FORMAT = f"{STREAMING}stateStore.checkpointFormatVersion"


@dataclass(frozen=True)
class Side:
    """A checkpoint that is compared, with the sources of its newest batch."""

    checkpoint: Checkpoint  # opened checkpoint
    # sources of the newest batch in the offset log; empty if its entry cannot be read
    sources: tuple[QuerySource, ...]

    @property
    def confs(self) -> Mapping[str, str]:
        """Values of the confs in the newest entry of the offset log, by name.

        The formats of the offset log and of the state's checkpoint are added as OFFSET_FORMAT and
        CHECKPOINT_FORMAT, as texts such as ``2``.
        """
        logs = self.checkpoint.logs
        return {
            **(logs.confs[max(logs.confs)] if logs.confs else {}),
            OFFSET_FORMAT: str(logs.formats.get(OFFSETS, 1)),
            CHECKPOINT_FORMAT: "2" if logs.unique_ids else "1",  # commits name the files of 2
        }

    @property
    def operators(self) -> dict[int, Operator]:
        """Stateful operators of the query by their numbers, in ascending order."""
        query = self.checkpoint.query
        return {o.operator_id: o for o in sorted(query, key=lambda o: o.operator_id)}

    @property
    def watermark_ms(self) -> int:
        """Highest watermark of all batches in the log, in epoch ms; 0 if there is none."""
        clocks = self.checkpoint.logs.clocks.values()
        return max((c.next_watermark_ms or c.watermark_ms or 0 for c in clocks), default=0)
