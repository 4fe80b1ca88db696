"""The compiled loops and their Python twin, function by function.

:mod:`inspector.kernel.loader` chooses one of them; :mod:`inspector.kernel.record_layout` and
:mod:`inspector.kernel.programs` say how to call it. Nothing else is imported from outside
this room.
"""
