"""Replay of the records of a chain of files into a map of live keys."""
