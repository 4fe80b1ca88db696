"""Encoders that write as Spark does, byte for byte; :mod:`inspector.decode` reads it."""
