"""Code that analyses share: their declaration, the opening of a run, tables of several reports."""
