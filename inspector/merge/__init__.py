"""Facts of many tasks to those of the whole query, on the driver."""
