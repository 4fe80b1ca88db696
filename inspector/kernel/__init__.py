"""The compiled loops and their Python twin, which has a function for each
of C.

:mod:`inspector.kernel.loader` chooses one of them; :mod:`inspector.kernel.record_layout` and
:mod:`inspector.kernel.programs` say how to call it. Nothing else is imported from outside
this room.
"""
