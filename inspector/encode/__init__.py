"""Writers of state files in Spark's formats, byte for byte; :mod:`inspector.decode` reads them."""
