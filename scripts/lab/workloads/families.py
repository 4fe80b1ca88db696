"""Which random workloads there are: each family draws its knobs from a seeded generator.

A workload is one line, ``name key=value ...``, that both halves read; the Scala half derives the
events and the clock from its seed. Words that mean the same everywhere:

==========  ========================================================================
op          the query (Queries.scala); ``fm_x`` and ``pd_x`` have operator x below them
rocks       state is on RocksDB; changelog, counted, ckFmt, encoding: how
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
quiet       ticks that have no rows
then        the profile from the second run on
retryAt     batch in which a third of the calls fail once, so that tasks run again
repart      ticks before which the state is repartitioned, and into how many: ``4:7,9:3``
plan        operators by name, nearest the sink first, as in ``fm.u(tws.one|dedup.second)``:
            fm, pd with a function, tws, twsp, twsr transformWithState (p and r are Python's, of
            frames and of rows), u a union;
            sources one, second, both (two), without watermark (nowm), with the mark alone (meta)
timeMode1   time mode of operator 1, a transformWithState; emit: what becomes of the time's mark
pNull, pNeg percent of rows without a time, or before 1970; huge: of durations that overflow
cleanup     spark.sql.streaming.statefulOperator.incrementalCleanupFactor
later       words that are others from the second run on: ``delay:0,nodata:false,mode:update``
initial     a function or tws begins with a state for so many keys; policy: max, of watermarks
twice       each batch is computed twice
failTasksOf the batch of which tasks fail when their state is written, and run again
delay2      the delay of the second source; big: percent of calls whose state is of two megabytes
blocks      compression of RocksDB's tables; joinFormat: of the state of joins
declares    runs that declare the variables whose values expire: always, first, later, inTurns;
            ``deletes``: the first one, and all others delete them
evicts      ``between``: a batch removes what has expired since the one before (Spark 4.2)
trigger     each tick is a run that ends itself: ``available`` now, or ``once``
keepFailed  the state of a batch that failed may become a snapshot before the batch runs again
delayWords  the delay in words, as in ``1_month``; ttl: of the variables of a transformWithState
pEdge, pFar percent of times within a microsecond of a window's edge, or at the end of year 9999
validated   spark.sql.streaming.stateStore.formatValidation.enabled
gaps        session windows with a gap for each row, some of which are negative
typed, held type of the keys of an ``of_x``, and what its aggregation holds (Queries.scala)
beside      the watermark is on another column than ts, which is `gap2` seconds behind it
files       the sources are folders of Parquet files
merges, inMemory, adaptive: session windows merged before the shuffle, versions kept in memory, AQE
keyed       type of a second column of the key of a transformWithState in Python
unique      each row has an id of its own; clocked: its time is current_timestamp()
upgraded    the query goes on in another Spark (judge_upgrades.py)
after       ticks that a copy of a checkpoint goes on: from `clock`, after source offset `offset`,
            in run `fromRun`, its batches counted `shift` higher than those of its twin
rewound     true: it is at an earlier batch, whose tick follows from `offset`
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
    old = release_of(version) < (4, 0)
    names = [name for name in FAMILIES if not old or name not in SINCE_4]
    names = [name for name in names if name not in SINCE_4_3 or release_of(version) >= (4, 3)]
    names = [name for name in names if name not in APART or (only and re.search(only, name))]
    everything = (
        line_of(names[number % len(names)], seed, number, version)
        for number in range(max(count, 10) * len(names) * SEARCHED)
    )
    result = (line for line in everything if re.search(only, line.split(" ", 1)[0]))
    return list(islice(result, count))


def release_of(version: str) -> tuple[int, int]:
    """The release line of a version; that which is installed is the newest."""
    major, minor = ("4.3" if version == "installed" else version).split(".")[:2]
    return int(major), int(minor)


def line_of(family: str, seed: int, number: int, version: str = "") -> str:
    """The workload of a family with a number, the same whenever it is asked for."""
    random = Random(f"{seed}/{family}/{number}")
    chosen = knobs.common(random) | FAMILIES[family](random)
    if "failHow" in chosen and "profile" not in chosen and "profile0" not in chosen:
        chosen["failHow"] = "sink"
    release = release_of(version)
    _fit_release(chosen, release)
    chosen |= knobs.store(Random(f"{seed}/{family}/{number}/store"), release, chosen)
    chosen["seed"] = seed * 10_000 + number
    result = [
        str(chosen[word]) for word in ("timeout", "how", "cond", "key", "profile") if word in chosen
    ]
    name = "_".join([f"{family}{number:04d}s{seed}", *result])
    return " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])


def _fit_release(chosen: knobs.Knobs, release: tuple[int, int]) -> None:
    """Take out what a release does not have."""
    if chosen.get("typed") == "time" and release < (4, 1):
        chosen["typed"] = "span"
    if "twsr" in str(chosen.get("plan")) and release < (4, 1):
        chosen["plan"] = str(chosen["plan"]).replace("twsr", "twsp")
    if release >= (4, 0):
        chosen.pop("joinFmt", None)  # 4 refuses to write format 1
        # 4 refuses a query of other operators, before 4.2 also one of another checkpoint format.
        if re.search("op:" if release >= (4, 2) else "op:|ckFmt:", str(chosen.get("later"))):
            chosen.pop("later")
    if release == (4, 2) and "declares" in chosen:
        chosen["evicts"] = "between"
    if release < (4, 3) and "joinFormat" in chosen:
        chosen["joinFormat"] = min(int(str(chosen["joinFormat"])), 2 if release < (4, 1) else 3)
    if chosen.get("keyed") in ("dec10", "row") and release < (4, 1):
        chosen["keyed"] = "stamp"
    if release < (4, 0):
        _fit_3(chosen)
    if release < (3, 4) and str(chosen["op"]).startswith("pd"):
        chosen |= {"op": str(chosen["op"]).replace("pd", "fm", 1), "key": "string"}


def _fit_3(chosen: knobs.Knobs) -> None:
    if str(chosen.get("key")).startswith("dec") and chosen["op"] != "pd":
        chosen["key"] = "long"  # 3.5 has no encoder of decimal keys alone
    if chosen.get("typed") in knobs.COLLATED:
        chosen["typed"] = "dec38"
    if chosen.get("held") in ("variant", "collated"):
        chosen["held"] = "map"
    if chosen.keys() & {"declares", "keyed"} or ("initial" in chosen and "plan" in chosen):
        chosen["plan"] = re.sub("tws[pr]?", "dedup", str(chosen["plan"]))


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
    "U": knobs.plan,
    "N": knobs.odd_times,
    "V": knobs.python_plan,
    "W": knobs.unsettled,
    "a": knobs.ended,
    "b": knobs.reshaped,
    "c": knobs.uncommon,
    "d": knobs.untried,
    "e": knobs.unseen,
    "f": knobs.telling,
    "X": knobs.changed,
    "Y": knobs.failing,
    "M": knobs.odd_marks,
    "Z": knobs.repartitioned,
    "O": knobs.retried,
}
"""Families by the letter that their names begin with."""

TITLES = {
    "A": "aggregations, sessions",
    "B": "group state over aggregation, session, deduplication",
    "C": "chains without a function",
    "D": "`applyInPandasWithState`",
    "E": "`applyInPandasWithState` over another operator",
    "F": "group state over group state",
    "G": "group state",
    "H": "group state",
    "I": "`applyInPandasWithState`, an idle source",
    "J": "group state over a join",
    "K": "incremental cleanup",
    "L": "data when the timer is due",
    "M": "unions, self-joins, chains of three, odd watermarks",
    "N": "null, negative and overflowing times",
    "O": "tasks that run again",
    "P": "joins",
    "Q": "deduplication",
    "R": "known traps",
    "S": "switch of the timeout (Scala)",
    "T": "switch of the timeout (Python)",
    "U": "`transformWithState` with other operators (Scala)",
    "V": "`transformWithState` with other operators (Python)",
    "W": "settings that change",
    "X": "functions that change",
    "Y": "batches that fail and run again",
    "Z": "repartitioned state",
    "a": "queries that end themselves",
    "b": "queries that change shape, tasks that write twice",
    "c": "snapshots of failed batches, odd keys, delays and times, TTLs that change",
    "d": "typed and collated keys, nested values, files, chains of chains, initial states",
    "e": "two key columns, TTLs at their ends, joins marked on one side, unions of four",
    "f": "what findings that are inferred speak of, and what looks like it",
}
"""What a table calls the families."""

SINCE_4 = {"K", "U", "V"}
SINCE_4_3 = {"Z"}
APART = {"W", "a", "b", "c", "d", "e", "f"}
"""Drawn where they are asked for, so that the others keep the numbers that they had before."""
