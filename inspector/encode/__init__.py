"""What Spark writes, byte for byte: the counterpart of :mod:`inspector.decode`, which reads it."""
