"""What each command computes: facts and findings to reports."""
