"""Unique ids of tables: those of the fixtures, as their MANIFEST has them, and odd properties."""

from __future__ import annotations

import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.manifest import read_manifest
from inspector.decode.sst.table import Table
from inspector.decode.sst.unique_id import unique_id
from tests.decode.sst.tables import BytesSource
from tests.fixture_folder import FIXTURES

SESSION = b"ABCDEFGH0123456789AB"
STORED = {
    "rocksdb.creating.db.identity": b"5f941a2a-926f-4991-af6b-134a3b780da7",
    "rocksdb.creating.session.identity": SESSION,
    "rocksdb.original.file.number": b"\x2c",
}


def test_unique_ids_of_fixture_tables_match_their_manifest() -> None:
    compared = 0
    for path in sorted(FIXTURES.glob("*/rocksdb_*/checkpoint/state/*/*/*.zip")):
        with zipfile.ZipFile(path) as archive:
            name = archive.read("CURRENT").decode().strip()
            live = read_manifest(archive.read(name)).tables
            listed = json.loads(archive.read("metadata").partition(b"\n")[2]).get("sstFiles", [])
        for fields in listed:
            table = path.parent / "SSTs" / fields["dfsSstFileName"]
            if table.exists():
                number = int(fields["localFileName"].removesuffix(".sst"))
                stored = Table(BytesSource(table.read_bytes())).properties.stored
                assert unique_id(stored) == live[number].unique_id
                compared += 1
    assert compared > 100


def test_unique_id_depends_on_file_number_database_and_session() -> None:
    database = {"rocksdb.creating.db.identity": b"5f941a2a-926f-4991-af6b-134a3b780da8"}
    session = {"rocksdb.creating.session.identity": SESSION[:-1] + b"C"}
    start_of_session = {"rocksdb.creating.session.identity": b"Z" + SESSION[1:]}
    number = {"rocksdb.original.file.number": b"\x2d"}
    changes = [{}, database, session, start_of_session, number]
    ids = {unique_id(STORED | change) for change in changes}
    assert len(ids - {None}) == 5


@pytest.mark.parametrize("name", STORED)
def test_unique_id_needs_all_properties(name: str) -> None:
    properties = dict(STORED)
    del properties[name]
    assert unique_id(properties) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rocksdb.creating.session.identity", SESSION.lower()),
        ("rocksdb.original.file.number", b"\x00"),
    ],
)
def test_no_id_for_lower_case_session_or_file_number_zero(name: str, value: bytes) -> None:
    assert unique_id(STORED | {name: value}) is None


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(STORED, st.binary(max_size=30))))
def test_any_properties_give_a_unique_id_or_none(stored: dict[str, bytes]) -> None:
    result = unique_id(STORED | stored)
    assert result is None or all(0 <= part < 1 << 64 for part in result)
