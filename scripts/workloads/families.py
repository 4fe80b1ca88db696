"""Which random workloads there are: each family draws its knobs from a seeded generator.

A workload is one line, ``name key=value ...``, that both halves read; the Scala half derives the
events and the clock from its seed. Words that mean the same everywhere:

==========  ========================================================================
op          the query (Queries.scala); ``fm_x`` and ``pd_x`` have operator x below them
profile     what the function does (Actor.scala); ``healthy`` removes whatever fires
ticks       triggers; of `pdata` of them there are about `perTick` rows a source
step        event time that a tick with rows goes on; `pLate` and `pVery` lag behind it
tick, jump  the clock goes on by 1 to `jump` times `tick`; it starts `ahead` of event time
patience    timers are up to 2 * patience * tick away, or always `fixed` ms
restarts    ticks before which the query starts again, the clock `back` ms behind
switchAt    from this run on the timeout is of the other kind
failAt      batch that fails in the first run: in a `function`, or in the `sink`
idle        the second source never has rows; ``idleFrom``: from a tick on
keep        false: rows that reach the function have lost the watermark of their time
cleanup     spark.sql.streaming.statefulOperator.incrementalCleanupFactor
==========  ========================================================================
"""

from __future__ import annotations

import re
from itertools import islice
from random import Random

from workloads import knobs

SEARCHED = 20
"""How many times the wanted number of workloads a family is searched for those that match."""


def lines(seed: int, count: int, version: str, only: str = "") -> list[str]:
    """The first `count` workloads of a seed whose names match; the families take turns."""
    names = [name for name in FAMILIES if not version.startswith("3.") or name not in SINCE_4]
    all_ = (
        line_of(names[number % len(names)], seed, number, version)
        for number in range(max(count, 10) * len(names) * SEARCHED)
    )
    found = (line for line in all_ if re.search(only, line.split(" ", 1)[0]))
    return list(islice(found, count))


def line_of(family: str, seed: int, number: int, version: str = "") -> str:
    """The workload of a family with a number, the same whenever it is asked for."""
    random = Random(f"{seed}/{family}/{number}")
    chosen = knobs.common(random) | FAMILIES[family](random)
    if "failHow" in chosen and "profile" not in chosen and "profile0" not in chosen:
        chosen["failHow"] = "sink"
    if not version.startswith("3."):
        chosen.pop("joinFmt", None)  # 4 refuses to write format 1
    chosen["seed"] = seed * 10_000 + number
    told = [
        str(chosen[word]) for word in ("timeout", "how", "cond", "key", "profile") if word in chosen
    ]
    name = "_".join([f"{family}{number:04d}s{seed}", *told])
    return " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])


FAMILIES: dict[str, knobs.Family] = {
    "G": knobs.group_state,
    "R": knobs.small,
    "J": lambda random: knobs.below(random, ["join"]),
    "P": knobs.join,
    "L": knobs.lapse,
    "D": knobs.pandas_state,
    "B": lambda random: knobs.below(random, ["agg", "dedup", "sess", "ddw"]),
    "A": knobs.aggregation,
    "S": knobs.switch,
    "K": knobs.cleanup,
    "H": knobs.group_state,
    "F": knobs.two_functions,
    "E": knobs.pandas_below,
    "C": knobs.chain,
    "I": knobs.pandas_idle,
    "Q": knobs.deduplication,
    "T": knobs.pandas_switch,
}
"""Families by the letter that their names begin with."""

SINCE_4 = {"K"}
