"""The judge of copies rewinds checkpoints by hand, as ``copy --batch`` copies them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from copies.earlier import random_batch, rewind
from copies.families import FAMILIES
from judge_copies import Form

from inspector import api
from tests.fixture_folder import NEWEST
from tests.listings import newest_batch


@pytest.mark.parametrize("name", ["agg_update", "rocksdb_agg_update"])
def test_rewound_checkpoint_has_rows_of_batch(tmp_path: Path, name: str) -> None:
    source = NEWEST / name / "checkpoint"
    batch = random_batch(1, name, source)
    rewound = tmp_path / "rewound"
    shutil.copytree(source, rewound)
    rewind(rewound, batch)
    expected = api.rows(str(source), api.Options(batch=batch), raw=True, limit=0).primary.rows
    assert list(api.rows(str(rewound), raw=True, limit=0).primary.rows) == list(expected)
    assert newest_batch(rewound) == batch


def test_random_batches_are_neither_the_first_nor_the_newest(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / "commits" / str(number)).mkdir(parents=True)
    assert {random_batch(seed, "name", tmp_path) for seed in range(50)} == {1, 2, 3}


def test_forms_lose_only_what_a_query_cannot_have() -> None:
    form = Form(partitions=3, provider="other", evicts=True, state_format="2")
    assert form.of_family(FAMILIES["session"], is_hdfs=True) == Form(3, "rocksdb")
    assert form.of_family(FAMILIES["timers"], is_hdfs=False) == Form(3, None, evicts=True)
    assert form.of_family(FAMILIES["stateful-1"], is_hdfs=False) == Form(3, "hdfs", True, "2")
    assert Form(provider="other").of_family(FAMILIES["timers"], is_hdfs=False) is None
