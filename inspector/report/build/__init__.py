"""Facts and findings to reports, one function per command."""
