"""Chains of files that make a version, and the replay of their records into a map."""
