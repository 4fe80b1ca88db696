"""Base of the rules about problems: what could not be read, or is not as Spark writes it.

A rule names the slugs of its problems. Its problems of one operator that stop a restart are one
finding, and those without which the query restarts are another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import ClassVar

from inspector.checkpoint.log_checks import LOST_ENTRY
from inspector.discovery.restart import Restart
from inspector.exceptions import REFUSES, NoSchemaError, TruncatedError
from inspector.findings import wording
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Part, Rule, rules
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import COMPARED, LEFT, UNLISTED, Problem

# template of the evidence of rules about problems: file, message and number of further problems
EVIDENCE = "{file:prefix}{message}{others:others_listed}"
# slugs of problems without a finding of their own: notes, or results of another problem
NO_FINDING = ("codec-mismatch", "uncommitted", COMPARED, LEFT, NoSchemaError.slug)
NOTHING_NEEDED = "nothing is needed to go on"  # advice if the query restarts without the file
MISSING_DELTA = "missing-delta"  # slug of a problem: deltas of a store are missing
SHORT = 80  # largest number of characters of a problem's message that a cause quotes whole


def problem_case(cause: str) -> Case:
    """Return a case with the cause ``cause``, and the evidence and next step of all problems."""
    return Case(cause, EVIDENCE, "{to_do}")


class ProblemRule(Rule[CheckpointView]):
    """Base of rules that report problems with certain slugs."""

    scope = "checkpoint"
    command = "verify"

    slugs: ClassVar[tuple[str, ...]] = ()  # slugs of the problems of this rule
    # True if the cause names the first file (case ``at_file``), if the problem has one
    names_file: ClassVar[bool] = False
    # True if problems in spite of which the query restarts are warnings (case ``spared``)
    is_spared: ClassVar[bool] = False
    # True if the advice names a copy as of an earlier batch, which can be free of the problem
    is_copied: ClassVar[bool] = False

    # case of a finding that names no file; each rule has its own
    general: ClassVar[Case]

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield one evidence for each operator and case, from the problems of this rule.

        The case of a problem is that of ``special_case``, such as a file without which the query
        restarts. All other problems of an operator share one case. The evidence counts its problems
        as occurrences and quotes the first one.
        """
        groups: dict[tuple[int | None, Case | None], list[Problem]] = {}
        for problem in self.problems(view):
            operator_id = problem.store.operator_id if problem.store else None
            groups.setdefault((operator_id, self.special_case(view, problem)), []).append(problem)
        for (operator_id, special), problems in groups.items():
            first, path = problems[0], path_of(view, problems[0])
            default = self.at_file if self.names_file and first.path else self.general
            yield (special or default)(
                subject=Part(operator_id),
                occurrences=len(problems),
                file=first.path or "",
                path=path or "the checkpoint",
                message=first.message,
                short=short_message(first),
                others=len({problem.cause for problem in problems}) - 1,
                to_do=self.to_do(view, first),
                lost=lost_versions(problems, view.files_restart),
                rollback=FOR_A_ROLLBACK if is_of_version(path) else "",
            )

    def problems(self, view: CheckpointView) -> Iterable[Problem]:
        """Return the problems of the view whose slugs are among ``slugs``."""
        return [problem for problem in view.context.problems if problem.slug in self.slugs]

    def special_case(self, view: CheckpointView, problem: Problem) -> Case | None:
        """Return the case ``spared`` if every release restarts in spite of the problem; else None.

        Returns None, too, if the rule has no such case (``is_spared``), or if the judged version is
        not the newest.
        """
        restart = view.files_restart
        is_spared = self.is_spared and restart is not None and restart.loads_without(problem)
        return self.spared if is_spared else None

    def to_do(self, view: CheckpointView, problem: Problem) -> str:
        """Return advice to the user on a problem, without a full stop.

        It is the remedy that the judgement of the restart has for the file. If there is none, it is
        a copy as of an earlier batch, where that helps, or the next step of the rule.
        """
        restart = view.files_restart
        remedy = "" if restart is None else restart.remedy(path_of(view, problem))
        if remedy or restart is None or restart.back is None or not self.is_copied:
            return remedy or self.next_step
        return wording.write(self.go_back, {"batch": restart.back})

    # advice if a copy as of an earlier batch is possible
    go_back: ClassVar[str] = (
        "restore the file from a backup or an earlier object version, or go back to batch "
        "{batch:number} in a copy (inspector copy PATH NEW --batch {batch} "
        "--sink-has-no-batch-ids), the newest as of which all is there. A sink that stores batch "
        "ids, such as the file sink or Delta, skips the batches after it, and the copy then does "
        "not restart"
    )
    # case that names the first file
    at_file: ClassVar[Case] = Case(
        cause="At {path}{others:others}: {short}.", evidence=EVIDENCE, next_step="{to_do}"
    )
    # case of a problem in spite of which the query restarts
    spared: ClassVar[Case] = Case(
        cause="At {path}{others:others}: {short}; the query restarts without it{lost}.",
        evidence=EVIDENCE,
        next_step=f"{NOTHING_NEEDED}{{rollback}}",
        severity=Severity.WARNING,
    )


# end of the advice on a state file of a version, if a restart does not need the file
FOR_A_ROLLBACK = (
    ", and Spark's cleanup removes the file in time; to roll back to a version that is lost "
    "restore it from a backup"
)


RUN_AGAIN = ", and runs batch {batch} again"  # end of a sentence on the effect of a lost log entry
# end of a sentence on lost snapshots without which all versions can be loaded
NO_VERSION_LOST = ", and no version is lost"
# end of a sentence on lost snapshots that earlier versions may need
EARLIER_AT_MOST = ", and at most earlier versions are lost"


def path_of(view: CheckpointView, problem: Problem) -> str:
    """Return the path of a problem relative to the checkpoint's root; "" if it has no path."""
    return view.checkpoint.storage.relative(problem.path or "")


def is_of_version(path: str) -> bool:
    """Return True if a path is below ``state/`` and not in a folder of metadata.

    ``path`` is relative to the checkpoint's root. Such a path is that of a state file of a version.
    """
    return path.startswith("state/") and "/_metadata/" not in path


@cache
def claimed_slugs() -> frozenset[str]:
    """Return the slugs of all integrity rules about problems, and those of NO_FINDING.

    Problems with other slugs are left to SS102.
    """
    named = (rule.slugs for rule in rules(("integrity",)) if issubclass(rule, ProblemRule))
    return frozenset((*NO_FINDING, *(slug for slugs in named for slug in slugs)))


def short_message(problem: Problem) -> str:
    """Return the message of a problem for a cause.

    A message of more than SHORT characters loses its part on what was expected, and cut data is
    named. If RocksDB refuses the file, its words are added in brackets. The message on an unlisted
    table file is returned unchanged.
    """
    if problem.slug == UNLISTED:
        return problem.message
    # A comma begins what was expected instead, which the table of problems has.
    message, _, words = problem.message.rstrip(".").partition(REFUSES)
    if len(message) > SHORT:
        message = message.partition(", expected")[0]
    if problem.slug == TruncatedError.slug:
        message = f"the data ends too early ({message})"
    return f"{message}; RocksDB refuses it ({words})" if words else message


def lost_versions(problems: Sequence[Problem], restart: Restart | None) -> str:
    """Return a clause on what is lost with files that a restart does not need.

    ``problems`` are of one finding, and ``restart`` is None if it was not judged. For state files
    the clause says that no version, or only earlier versions, are lost. For other files it is
    empty, unless a lost log entry makes Spark run the batch again: then it says so.
    """
    if problems[0].store is None:
        is_run_again = restart is not None and restart.again and problems[0].slug == LOST_ENTRY
        return RUN_AGAIN.format(batch=restart.batch) if restart and is_run_again else ""
    if any(is_delta(problem, restart) for problem in problems):
        return ", and only earlier versions are lost"
    # A snapshot within the chain that is loaded loses nothing: its deltas make the version, too.
    # Of one before that chain an older snapshot may be there.
    bases = {load.store: load.base for load in restart.loads} if restart else {}
    is_within = all(
        problem.store is not None
        and problem.version
        and bases.get(problem.store, problem.version) < problem.version
        for problem in problems
    )
    return NO_VERSION_LOST if is_within else EARLIER_AT_MOST


def is_delta(problem: Problem, restart: Restart | None) -> bool:
    """Return True if a problem is about a delta, or may be about one.

    It may be if ``restart`` is None, as the names of delta files are then unknown.
    """
    if restart is None or problem.slug == MISSING_DELTA:
        return True
    return (problem.path or "").endswith(f"/{restart.names.delta.format(problem.version or 0)}")
