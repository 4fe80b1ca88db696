"""Whether the hash that was given names one key."""

import hashlib

import pyarrow as pa

from inspector import api
from inspector.analyses.shared.stores import HashedKeys
from tests.cli.support import checkpoint_of

LEAK = str(checkpoint_of("fmgws_event_ignore"))
KEYS = [bytes([number]) for number in range(200)]
HASHES = [hashlib.sha256(key).hexdigest() for key in KEYS]


def noted(text: str, keys: list[bytes | None]) -> list[str]:
    notes: list[str] = ["another"]
    batch = pa.RecordBatch.from_pydict({"key": pa.array(keys, pa.binary())})
    watched = HashedKeys(api.Options(key=(text, "user=a")), notes).watch([batch, batch])
    assert [item.num_rows for item in watched] == [len(keys)] * 2
    return notes[1:]


def test_ambiguous_key_hash_is_noted_once() -> None:
    digit = HASHES[0][0]
    mine = [key for key, item in zip(KEYS, HASHES, strict=True) if item.startswith(digit)]
    (note,) = noted(f"sha256:{digit}", [None, *mine[:3]])
    assert "is ambiguous" in note
    assert note.count("sha256:") == 4
    (note,) = noted(f"sha256:{digit}", [None, *mine])
    assert note.count("sha256:") == 6
    assert "and others" in note


def test_unambiguous_key_hash_has_no_note() -> None:
    assert noted(f"sha256:{HASHES[0][:16]}", [KEYS[0], KEYS[0], None]) == []


def test_every_key_command_notes_an_ambiguous_hash() -> None:
    options = api.Options(key="sha256:2")
    for report in (
        api.rows(LEAK, options),
        api.history(LEAK, options),
        api.diff(LEAK, options=options, from_batch=0),
        api.changes(LEAK, options),
        api.leftovers(LEAK, options),
    ):
        assert len(list(report.primary.rows)) > 1
        assert [note for note in report.notes if "sha256:2 is ambiguous" in note], report.command
