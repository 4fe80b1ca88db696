"""The page of an audit: what several analyses report, from the facts of one pass over the state."""
