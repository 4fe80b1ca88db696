"""Views of a checkpoint: what rules read of merged facts, computed when it is first read.

:class:`~inspector.findings.views.checkpoint_view.CheckpointView` has the operators and stores. A
:class:`~inspector.findings.views.store_view.StoreView` has groups: ``history``, ``expiry``,
``keys`` and ``sizes``. The clocks are those of the query. A number that one rule alone reads is
computed in the file of the rule.
"""
