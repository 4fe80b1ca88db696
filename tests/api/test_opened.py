"""``open_checkpoint``: a method for every analysis."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from documentation.typed_methods import PACKAGE, stubs, typed_methods

import inspector
from inspector import analyses, api
from inspector.api.opened import OpenCheckpoint
from inspector.model import Redact
from inspector.render.renderers import render
from tests.attributes import attributes
from tests.cli.support import COMMANDS, checkpoint_of, copy_of
from tests.reports import cell_values

LEAK = checkpoint_of("fmgws_event_ignore")


def json_of(report: api.Report) -> Any:
    return json.loads("".join(render(report, "json")))


@pytest.mark.parametrize("path", [LEAK, str(LEAK), LEAK / "state", f"file://{LEAK}"])
def test_paths_and_urls_open_a_checkpoint(path: Any) -> None:
    opened = inspector.open_checkpoint(path)
    assert isinstance(opened, api.OpenCheckpoint)
    assert opened.verify().summary["version"] == 13
    assert repr(opened).startswith(f"<OpenCheckpoint {str(path)!r}: query f9accdf0")
    assert "flatMapGroupsWithState, batch 12" in repr(opened)


@pytest.mark.parametrize("command", COMMANDS)
def test_methods_give_the_reports_of_the_functions(command: str) -> None:
    method = getattr(inspector.open_checkpoint(LEAK), command)
    function = getattr(api, command)
    assert json_of(method()) == json_of(function(str(LEAK)))
    assert inspect.getdoc(method) == inspect.getdoc(function)
    assert repr(method).startswith(f"<{command} of <OpenCheckpoint ")
    assert "function" not in str(inspect.signature(method))


def test_dir_lists_all_analyses() -> None:
    opened = inspector.open_checkpoint(LEAK)
    assert set(analyses.names()) < set(dir(opened))
    with pytest.raises(AttributeError, match="no attribute 'adit'"):
        _ = opened.adit  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = inspector.nothing  # type: ignore[attr-defined]
    assert "open_checkpoint" in dir(inspector)


def test_call_options_override_the_options_of_the_checkpoint() -> None:
    opened = inspector.open_checkpoint(LEAK, batch=4, partition_id=1)
    assert opened.sizes().summary["version"] == 5
    assert opened.sizes(batch=7).summary["version"] == 8
    assert opened.sizes(state_version=9).summary["version"] == 9
    assert set(cell_values(opened.rows().primary.rows, "partition_id")) == {1}
    everywhere = opened.rows(partition_id=None, limit=0).primary.rows
    assert set(cell_values(everywhere, "partition_id")) == {0, 1}
    assert opened.sizes().summary["version"] == 5


def test_options_accept_words_for_enums_and_lists() -> None:
    opened = inspector.open_checkpoint(LEAK)
    by_word = list(opened.leftovers(redact="hash", limit=3).primary.rows)
    assert by_word == list(opened.leftovers(redact=Redact.HASH, limit=3).primary.rows)
    (row,) = opened.rows(key=by_word[0]["key"]).primary.rows
    assert row["key"] == {"value": "once-000"}
    keys = ["value=once-000"]
    assert len(list(opened.history(key=keys).primary.rows)) == 2
    assert len(list(opened.history(where="value=once-000").primary.rows)) == 2
    assert opened.top(engine="local").summary == opened.top().summary
    (table,) = opened.export(what="rows", mode="failfast")
    assert sum(attributes(table.batches, "num_rows")) == 128
    assert list(opened.diff(LEAK).primary.rows) == []
    assert list(opened.diff(other=str(LEAK)).primary.rows) == []


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"limits": 3}, "leftovers() has no option 'limits', did you mean 'limit'?"),
        (
            {"executors": 3},
            "leftovers() has no option 'executors', expected explain, limit",
        ),
    ],
)
def test_misspelt_keyword_is_refused(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        inspector.open_checkpoint(LEAK).leftovers(**keywords)
    assert words in str(caught.value)


def test_invalid_option_values_are_refused() -> None:
    opened = inspector.open_checkpoint(LEAK)
    with pytest.raises(ValueError, match="redact is 'some', expected none, hash, all"):
        opened.rows(redact="some")
    with pytest.raises(ValueError, match="by is 'colour', expected "):
        opened.sizes(by="colour")
    with pytest.raises(ValueError, match="what is 'state', expected rows, changes"):
        opened.export("state")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing a required argument: 'what'"):
        opened.export()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="engine"):
        opened.audit(engine="steam")
    with pytest.raises(TypeError, match="open_checkpoint\\(\\) has no option 'bach', did you mean"):
        inspector.open_checkpoint(LEAK, bach=3)  # type: ignore[call-arg]


def test_opening_a_missing_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(inspector.NotACheckpointError):
        inspector.open_checkpoint(tmp_path)
    with pytest.raises(inspector.CheckpointError, match="does not exist"):
        inspector.open_checkpoint(LEAK, batch=99)
    with pytest.raises(inspector.CheckpointError, match=r"drops a slash of s3a://"):
        inspector.open_checkpoint(Path("s3a://bucket/checkpoint"))


def test_each_call_reads_the_checkpoint_again(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    opened = OpenCheckpoint(path)
    assert opened.verify().complete
    for delta in path.glob("state/0/1/*.delta"):
        delta.write_bytes(b"junk")
    assert not opened.verify().complete


def test_stub_files_match_the_declarations() -> None:
    for stub, text in stubs().items():
        assert stub.read_text("utf-8") == text, "python scripts/refresh_docs.py writes it"
    assert {stub.relative_to(PACKAGE) for stub in stubs()} == {
        stub.relative_to(PACKAGE) for stub in PACKAGE.rglob("*.pyi")
    }
    methods = typed_methods()
    for name in analyses.names():
        assert f"    def {name}(\n" in methods


def test_importing_the_package_imports_no_analysis() -> None:
    import subprocess
    import sys

    program = "import sys, inspector; print(*[n for n in sys.modules if n.startswith('inspector')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    modules = {"inspector", "inspector.credentials", "inspector.exceptions"}
    assert set(done.stdout.decode().split()) == modules
