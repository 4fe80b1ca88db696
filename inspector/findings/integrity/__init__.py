"""Rules about files: whether Spark can read and load the state. One file for each finding."""
