"""How the knobs of a random workload are drawn; families.py tells what the words mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Knobs = dict[str, object]
Family = Callable[[Random], Knobs]

KEYS = ["long", "string", "int", "short", "byte", "boolean", "date", "time", "double", "float"]
KEYS += ["dec10", "dec38", "binary"]
NESTED_KEYS = ["pair", "opt", "nest", "seq"]
PROFILES = ["healthy", "healthy", "healthy", "mixed", "mixed", "datamix", "lapse", "lapseN"]
PROFILES += ["arm", "keep", "ignore", "rare"]
JOINED_BY = ["range", "forward", "two", "one", "time", "time", "window", "window"]
JOINED_BY += ["copy", "copylost", "copymeta", "none", "none"]
PANDAS_KEYS = ["string", "string", "long", "two"]
CODECS = ["lz4", "lz4", "snappy", "zstd", "lzf"]
TIMEOUTS = ["event"] * 4 + ["processing"] * 3 + ["none"]
DAY = 86_400_000
DELAYS = [10_000] * 5 + [0, 0, 3_000, 3_000, 2 * DAY]


def common(random: Random) -> Knobs:
    """Knobs that every workload has."""
    knobs: Knobs = {
        "op": "",
        "mode": "append",
        "ticks": random.randint(8, 14),
        "parts": random.choice([1, 1, 2, 2, 3, 4]),
        "nodata": _word(random.random() < 0.75),
        "codec": random.choice(CODECS),
        "pdata": random.choice([0.5, 0.8, 0.8, 1]),
        "perTick": random.choice([4, 8, 12]),
        "keys": random.choice([10, 20, 40, 80]),
        "jump": random.choice([1, 2, 3]),
        "delay": random.choice(DELAYS),
        "check": "false",
    }
    if random.random() < 0.3:
        knobs |= {"pLate": 0, "pVery": 0}
    if random.random() < 0.35:
        knobs |= {"ahead": random.choice([DAY, -DAY, 365 * DAY, -365 * DAY])}
    if random.random() < 0.25:
        retain = random.randint(2, 6)
        knobs |= {"maint": 0.5, "minDeltas": random.randint(2, 4), "retain": retain}
    return knobs | _restarts(random, int(str(knobs["ticks"])))


def _restarts(random: Random, ticks: int) -> Knobs:
    knobs: Knobs = {}
    if random.random() < 0.4:
        at = sorted(random.sample(range(2, ticks - 1), random.randint(1, 3)))
        knobs["restarts"] = ",".join(map(str, at))
        if random.random() < 0.3:
            knobs["back"] = random.choice([15_000, 40_000, 200_000])
    if random.random() < 0.15:
        knobs |= {"failAt": random.randint(1, 6), "failHow": random.choice(["function", "sink"])}
    return knobs


def _word(value: bool) -> str:
    return "true" if value else "false"


def functions(random: Random) -> Knobs:
    """What a function of group state does, and how timers lie."""
    knobs: Knobs = {
        "timeout": random.choice(TIMEOUTS),
        "profile": random.choice(PROFILES),
        "patience": random.choice([1, 1, 2, 2, 3, 6]),
    }
    if random.random() < 0.2:
        knobs["fixed"] = random.choice([1_000, 15_000, 60_000])
    if knobs["timeout"] == "none":
        knobs["profile"] = random.choice(["mixed", "datamix", "healthy"])
    if knobs["timeout"] == "processing" and random.random() < 0.5:
        knobs["wm"] = "false"
    if str(knobs["profile"]).startswith("lapse"):
        knobs |= _lapse(str(knobs["timeout"]))
    return knobs


def _lapse(timeout: str) -> Knobs:
    """Nearly all keys get data in the very batch in which their timer is due."""
    knobs: Knobs = {"keys": 12, "hot": 0, "perTick": 24, "pdata": 1, "pLate": 0, "pVery": 0}
    knobs |= {"ticks": 8, "patience": 1}
    if timeout == "event":
        return knobs | {"delay": 0, "fixed": 1}
    return knobs | {"tick": 1_000, "jump": 9}


def group_state(random: Random) -> Knobs:
    """One function in Scala."""
    knobs: Knobs = {"op": random.choice(["fm", "fm", "mg"])}
    knobs["mode"] = random.choice(["update", "append"]) if knobs["op"] == "fm" else "update"
    knobs["key"] = random.choice(random.choice([KEYS, NESTED_KEYS]))
    knobs |= functions(random)
    if knobs["profile"] in ("healthy", "ignore", "keep") and random.random() < 0.3:
        knobs["fmt"] = 1  # cannot hold a timer without state
    return knobs | _sources(random)


def _sources(random: Random) -> Knobs:
    if random.random() < 0.75:
        return {}
    idle: list[Knobs] = [{}, {"idle": "true"}, {"idleFrom": random.randint(2, 7)}]
    return {"two": "true"} | random.choice(idle)


def lapse(random: Random) -> Knobs:
    """One function in Scala, data when the timer is due."""
    knobs = group_state(random) | {"timeout": random.choice(["event", "processing"]), "wm": "true"}
    knobs.pop("fmt", None)
    return (
        knobs
        | {"profile": random.choice(["lapse", "lapseN", "once"])}
        | _lapse(str(knobs["timeout"]))
    )


def switch(random: Random) -> Knobs:
    """The kind of timeout changes at a restart."""
    knobs = group_state(random) | {"timeout": random.choice(["event", "processing"])}
    if knobs["profile"] in ("lapse", "lapseN"):
        knobs["profile"] = "mixed"
    knobs.pop("fmt", None)
    return knobs | {"switchAt": 1, "restarts": random.choice(["5", "8", "4,9"]), "wm": "true"}


def pandas_switch(random: Random) -> Knobs:
    """The same with a function in Python."""
    return switch(random) | _pandas(random)


def pandas_state(random: Random) -> Knobs:
    """One function in Python."""
    return group_state(random) | _pandas(random) | {"fmt": 2}


def _pandas(random: Random) -> Knobs:
    knobs: Knobs = {"op": "pd", "key": random.choice(PANDAS_KEYS)}
    return knobs | {"mode": random.choice(["update", "append"])}


def pandas_idle(random: Random) -> Knobs:
    """Two sources, of which one is idle, so that no timer of event time is ever due.

    The batch clock passes the timers, unless it is far behind; event time goes as fast as it.
    """
    knobs = pandas_state(random) | {"two": "true", "idle": "true", "timeout": "event", "wm": "true"}
    knobs |= {"fixed": random.choice([20_000, 60_000]), "jump": 3, "step": 20_000}
    knobs |= {"pLate": 0, "pVery": 0}
    return knobs | {"profile": random.choice(["healthy", "healthy", "mixed", "datamix"])}


def below(random: Random, upstream: list[str]) -> Knobs:
    """A function with an operator below it."""
    up = random.choice(upstream)
    knobs = functions(random) | {"op": f"fm_{up}", "key": random.choice(["long", "string", "opt"])}
    knobs |= {"wm": "true", "mod": random.choice([10, 20, 40])}
    if knobs["profile"] in ("lapse", "lapseN"):
        knobs["profile"] = "healthy"
    if up == "join":
        knobs |= {"how": random.choice(["left_outer", "right_outer", "full_outer", "inner"])}
        knobs |= {"cond": random.choice(["range", "forward", "time"])}
    if up == "sess":
        knobs["timeout"] = "processing"  # session windows hand no watermark on
    if up == "agg":
        knobs["end"] = _word(knobs["timeout"] != "event" and random.random() < 0.5)
    if knobs["timeout"] != "event":
        knobs["keep"] = _word(random.random() < 0.5)
    return knobs | _knobs_of_condition(knobs) | (_sources(random) if up in ("agg", "dedup") else {})


def _knobs_of_condition(knobs: Knobs) -> Knobs:
    return (
        {"whole": "true"} if knobs.get("cond") in ("time", "copy", "copymeta", "copylost") else {}
    )


def pandas_below(random: Random) -> Knobs:
    """A function in Python with an operator below it, which is no aggregation.

    Every release refuses that (UnsupportedOperationChecker: applyInPandasWithState in append mode
    is not supported after aggregation).
    """
    knobs = below(random, ["join", "join", "ddw", "dedup"])
    op = str(knobs["op"]).replace("fm_", "pd_")
    return knobs | {"op": op, "key": random.choice(["long", "string"])}


def two_functions(random: Random) -> Knobs:
    """A function above a function; emitted rows carry no watermark, but the query has one."""
    knobs: Knobs = {"op": "fm_fm", "key": random.choice(["long", "string", "pair"])}
    knobs |= {"timeout0": "processing", "timeout1": random.choice(["processing", "event"])}
    for operator in (0, 1):
        knobs[f"profile{operator}"] = random.choice(["healthy", "mixed", "datamix", "arm", "rare"])
    return knobs | {"patience": random.choice([1, 2, 3])}


def join(random: Random) -> Knobs:
    """Two streams."""
    condition = random.choice(JOINED_BY)
    knobs: Knobs = {
        "op": "join",
        "cond": condition,
        "how": "inner",
        "keys": random.choice([4, 8, 20]),
    }
    if condition == "none":
        marks = random.choice([(False, False), (True, False), (True, True)])
        return knobs | {"wmLeft": _word(marks[0]), "wmRight": _word(marks[1])}
    if condition in ("range", "forward", "two", "time", "window"):
        hows = ["inner", "left_outer", "right_outer", "full_outer", "left_semi"]
        knobs["how"] = random.choice(hows)
    elif random.random() < 0.3 and condition == "one":
        knobs |= {"wmRight": "false"}
    if random.random() < 0.2 and knobs["how"] == "inner":
        knobs["joinFmt"] = 1  # in which Spark refuses outer joins
    return knobs | _knobs_of_condition(knobs) | ({"idle": "true"} if random.random() < 0.1 else {})


def aggregation(random: Random) -> Knobs:
    """Windows, sessions, or no time in the key."""
    op = random.choice(["agg", "agg", "agg", "agg_notime", "sess"])
    knobs: Knobs = {"op": op, "mode": random.choice(["append", "append", "update", "complete"])}
    if op == "agg_notime":
        knobs["mode"] = random.choice(["update", "complete"])
    elif op == "sess":
        knobs["mode"] = random.choice(["append", "append", "complete"])
    elif random.random() < 0.3:
        knobs["slide"] = 5
    if random.random() < 0.2:
        knobs["aggFmt"] = 1
    return knobs | _sources(random)


def deduplication(random: Random) -> Knobs:
    """Deduplication by time, by other columns, within the watermark; and a limit above it."""
    ops = ["dedup_ts", "dedup_ts", "dedup_nots", "dedup_nowm", "ddw", "ddw", "limit"]
    return {"op": random.choice(ops)} | _sources(random)


def cleanup(random: Random) -> Knobs:
    """Operators that clean up a part of what has expired."""
    knobs: Knobs = {
        "op": random.choice(["dedup_ts", "agg", "ddw"]),
        "cleanup": random.randint(1, 3),
    }
    return knobs | {"mode": "append", "pLate": 0}


def chain(random: Random) -> Knobs:
    """Two operators without functions."""
    op = random.choice(["join_agg", "join_agg", "join_dedup", "agg_agg", "dedup_agg", "sess_agg"])
    knobs: Knobs = {"op": op}
    if op.startswith("join"):
        knobs |= {"how": "inner", "cond": random.choice(["time", "range", "forward"])}
        knobs["keys"] = random.choice([4, 8, 20])
        if op == "join_agg" and random.random() < 0.5:
            knobs["how"] = "left_outer"
    return knobs | _knobs_of_condition(knobs)


def store(random: Random, release: tuple[int, int], knobs: Knobs) -> Knobs:
    """The provider, and how it writes; transformWithState and repartitioning are RocksDB's."""
    stateful = stateful_nodes(knobs)
    processors = [word for word in stateful if word.startswith("tws")]
    if not processors and "repart" not in knobs and random.random() < 0.65:
        return {}
    result: Knobs = {"rocks": "true", "changelog": _word(random.random() < 0.8)}
    if random.random() < 0.3:
        result["counted"] = "false"
    if release >= (4, 0) and result["changelog"] == "true" and random.random() < 0.25:
        result["ckFmt"] = 2
    if processors and processors == stateful and random.random() < 0.5:
        result["encoding"] = "avro"  # no other operator can write it
    return result


SHAPES = ["{top}.{below}", "{top}.{below}", "u({below}|{other})", "{low}.u({beside}|{below})"]
SHAPES += ["{low}.{top}.{below}", "{below}", "join({below}|{beside})", "dedup.u({below}|self)"]


def plan(random: Random, function: str = "fm", processor: str = "tws") -> Knobs:
    """A transformWithState below, beside and above other operators, up to three in a chain."""
    knobs = _planned(random)
    if random.random() < 0.15:
        under = random.choice(["dedup.one", "agg.one", f"{function}.one", "ddw.two", "self"])
        knobs |= {"plan": f"{processor}.{under}"}
        if under.startswith((function, "self")):
            knobs |= {"emit": "plain", "timeMode": "processing"}
        return _numbered(knobs, processor, random)
    source = random.choice(["one", "one", "one", "two", "dedup.one", "ddw.one", "nowm", "agg.one"])
    if source == "nowm":
        mode = random.choice(["processing", "processing", "none"])
        knobs |= {"emit": "plain", "timeMode": mode, "timeout": "processing"}
    marked = knobs["emit"] != "plain"
    top = random.choice(["dedup", function, function] + (["ddw", "agg", "ddw"] if marked else []))
    neighbour = random.choice(["second", "second", "dedup.second", "ddw.second", "agg.second"])
    words = {"below": f"{processor}.{source}", "top": top, "beside": neighbour}
    words |= {"low": random.choice(["dedup", function]), "other": f"{function}.second"}
    text = random.choice(SHAPES).format(**words)
    if text.startswith(f"{function}.{function}."):  # what a function emits has no watermark
        knobs["timeout0"] = "processing"
    if "pd" in text:  # which refuses to be over an aggregation
        text = text.replace("agg.", "ddw." if marked or "agg.tws" not in text else "dedup.")
    return _numbered(knobs | {"plan": text}, processor, random)


def _planned(random: Random) -> Knobs:
    knobs: Knobs = {"op": "plan", "mode": "append", "parts": random.choice([1, 2]), "key": "long"}
    knobs |= {"ticks": random.randint(8, 12), "keys": random.choice([10, 20, 40]), "cond": "range"}
    knobs["emit"] = emit = random.choice(["plain", "plain", "meta", "meta", "column"])
    modes = ["event"] if emit == "column" else ["processing", "processing", "event"]
    knobs |= functions(random) | {"wm": "true", "timeMode": random.choice(modes)}
    if str(knobs["profile"]).startswith("lapse"):
        knobs["profile"] = "mixed"
    return knobs


def _numbered(knobs: Knobs, processor: str, random: Random) -> Knobs:
    """The time mode of the processor, by the number of its operator."""
    mode = knobs.pop("timeMode")
    knobs[f"timeMode{stateful_nodes(knobs).index(processor)}"] = mode
    if random.random() < 0.2 and "restarts" not in knobs:
        knobs |= {"restarts": 5, "declares": "first"}
    return knobs | _trouble(random, task=False)


STATELESS = ["one", "second", "two", "nowm", "meta", "u", "wm"]


def stateful_nodes(knobs: Knobs) -> list[str]:
    """The nodes of a plan that have state, in the order of their operators."""
    words = re.findall(r"[a-z]+", str(knobs.get("plan", "")))
    return [word for word in words if word not in STATELESS]


def python_plan(random: Random) -> Knobs:
    """The same with functions in Python, and one in Scala at times."""
    function = random.choice(["pd", "pd", "fm"])
    processor = random.choice(["twsp", "twsp", "tws"]) if function == "pd" else "twsp"
    return plan(random, function, processor) | {
        "ticks": random.randint(7, 9),
        "huge": 0,
        "declares": "always",
    }


def _trouble(random: Random, *, task: bool) -> Knobs:
    """Times that nobody means, and tasks that fail."""
    knobs: Knobs = {}
    if random.random() < 0.35:
        knobs["pNull"] = random.choice([1, 5, 15])
    if random.random() < 0.2:
        knobs["pNeg"] = random.choice([1, 5])
    if random.random() < 0.2:
        knobs["huge"] = random.choice([5, 20, 60])
    if task and random.random() < 0.3:
        knobs["retryAt"] = random.randint(1, 5)
    return knobs


def odd_times(random: Random) -> Knobs:
    """Null, negative and overflowing times and durations, in any query of one operator."""
    maker = random.choice([group_state, deduplication, deduplication, aggregation, join])
    knobs = maker(random) | {"pNull": random.choice([0, 2, 10]), "pNeg": random.choice([0, 0, 3])}
    if random.random() < 0.1:
        knobs["pMax"] = 1
    if maker is group_state:
        knobs |= {
            "huge": random.choice([10, 40]),
            "timeout": random.choice(["processing", "event"]),
        }
    return knobs


def changed(random: Random) -> Knobs:
    """The function is another one from a restart on; what was before may be purged."""
    maker = random.choice([group_state, group_state, pandas_state])
    knobs = maker(random) | {"ticks": random.randint(12, 18), "restarts": random.choice([5, 7])}
    knobs |= {"timeout": random.choice(["event", "processing"]), "wm": "true"}
    knobs["profile"] = random.choice(["keep", "arm", "mixed", "healthy", "datamix", "ignore"])
    knobs["then"] = random.choice(["keep", "arm", "mixed", "healthy", "datamix", "ignore"])
    if maker is group_state:
        knobs.pop("fmt", None)
    if random.random() < 0.6:
        knobs |= {"retain": 2, "maint": 0.9, "minDeltas": 2}
    return knobs


def failing(random: Random) -> Knobs:
    """A batch, mostly without data, fails in the sink and runs again, mostly by another clock."""
    maker = random.choice([group_state, pandas_state])
    at = random.randint(4, 8)
    knobs = maker(random) | {"failAt": at, "failHow": "sink", "ticks": 13, "nodata": "true"}
    knobs |= {"timeout": random.choice(["event", "processing"]), "wm": "true"}
    knobs["ahead"] = random.choice([0, DAY, 365 * DAY])  # a clock that is behind is warned of
    if str(knobs["profile"]).startswith("lapse"):
        knobs["profile"] = "healthy"
    if maker is group_state:
        knobs.pop("fmt", None)
    if random.random() < 0.75:
        knobs["quiet"] = ",".join(str(tick) for tick in range(at - 2, at + 3))
    if random.random() < 0.75:
        knobs["switchAt"] = 1
    elif random.random() < 0.5:
        knobs["then"] = random.choice(PROFILES[3:])
    return knobs


def retried(random: Random) -> Knobs:
    """Tasks fail and run again."""
    maker = random.choice([group_state, pandas_state, two_functions])
    return maker(random) | {"retryAt": random.randint(1, 6)}


def repartitioned(random: Random) -> Knobs:
    """State on RocksDB is repartitioned, once or several times."""
    maker = random.choice([group_state, group_state, aggregation, deduplication, join, plan])
    first, second = sorted(random.sample(range(3, 10), 2))
    knobs = maker(random) | {"ticks": random.randint(10, 13), "restarts": f"{first},{second}"}
    knobs["parts"] = random.choice([2, 3, 4])
    counts = random.sample([1, 5, 6, 7], 2)
    times = [f"{first}:{counts[0]}", f"{second}:{counts[1]}"]
    return knobs | {"repart": random.choice([times[0], ",".join(times)])}


def unsettled(random: Random) -> Knobs:
    """Settings that are other ones from a restart on, or that few queries have."""
    maker = random.choice(
        [group_state, group_state, pandas_state, aggregation, aggregation, deduplication, join]
    )
    knobs = maker(random) | {"ticks": random.randint(11, 15), "restarts": random.choice(["4", "6"])}
    later = [f"delay:{random.choice([0, 3_000, 60_000])}", f"nodata:{_word(random.random() < 0.5)}"]
    later.append(f"changelog:{_word(random.random() < 0.5)}")
    modes = {"append": ["update"], "update": ["append", "complete"], "complete": ["update"]}
    if maker is aggregation and knobs["op"] != "sess":
        siblings = modes[str(knobs["mode"])] if knobs["op"] == "agg" else ["update", "complete"]
        later.append(f"mode:{random.choice(siblings)}")
    elif knobs["op"] == "fm":
        knobs |= {
            "key": random.choice(["long", "string", "int"]),
            "initial": random.choice([5, 30]),
        }
        knobs.pop("fmt", None)
    knobs["later"] = ",".join(random.sample(later, random.randint(1, len(later))))
    if knobs["op"] == "sess":
        knobs["gaps"] = "true"
    if maker is join:
        knobs["skipNulls"] = _word(random.random() < 0.5)
        if knobs["cond"] == "one" and "joinFmt" not in knobs:
            knobs["how"] = random.choice(["left_outer", "right_outer", "left_semi"])
    if knobs.get("two") or maker is join:
        knobs["policy"] = random.choice(["max", "max", "min"])
    if random.random() < 0.3:
        knobs |= {"retain": 1, "maint": 0.7, "minDeltas": 2}
    return knobs | _trouble(random, task=random.random() < 0.5)


def ended(random: Random) -> Knobs:
    """A run for each tick, which ends itself; or two columns of event time."""
    maker = random.choice(
        [group_state, group_state, pandas_state, aggregation, deduplication, join, chain, plan]
    )
    knobs = maker(random) | {"ticks": random.randint(6, 9), "restarts": "2"}
    # A function on the processing clock asks for a batch without data after each batch: it would
    # keep a query that is to end when no batch is left (ended by tick only if that is one batch).
    # So does a transformWithState in processing time (TransformWithStateExecBase).
    modes = [value for word, value in knobs.items() if word.startswith("timeMode")]
    endless = "processing" in (knobs.get("timeout"), *modes)
    knobs |= {"trigger": "once" if endless else random.choice(["available", "available", "once"])}
    if maker is deduplication and random.random() < 0.6:
        knobs |= {"op": "plan", "plan": "twice", "multiple": "false", "wm": "true"}
        knobs["gap2"] = random.choice([15, 40, 90])
    if knobs.get("profile") in ("lapse", "lapseN"):
        knobs["profile"] = "mixed"
    return knobs | {"failAt": -1}


def reshaped(random: Random) -> Knobs:
    """A query that a restart makes another one over the same state, or an odd way to run one."""
    shape = random.choice(_SHAPES)
    knobs = {"restarts": random.choice(["4", "5,7", "3,6"])} | shape(random)
    if str(knobs.get("profile")).startswith("lapse"):
        knobs["profile"] = "mixed"
    return knobs | {"failAt": -1}


def _marked_or_not(random: Random) -> Knobs:
    """Times get their watermark, or lose it, at a restart."""
    maker = random.choice([group_state, aggregation, deduplication])
    knobs, had = maker(random), random.random() < 0.6
    knobs |= {"wm": _word(had), "later": f"wm:{_word(not had)}"}
    if maker is group_state:
        knobs["timeout"] = random.choice(["processing", "none"])
    elif maker is aggregation:
        knobs["mode"] = random.choice(["update", "complete"])
        knobs["op"] = str(knobs["op"]).replace("sess", "agg")
    else:
        knobs["op"] = "dedup_ts"
    return knobs


def _joined_otherwise(random: Random) -> Knobs:
    """A join whose condition or kind is another from a restart on, over state of the same key."""
    first, second = random.sample(["range", "forward", "one", "value", "none"], 2)
    knobs: Knobs = {"op": "join", "cond": first, "how": "inner", "keys": random.choice([4, 8, 20])}
    later = [f"cond:{second}"]
    if "none" not in (first, second) and random.random() < 0.5:
        hows = ["inner", "left_outer", "right_outer", "full_outer", "left_semi"]
        knobs["how"], how = random.choice(hows), random.choice(hows[:4])
        later.append(f"how:{how}")
    if random.random() < 0.3:
        later.append(f"delay2:{random.choice([0, 60_000])}")
    return knobs | {"later": ",".join(later)}


def _two_delays(random: Random) -> Knobs:
    """Two sources that wait for late rows for other times."""
    maker = random.choice([group_state, pandas_state, aggregation, deduplication, join, chain])
    knobs = maker(random) | {"two": "true", "wm": "true", "policy": random.choice(["max", "min"])}
    return knobs | {"delay2": random.choice([0, 25_000, 60_000, 2 * DAY])}


def _without_one(random: Random) -> Knobs:
    """An operator that a restart takes out of the query; 4.0 and later refuse that."""
    complete, remainder = random.choice(
        [("dedup_agg", "agg"), ("fm_dedup", "fm"), ("fm_ddw", "fm")]
    )
    knobs = functions(random) | {
        "op": complete,
        "key": "long",
        "wm": "true",
        "later": f"op:{remainder}",
    }
    return knobs | {"mode": "append" if complete != "dedup_agg" else "update"}


def _run_twice(random: Random) -> Knobs:
    """Tasks that write their state twice."""
    maker = random.choice([group_state, group_state, pandas_state, aggregation, join, chain])
    twice: Knobs = {"twice": "true"} if random.random() < 0.5 else {}
    return maker(random) | (twice or {"failTasksOf": random.randint(1, 6)})


def _stored_otherwise(random: Random) -> Knobs:
    """How RocksDB writes changes at a restart, or is what few queries ask for."""
    maker = random.choice([group_state, pandas_state, aggregation, deduplication, join])
    later = random.choice(["ckFmt:2", "ckFmt:1", "counted:false", "counted:true", "minDeltas:1"])
    knobs = maker(random) | {"rocks": "true", "later": later}
    knobs["ckFmt"] = {"ckFmt:2": 1, "ckFmt:1": 2}.get(later, random.choice([1, 2]))
    knobs["counted"] = _word(later == "counted:false")
    knobs["blocks"] = random.choice(["none", "snappy", "zlib", "bzip2", "lz4hc", "zstd"])
    if maker is join and "joinFmt" not in knobs:
        knobs["joinFormat"] = random.choice([2, 3, 4])
    return knobs


def _declared_at_times(random: Random) -> Knobs:
    """A transformWithState whose runs declare other variables."""
    knobs: Knobs = {"op": "plan", "plan": random.choice(["tws.one", "dedup.tws.one", "tws.two"])}
    knobs |= {"key": "long", "wm": "true", "timeMode1": "processing", "timeMode0": "processing"}
    knobs |= {"emit": "plain", "restarts": random.choice(["3,6,9", "4,7"]), "keys": 20}
    if random.random() < 0.4:
        knobs["initial"] = random.choice([5, 30])
    return knobs | {"declares": random.choice(["later", "inTurns", "inTurns", "deletes"])}


def _row_by_row(random: Random) -> Knobs:
    """A transformWithState in Python that gets its rows one by one."""
    knobs = plan(random, "fm", "twsr") | {"ticks": random.randint(7, 9), "declares": "always"}
    return knobs | {"huge": 0}


def _unusual(random: Random) -> Knobs:
    """Plans and keys that no other family has; states of megabytes."""
    plans = ["join(agg.one|agg.second)", "fm.join(agg.one|ddw.second)", "u(sess.one|dedup.second)"]
    plans += ["fm.u(sess.one|second)", "ddw.join(one|dedup.second)", "agg.u(agg.one|second)"]
    kinds = [_planned(random) | {"plan": random.choice(plans), "emit": "plain"}]
    op = random.choice(["agg_ts", "agg_all", "dedup_w"])
    kinds.append({"op": op, "mode": "append" if op == "dedup_w" else "update"} | _sources(random))
    kinds.append(group_state(random) | {"big": 3, "keys": 10, "perTick": 4})
    kinds.append(chain(random) | {"mode": random.choice(["update", "complete"])})
    kinds[-1]["op"] = str(kinds[-1]["op"]).replace("sess_", "dedup_")
    return random.choice(kinds)


_SHAPES: list[Family] = [_marked_or_not, _joined_otherwise, _two_delays, _without_one, _run_twice]
_SHAPES += [_stored_otherwise, _declared_at_times, _row_by_row, _unusual]


def uncommon(random: Random) -> Knobs:
    """What few queries have, or happens to few."""
    knobs = random.choice(_ODDITIES)(random)
    if str(knobs.get("profile")).startswith("lapse"):
        knobs["profile"] = "mixed"
    return {"restarts": random.choice(["4", "5,7", "3,6"]), "failAt": -1} | knobs


def _kept_from_failure(random: Random) -> Knobs:
    """The state of a batch that failed becomes a snapshot; the batch then writes other rows."""
    maker = random.choice([group_state, group_state, pandas_state, aggregation, deduplication])
    at = random.randint(3, 5)
    knobs = maker(random) | {"failAt": at, "failHow": "sink", "keepFailed": "true", "minDeltas": 1}
    knobs |= {"ticks": random.randint(11, 14), "restarts": "7,10", "nodata": "true"}
    knobs |= {"maint": random.choice([0, 0, 0.3]), "retain": random.choice([4, 100])}
    if "profile" in knobs:
        knobs["then"] = random.choice([word for word in PROFILES if not word.startswith("lapse")])
        knobs.pop("fmt", None)
    elif maker is aggregation and knobs["op"] == "agg":
        knobs |= {"mode": "update", "later": random.choice(["mode:complete", "delay:60000"])}
    else:
        knobs["later"] = random.choice(["delay:0", "delay:60000"])
    return knobs


def _python_keys(random: Random) -> Knobs:
    """Keys of Python that are of other types."""
    return pandas_state(random) | {"key": random.choice(PYTHON_KEYS)}


def _long_delays(random: Random) -> Knobs:
    """Delays of months, and batches of days."""
    maker = random.choice([group_state, aggregation, deduplication, join])
    words = ["1_month", "2_years_3_days", "1_week_3_hours", "500000000_seconds", "0_seconds"]
    knobs = maker(random) | {"delayWords": random.choice(words), "wm": "true"}
    return knobs | {"step": random.choice([20, 5]) * DAY}


def _edges(random: Random) -> Knobs:
    """Times at the edges of windows and of calendars."""
    maker = random.choice([group_state, aggregation, aggregation, deduplication, join, chain])
    knobs = maker(random) | {"pEdge": 40, "pNeg": random.choice([0, 3]), "delay": 3_000}
    if random.random() < 0.3:
        knobs["pFar"] = 1
    return knobs


def _ttl_that_changes(random: Random) -> Knobs:
    """Values whose TTL is another from a restart on."""
    knobs = _declared_at_times(random) | {"declares": "always", "plan": "tws.one"}
    knobs["ttl"] = random.choice([5_000, 25_000, 60_000])
    return knobs | {"later": f"ttl:{random.choice([1_000, 15_000, 200_000])}"}


def _few_batches(random: Random) -> Knobs:
    """Hardly any batch retained, snapshots all the time, no batches without data."""
    maker = random.choice([group_state, pandas_state, aggregation, deduplication, join, plan])
    knobs = maker(random) | {"retain": random.choice([1, 2]), "minDeltas": 2, "maint": 0.9}
    knobs |= {"nodata": random.choice(["false", "false", "true"]), "validated": "false"}
    return knobs | {"codec": random.choice(["zstd", "snappy", "lzf"])}


def _joined_any(random: Random) -> Knobs:
    """A join of any kind and format."""
    hows = ["inner", "left_outer", "right_outer", "full_outer", "left_semi"]
    knobs: Knobs = {"op": "join", "how": random.choice(hows), "keys": random.choice([4, 8, 20])}
    knobs["cond"] = random.choice(["range", "forward", "two", "time", "window"])
    if random.random() < 0.7:
        knobs |= {"rocks": "true", "joinFormat": random.choice([2, 3, 4])}
    return knobs | _knobs_of_condition(knobs)


PYTHON_KEYS = ["dec", "big", "time", "bin", "arr", "row", "none", "flag", "dbl"]
_ODDITIES: list[Family] = [_kept_from_failure, _kept_from_failure, _python_keys, _long_delays]
_ODDITIES += [_edges, _ttl_that_changes, _few_batches, _joined_any]


TYPED = ["dec10", "dec38", "bin", "date", "flag", "row", "arr", "rows", "months", "span", "null"]
TYPED += ["none", "ntz", "stamp", "day", "dbl", "byte", "time"]
COLLATED = ["UTF8_LCASE", "UNICODE_CI", "UTF8_BINARY_RTRIM"]
HELD = ["sum", "list", "set", "share", "distinct", "variant", "map", "spread", "mean", "best"]
HELD += ["text", "span", "collated"]
CHAINS = ["agg.join(one|second)", "agg.agg.one", "agg.agg.agg.one", "join(dedup.one|dedup.second)"]
CHAINS += ["agg.join(dedup.one|second)", "dedup.join(one|second)", "sess.dedup.one", "ddw.agg.one"]
CHAINS += ["agg.u(u(one|second)|meta)", "dedup.u(u(one|second)|nowm)", "fm.agg.join(one|second)"]
CHAINS += ["join(agg.one|dedup.second)", "agg.dedup.join(one|second)", "ddw.ddw.one"]
CHAINS += ["dedup.dedup.agg.u(u(one|second)|two)", "fm.dedup.u(u(one|second)|one)"]
CHAINS += ["sess.agg.dedup.one"]
LATE_OPS = ["of_agg_ts", "of_agg_notime", "of_dedup_ts", "of_dedup", "of_agg", "of_ddw"]


def untried(random: Random) -> Knobs:
    """Types, values, sources, chains and settings that the other families do not have."""
    makers: list[Family] = [_typed, _typed, _typed, _typed, _chained, _chained, _initial, _settings]
    knobs = random.choice([*makers, _marked_late])(random)
    if str(knobs.get("profile")).startswith("lapse"):
        knobs["profile"] = "mixed"
    if random.random() < 0.25:
        knobs["files"] = "true"
    if random.random() < 0.2:
        knobs |= {"maint": 0.7, "minDeltas": 2, "retain": random.choice([1, 2, 3])}
    return knobs | {"adaptive": _word(random.random() < 0.3)}


def _typed(random: Random) -> Knobs:
    """Keys of any type and values of any kind in each operator."""
    op = random.choice(["agg", "agg", "agg_notime", "agg_ts", "sess", "dedup", "dedup_ts", "ddw"])
    op = random.choice([*[op] * 5, "ddw_all", "join"])
    knobs: Knobs = {"op": f"of_{op}", "mode": "append", "held": random.choice(HELD)}
    knobs["typed"] = random.choice(COLLATED if random.random() < 0.04 else TYPED)
    if op == "join":
        knobs["how"] = random.choice(
            ["inner", "left_outer", "right_outer", "full_outer", "left_semi"]
        )
        knobs["keys"] = random.choice([4, 8, 20])
        if random.random() < 0.5:
            knobs |= {"rocks": "true", "joinFormat": random.choice([2, 3, 4])}
        return knobs
    if op in ("agg_notime", "agg", "agg_ts"):
        knobs["mode"] = random.choice(["update", "complete"])
    if op in ("agg", "agg_ts", "sess") and random.random() < 0.6:
        knobs["mode"] = "append"
    if op == "sess":
        knobs |= {"mode": random.choice(["append", "complete"]), "merges": "true"}
    if random.random() < 0.3:
        knobs |= {"wm": "false"}
        if op.startswith("ddw"):
            knobs["wm"] = "true"
        elif knobs["mode"] == "append" and not op.startswith("dedup"):
            knobs["mode"] = "complete"
    return knobs | _sources(random)


def _marked_late(random: Random) -> Knobs:
    """Keys with times of which a restart, or another column, has the watermark."""
    op = random.choice(
        ["of_agg_ts", "of_agg_notime", "of_dedup_ts", "of_dedup", "of_agg", "of_ddw"]
    )
    knobs: Knobs = {
        "op": op,
        "mode": "append",
        "typed": random.choice(["stamp", "day", "ntz", "date"]),
    }
    knobs |= {"wm": "true", "held": random.choice(["sum", "list"])}
    if "agg" in op:
        knobs["mode"] = random.choice(["update", "complete"])
    if op == "of_ddw" or random.random() < 0.4:
        return knobs | {"beside": "true", "gap2": random.choice([-20, 5, 30, 90])}
    restarts = random.choice(["3", "4,8", "5"])
    if random.random() < 0.5:
        return knobs | {"wm": "false", "later": "wm:true", "restarts": restarts}
    later = random.choice(["beside:true", "beside:false"])
    return knobs | {"beside": _word(later == "beside:false"), "later": later, "restarts": restarts}


def _chained(random: Random) -> Knobs:
    """Several stateful operators one above the other, unions of three."""
    knobs: Knobs = functions(random) | {"op": "plan", "plan": random.choice(CHAINS), "key": "long"}
    knobs |= {"wm": "true", "cond": random.choice(["range", "forward"]), "how": "inner"}
    knobs |= {"keys": random.choice([4, 8, 20]), "delay": random.choice([0, 3_000, 10_000])}
    knobs["timeout"] = "processing"
    return knobs | {"policy": random.choice(["min", "min", "max"])}


def _initial(random: Random) -> Knobs:
    """A function that begins with a state."""
    plans = ["tws.one", "dedup.tws.one", "twsp.one", "twsp.one", "twsr.one"]
    if random.random() < 0.5:
        keys = [word for word in (*KEYS, *NESTED_KEYS) if word not in ("double", "float", "binary")]
        knobs = functions(random) | {"op": "fm", "key": random.choice(keys), "mode": "update"}
    else:
        knobs = {"op": "plan", "plan": random.choice(plans), "key": "long", "wm": "true"}
        knobs |= {"emit": "plain", "timeMode0": "processing", "timeMode1": "processing"}
    return knobs | {"initial": random.choice([5, 30])}


def _settings(random: Random) -> Knobs:
    """One partition, no batches without data, versions in memory, sums of rows, any codec."""
    maker = random.choice([group_state, pandas_state, aggregation, deduplication, join, chain])
    knobs = maker(random) | {"parts": random.choice([1, 1, 5]), "nodata": "false"}
    knobs |= {"inMemory": random.choice([0, 1, 2]), "merges": "true"}
    return knobs | {"rowsum": _word(random.random() < 0.5), "codec": random.choice(CODECS)}


SECOND_KEYS = ["dec10", "dec38", "stamp", "date", "bin", "row", "none", "dbl", "long"]
LONGEST_TTL = (1 << 63) - 1


def unseen(random: Random) -> Knobs:
    """Shapes of queries that no other family has."""
    makers: list[Family] = [_keyed_by_two, _keyed_by_two, _ttl_at_its_ends, _marked_on_one_side]
    makers += [_union_of_four, _over_outer_join, _windows_of_windows, _many_columns, _other_parts]
    knobs = random.choice([*makers, _few_keys, _drained_and_failed])(random)
    if str(knobs.get("profile")).startswith("lapse"):
        knobs["profile"] = "mixed"
    if random.random() < 0.25:
        knobs |= {"maint": 0.7, "minDeltas": 2, "retain": random.choice([1, 2, 100])}
    return knobs


def _keyed_by_two(random: Random) -> Knobs:
    """A transformWithState in Python whose key has a column of any type beside its text."""
    plans = ["twsp.one", "twsr.one", "dedup.twsp.one", "twsp.two", "u(twsp.one|dedup.second)"]
    knobs: Knobs = {"op": "plan", "plan": random.choice(plans), "key": "long", "wm": "true"}
    mode = random.choice(["processing", "processing", "event"])
    knobs |= {"emit": "plain", "timeMode0": mode, "timeMode1": mode, "declares": "always"}
    if random.random() < 0.3:
        knobs["initial"] = random.choice([5, 30])
    return knobs | {"keyed": random.choice(SECOND_KEYS), "ticks": random.randint(7, 9), "keys": 20}


def _ttl_at_its_ends(random: Random) -> Knobs:
    """A TTL of 0, which is none, of 1 ms, or of the largest there is; another one at a restart."""
    knobs: Knobs = {"op": "plan", "plan": random.choice(["tws.one", "tws.two", "dedup.tws.one"])}
    knobs |= {"key": "long", "wm": "true", "timeMode1": "processing", "timeMode0": "processing"}
    knobs |= {"emit": "plain", "declares": "always", "keys": 20, "restarts": "4"}
    ttls = [0, 1, 25_000, 10**15, LONGEST_TTL]
    first, second = random.choice(ttls), random.choice(ttls)
    return knobs | {"ttl": first, "later": f"ttl:{second}"}


def _marked_on_one_side(random: Random) -> Knobs:
    """A join of which one side alone has a watermark."""
    knobs: Knobs = {"op": "join", "keys": random.choice([4, 8, 20])}
    knobs["cond"] = random.choice(["range", "forward", "one", "value", "time"])
    knobs["how"] = random.choice(["inner", "inner", "left_semi", "left_outer", "right_outer"])
    knobs[random.choice(["wmLeft", "wmRight"])] = "false"
    return knobs | _knobs_of_condition(knobs)


def _union_of_four(random: Random) -> Knobs:
    """Four branches with two delays; the watermark is the least or the greatest."""
    four = random.choice(
        ["u(u(one|second)|u(two|second))", "u(u(one|second)|u(dedup.one|ddw.two))"]
    )
    tops = ["agg", "dedup", "ddw", "fm", "fm.dedup", "sess", "dedup.agg"]
    knobs = functions(random) | {"op": "plan", "plan": f"{random.choice(tops)}.{four}"}
    knobs |= {"key": "long", "wm": "true", "policy": random.choice(["max", "max", "min"])}
    return knobs | {"delay": random.choice([0, 3_000]), "delay2": random.choice([25_000, 60_000])}


def _over_outer_join(random: Random) -> Knobs:
    """Operators over a join that gives out rows late."""
    plans = ["dedup.join(one|second)", "ddw.join(one|second)", "agg.join(one|second)"]
    plans += ["fm.dedup.join(one|second)", "dedup.join(dedup.one|agg.second)"]
    knobs = functions(random) | {"op": "plan", "plan": random.choice(plans), "key": "long"}
    knobs |= {"how": random.choice(["left_outer", "right_outer", "full_outer"]), "wm": "true"}
    return knobs | {"cond": random.choice(["range", "forward"]), "keys": random.choice([4, 8, 20])}


def _windows_of_windows(random: Random) -> Knobs:
    """Windows by window_time, and sessions with a gap for each row."""
    if random.random() < 0.5:
        return {"op": "agg_time", "mode": "append"} | _sources(random)
    knobs: Knobs = {"op": "sess", "gaps": "true", "mode": random.choice(["append", "complete"])}
    return knobs | {"merges": _word(random.random() < 0.5)} | _sources(random)


def _many_columns(random: Random) -> Knobs:
    """MapGroupsWithState by several columns, structs and sequences."""
    knobs = functions(random) | {"op": "mg", "mode": "update", "key": random.choice(NESTED_KEYS)}
    return knobs | {"multiple": _word(random.random() < 0.5)} | _sources(random)


def _other_parts(random: Random) -> Knobs:
    """A restart asks for another number of shuffle partitions, which Spark ignores."""
    maker = random.choice([group_state, pandas_state, aggregation, deduplication, join, chain])
    return maker(random) | {"restarts": random.choice(["4", "3,6"]), "later": "parts:7"}


def _few_keys(random: Random) -> Knobs:
    """More partitions than keys."""
    maker = random.choice([group_state, pandas_state, aggregation, deduplication, join])
    return maker(random) | {"keys": random.choice([1, 2, 3]), "parts": random.choice([6, 9])}


def _drained_and_failed(random: Random) -> Knobs:
    """A run for each tick, which ends itself, and one of which fails in the sink."""
    return ended(random) | {"failAt": random.randint(1, 4), "failHow": "sink"}


def telling(random: Random) -> Knobs:
    """What findings that are inferred speak of, and what looks like it."""
    makers = [_with_unique_keys, _with_unique_keys, _with_keys_that_return, _with_batch_clock]
    knobs = random.choice([*makers, _with_rows_that_wait])(random)
    return {"failAt": -1, "restarts": 99, "pLate": 0, "pVery": 0, "ahead": 0} | knobs


def _with_unique_keys(random: Random) -> Knobs:
    """An id of the event in the key, or keys that are many."""
    op = random.choice(["agg_notime", "agg", "fm", "mg", "agg_ts", "sess"])
    knobs: Knobs = {"op": op, "mode": "append" if op in ("agg", "sess") else "update", "hot": 0}
    if op in ("fm", "mg"):
        timeout = random.choice(["event", "processing"])
        knobs |= {"key": "long", "timeout": timeout, "profile": "healthy", "patience": 6}
    knobs |= {"keys": random.choice([40, 300, 5_000]), "perTick": 24, "ticks": 12, "pdata": 1}
    return knobs | {"unique": _word(random.random() < 0.5), "codec": "lz4"}


def _with_keys_that_return(random: Random) -> Knobs:
    """Timeouts and delays that are shorter, or longer, than the pauses between events."""
    knobs: Knobs = {"keys": 20, "perTick": 24, "ticks": 14, "pdata": 1, "hot": 0, "key": "long"}
    if random.random() < 0.5:
        timeout = random.choice(["event", "processing"])
        knobs |= {"op": "fm", "mode": "update", "timeout": timeout, "profile": "healthy"}
        return knobs | {"fixed": random.choice([1, 1_000, 15_000, 200_000])}
    return knobs | {"op": "ddw", "delay": random.choice([0, 3_000, 60_000, 200_000])}


def _with_batch_clock(random: Random) -> Knobs:
    """An event time that is the time of the batch."""
    op = random.choice(["agg", "dedup_ts", "ddw", "sess"])
    knobs: Knobs = {"op": op, "mode": "append", "clocked": _word(random.random() < 0.7)}
    return knobs | {"pdata": 1, "tick": random.choice([9_876, 10_000]), "ticks": 12}


def _with_rows_that_wait(random: Random) -> Knobs:
    """Batches that are days apart, with and without batches without data."""
    knobs: Knobs = {"op": random.choice(["agg", "dedup_ts", "ddw"]), "mode": "append"}
    knobs |= {"step": random.choice([1, 5]) * DAY, "tick": DAY, "pdata": 1, "delay": 10_000}
    how = random.choice(["once", "available", "off", "on"])
    knobs["nodata"] = _word(how != "off")
    return knobs | ({"trigger": how} if how in ("once", "available") else {}) | {"ticks": 8}


def odd_marks(random: Random) -> Knobs:
    """Watermarks where one does not expect them, or none where one does."""
    plans = ["twice", "u(dedup.meta|dedup.one)", "dedup.u(ddw.meta|one)", "u(ddw.one|ddw.meta)"]
    plans += [
        "u(agg.meta|one)",
        "dedup.u(one|meta)",
        "fm.u(dedup.meta|one)",
        "u(fm.meta|dedup.one)",
    ]
    plans += ["dedup.wm.fm.nowm", "ddw.wm.dedup.nowm", "agg.wm.fm.nowm", "fm.dedup.self"]
    plans += [
        "u(self|dedup.second)",
        "agg.dedup.self",
        "dedup.agg.dedup.one",
        "u(agg.one|agg.second)",
    ]
    plans += ["fm.fm.agg.two", "u(fm.one|fm.second)", "fm.dedup.agg.one", "ddw.agg.dedup.two"]
    knobs: Knobs = {"op": "plan", "plan": random.choice(plans), "key": "long", "cond": "range"}
    knobs |= functions(random) | {"wm": "true"}
    if str(knobs["profile"]).startswith("lapse"):
        knobs["profile"] = "mixed"
    if "fm.nowm" in str(knobs["plan"]):
        knobs["timeout"] = "processing"
    if knobs["plan"] == "twice":
        knobs |= {"multiple": "false", "gap2": random.choice([15, 40, 90])}
    return knobs | _trouble(random, task=True)


def small(random: Random) -> Knobs:
    """Few keys in small batches, in situations that inspectors are known to misread."""
    knobs: Knobs = {"parts": 1, "perTick": 3, "keys": 12, "hot": 0, "pLate": 0, "pVery": 0}
    knobs |= {"profile": "healthy", "delay": 10_000, "codec": "lz4", "nodata": "true"}
    return knobs | random.choice(SMALL)


_PANDAS: Knobs = {"op": "pd", "key": "string", "mode": "update", "jump": 3, "step": 20_000}
_PANDAS |= {"fixed": 60_000, "keys": 30, "ticks": 12}
SMALL: list[Knobs] = [
    # The function below an outer join hears of a row when the join gives up on it: its watermark
    # lies behind that of the batch.
    Knobs()
    | {"op": "fm_join", "how": "left_outer", "cond": "forward", "timeout": "event"}
    | {"key": "long", "fixed": 25_000, "jump": 1, "pdata": 1, "ahead": DAY, "keys": 60, "mod": 3}
    | {"perTick": 2, "step": 20_000},
    {"op": "fm_join", "how": "left_outer", "cond": "forward", "timeout": "processing"}
    | {"key": "long", "fixed": 15_000, "jump": 1, "pdata": 1, "keys": 60, "mod": 3}
    | {"perTick": 2, "step": 20_000},
    # A key with a null struct, and one with a struct of nulls: their order, and data in the batch
    # of the due timer.
    {"op": "fm", "mode": "update", "key": "opt", "timeout": "event", "profile": "once"}
    | {"nodata": "false", "delay": 0, "fixed": 1, "pdata": 1, "ticks": 3, "keys": 6}
    | {"perTick": 6},
    # The watermark of two sources, one of which is idle, is none: no timer is ever due.
    _PANDAS | {"two": "true", "idle": "true", "timeout": "event", "pdata": 1},
    # A timer of the clock, found by a query of event time.
    _PANDAS | {"timeout": "processing", "switchAt": 1, "restarts": 5, "step": 2_000},
    # Rows of a window come when it closes, so that timers are set in batches without data.
    {"op": "fm_agg", "timeout": "event", "key": "long", "mod": 3, "fixed": 25_000}
    | {"jump": 1, "pdata": 0.5, "ahead": DAY, "step": 30_000, "delay": 3_000},
]
