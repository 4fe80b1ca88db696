"""``inspector watch`` on the command line: one line for each batch, as soon as it is there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from inspector import api
from inspector.analyses import watch as following
from inspector.cli.exits import Exit
from tests.cli.support import checkpoint_of, run
from tests.growing import Growing

CASE = "trouble_kept_timeouts"


def test_each_batch_is_a_line() -> None:
    outcome = run("watch", checkpoint_of(CASE), "--last", "100", "--until", "13")
    assert (outcome.code, outcome.err) == (Exit.OK, "")
    head, *lines = outcome.out.splitlines()
    assert head.split()[:3] == ["BATCH", "TIME", "ROWS"]
    batches = [line.split() for line in lines if line.split()[0].isdecimal()]
    assert [int(cells[0]) for cells in batches] == list(range(14))
    assert (batches[-1][2], batches[-1][-1]) == ("113", "80")
    (finding,) = (line.split() for line in lines if not line.split()[0].isdecimal())
    assert finding[:3] == ["+", "SS203", "error"]
    assert lines.index(next(line for line in lines if "SS203" in line)) == 5


def test_ndjson_is_an_object_for_each_batch() -> None:
    outcome = run("watch", checkpoint_of(CASE), "--last", "3", "--until", "13", "-o", "ndjson")
    assert [row["batch_id"] for row in outcome.ndjson] == [11, 12, 13]
    assert outcome.ndjson[0]["findings_new"][0]["id"] == "SS203"
    assert outcome.ndjson[1]["findings_new"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--interval", "0"), "--interval has to be more than 0"),
        (("--for", "soon"), "--for: "),
        (("-o", "csv"), "csv"),
        (("--batch", "1"), "--batch"),
    ],
)
def test_wrong_options_are_told(options: tuple[str, ...], message: str) -> None:
    outcome = run("watch", checkpoint_of(CASE), *options)
    assert outcome.code == Exit.USAGE
    assert message in outcome.err


def test_what_is_no_checkpoint_is_told(tmp_path: Path) -> None:
    assert run("watch", tmp_path).code == Exit.NOT_A_CHECKPOINT
    assert run("watch", tmp_path / "nothing").code == Exit.NOT_A_CHECKPOINT


def test_a_file_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    query = Growing(CASE, tmp_path)
    for batch in range(4):
        query.run(batch)
    (query.root / "state/0/1/2.delta").write_bytes(b"nonsense")
    outcome = run("watch", query.root, "--last", "3", "--until", "3")
    assert outcome.code == Exit.INCOMPLETE
    assert outcome.err.count("state/0/1/2.delta") == 1
    assert len([line for line in outcome.out.splitlines() if ">" in line]) == 3


def test_prometheus_has_the_metrics_of_the_newest_batch(tmp_path: Path) -> None:
    location = tmp_path / "metrics.prom"
    location.write_text("of yesterday")
    options = ("--last", "3", "--until", "13", "--prometheus", location)
    assert run("watch", checkpoint_of(CASE), *options).code == Exit.OK
    families = text_string_to_metric_families(location.read_text())
    values = {sample.name: sample.value for family in families for sample in family.samples}
    audit = api.audit(str(checkpoint_of(CASE)))
    assert values["spark_state_batch_id"] == 13
    assert values["spark_state_rows"] == audit.metrics["state.rows"] == 113
    assert values["spark_state_leftover_rows"] == audit.metrics["leftovers.rows"] == 80
    assert values["spark_state_level"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.prom"]


def test_metrics_are_rewritten_with_each_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, location = Growing(CASE, tmp_path), tmp_path / "metrics.prom"
    query.run(0)
    batches = iter(range(1, 5))
    result: list[float] = []

    def next_batch(_: float) -> None:
        families = text_string_to_metric_families(location.read_text())
        rows = (
            sample.value for f in families for sample in f.samples if f.name == "spark_state_rows"
        )
        result.extend(rows)
        query.run(next(batches))

    monkeypatch.setattr(following, "sleep", next_batch)
    assert run("watch", query.root, "--until", "4", "--prometheus", location).code == Exit.OK
    assert result == [9, 17, 25, 33]


def test_nothing_is_written_into_the_checkpoint(tmp_path: Path) -> None:
    query = Growing(CASE, tmp_path)
    query.run(0)
    outcome = run("watch", query.root, "--until", "0", "--prometheus", query.root / "m.prom")
    assert outcome.code == Exit.USAGE
    assert "never written to" in outcome.err
    assert outcome.out == ""
    part = run("watch", query.root / "state/0/0", "--prometheus", query.root / "m.prom")
    assert (part.code, part.out) == (Exit.USAGE, "")
    assert not (query.root / "m.prom").exists()


class Live:
    """A query that grows while the command, a process of its own, follows it."""

    def __init__(self, folder: Path) -> None:
        self.query = Growing(CASE, folder)
        self.query.run(0)
        command = [sys.executable, "-m", "inspector", "watch", str(self.query.root)]
        self.process = subprocess.Popen(
            [*command, "--interval", "0.05", "-o", "ndjson"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )

    def line(self) -> dict[str, object]:
        """The next line; waits for it."""
        assert self.process.stdout is not None
        document: dict[str, object] = json.loads(self.process.stdout.readline())
        return document

    def end(self) -> tuple[int, str]:
        """The exit code and stderr."""
        _, result = self.process.communicate(timeout=300)
        return self.process.returncode, result


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    result = Live(tmp_path)
    yield result
    with result.process:
        result.process.kill()


def test_a_line_is_out_before_the_next_batch(live: Live) -> None:
    assert live.line()["batch_id"] == 0
    for batch in (1, 2, 3):
        live.query.run(batch)
        assert live.line()["batch_id"] == batch
    live.process.send_signal(signal.SIGINT)
    code, result = live.end()
    assert (code, "Traceback" in result) == (Exit.INTERRUPTED, False)


def test_a_checkpoint_that_goes_ends_it(live: Live) -> None:
    assert live.line()["batch_id"] == 0
    shutil.rmtree(live.query.root)
    code, result = live.end()
    assert code == Exit.NOT_A_CHECKPOINT
    assert result.startswith("error: ")


def test_who_has_seen_enough_ends_it_quietly(live: Live) -> None:
    assert live.line()["batch_id"] == 0
    assert live.process.stdout is not None
    live.process.stdout.close()
    live.query.run(1)
    live.process.wait(20)
    assert live.process.stderr is not None
    assert live.process.stderr.read() == ""
    assert live.process.returncode == Exit.OK
