"""Contents of a checkpoint other than rows, read only: listings, logs, metadata, schemas."""
