"""State of each stateful operator: its rows, its clock field, and when a row should be removed.

One module per operator, which states the Spark class that its rule was read from. What a checkpoint
does not show is said as such, never guessed.
"""
