"""Engines, which run tasks: they map a batch function over the tasks."""
