"""Signatures to keys, by which candidates are found: permuted tables, bands, and who is looked at of a crowd."""
