"""Rules about the watermark of the query. One file for each finding."""
