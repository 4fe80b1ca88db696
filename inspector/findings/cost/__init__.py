"""Rules about state that costs more than it needs to. One file for each finding."""
