"""State store providers: how each names its files, which make a version, how their records stream.

One folder per provider, found by :mod:`inspector.providers.registry`, which asks each whether a
checkpoint is its own. No room above this one knows the name of a state file.
"""
