"""Signatures to candidates: permuted tables and the probes that read them."""
