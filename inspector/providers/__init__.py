"""State store providers: how each names its files, which make a version, how their records stream.

One folder per provider (:mod:`inspector.providers.registry`). No room above knows a file's name.
"""
