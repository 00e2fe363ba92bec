"""Reports: what the verdicts in a database say, for people and for programs."""
