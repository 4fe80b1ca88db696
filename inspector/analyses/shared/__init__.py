"""What analyses share: how they are declared, what a run begins with, tables of several reports."""
