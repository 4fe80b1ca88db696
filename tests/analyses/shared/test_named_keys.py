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


def test_several_keys_are_said_once_with_their_hashes() -> None:
    digit = HASHES[0][0]
    mine = [key for key, item in zip(KEYS, HASHES, strict=True) if item.startswith(digit)]
    (note,) = noted(f"sha256:{digit}", [None, *mine[:3]])
    assert "is ambiguous" in note
    assert note.count("sha256:") == 4
    (note,) = noted(f"sha256:{digit}", [None, *mine])
    assert note.count("sha256:") == 6
    assert "and others" in note


def test_one_key_is_what_was_asked_for_however_often_it_comes() -> None:
    assert noted(f"sha256:{HASHES[0][:16]}", [KEYS[0], KEYS[0], None]) == []


def test_every_command_about_keys_says_so() -> None:
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
