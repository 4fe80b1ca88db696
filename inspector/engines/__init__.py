"""Engines, which run tasks: each maps a batch function over them."""
