"""Templates of messages."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.findings.wording import write

EPOCH = "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("{rows:row}", {"rows": 1}, "1 row"),
        ("{rows:row}", {"rows": 1200}, "1,200 rows"),
        ("{n:batch} {n:/has} data", {"n": 1}, "1 batch has data"),
        ("{n:batch} {n:/has} data", {"n": 2}, "2 batches have data"),
        ("{rows:{noun}}", {"rows": 2, "noun": "timeout"}, "2 timeouts"),
        ("{n:number} times", {"n": 1200.4}, "1,200 times"),
        ("{gap:duration}", {"gap": 7_380_000}, "2 h 3 min"),
        ("{share:percent}", {"share": 0.5}, "50 %"),
        ("{size:bytes}", {"size": 2048}, "2.0 KiB"),
        ("{at:moment}", {"at": 0}, EPOCH),
        ("{at:day}", {"at": 0}, "1970-01-01"),
        ("{at:watermark}", {"at": 0}, "no watermark"),
        ("{name:quoted}", {"name": "it's"}, '"it\'s"'),
        ("key{key:brackets}", {"key": ""}, "key"),
        ("key{key:brackets}", {"key": "a=1"}, "key (a=1)"),
        ("no put{last:since_batch}", {"last": None}, "no put"),
        ("no put{last:since_batch}", {"last": 0}, "no put (since batch 0)"),
        ("rows wait{at:newest_time}", {"at": 0}, f"rows wait (the newest is {EPOCH})"),
        ("{names:words}", {"names": ["a"]}, "a"),
        ("{names:words}", {"names": ["a", "b", "c"]}, "a, b and c"),
        ("{seen:more}", {"seen": ["a", "", "b"]}, "; a; b"),
        ("{versions:span}", {"versions": [3]}, "version 3"),
        ("{versions:span}", {"versions": [3, 9, 4]}, "versions 3 to 9"),
        ("{words:capital}", {"words": "no row"}, "No row"),
    ],
)
def test_template_fields_are_formatted_by_unit(
    template: str, values: dict[str, Any], text: str
) -> None:
    assert write(template, values) == text


def test_missing_template_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        write("{rows:row}", {})
