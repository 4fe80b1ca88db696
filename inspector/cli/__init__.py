"""The command line: one module per command, each thin; the only importer of click."""
