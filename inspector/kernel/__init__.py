"""Compiled loops and their Python twin, function by function.

:mod:`inspector.kernel.loader` chooses one of them; :mod:`inspector.kernel.record_layout` and
:mod:`inspector.kernel.programs` define how to call it. Nothing else may be imported from outside
this package.
"""
