"""The command line, made from the analyses' declarations; the only importer of click."""
