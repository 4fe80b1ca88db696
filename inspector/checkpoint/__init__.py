"""What a checkpoint has and Spark wrote about it: listings, logs, metadata, schemas. Read only."""
