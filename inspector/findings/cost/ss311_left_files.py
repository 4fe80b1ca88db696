"""SS311: temporary files that were left.

What it means:
    A task writes its delta or snapshot under a temporary name until it commits. These are of
    attempts that were killed before, and Spark removes none of them.

How it is proven:
    Files of such names are counted, and checksum files of such names whose file is gone
    (SPARK-28025).

Source:
    RenameBasedFSDataOutputStream, FileSystemBasedCheckpointFileManager (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.checkpoint.names import is_left_sum, main_path
from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.model import FileKind


class LeftFiles(Rule[OperatorView]):
    """Temporary files of attempts that did not commit."""

    scope = "operator"
    id = "SS311"
    title = "temporary files that were left"
    severity = Severity.INFO
    spark = "CheckpointFileManager"
    next_step = (
        "delete them while the query is stopped; look for executors that were lost or killed"
    )
    command = "files"
    concerns = Concerns.RECORDS

    left_files = Threshold(
        10, "files", "Temporary files, and more than stores: a running query may write one in each."
    )

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield at most one evidence: the temporary files of an operator, if there are many.

        A checksum file counts if it belongs to a temporary file that is gone.
        """
        files = [file for layout, _ in operator.folders for file in layout.files]
        temporary = {file.path for file in files if file.kind is FileKind.TEMPORARY}
        # A checksum file is counted if its temporary file was renamed or removed without it.
        left = [
            file.size
            for file in files
            if file.kind is FileKind.TEMPORARY
            or (is_left_sum(file) and main_path(file) not in temporary)
        ]
        stores = len(operator.folders)
        if len(left) >= max(self.left_files, stores + 1):
            yield self.left(left=len(left), total=sum(left), stores=stores)

    left = Case(
        cause="Attempts that were killed left {left:temporary file} ({total:bytes}) beside the "
        "state; Spark removes none.",
        evidence="{left:temporary file} ({total:bytes}) in the folders of {stores:store}",
    )
