"""Examples with real output, one for each page of a command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

_QUERY = "fixtures/4.3.0/fmgws_event_ignore/checkpoint"  # flatMapGroupsWithState that leaks keys
_COUNTS = "fixtures/4.3.0/agg_update/checkpoint"  # counts by window and user
_SESSIONS = "fixtures/4.3.0/session_window/checkpoint"  # another operator in the place of these

EXAMPLES: Mapping[str, str] = {
    "audit": f"audit {_QUERY} {_COUNTS}",
    "copy": f"copy {_QUERY} NEW --evict leftovers --plan",
    "diff": f"diff {_QUERY} --from-batch 0 --to-batch 1 --limit 2",
    "files": f"files {_QUERY}",
    "history": f"""history {_QUERY} --key '{{"value": "once-000"}}'""",
    "info": f"info {_QUERY}",
    "leftovers": f"leftovers {_QUERY} --limit 2",
    "memory": f"memory {_QUERY}",
    "offsets": f"offsets {_QUERY}",
    "preflight": f"preflight {_COUNTS} {_SESSIONS}",
    "rows": f"rows {_QUERY} --limit 2",
    "sharing": f"sharing {_QUERY}",
    "simulate": f"simulate {_QUERY} --timeout 1m",
    "sizes": f"sizes {_QUERY}",
    "sql": f"sql {_QUERY} 'select value, sum(row_bytes) from op0_default group by 1 order by 1"
    " limit 2'",
    "timeline": f"timeline {_QUERY}",
    "top": f"top {_QUERY} --limit 2",
    "verify": f"verify {_QUERY}",
    "watch": f"watch {_QUERY} --last 2 --until 12",
}
"""Analysis -> arguments of ``inspector``. An analysis that writes files, or whose output depends on
the time of day, has no example."""

LINES = {
    "audit": 5,
    "diff": 4,
    "history": 4,
    "memory": 5,
    "offsets": 4,
    "preflight": 5,
    "rows": 8,
    "sharing": 8,
    "simulate": 3,
    "timeline": 5,
    "top": 5,
    "watch": 4,
}
"""Analysis -> lines of output that its example shows, if not ``DEFAULT_LINES``."""

DEFAULT_LINES = 6

FIRST_BLOCK = {"leftovers": "leftover keys", "preflight": "what a restart depends on"}
"""Analysis -> beginning of the block of output with which its example begins, if not the first."""


def example(name: str, printed: Callable[[list[str]], str]) -> list[str]:
    """Return the lines of an example as Markdown; none if the analysis has no example.

    The output is cut after its first lines, at the end of a block if possible. The block that names
    the checkpoint is left out.

    Args:
        name: of the analysis.
        printed: returns the output of ``inspector`` for these arguments.
    """
    if name not in EXAMPLES:
        return []
    command = EXAMPLES[name]
    limit = LINES.get(name, DEFAULT_LINES)
    output = printed(shlex.split(command)).rstrip().split("\n\n")
    parts = [part.split("\n") for part in output if not part.startswith("checkpoint ")]
    while not parts[0][0].startswith(FIRST_BLOCK.get(name, "")):
        del parts[0]
    result = parts[0][:limit]
    for part in parts[1:]:
        if len(result) + 1 + len(part) > limit:
            break
        result += ["", *part]
    if result[-1].endswith("with --wide)"):
        del result[-1]  # the page names the option
    options = ["..."] if len(result) < sum(map(len, parts)) + len(parts) - 1 else []
    return ["```text", f"$ inspector {command}", *result, *options, "```", ""]
