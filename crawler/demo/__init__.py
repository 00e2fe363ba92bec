"""A small news site on localhost whose duplicates are known beforehand."""
