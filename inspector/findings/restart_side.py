"""A checkpoint as one side of a comparison by ``preflight``."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.checkpoint.logs import OFFSETS
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.query_sources import QuerySource
from inspector.light_dataclasses import dataclass

STREAMING = "spark.sql.streaming."  # prefix of the confs of streaming
# name under which ``confs`` has the format of the offset log
OFFSET_FORMAT = f"{STREAMING}offsetLog.formatVersion"
# name under which ``confs`` has the format of state checkpoints
CHECKPOINT_FORMAT = f"{STREAMING}stateStore.checkpointFormatVersion"


@dataclass(frozen=True)
class Side:
    """One of the compared checkpoints, with the sources of its newest batch."""

    checkpoint: Checkpoint  # opened checkpoint
    # sources of the newest batch; empty if its entry cannot be read
    sources: tuple[QuerySource, ...]

    @property
    def confs(self) -> Mapping[str, str]:
        """Confs of the newest entry of the offset log, and the formats of log and checkpoint."""
        logs = self.checkpoint.logs
        return {
            **(logs.confs[max(logs.confs)] if logs.confs else {}),
            OFFSET_FORMAT: str(logs.formats.get(OFFSETS, 1)),
            CHECKPOINT_FORMAT: "2" if logs.unique_ids else "1",  # commits name the files of 2
        }

    @property
    def operators(self) -> dict[int, Operator]:
        """Stateful operators of the query, in the order of their numbers."""
        query = self.checkpoint.query
        return {o.operator_id: o for o in sorted(query, key=lambda o: o.operator_id)}

    @property
    def watermark_ms(self) -> int:
        """Newest watermark, epoch ms; 0 without one."""
        clocks = self.checkpoint.logs.clocks.values()
        return max((c.next_watermark_ms or c.watermark_ms or 0 for c in clocks), default=0)
