"""The engine of a request: its threads end when the request does."""

from __future__ import annotations

import pytest

from inspector.analyses.audit import audit
from inspector.analyses.rows import read_rows
from inspector.analyses.shared.run import Run
from inspector.checkpoint.stops import Stop, WorkStoppedError, obey_stop
from inspector.serve.sources import Part, Source
from tests.cli.support import checkpoint_of

CASES = ("agg_append", "rocksdb_tws_event", "join_left_outer", "fmgws_event_ignore")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("workers", [None, 2])
def test_audit_ends_by_the_stop_of_its_request(case: str, workers: int | None) -> None:
    source = Source([str(checkpoint_of(case))])
    stop = Stop()
    opened = source.open(0, Part(), stop)
    opened.engine.workers = workers  # type: ignore[attr-defined]
    stop.request()
    with pytest.raises(WorkStoppedError):
        audit(opened, page=True)


@pytest.mark.parametrize("case", CASES)
def test_stream_of_rows_ends_by_the_stop_of_its_thread(case: str) -> None:
    source = Source([str(checkpoint_of(case))])
    stop = Stop()
    opened = source.open(0, Part(), stop)
    stop.request()
    with obey_stop(stop), pytest.raises(WorkStoppedError):
        list(read_rows(Run.start(opened, None)).primary.rows)


def test_stop_without_request_has_no_effect() -> None:
    source = Source([str(checkpoint_of("agg_append"))])
    stop = Stop(seconds=600)
    with obey_stop(stop):
        assert audit(source.open(0, Part(), stop)).complete
