"""Key encoders as schema files of format 3 describe them."""

import pytest

from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding

TYPE = "keyStateEncoderType"
PREFIX, RANGE = "PrefixKeyScanStateEncoderSpec", "RangeKeyScanStateEncoderSpec"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # As Spark 4.3.0 wrote them for an aggregation, a map state, timers and a join of format 4.
        ({TYPE: "NoPrefixKeyStateEncoderSpec"}, (KeyEncoding.ROW, 0, ())),
        ({TYPE: PREFIX, "numColsPrefixKey": 1}, (KeyEncoding.PREFIX, 1, ())),
        ({TYPE: RANGE, "orderingOrdinals": [1, 0]}, (KeyEncoding.RANGE, 0, (1, 0))),
        ({TYPE: "TimestampAsPrefixKeyStateEncoderSpec"}, (KeyEncoding.TIMESTAMP_FIRST, 0, ())),
        ({TYPE: "TimestampAsPostfixKeyStateEncoderSpec"}, (KeyEncoding.TIMESTAMP_LAST, 0, ())),
    ],
)
def test_sparks_own(fields: dict[str, object], expected: object) -> None:
    result = KeyEncoder.parse(fields)
    assert (result.kind, result.prefix_columns, result.ordinals) == expected
    assert result.name == fields[TYPE]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {TYPE: 5},
        {TYPE: "OfTomorrow"},
        {TYPE: PREFIX},
        *({TYPE: PREFIX, "numColsPrefixKey": bad} for bad in (0, -1, True, "1", 1 << 40)),
        {TYPE: RANGE},
        *({TYPE: RANGE, "orderingOrdinals": bad} for bad in (0, [], [0, 0], [-1], ["0"], [True])),
    ],
)
def test_unreadable_key_encoder_is_unknown(fields: dict[str, object]) -> None:
    assert KeyEncoder.parse(fields).kind is KeyEncoding.UNKNOWN


def test_metadata_of_store_without_column_families() -> None:
    assert KeyEncoder.of_prefix(0) == KeyEncoder()
    assert KeyEncoder.of_prefix(2) == KeyEncoder(KeyEncoding.PREFIX, 2)
