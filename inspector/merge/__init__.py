"""Merging the facts of many tasks into facts of the whole query, on the driver."""
