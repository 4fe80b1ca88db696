"""Estimates from facts: heap, growth and cost. No number here is exact."""

FEWEST = 6  # points that a trend is judged by at the least: fewer may be one tooth of a saw
SHORTEST_MS = 30_000  # least time that a trend is judged by: the burst of a start makes any rate
