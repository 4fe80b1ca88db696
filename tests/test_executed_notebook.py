"""A notebook as its users write it, executed by Jupyter's own client: one kernel, no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.cli.support import checkpoint_of

ROOT = Path(__file__).resolve().parents[1]
LEAK = checkpoint_of("fmgws_event_ignore")

CELLS = {
    "open": f"""
from pathlib import Path
import inspector
checkpoint = inspector.open_checkpoint(Path({str(LEAK)!r}))
checkpoint""",
    "audit": "report = checkpoint.audit()\nreport",
    "frame": 'checkpoint.leftovers(redact="hash").to_pandas()',
    "arrow": "checkpoint.sizes().to_arrow()",
    "dict": 'checkpoint.timeline().to_dict()["command"]',
    "streamed": "rows = checkpoint.rows()\nrows",
    "after": "len(rows.to_pandas()), len(rows.to_dict()['rows'])",
    "names": "[name for name in dir(checkpoint) if name.startswith('left')]",
    "mistake": "checkpoint.history()",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, dict[str, Any]]:
    """What each cell shows, by MIME type."""
    make: Any = nbformat.v4  # it has types for some of its functions only
    cells = [make.new_code_cell(source.strip()) for source in CELLS.values()]
    cells[-1].metadata["tags"] = ["raises-exception"]
    notebook = make.new_notebook(cells=cells)
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    try:
        client.execute()
    except CellExecutionError as error:
        pytest.fail(str(error))
    nbformat.validate(notebook)
    display = {}
    for name, cell in zip(CELLS, notebook.cells, strict=True):
        (output,) = cell.outputs
        display[name] = dict(output.get("data", output))
    return display


def test_notebook_shows_checkpoint_in_one_line(outputs: dict[str, dict[str, Any]]) -> None:
    assert outputs["open"]["text/plain"].startswith(f"<OpenCheckpoint {str(LEAK)!r}: query ")
    assert outputs["names"]["text/plain"] == "['leftovers']"


def test_notebook_shows_report_as_html_and_line(outputs: dict[str, dict[str, Any]]) -> None:
    result = outputs["audit"]
    assert result["text/plain"].startswith("<Report audit of ")
    assert len(result["text/plain"]) < 400
    assert '<div class="inspector-report">' in result["text/html"]
    assert "SS203" in result["text/html"]


def test_notebook_results_convert_to_frames_tables_and_dicts(
    outputs: dict[str, dict[str, Any]],
) -> None:
    assert "[68 rows x 26 columns]" in outputs["frame"]["text/plain"]
    assert outputs["frame"]["text/html"].count("sha256:") > 5
    assert outputs["arrow"]["text/plain"].startswith("pyarrow.Table")
    assert outputs["dict"]["text/plain"] == "'timeline'"


def test_notebook_rows_are_readable_after_display(outputs: dict[str, dict[str, Any]]) -> None:
    assert "The first 10 rows" in outputs["streamed"]["text/html"]
    assert outputs["after"]["text/plain"] == "(128, 128)"


def test_notebook_error_names_expected_value(outputs: dict[str, dict[str, Any]]) -> None:
    result = outputs["mistake"]
    assert (result["ename"], result["output_type"]) == ("CheckpointError", "error")
    assert "give a key with --key or --where" in result["evalue"]
