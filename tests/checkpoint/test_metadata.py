"""Query id, and operator metadata of formats 1 and 2."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.metadata import (
    OperatorMetadata,
    StoreInfo,
    parse_operator_metadata,
    read_operator_metadata,
    read_query_id,
)
from inspector.checkpoint.storage import Storage
from inspector.exceptions import DecodeError

V1 = (
    b'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},"stateStoreInfo":'
    b'[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}'
)
SCHEMA = "file:/in/ck/state/0/_stateSchema/default/0_1485aeff-1ee7-4960-bf29-5a76c8afdc37"
V2 = (  # Spark 4.3.0, transformWithState refused by this provider
    b'v2\n{"operatorInfo":{"operatorId":0,"operatorName":"transformWithStateExec"},'
    b'"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2,'
    b'"stateSchemaFilePaths":["' + SCHEMA.encode() + b'"]}],'
    b'"operatorPropertiesJson":"{\\"timeMode\\":\\"NoTime\\",\\"outputMode\\":\\"Update\\",'
    b'\\"stateVariables\\":[{\\"stateName\\":\\"c\\",\\"stateVariableType\\":\\"ValueState\\",'
    b'\\"ttlEnabled\\":false}]}"}'
)
PROPERTIES = {
    "timeMode": "NoTime",
    "outputMode": "Update",
    "stateVariables": [{"stateName": "c", "stateVariableType": "ValueState", "ttlEnabled": False}],
}


def storage_of(root: Path, files: dict[str, bytes]) -> Storage:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return Storage.open(str(root))


def test_operator_metadata_of_format_1() -> None:
    assert parse_operator_metadata(V1) == OperatorMetadata(
        "stateStoreSave", (StoreInfo("default", 0, 2),), {}, 1
    )


def test_operator_metadata_of_format_2() -> None:
    assert parse_operator_metadata(V2) == OperatorMetadata(
        "transformWithStateExec", (StoreInfo("default", 0, 2, (SCHEMA,)),), PROPERTIES, 2
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"v1", b"v3", "got format v3"),
        (b'"operatorId":0', b'"operatorId":"0"', "as operatorId, expected a 64-bit integer"),
        (b'"operatorId":0', b'"x":0', "got no operatorId"),
        (b'"stateStoreSave"', b"7", "as operatorName, expected a string"),
        (b'[{"storeName"', b'["x",{"storeName"', "in stateStoreInfo, expected a JSON object"),
        (b'"storeName":"default"', b'"storeName":1', "as storeName, expected a string"),
        (b'"numColsPrefixKey":0', b'"stateSchemaFilePaths":1', "as stateSchemaFilePaths"),
        (
            b'"numColsPrefixKey":0',
            b'"stateSchemaFilePaths":"' + b"x" * 50 + b'"',
            "got 'x{40}' as stateSchemaFilePaths",
        ),
        (b'"stateStoreInfo"', b'"operatorPropertiesJson":1,"x"', "as operatorPropertiesJson"),
        (b'"stateStoreInfo"', b'"stateStoreInfo":1,"x"', "as stateStoreInfo, expected a list"),
        (b'"stateStoreInfo"', b'"operatorPropertiesJson":"[","x"', "expected a JSON object"),
        (b'"operatorInfo"', b'"operatorInfo":1,"x"', "as operatorInfo, expected a JSON object"),
    ],
)
def test_invalid_operator_metadata_is_refused(old: bytes, new: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        parse_operator_metadata(V1.replace(old, new))


def test_operator_metadata_file_of_format_1(tmp_path: Path) -> None:
    storage = storage_of(tmp_path, {"state/3/_metadata/metadata": V1})
    result, problems = read_operator_metadata(storage, 3)
    assert result is not None
    assert (result.operator_name, problems) == ("stateStoreSave", ())


def test_newest_operator_metadata_file_of_format_2(tmp_path: Path) -> None:
    contents = {**dict.fromkeys(("0", "2", "x", ".2.crc", "007"), b""), "10": V2}
    files = {f"state/0/_metadata/v2/{name}": data for name, data in contents.items()}
    storage = storage_of(tmp_path, files)
    result, problems = read_operator_metadata(storage, 0)
    assert result is not None
    assert (result.properties, problems) == (PROPERTIES, ())


@pytest.mark.parametrize(
    "files", [{}, {"state/0/_metadata/other": b""}, {"state/0/_metadata/v2/.5.crc": V2}]
)
def test_missing_operator_metadata_is_none(tmp_path: Path, files: dict[str, bytes]) -> None:
    assert read_operator_metadata(storage_of(tmp_path, files), 0) == (None, ())


def test_bad_operator_metadata_is_a_problem(tmp_path: Path) -> None:
    storage = storage_of(tmp_path, {"state/0/_metadata/metadata": b"v1\n{}"})
    result, (problem,) = read_operator_metadata(storage, 0)
    assert result is None
    assert problem.path == f"{tmp_path}/state/0/_metadata/metadata"
    assert "got no operatorId" in problem.message


def test_a_folder_that_cannot_be_listed_is_a_problem(tmp_path: Path) -> None:
    result, (problem,) = read_operator_metadata(storage_of(tmp_path, {"state/0/_metadata": b""}), 0)
    assert result is None
    assert (problem.slug, problem.path) == ("storage", f"{tmp_path}/state/0/_metadata")


def test_read_query_id(tmp_path: Path) -> None:
    storage = storage_of(tmp_path, {"metadata": b'{"id":"d6a2b015-bb40-4fc3-855e-7fd5ef06d3d7"}'})
    assert read_query_id(storage) == ("d6a2b015-bb40-4fc3-855e-7fd5ef06d3d7", ())


@pytest.mark.parametrize(
    "data", [b"", b"junk", b"\xff", b"{}", b'{"id":7}', b'{"id":"d6a2b015"}', b'["id"]']
)
def test_bad_query_id_is_a_problem(tmp_path: Path, data: bytes) -> None:
    result, (problem,) = read_query_id(storage_of(tmp_path, {"metadata": data}))
    assert result is None
    assert (problem.slug, problem.path) == ("undecodable", f"{tmp_path}/metadata")


def test_missing_query_id_is_none(tmp_path: Path) -> None:
    assert read_query_id(storage_of(tmp_path, {})) == (None, ())


@given(st.binary(), st.integers(0, len(V2)), st.integers(0, len(V2)))
def test_any_bytes_are_operator_metadata_or_a_decode_error(
    junk: bytes, start: int, stop: int
) -> None:
    for data in (junk, b"v2\n" + junk, V2[:start] + junk + V2[stop:]):
        with suppress(DecodeError):
            assert parse_operator_metadata(data).format in {1, 2}
