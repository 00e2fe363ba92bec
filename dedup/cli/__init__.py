"""The command line: `dedup NAME ...`; each command is a module of this package."""
