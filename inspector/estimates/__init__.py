"""Estimates from facts: heap, growth and cost. No number in this package is exact."""

FEWEST = 6  # least number of points by which a trend is judged: fewer may be one tooth of a saw
SHORTEST_MS = 30_000  # least time by which a trend is judged: the burst of a start makes any rate
