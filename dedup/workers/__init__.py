"""Worker processes that extract and sign: a pool, and what its processes load."""
