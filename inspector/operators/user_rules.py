"""Rules that the user gives if the checkpoint does not show them: parsed, and applied to stores.

``--event-time-field [OP=]FIELD``, ``--operator-rule OP[:STORE]=RULE``,
``--join-retention [OP:]SIDE=DURATION``. A rule is ``never``, or compares a field with a clock::

    never
    key.ts <= watermark
    value.session.end <= watermark - 1h
    value.expires < processing

FIELD starts with ``key.`` or ``value.``; otherwise the key is searched first. A long counts
milliseconds, or microseconds if ``:us`` follows. The unit of a timestamp is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import JOIN_SIDES
from inspector.operators import aggregation, join
from inspector.operators.rule import MICROS_PER_MS, Clock, ExpiryField, RowPart, StoreRule
from inspector.sparktypes import AtomicType, DataType, StructType, is_window, type_name

# milliseconds in each unit of a duration
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d+)\s*(ms|min|s|m|h|d)")  # number and unit of a part of a duration
# field, sign, clock and optional delay of a rule
_RULE = re.compile(
    r"(?P<field>[^<]+?)\s*(?P<sign><=?)\s*(?P<clock>watermark|processing)\s*(?:-\s*(?P<delay>.+))?"
)
_MICRO = "us"  # suffix of a field that counts microseconds
# doubt about leftovers of a join whose key has the user's event-time field
IN_JOIN_KEY = "the join key carries the watermark, as --event-time-field says"

Schemas = Mapping[str, tuple[StructType, StructType]]  # Key and value schema by store name.


@dataclass(frozen=True)
class UserRules:
    """Expiry rules that the user gave."""

    # field with the event time, by operator id; None for all operators
    event_time_fields: Mapping[int | None, str] = field(default_factory=dict)
    # rule by operator id and store name; None for every store
    operator_rules: Mapping[tuple[int, str | None], str] = field(default_factory=dict)
    # retention in ms, by operator id (None for all joins) and side
    join_retention: Mapping[tuple[int | None, str], int] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        event_time_fields: Iterable[str] = (),
        operator_rules: Iterable[str] = (),
        join_retention: Iterable[str] = (),
    ) -> UserRules:
        """Return the rules in the texts of the options. ValueError: a text has another form."""
        return cls(
            dict(map(_event_time_field, event_time_fields)),
            dict(map(_operator_rule, operator_rules)),
            dict(map(_join_retention, join_retention)),
        )

    def apply(
        self, operator_id: int, name: str, schemas: Schemas, rules: Mapping[str, StoreRule]
    ) -> dict[str, StoreRule]:
        """Return an operator's rules by store, with the user's rules in place.

        ``name`` is the operator's. CheckpointError: a store has no such field, or the field is no
        time.
        """
        changed = dict(rules)
        for store in rules:
            operator_rule = self.operator_rules.get((operator_id, store))
            text = (
                self.operator_rules.get((operator_id, None))
                if operator_rule is None
                else operator_rule
            )
            default_field = self.event_time_fields.get(None) if store in schemas else None
            named = self.event_time_fields.get(operator_id, default_field)
            if named is not None:
                changed[store] = _with_event_time(store, name, schemas, changed[store], named)
            if text is not None:
                changed[store] = _user_rule(text, store, schemas.get(store))
        if name in join.NAMES:
            self._retain(operator_id, changed)
        return changed

    def _retain(self, operator_id: int, rules: dict[str, StoreRule]) -> None:
        """Replace the rules of a join's rows for which the user gave a retention.

        CheckpointError: no field of that side has the event time.
        """
        for side, store in zip(join.STORE_SIDES, join.VALUE_STORES, strict=True):
            default_retention = self.join_retention.get((None, side))
            retention = self.join_retention.get((operator_id, side), default_retention)
            if retention is None or store not in rules:
                continue
            event_time = rules[store].event_time
            if event_time is None:
                raise CheckpointError(
                    f"--join-retention {side}: no field of the {side} side carries a watermark; "
                    "say which with --event-time-field"
                )
            # Spark cuts the bound to whole milliseconds, one less where the condition is >=.
            bound = replace(event_time, delay_ms=retention + 1)
            source = f"--join-retention {side}={retention}ms"
            rules[store] = replace(
                rules[store], expiry=bound, unknown=None, user_supplied=True, source=source
            )


def parse_duration(text: str) -> int:
    """Return a duration such as ``1h30m``, ``90s``, ``250ms`` or ``2d`` in ms. ValueError: none."""
    compact = text.replace(" ", "")
    parts = _DURATION.findall(compact)
    if not parts or "".join(amount + unit for amount, unit in parts) != compact:
        raise ValueError(f"got {text!r}, expected a duration such as 90s, 1h30m or 2d")
    return sum(int(amount) * _UNITS_MS[unit] for amount, unit in parts)


def _event_time_field(text: str) -> tuple[int | None, str]:
    """Return operator id (None for all) and field of an option. ValueError: another form."""
    head, sign, tail = text.partition("=")
    if not sign:
        return None, text.strip()
    if not head.strip().isdecimal() or not tail.strip():
        raise ValueError(f"got {text!r}, expected [OP=]FIELD such as 0=key.ts")
    return int(head), tail.strip()


def _operator_rule(text: str) -> tuple[tuple[int, str | None], str]:
    """Return operator id, store (None: all) and rule of an option. ValueError: no rule."""
    head, sign, rule = text.partition("=")
    operator, colon, store = head.strip().partition(":")
    if not sign or not operator.isdecimal() or (colon and not store):
        raise ValueError(f"got {text!r}, expected OP=RULE such as 1=never or 0=key.ts<=watermark")
    if rule.strip() != "never" and _RULE.fullmatch(rule.strip()) is None:
        raise ValueError(
            f"got rule {rule!r}, expected never, or FIELD<=watermark, FIELD<=watermark-1h, "
            "FIELD<processing"
        )
    return (int(operator), store or None), rule.strip()


def _join_retention(text: str) -> tuple[tuple[int | None, str], int]:
    """Return operator id (None: all joins), side and ms of an option. ValueError: none."""
    location, sign, duration = text.partition("=")
    operator, colon, side = location.strip().rpartition(":")
    if not sign or side not in JOIN_SIDES or (colon and not operator.isdecimal()):
        raise ValueError(f"got {text!r}, expected [OP:]SIDE=DURATION such as left=1h")
    return (int(operator) if colon else None, side), parse_duration(duration)


def _user_rule(text: str, store: str, schemas: tuple[StructType, StructType] | None) -> StoreRule:
    """Return the expiry rule for the text of a rule. CheckpointError: no such field."""
    source = f"--operator-rule {text}"
    if text == "never":
        return StoreRule(
            never="said by --operator-rule",
            advice="if they should go, change the query so that its rows carry a watermark",
            source=source,
            user_supplied=True,
        )
    match = _RULE.fullmatch(text)
    assert match is not None
    if schemas is None:
        raise CheckpointError(f"store {store!r} has no schema, so no field of it can be followed")
    clock = Clock.WATERMARK if match["clock"] == "watermark" else Clock.PROCESSING_TIME
    result = find_field(match["field"], schemas)
    if result is None:
        raise CheckpointError(f"store {store!r} has no field {match['field']!r}")
    delay_ms = parse_duration(match["delay"]) if match["delay"] else 0
    expiry = replace(result, clock=clock, inclusive=match["sign"] == "<=", delay_ms=delay_ms)
    return StoreRule(expiry=expiry, source=source, user_supplied=True)


def _with_event_time(
    store: str, name: str, schemas: Schemas, rule: StoreRule, named: str
) -> StoreRule:
    """Return a rule with the user's event-time field; the rule itself for stores without one.

    ``name`` is the operator's, ``named`` the field. CheckpointError: the store has no such field.
    """
    if store not in schemas or (name in join.NAMES and store not in join.VALUE_STORES):
        return rule
    result = find_field(named, schemas[store])
    if result is None:
        raise CheckpointError(f"--event-time-field: store {store!r} has no field {named!r}")
    source = f"--event-time-field {named}"
    if name in join.NAMES and result.part is RowPart.VALUE:
        return replace(rule, never=None, unknown=rule.unknown or rule.never, event_time=result)
    doubt = aggregation.COMPLETE if name in aggregation.NAMES else rule.doubt
    if name in join.NAMES:
        rule, doubt = replace(rule, event_time=result), IN_JOIN_KEY
    return replace(rule, expiry=result, never=None, unknown=None, source=source, doubt=doubt)


def find_field(text: str, schemas: tuple[StructType, StructType]) -> ExpiryField | None:
    """Return the field of a name, compared with the watermark; of a window, its end.

    Returns None if the schemas have no such field. CheckpointError: it is no time.
    """
    name, _, unit = text.strip().partition(":")
    side, _, remainder = name.partition(".")
    is_given = side in ("key", "value") and bool(remainder)
    sides = (RowPart(side),) if is_given else tuple(RowPart)
    path = (remainder if is_given else name).split(".")
    for item in sides:
        result = _path(path, schemas[0] if item is RowPart.KEY else schemas[1])
        if result is not None:
            ordinals, data_type, names = result
            per_ms = _per_ms(data_type, unit, name)
            return ExpiryField(Clock.WATERMARK, item, ordinals, per_ms, True, names)
    return None


def _path(names: list[str], schema: StructType) -> tuple[tuple[int, ...], DataType, str] | None:
    """Return ordinals, type and dotted name of a field, or of a window's end; else None."""
    ordinals: list[int] = []
    data_type: DataType = schema
    for name in names:
        fields = data_type.fields if isinstance(data_type, StructType) else ()
        index = next((i for i, column in enumerate(fields) if column.name == name), None)
        if index is None:
            return None
        ordinals.append(index)
        data_type = fields[index].data_type
    if isinstance(data_type, StructType) and is_window(data_type):
        return (*ordinals, 1), data_type.fields[1].data_type, ".".join([*names, "end"])
    return tuple(ordinals), data_type, ".".join(names)


def _per_ms(data_type: DataType, unit: str, name: str) -> int:
    """Return the units of a time in one millisecond. CheckpointError: the type is no time."""
    kind = data_type.kind if isinstance(data_type, AtomicType) else ""
    if kind in ("timestamp", "timestamp_ntz"):
        return MICROS_PER_MS
    if kind == "long" and unit in ("", "ms", _MICRO):
        return MICROS_PER_MS if unit == _MICRO else 1
    raise CheckpointError(f"field {name!r} is {type_name(data_type)}, expected a timestamp or long")
