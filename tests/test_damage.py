"""Whatever a checkpoint holds, every command reports or refuses: none fails on its own."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from inspector.cli.main import inspector
from inspector.exceptions import InspectorError
from tests.damage import damage
from tests.fixture_folder import FIXTURES
from tests.profiles import sampled

OF_OPERATORS = (
    *("4.3.0/agg_update", "4.3.0/agg_global", "4.3.0/session_window", "4.3.0/dedup_event_time"),
    *("4.3.0/dedup_within_watermark", "4.3.0/fmgws_event_ignore", "4.3.0/pandas_event_ignore"),
    *("4.3.0/join_left_outer", "4.3.0/join_time_key", "4.3.0/limit_after_dedup"),
    *("4.3.0/dedup_after_join", "4.3.0/agg_two_levels", "4.3.0/fmgws_processing_time"),
    *("3.5.9/join_window_key", "3.5.9/fmgws_snapshots_cleaned", "3.3.4/join_inner_v1"),
    *("2.4.8/fmgws_event_ignore_v1", "2.4.8/join_left_outer", "3.5.9/snapshots_cleaned"),
)
COMMANDS = ("sizes", "sharing", "memory", "leftovers", "timeline", "top")
FORMATS = ("json", "table", "markdown")

CASES = int(os.environ.get("INSPECTOR_DAMAGES", "40"))
"""How many are tried; a longer run sets it."""


def ends(command: str, root: Path, form: str) -> None:
    """Run a command; what is none of its own errors is raised."""
    arguments = [command, str(root), "-o", form, "--engine", "local", "--workers", "1"]
    with suppress(SystemExit, InspectorError, OSError):
        inspector.main(arguments, standalone_mode=False)


@pytest.mark.parametrize("seed", sampled(range(CASES), 5))
def test_damaged_checkpoint_never_crashes_command(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / chance.choice(OF_OPERATORS) / "checkpoint", root)
    assert damage(root, seed)
    for command in ("audit", "verify", chance.choice(COMMANDS)):
        ends(command, root, chance.choice(FORMATS))


def test_a_damage_is_made_again_from_its_seed(tmp_path: Path) -> None:
    damages = []
    for name in ("one", "other"):
        shutil.copytree(FIXTURES / OF_OPERATORS[0] / "checkpoint", tmp_path / name)
        damages.append(damage(tmp_path / name, 3))
    assert damages[0] == damages[1]
