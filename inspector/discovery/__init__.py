"""From a path to tasks: what a checkpoint holds, which rules apply to it, and who reads what.

Listings, logs and other small files are read here; state files are not.
"""
