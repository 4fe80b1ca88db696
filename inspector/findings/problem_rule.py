"""Rules about problems: what could not be read, or is not as Spark writes it.

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

# template of the evidence of all rules about problems
EVIDENCE = "{file:prefix}{message}{others:others_listed}"
# slugs without a finding of their own: notes, or results of another problem
NO_FINDING = ("codec-mismatch", "uncommitted", COMPARED, LEFT, NoSchemaError.slug)
NOTHING_NEEDED = "nothing is needed to go on"  # advice if the query restarts without the file
MISSING_DELTA = "missing-delta"  # slug of a problem: deltas of a store are missing
SHORT = 80  # characters of a message up to which a cause has all of it


def problem_case(cause: str) -> Case:
    """Return a case with the evidence and the next step of all problems."""
    return Case(cause, EVIDENCE, "{to_do}")


class ProblemRule(Rule[CheckpointView]):
    """Base of rules that report problems with certain slugs."""

    scope = "checkpoint"
    command = "verify"

    slugs: ClassVar[tuple[str, ...]] = ()  # slugs of the problems of this rule
    names_file: ClassVar[bool] = False  # the cause names the first file, in place of ``general``
    is_spared: ClassVar[bool] = False  # a warning, if the query restarts without the file
    is_copied: ClassVar[bool] = False  # a copy as of an earlier batch can be free of it

    # the case of a finding that names no file; each rule has its own
    general: ClassVar[Case]

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield one evidence for each operator and case, from the problems of this rule."""
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
        """Return the problems of this rule."""
        return [problem for problem in view.context.problems if problem.slug in self.slugs]

    def special_case(self, view: CheckpointView, problem: Problem) -> Case | None:
        """Return the case of a problem in spite of which the query restarts, if the rule has one.

        None for all other problems.
        """
        restart = view.files_restart
        is_spared = self.is_spared and restart is not None and restart.loads_without(problem)
        return self.spared if is_spared else None

    def to_do(self, view: CheckpointView, problem: Problem) -> str:
        """Return what the user can do about a problem."""
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


# end of the advice on a state file that a restart does not need
FOR_A_ROLLBACK = (
    ", and Spark's cleanup removes the file in time; to roll back to a version that is lost "
    "restore it from a backup"
)


RUN_AGAIN = ", and runs batch {batch} again"  # end of a sentence on the effect of a lost log entry
NO_VERSION_LOST = ", and no version is lost"  # end of a sentence on the effect of a lost file
# end of a sentence on the effect of a lost file
EARLIER_AT_MOST = ", and at most earlier versions are lost"


def path_of(view: CheckpointView, problem: Problem) -> str:
    """Return the path of a problem below the root; empty if it has none."""
    return view.checkpoint.storage.relative(problem.path or "")


def is_of_version(path: str) -> bool:
    """Return True if a path below the root is that of a state file."""
    return path.startswith("state/") and "/_metadata/" not in path


@cache
def claimed_slugs() -> frozenset[str]:
    """Return the slugs that rules about files name, and the slugs without a finding."""
    named = (rule.slugs for rule in rules(("integrity",)) if issubclass(rule, ProblemRule))
    return frozenset((*NO_FINDING, *(slug for slugs in named for slug in slugs)))


def short_message(problem: Problem) -> str:
    """Return the message of a problem; a long one without the part on what was expected."""
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

    For state files it says that no version, or only earlier versions, are lost. For other files it
    is empty, unless a lost log entry makes Spark run the batch again: then it says so.
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
    """Return True if a problem is about a delta, or may be about one."""
    if restart is None or problem.slug == MISSING_DELTA:
        return True
    return (problem.path or "").endswith(f"/{restart.names.delta.format(problem.version or 0)}")
