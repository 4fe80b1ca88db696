"""Contents of a checkpoint besides rows: listings, logs, metadata, schemas. Read only."""
