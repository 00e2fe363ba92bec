"""Feeds: that a file is never spoilt, that a run which is continued completes its feeds, that a failure is told."""
