"""Measure how well duplicates are told from other documents, on labelled pairs."""
