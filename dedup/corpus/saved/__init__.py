"""Saved indexes of corpora: folders with documents, keys, words and fingerprints, for `--against` and `dedup index`."""
