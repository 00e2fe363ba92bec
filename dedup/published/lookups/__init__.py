"""The published ways to look up near fingerprints in memory, behind one protocol, to be compared."""
