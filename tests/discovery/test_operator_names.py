"""Operators with a name that no Spark release uses."""

from __future__ import annotations

import shutil
from pathlib import Path

from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.store_schemas import UNKNOWN_OPERATOR
from tests.cli.support import checkpoint_of


def test_unknown_operator_name_is_a_problem(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("dedup_within_watermark"), root)
    assert open_checkpoint(str(root)).problems == ()
    metadata = root / "state/0/_metadata/metadata"
    metadata.write_text(metadata.read_text("utf-8").replace("dedupeW", "dedupev"))
    (problem,) = open_checkpoint(str(root)).problems
    assert (problem.slug, problem.path) == (UNKNOWN_OPERATOR, str(metadata.parent))
    assert "got operator 'dedupevithinWatermark', which no release" in problem.message
