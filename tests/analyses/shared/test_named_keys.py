"""Notes about hashes that name several keys."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.shared.stores import HashedKeys
from inspector.render.report import Report
from tests.cli.support import checkpoint_of

LEAK = str(checkpoint_of("fmgws_event_ignore"))
KEYS = [b"\x03", b"\n", b"$", b"M", b"s", b"u", b"{"]  # their SHA-256 begins with the digit 0


def notes_of(text: str, keys: list[bytes | None]) -> list[str]:
    """Return the notes after two batches with these keys were read."""
    notes: list[str] = ["another"]
    batch = pa.RecordBatch.from_pydict({"key": pa.array(keys, pa.binary())})
    first, second = HashedKeys(api.Options(key=(text, "user=a")), notes).watch([batch, batch])
    assert first.num_rows == second.num_rows == len(keys)
    return notes[1:]


def test_ambiguous_key_hash_is_noted_once() -> None:
    (note,) = notes_of("sha256:0", [None, *KEYS[:3]])
    assert "is ambiguous" in note
    assert note.count("sha256:") == 4
    (note,) = notes_of("sha256:0", [None, *KEYS])
    assert note.count("sha256:") == 6
    assert "and others" in note


def test_unambiguous_key_hash_has_no_note() -> None:
    assert notes_of("sha256:084fed08b978af4d", [KEYS[0], KEYS[0], None]) == []


@pytest.mark.parametrize(
    "command",
    [
        lambda options: api.rows(LEAK, options),
        lambda options: api.history(LEAK, options),
        lambda options: api.diff(LEAK, options=options, from_batch=0),
        lambda options: api.changes(LEAK, options),
        lambda options: api.leftovers(LEAK, options),
    ],
    ids=["rows", "history", "diff", "changes", "leftovers"],
)
def test_every_key_command_notes_an_ambiguous_hash(
    command: Callable[[api.Options], Report],
) -> None:
    report = command(api.Options(key="sha256:2"))
    assert len(list(report.primary.rows)) > 1
    assert "sha256:2 is ambiguous" in "\n".join(report.notes)
