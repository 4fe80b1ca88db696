"""Facts judged: each finding has an id, a severity, a certainty, its evidence and a next step."""
