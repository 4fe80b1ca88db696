"""``transformWithState`` in Scala, Java and Python (Spark 4.0 and later, RocksDB only).

Each state variable of the processor is a column family, here a store; so are the indexes that Spark
keeps beside them, whose names begin with ``$`` (``StateStoreColumnFamilySchemaUtils``,
``TimerStateUtils``, ``TTLState``)::

    x                             a value, list or map; with TTL the value is
                                  struct<value, ttlExpirationMs>, in a list of each entry
    $rowCounter_x                 key -> entries of list x without TTL (4.1 and later)
    $ttl_x                        (expirationMs, key, of a map with the user's key) -> nothing
    $min_x, $count_x              key -> earliest expiry, and entries, of list x with TTL
    $procTimers_keyToTimestamp    (key, expiryTimestampMs) -> nothing: a timer
    $procTimers_timestampToKey    the same by time; both also as $eventTimers_...

Spark removes what expired by its own rule, after all calls of a batch: the values whose
``ttlExpirationMs`` is at or below the batch's processing time (``TTLState``), of the variables that
the processor declared in this run (``StatefulProcessorHandleImpl.doTtlCleanup``). A timer fires in
the batch whose clock is not below its time, after the calls for new data, and is deleted after its
call (``TransformWithStateExec.processTimers``); one that a timer's call sets for a time that has
passed may wait for the next batch.
"""

from __future__ import annotations

import enum
import shlex
from collections.abc import Collection, Mapping

from inspector.checkpoint.metadata import OperatorMetadata
from inspector.checkpoint.state_schema import ColumnFamily
from inspector.light_dataclasses import dataclass
from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowKind, RowPart, StoreRule
from inspector.sparktypes import LONG, DataType, StructType
from inspector.sparktypes.key_encoders import KeyEncoding

NAMES = (
    "transformWithStateExec",
    "transformWithStateInPySparkExec",
    "transformWithStateInPandasExec",
)
"""Names of the operator in Spark's metadata; Python has the last one in 4.0 and later the second.
"""

SOURCE = "TransformWithStateExec, TTLState, TimerStateImpl"  # Spark classes that the rules are from
REWRITES = "call update, put or updateValue only when the value has changed"
"""Advice on puts that change nothing: ``ValueStateImpl.update`` puts any value that it is given.
With TTL the new expiry is a change.
"""

# advice how to find and remove old keys; ``keys`` are options that name a key
_NAMED = (
    "For the keys that are there, inspector top PATH --by oldest lists those that no batch has "
    "written for the longest time. A copy leaves out all state of the keys that you name "
    "(inspector explain leaked-keys): inspector copy PATH NEW {keys} --by removal --plan"
)
TTL_OPTION = "TTLConfig(Duration), or ttlDurationMs in Python"
"""How a processor sets the time for which a variable keeps its values."""
TTL_FIELD = "ttlExpirationMs"  # field of a value with its expiry time in ms
TIMER_FIELD = "expiryTimestampMs"  # field of a timer's key with its time in ms
OWN_STORES = "$"  # beginning of the names of stores that are not the user's: timers and helpers
GROUPING_KEY = "key"  # field with the grouping key in the key of a map and of a timer
_MAP_KEY = [GROUPING_KEY, "userKey"]  # fields of a map's key

# Beginnings of the names of stores of timers, by their clock.
_PROC_TIMERS, _EVENT_TIMERS = "$procTimers", "$eventTimers"
_BY_KEY, _BY_TIME = "_keyToTimestamp", "_timestampToKey"  # Ends of the names of stores of timers.
# Time modes of a query.
EVENT_TIME, PROCESSING_TIME, NO_TIME = "EventTime", "ProcessingTime", "NoTime"


class Family(enum.Enum):
    """Kind of a store of the operator, by its content.

    VALUE, LIST and MAP are the user's variables, TIMERS are set by the user. All others are Spark's
    helpers, whose rows are written and removed with those.
    """

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    TIMERS = "timers"
    TIMERS_BY_TIME = "timers by time"
    ROW_COUNTER = "row counter"
    TTL_INDEX = "TTL index"
    MIN_EXPIRY = "earliest expiry"
    ENTRY_COUNT = "entry count"
    UNUSED = "unused"

    @property
    def is_variable(self) -> bool:
        """True if the user's processor writes the rows."""
        return self in (Family.VALUE, Family.LIST, Family.MAP)

    @property
    def is_helper(self) -> bool:
        """True if only Spark itself reads the rows."""
        return not self.is_variable and self is not Family.TIMERS


# kind of a helper by the beginning of its store's name
_HELPERS: Mapping[str, Family] = {
    "$rowCounter_": Family.ROW_COUNTER,
    "$ttl_": Family.TTL_INDEX,
    "$min_": Family.MIN_EXPIRY,
    "$count_": Family.ENTRY_COUNT,
}
# beginnings of the names of helpers that only lists have
ENTRY_COUNTS = ("$rowCounter_", "$count_")

# kind of a variable by its type in the metadata
_KINDS = {
    "ValueState": Family.VALUE,
    "ListState": Family.LIST,
    "MapState": Family.MAP,
    "TimerState": Family.TIMERS,
}


@dataclass(frozen=True)
class Variable:
    """A state variable as the operator's metadata describe it."""

    name: str  # name that the user gave it
    kind: Family  # value, list, map or timers
    has_ttl: bool  # True if its values have a TTL


@dataclass(frozen=True)
class Properties:
    """Processor of the newest run, from ``TransformWithStateOperatorProperties``."""

    time_mode: str = ""  # ``NoTime``, ``ProcessingTime`` or ``EventTime``; empty if not known
    output_mode: str = ""  # output mode as Spark names it; empty if not known
    # variables that the processor declares, by name; None if not known
    variables: Mapping[str, Variable] | None = None

    @classmethod
    def of(cls, properties: Mapping[str, object]) -> Properties:
        """Return the properties in the metadata's JSON; parts of another form are not known."""
        variables: dict[str, Variable] = {}
        listed = properties.get("stateVariables")
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, dict):
                name, family = item.get("stateName"), _KINDS.get(str(item.get("stateVariableType")))
                if isinstance(name, str) and family is not None:
                    variables[name] = Variable(name, family, item.get("ttlEnabled") is True)
        time, output = (str(properties.get(name) or "") for name in ("timeMode", "outputMode"))
        return cls(time, output, variables if isinstance(listed, list) else None)

    def declares(self, name: str) -> bool | None:
        """Return True if the newest run declares a variable; None if that is not known."""
        return None if self.variables is None else name in self.variables


def is_helper(store: str) -> bool:
    """Return True if the rows of a store are removed together with rows of a variable.

    Such stores are the indexes by TTL and the counts of entries.
    """
    return store.startswith(tuple(_HELPERS))


def timers_of(store: str) -> str:
    """Return the store of timers by key that belongs to a store of timers by time."""
    return store.removesuffix(_BY_TIME) + _BY_KEY


def variable_of(store: str) -> str:
    """Return the variable that a store belongs to."""
    prefix = next(filter(store.startswith, _HELPERS), "")
    return store[len(prefix) :]


def family_of(
    store: str, properties: Properties, stores: Collection[str], key: StructType | None
) -> tuple[Family, str]:
    """Return the kind of a store, and the variable that it belongs to (empty for timers).

    ``stores`` are the names of all stores, ``key`` is the schema of the store's keys.
    """
    for prefix, family in _HELPERS.items():
        if store.startswith(prefix):
            return family, store[len(prefix) :]
    if store.startswith((_PROC_TIMERS, _EVENT_TIMERS)):
        return (Family.TIMERS_BY_TIME if store.endswith(_BY_TIME) else Family.TIMERS), ""
    if store.startswith(OWN_STORES) or store == "default":
        return Family.UNUSED, ""
    variable = (properties.variables or {}).get(store)
    if variable is not None:
        return variable.kind, store
    if {f"{index}{store}" for index in ENTRY_COUNTS} & set(stores):
        return Family.LIST, store
    names = [] if key is None else [field.name for field in key.fields]
    return (Family.MAP if names == _MAP_KEY else Family.VALUE), store


@dataclass(frozen=True)
class GroupingKey:
    """Position of the grouping key in the keys of a store."""

    # ordinals of its struct, from the key inwards; empty if it is in the key itself
    path: tuple[int, ...] = ()
    fields: int = 0  # number of leading fields of that struct that are the grouping key

    def schema(self, key: StructType) -> StructType:
        """Return the schema of the grouping key, from the schema of the store's keys."""
        schema = key
        for ordinal in self.path:
            inner = schema.fields[ordinal].data_type
            assert isinstance(inner, StructType)
            schema = inner
        return StructType(schema.fields[: self.fields])


def grouping_key_of(family: Family, variable: Family | None, key: StructType) -> GroupingKey | None:
    """Return where the grouping key is in a store's keys; None if they have none.

    ``variable`` is the kind of the variable that the store belongs to; None if that is not known.
    """
    path: tuple[int, ...] = ()
    if family in (Family.MAP, Family.TIMERS):
        path = (0,)
    elif family is Family.TIMERS_BY_TIME:
        path = (1,)
    elif family is Family.TTL_INDEX:
        # The element of a map is its grouping key with the user's key.
        element = key.fields[1].data_type if len(key.fields) > 1 else None
        names = [field.name for field in element.fields] if isinstance(element, StructType) else []
        is_entry = names == _MAP_KEY and variable in (Family.MAP, None)
        path = (1, 0) if is_entry else (1,)
    elif family is Family.UNUSED:
        return None
    inner: DataType = key
    for ordinal in path:
        if not isinstance(inner, StructType) or ordinal >= len(inner.fields):
            return None
        inner = inner.fields[ordinal].data_type
    if not isinstance(inner, StructType):
        return None
    # The last field of a list's key is the place of the entry.
    return GroupingKey(path, len(inner.fields) - (family is Family.LIST))


def grouping_fields(family: Family, key: StructType) -> int:
    """Return how many leading fields of a store's keys are the grouping key, or 0."""
    if family in (Family.MAP, Family.TIMERS):
        return 1
    if family in (Family.TTL_INDEX, Family.TIMERS_BY_TIME, Family.UNUSED):
        return 0
    # The last field of a list's key is the place of the entry.
    return len(key.fields) - (family is Family.LIST)


def _key_options(family: Family, key: StructType) -> str:
    """Return the options that name one grouping key, with KEY in place of each value."""
    position = grouping_key_of(family, None, key)
    names = [field.name for field in position.schema(key).fields] if position else []
    if len(names) < 2:
        return "--key KEY"
    return " ".join(f"--key {shlex.quote(name)}=KEY" for name in names)


def has_ttl(value: StructType) -> bool:
    """Return True if the values of a schema have an expiry time."""
    names = [field.name for field in value.fields]
    return names == ["value", TTL_FIELD] and value.fields[1].data_type == LONG


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of one of the operator's stores.

    A variable with a TTL has its expiry time as the rule, a store of timers the time of the timer.
    Without a TTL the rule is ``never`` if the processor no longer declares the variable or the
    query has no timers, else ``unknown``. Helper stores and unused stores need no rule
    (``needs_none``).
    """
    key, value = shape.schemas[store]
    properties = Properties.of(shape.properties)
    family, variable = family_of(store, properties, shape.schemas, key)
    if family is Family.TIMERS:
        return _timers(store)
    if family is Family.UNUSED:
        return StoreRule(unknown="Spark keeps nothing here", needs_none=True)
    if family.is_helper:
        subject = f"the rows of {variable!r}" if variable else "the timers"
        return StoreRule(unknown=f"{family.value}: its rows go with {subject}", needs_none=True)
    if has_ttl(value):
        expiry = ExpiryField(Clock.PROCESSING_TIME, RowPart.VALUE, (1,), 1, True, TTL_FIELD)
        advice = (
            "Spark removes them at the end of each batch from every variable that the processor "
            "declares: look for what else writes to this checkpoint"
        )
        if properties.declares(variable) is False:
            advice = (
                f"the processor no longer declares {variable!r}, so that Spark does not clean it "
                f"up: call handle.deleteIfExists({variable!r}) in init, or declare it again"
            )
        return StoreRule(
            expiry=expiry,
            advice=advice,
            source="TTLState.clearExpiredStateForAllKeys",
            row_kind=RowKind.TTL_VALUE,
        )
    # Without TTL nothing but the processor removes its rows.
    named = _NAMED.format(keys=_key_options(family, key))
    if properties.declares(variable) is False:
        return StoreRule(
            never="the processor no longer declares the variable, so that nothing can remove it",
            advice=f"call handle.deleteIfExists({variable!r}) in init",
            source="StatefulProcessorHandle.deleteIfExists",
        )
    if properties.time_mode == NO_TIME:
        return StoreRule(
            never=f"the variable {variable!r} has no TTL and the query no timers (TimeMode.None): "
            "only new data of a key can have it removed",
            advice=f"use TimeMode.ProcessingTime and declare {variable!r} with a TTL "
            f"({TTL_OPTION}), or set a timer whose call clears it. {named}",
            source="StatefulProcessorHandleImpl.getValueState",
        )
    return StoreRule(
        unknown="the variable has no TTL, so that it goes when the processor clears it",
        advice=f"declare {variable!r} with a TTL ({TTL_OPTION}; with TimeMode.ProcessingTime), or "
        f"clear it in handleExpiredTimer. {named}",
    )


def _timers(store: str) -> StoreRule:
    """Return the expiry rule of a store of timers."""
    clock = Clock.WATERMARK if store.startswith(_EVENT_TIMERS) else Clock.PROCESSING_TIME
    expiry = ExpiryField(clock, RowPart.KEY, (1,), 1, True, TIMER_FIELD, after_put=True)
    return StoreRule(
        expiry=expiry,
        advice="a timer that its batch did not fire is one that something else than this query "
        "wrote, or that an earlier run set by another clock: look at the processor's runs",
        source="TransformWithStateExec.processTimers, TimerStateImpl.getExpiredTimers",
        row_kind=RowKind.TIMER,
    )


# encodings of keys that only joins of format 4 use
_TIMED = (KeyEncoding.TIMESTAMP_FIRST, KeyEncoding.TIMESTAMP_LAST)


def has_several_values(
    metadata: OperatorMetadata | None, family: ColumnFamily, siblings: Collection[str] = ()
) -> bool:
    """Return True if a value of a column family has several rows, as lists and joins of format 4.

    ``metadata`` are those of the operator; None if they are unknown. Then a variable is a list if
    ``siblings``, the names of the store's column families, has the count of its entries.
    """
    # These are, in a join of format 4, the rows and the index by time
    # (SymmetricHashJoinStateManagerV4); in transformWithState, the list states
    # (TransformWithStateOperatorProperties). The properties do not list a variable that the newest
    # run no longer declares; if it was a list, the index of its entries is still there.
    if family.encoder.kind in _TIMED:
        return True
    variables = Properties.of(metadata.properties if metadata else {}).variables or {}
    if family.name in variables:
        return variables[family.name].kind is Family.LIST
    return any(f"{index}{family.name}" in siblings for index in ENTRY_COUNTS)
