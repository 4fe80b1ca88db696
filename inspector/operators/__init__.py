"""What each stateful operator keeps, which field is its clock, and when a row should have gone.

One module per operator, which states the Spark class that its rule was read from. What a checkpoint
does not show is said as such, never guessed.
"""
