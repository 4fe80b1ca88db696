"""Examples with real output, one for each page of a command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

_QUERY = "fixtures/4.3.0/fmgws_event_ignore/checkpoint"  # flatMapGroupsWithState that leaks keys
_FIXED = "fixtures/4.3.0/fmgws_event_remove/checkpoint"  # the same query without the fault

EXAMPLES: Mapping[str, str] = {
    "audit": f"audit {_QUERY} {_FIXED}",
    "copy": f"copy {_QUERY} NEW --evict leftovers --plan",
    "diff": f"diff {_QUERY} --from-batch 0 --to-batch 1 --limit 2",
    "files": f"files {_QUERY} --operator 0",
    "history": f"""history {_QUERY} --key '{{"value": "once-000"}}'""",
    "info": f"info {_QUERY}",
    "leftovers": f"leftovers {_QUERY} --limit 3",
    "memory": f"memory {_QUERY}",
    "preflight": f"preflight {_QUERY} {_FIXED}",
    "rows": f"rows {_QUERY} --limit 2",
    "sharing": f"sharing {_QUERY}",
    "simulate": f"simulate {_QUERY} --timeout 1m",
    "sizes": f"sizes {_QUERY}",
    "timeline": f"timeline {_QUERY}",
    "top": f"top {_QUERY} --limit 2",
    "verify": f"verify {_QUERY}",
}
"""Analysis -> arguments of ``inspector``. An analysis that writes files, or whose output depends on
the time of day, has no example."""

LINES = 18  # lines of output that an example shows


def example(name: str, printed: Callable[[list[str]], str]) -> list[str]:
    """Return the lines of an example as Markdown; none if the analysis has no example.

    The output is cut at ``LINES`` lines, and the block that names the checkpoint is left out.

    Args:
        name: of the analysis.
        printed: returns the output of ``inspector`` for these arguments.
    """
    if name not in EXAMPLES:
        return []
    command = EXAMPLES[name]
    output = printed(shlex.split(command)).rstrip().split("\n\n")
    parts = "\n\n".join(part for part in output if not part.startswith("checkpoint ")).split("\n")
    options = ["..."] if len(parts) > LINES else []
    return ["```text", f"$ inspector {command}", *parts[:LINES], *options, "```", ""]
