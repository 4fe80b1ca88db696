"""Encoders that write files as Spark does, byte for byte; :mod:`inspector.decode` reads them."""
