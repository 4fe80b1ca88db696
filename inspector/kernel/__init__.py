"""The compiled loops and their Python twin.

:mod:`inspector.kernel.loader` chooses one of them; nothing else is imported from outside this room.
"""
