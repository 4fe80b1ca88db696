"""State of each stateful operator: its rows, its clock field, and when a row should be removed.

There is one module for each operator, which names the Spark class that its rule was read from. What
a checkpoint does not show is reported as unknown, never guessed.
"""
