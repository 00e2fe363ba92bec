"""Many workers on this machine, on a PostgreSQL server that comes as a package."""
