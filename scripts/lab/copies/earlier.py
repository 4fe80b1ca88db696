"""Earlier batches of a checkpoint, and the rows of its stores by Spark's own source."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

from copies.families import IDS

Rows = Counter[tuple[Any, ...]]

FEW = 3
"""Number of batches up to which each of them can be chosen."""
_STATE_FILE = re.compile(r"\.?(\d+)(_[-\w]+)?\.(delta|snapshot|zip|changelog)(\.crc)?")


def random_batch(seed: int, name: str, checkpoint: Path) -> int:
    """Return a committed batch, always the same for a seed and a name.

    The first and the newest batch are only chosen if there are at most three.
    """
    batches = sorted(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    between = batches[1:-1] if len(batches) > FEW else batches
    return random.Random(f"{seed} {name} batch").choice(between)


def rewind(checkpoint: Path, batch: int) -> None:
    """Remove the files that later batches wrote, as a user does by hand."""
    for folder in ("offsets", "commits", "state/*/_metadata/v2"):
        for path in checkpoint.glob(f"{folder}/*"):
            number = re.fullmatch(r"\.?(\d+)(\.crc)?", path.name)
            if number and int(number[1]) > batch:
                path.unlink()
    for path in checkpoint.glob("state/*/[0-9]*/**/*"):
        number = _STATE_FILE.fullmatch(path.name)
        if number and int(number[1]) > batch + 1:
            path.unlink()


def rows_by_spark(spark: Any, checkpoint: Path, *, keys_only: bool = False) -> Rows:
    """Return the rows of all stores and state variables of the newest batch.

    Args:
        spark: a session.
        checkpoint: where Spark's source makes empty folders.
        keys_only: leave out the values, which another state format writes in another form.
    """
    newest = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    spark.conf.set(IDS, "2" if "stateUniqueIds" in newest.read_text("utf-8") else "1")
    metadata = spark.read.format("state-metadata").load(str(checkpoint))
    columns = "operatorId", "operatorName", "stateStoreName", "operatorProperties"
    result: Rows = Counter()
    for operator, name, store, properties in metadata.select(*columns).distinct().collect():
        options = [{"operatorId": operator, "storeName": store}]
        if "transformWithState" in name:
            names = {item["stateName"] for item in json.loads(properties)["stateVariables"]}
            # The variables of timers have names that begin with a dollar sign.
            timers = [name for name in names if name.startswith("$")][:1]
            options = [{"operatorId": operator, "readRegisteredTimers": "true"} for _ in timers]
            options += [
                {"operatorId": operator, "stateVarName": name}
                for name in sorted(names)
                if not name.startswith("$")
            ]
        elif "Join" in name and store == "default":
            options = [{"operatorId": operator, "joinSide": side} for side in ("left", "right")]
        for item in options:
            frame = spark.read.format("statestore").options(**item).load(str(checkpoint))
            frame = frame.drop("partition_id", *(["value"] if keys_only else []))
            # Python has no times after the year 9999.
            texts = frame.selectExpr(*(f"CAST({column} AS STRING)" for column in frame.columns))
            result.update((str(sorted(item.items())), *row) for row in texts.collect())
    return result
