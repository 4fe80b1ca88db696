"""Facts about one store or version: sizes, changes and leftovers.

Most facts add up, so that any division into tasks gives the same sums.
"""
