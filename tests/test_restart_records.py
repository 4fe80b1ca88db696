"""What the judge of damaged checkpoints reads in Spark's messages, and the sources made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from restarts.hand_made import SOURCE_EDITS, hand_made_cases
from restarts.named_files import named_files

from inspector import api
from tests.attributes import attributes
from tests.discovery.test_source_logs import file_offset, write_checkpoint
from tests.reports import finding_ids


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Error reading delta file file:/ck/state/0/1/3.delta of HDFS", {"3.delta"}),
        ("/ck/state/0/1/5_e21dbfc8-9f6e-4d55-a8f6-4ab2f5fbbd35.zip does not exist", {"5.zip"}),
        ("batch 5 doesn't exist SQLSTATE: XXKST", {"5"}),
        ("file:/ck/sources/0/9.compact doesn't exist (latestId: 12)", {"9.compact"}),
        ("offsets/4", {"4"}),
        ("sources/0", set()),
        ("Mismatch in unique ID on table file 13", set()),
        ("1.delta of default", {"1.delta"}),
    ],
)
def test_file_names_in_error_message(message: str, names: set[str]) -> None:
    assert named_files(message) == names


def test_restart_verdicts_for_kafka_and_delta_offsets(tmp_path: Path) -> None:
    entries = [[file_offset(number)] for number in range(4)]
    write_checkpoint(tmp_path / "base", entries, {"0": range(4)})
    result = {}
    for name, checkpoint in hand_made_cases([tmp_path / "base"], tmp_path):
        report = api.audit(str(checkpoint))
        assert report.verdict is not None
        assert report.verdict.restart is not None
        ids = tuple(sorted({"SS127", "SS128"} & set(finding_ids(report))))
        result[name] = (
            {True: "yes", None: "unknown", False: "no"}[report.verdict.restart.possible],
            ids,
        )
    edits = attributes(SOURCE_EDITS.values(), "answer", "findings")
    assert result == dict(zip(SOURCE_EDITS, edits, strict=True))
