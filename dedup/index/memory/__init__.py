"""An index in memory: permuted tables of 16-bit tags, compiled, for up to hundreds of millions of fingerprints.

`dedup.index.memory.index.MemoryIndex` is the way in. Nothing here is imported by those who do not ask for it.
"""
