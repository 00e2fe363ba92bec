"""Results to JSONL and Parquet, by the file's suffix: whole under their name, or not there at all."""
