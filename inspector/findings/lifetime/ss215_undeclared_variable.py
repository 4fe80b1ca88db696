"""SS215: state variable that the processor no longer declares.

What it means:
    The newest run did not declare this state variable, and its rows are still there: nothing reads
    them and nothing removes them, not even a TTL. After deleteIfExists the indexes that Spark kept
    for it stay behind, which is information.

How it is proven:
    The newest metadata of the operator lists the variables of its processor.

Source:
    TransformWithStateOperatorProperties, StatefulProcessorHandleImpl.deleteIfExists (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.store_view import StoreView
from inspector.model import StoreName


class UndeclaredVariable(Rule[StoreView]):
    """Rows of a state variable that the newest run does not declare."""

    scope = "store"
    id = "SS215"
    title = "state variable that the processor no longer declares"
    severity = Severity.WARNING
    spark = "StatefulProcessorHandle.deleteIfExists"
    next_step = (
        "call handle.deleteIfExists with its name in the init of the processor, once you are sure "
        "that no later run needs it"
    )
    command = "info"

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield evidence of the rows of an undeclared variable, or of the index of a deleted one.

        An index is reported only if its variable has no rows.
        """
        operator, name = store.operator, store.store_name
        family, processor = operator.family(name), operator.processor
        if family is None or processor is None or not store.rows:
            return
        if family.is_variable and processor.declares(name) is False:
            yield self.undeclared(*store.newest.rows_and_bytes, family=family.value)
        variable = operator.variable(name)
        if variable in (None, name) or processor.declares(variable or "") is not False:
            return
        # An index outlives its variable, if that has no rows.
        of_variable = StoreName(store.operator_id, variable or "")
        if not store.facts.of_version(of_variable, store.version).rows:
            yield self.index(*store.newest.rows_and_bytes, family=family.value, variable=variable)

    undeclared = Case(
        cause="The state variable {store:quoted} is kept, though the processor no longer declares "
        "it.",
        evidence="{rows:row} of the {family} state {store:quoted}, which the newest metadata of "
        "the operator does not list",
        next_step="call handle.deleteIfExists({store:quoted}) in the init of the processor, once "
        "it is sure that no later run needs it",
    )
    index = Case(
        cause="The state variable {variable:quoted} was deleted, and Spark left its index behind.",
        evidence="{rows:row} of the index {store:quoted} ({family}), which Spark kept for "
        "{variable:quoted}; that variable has no rows, and the newest metadata does not list it",
        next_step="nothing: a processor cannot reach the indexes of Spark, and only a new "
        "checkpoint is without them",
        severity=Severity.INFO,
    )
