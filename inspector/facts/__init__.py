"""Facts: what a version weighs, changed and left behind. Facts add, so any split gives the same."""
